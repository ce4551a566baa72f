//! The first screen: the answer to the question of the title, with its limits. Every figure is computed from the
//! records of held-out repositories.

use std::collections::BTreeSet;

use repackbench_analysis::{HeldOut, PageCodec, PageRepository, ResultsPage, quantile};
use repackbench_records::{ContentKind, DeltaOrigin, FleetCodec, FleetState, Host, Readers};

use super::{
    PRICE, measured,
    words::{effect, listed, size_words, time_words},
};
use crate::{
    document::{Article, Block, Cell, Column, Table, plain_text},
    number::{counted, exact_share, megabytes, multiple, or_dash, share, three_decimals, time_ratio},
};

/// The answer, its limits, and a row for each codec.
pub(super) fn answer(page: &ResultsPage) -> Vec<Article> {
    let git = &page.git;
    let Some(found) = git.summary.states.first() else {
        let none = "There is no record of a held-out repository yet.";
        return vec![Article::of([Block::note(none)])];
    };
    let mut notes: Vec<String> = in_short(git).into_iter().collect();
    notes.push(scope(git, found));
    notes.extend(deltas(git));
    notes.extend(no_new_format(git));
    notes.extend(plain_codec(git));
    notes.extend(with_dictionaries(git));
    notes.extend(decoding(git));
    notes.extend(mercurial(page));
    let table = table(git);
    vec![
        titled("The answer", vec![Block::Notes(notes)]),
        titled("Its limits", vec![Block::Notes(limits(page))]),
        titled("Every codec, held-out Git repositories", vec![Block::Table(table), Block::Notes(table_notes(found))]),
    ]
}

pub(super) fn titled(heading: &str, blocks: Vec<Block>) -> Article {
    Article { heading: heading.to_owned(), title: heading.to_owned(), ..Article::of(blocks) }
}

/// The geometric means of a few codecs, in a sentence for each way to go.
fn in_short(git: &HeldOut) -> Option<String> {
    // Nobody works on a variant that only this program reads.
    let is_read = |codec: &PageCodec| codec.readers != Readers::Repackbench;
    let (fastest, smallest) = (git.fastest(is_read)?, git.smallest(is_read)?);
    let mut text = String::from("In short:");
    if let Some(search) = git.search {
        text += &format!(
            " a new search for deltas makes repositories {}, in the format that there is.",
            size_words(search.mean)
        );
    }
    let stock = git.best(|codec| codec.readers == Readers::Stock).and_then(|of| Some((of, of.cpu?)));
    let stock = stock.map(|(codec, cpu)| {
        let what = match other_decoder(git, codec) {
            Some(decoder) => format!("another decoder of that format ({decoder})"),
            None => format!("another level ({})", plain_text(&codec.codec)),
        };
        format!("{what} reads with {}, and ", time_words(cpu.mean))
    });
    text += &format!(
        " As predicted for replays, {}another format reads with {},",
        stock.unwrap_or_default(),
        fastest.cpu.map(|cpu| time_words(cpu.mean)).unwrap_or_default()
    );
    text += &format!(" {} ({}),", size_words(fastest.size.mean), plain_text(&fastest.codec));
    let name = plain_text(&smallest.codec);
    let gains = |of: &FleetCodec| {
        let time = of.cpu.map(|cpu| format!(" with {}", time_words(cpu.mean))).unwrap_or_default();
        size_words(of.size.mean) + &time
    };
    let anew = anew(git, smallest).map(|of| format!(", and after a new search {}", gains(of))).unwrap_or_default();
    text += &format!(" or makes repositories {}{anew} ({name}).", gains(smallest));
    if let Some(names) = overstated(git) {
        text += &format!(" Gains of {names} were smaller where bench measured them.");
    }
    if let Some(own) = decoding_of_git(git) {
        text += &format!(" git itself gains less: decoding takes {own} of its CPU time.");
    }
    Some(text)
}

/// The part of a codec before its level.
fn family(codec: &str) -> &str {
    codec.split(':').next().unwrap_or(codec)
}

/// The library that decodes what `codec` wrote, if it is not that of the baseline.
fn other_decoder(git: &HeldOut, codec: &FleetCodec) -> Option<String> {
    let baseline = git.summary.states.first()?.codecs.first()?;
    let decoder = family(&codec.codec);
    (decoder != family(&baseline.codec)).then(|| plain_text(decoder))
}

fn scope(git: &HeldOut, found: &FleetState) -> String {
    let sizes = git.bytes_from_to.map(|(least, most)| {
        let meant = git.of_meant_size;
        format!(" of {} to {} MB ({meant} of them of 3 to 500 MB)", megabytes(least), megabytes(most))
    });
    format!(
        "Scope: {}{}, {} MB as found; no spec was chosen on any of them. Figures are geometric means of the repositories, and \
         in brackets those of all bytes or CPU seconds together. CPU time is that of replays of checkout, traversal and \
         diffs, compared with {}.",
        counted(found.repositories as u64, "public Git repository", "public Git repositories"),
        sizes.unwrap_or_default(),
        megabytes(found.bytes_as_found),
        baseline(found),
    )
}

/// The codec that times are compared with.
fn baseline(state: &FleetState) -> String {
    state.codecs.first().map(|codec| plain_text(&codec.codec)).unwrap_or_default()
}

/// What a new search for deltas saves, compared with the codecs.
fn deltas(git: &HeldOut) -> Option<String> {
    let search = git.search?;
    let mut codecs: Vec<&(String, f64)> = git.served_where_searched.iter().collect();
    codecs.sort_by(|a, b| a.1.total_cmp(&b.1));
    let of_codec = |(codec, mean): &(String, f64)| format!("{} ({})", plain_text(codec), size_words(*mean));
    let smaller = codecs.iter().filter(|(_, mean)| *mean < search.mean);
    let named: Vec<String> = smaller.map(|codec| of_codec(codec)).collect();
    let compared = match (named.as_slice(), codecs.first()) {
        ([], Some(best)) => format!("No codec saves as much on deltas as found; {} comes closest.", of_codec(best)),
        ([], None) => String::new(),
        ([only], _) => format!("Only {only} saves more on deltas as found."),
        (several, _) => format!("On deltas as found, {} save more.", listed(several)),
    };
    Some(format!(
        "Deltas first: git repack -adF, which changes no format, makes {} {} (all bytes together: {}). {compared}",
        counted(search.repositories as u64, "repository", "repositories"),
        size_words(search.mean),
        size_words(search.total),
    ))
}

/// `zstd:9 is 1 % smaller (2 %) at 40 % less CPU time (41 %); after a new search for deltas ...`.
fn is(git: &HeldOut, codec: &FleetCodec) -> String {
    let anew = anew(git, codec).map(|codec| format!("; after a new search for deltas {}", effect(codec)));
    format!("{} is {}{}", plain_text(&codec.codec), effect(codec), anew.unwrap_or_default())
}

/// The same codec on the repositories with deltas that were searched for anew.
fn anew<'a>(git: &'a HeldOut, codec: &FleetCodec) -> Option<&'a FleetCodec> {
    let state = git.summary.states.iter().find(|state| state.deltas == DeltaOrigin::Recomputed)?;
    state.codecs.iter().find(|of| of.codec == codec.codec)
}

fn no_new_format(git: &HeldOut) -> Option<String> {
    let best = git.best(|codec| codec.readers == Readers::Stock)?;
    let time = other_decoder(git, best).map(|decoder| decoder_alone(git, best, &decoder)).unwrap_or_default();
    Some(format!("No new format: {}. Every git reads it.{time}", is(git, best)))
}

/// What is the gain of the decoder, and what that of the level.
fn decoder_alone(git: &HeldOut, best: &FleetCodec, decoder: &str) -> String {
    let codecs = git.summary.states.first().map_or(&[][..], |state| state.codecs.as_slice());
    let (encode, baseline) = codecs.first().map_or((0.0, ""), |codec| (codec.encode_seconds, codec.codec.as_str()));
    let times = |of: &FleetCodec| format!("{} times", multiple(of.encode_seconds / encode));
    let is_other = |of: &&FleetCodec| family(&of.codec) == family(&best.codec) && of.codec != best.codec;
    let other = codecs.iter().find(is_other).filter(|_| encode > 0.0);
    let other = other.and_then(|of| Some((of, of.cpu?))).map(|(of, cpu)| {
        format!(
            " {} takes {}, too, and encodes in {} the CPU time of {}; {} takes {}.",
            plain_text(&of.codec),
            time_words(cpu.mean),
            times(of),
            plain_text(baseline),
            plain_text(&best.codec),
            times(best),
        )
    });
    format!(
        " The time is the gain of the decoder, {decoder}.{} A git that decodes with another library gains only the size; \
         under `exec --zlib {decoder}` it gains the time, too.",
        other.unwrap_or_default()
    )
}

fn plain_codec(git: &HeldOut) -> Option<String> {
    let is_in = |codec: &PageCodec| codec.is_plain && codec.readers != Readers::Stock;
    let best = git.best(is_in)?;
    let smallest = git.smallest(is_in).filter(|smallest| smallest.codec != best.codec);
    let smallest = smallest.map(|of| format!(" The smallest: {}.", is(git, of))).unwrap_or_default();
    Some(format!("Another codec, without dictionaries: {}.{smallest}", is(git, best)))
}

fn with_dictionaries(git: &HeldOut) -> Option<String> {
    let is_in = |codec: &PageCodec| !codec.is_plain;
    let best = git.best(is_in)?;
    let smallest = git.smallest(is_in).filter(|smallest| smallest.codec != best.codec);
    let smallest = smallest.map(|of| format!(" The smallest: {}.", is(git, of))).unwrap_or_default();
    Some(format!("Dictionaries trained on the repository: {}.{smallest}", is(git, best)))
}

/// `30 % to 60 %`.
fn range(shares: Vec<f64>) -> Option<String> {
    let (low, high) = (shares.iter().copied().reduce(f64::min)?, shares.iter().copied().reduce(f64::max)?);
    Some(format!("{} to {}", share(low), share(high)))
}

/// What decoding takes of the CPU time of the user's git: medians, by workload.
fn decoding_of_git(git: &HeldOut) -> Option<String> {
    range(git.decoding.iter().filter_map(|of| of.of_git).collect())
}

/// How much any codec could save.
fn decoding(git: &HeldOut) -> Option<String> {
    let replays = range(git.decoding.iter().map(|of| of.of_replay).collect())?;
    let own = decoding_of_git(git).map(|own| {
        format!(
            " Of the same jobs by git itself it takes {own}; git also sets up a zlib stream for each object, which a codec \
             may save, too."
        )
    });
    Some(format!(
        "Decoding: it takes {replays} of the CPU time of a replay (medians, by workload), and no codec can save more of that.{}",
        own.unwrap_or_default()
    ))
}

/// A single repository can have most of the bytes, so all figures are medians of the repositories.
fn mercurial(page: &ResultsPage) -> Option<String> {
    let hg = &page.mercurial;
    let state = hg.summary.states.first()?;
    let best = hg.best(|codec| codec.readers == Readers::Stock)?;
    let smallest = hg.smallest(|codec| codec.readers != Readers::Stock);
    let is_held_out = |of: &&PageRepository| of.listed.kind == ContentKind::ConvertedMercurial && !of.listed.chosen_on;
    let members: Vec<&PageRepository> = page.repositories.iter().filter(is_held_out).collect();
    let is = |codec: &FleetCodec| {
        let [size, cpu] = [Some(codec.size), codec.cpu].map(|of| Some(*of?.quantiles.get(MEDIAN)?));
        let cpu = cpu.map(|cpu| format!(" at {}", time_words(cpu))).unwrap_or_default();
        Some(format!("{} is {}{cpu}", plain_text(&codec.codec), size_words(size?)))
    };
    let than = |other: &FleetCodec| {
        let ratios = || members.iter().filter_map(|of| of.ratios(&best.codec, &other.codec));
        let size = quantile(&mut ratios().map(|(size, _)| size).collect::<Vec<_>>(), 0.5)?;
        let cpu = quantile(&mut ratios().filter_map(|(_, cpu)| cpu).collect::<Vec<_>>(), 0.5);
        let cpu = cpu.map(|cpu| format!(" with {}", time_words(cpu))).unwrap_or_default();
        Some(format!("{}{cpu}", size_words(size)))
    };
    let largest = members.iter().max_by_key(|of| of.estimate.as_found.total_bytes)?;
    let part = largest.estimate.as_found.total_bytes as f64 / state.bytes_as_found as f64;
    let most = match members.len() > 1 && part > 0.5 {
        true => format!(", of which {} has {}", largest.listed.name, share(part)),
        false => String::new(),
    };
    let by_default = state.codecs.iter().find(|codec| codec.codec == HG_DEFAULT && codec.codec != best.codec);
    let by_default = by_default.and_then(than);
    let by_default = by_default
        .map(|than| format!(" Compared with {HG_DEFAULT}, which hg itself writes since 5.8, that is {than}."));
    let smallest = smallest.and_then(is).map(|is| format!(" The smallest that hg does not read: {is}."));
    Some(format!(
        "Mercurial, by medians of {}, {} MB{most}: {}, and hg reads it.{}{}",
        counted(state.repositories as u64, "converted repository", "converted repositories"),
        megabytes(state.bytes_as_found),
        is(best)?,
        by_default.unwrap_or_default(),
        smallest.unwrap_or_default()
    ))
}

/// The place of the median in [`repackbench_records::FleetRatios::quantiles`].
pub(super) const MEDIAN: usize = 2;

/// The codec of new Mercurial repositories by default, since hg 5.8.
const HG_DEFAULT: &str = "zstd:3";

fn limits(page: &ResultsPage) -> Vec<String> {
    let mut limits = vec![errors(page)];
    limits.extend(checked_codecs(&page.git));
    limits.push(
        "Times are CPU times of one process whose files are in memory. No disk, network or second client takes part, and git \
         does more around the decoding than a replay."
            .to_owned(),
    );
    limits.extend(newest_commits(page));
    limits.push(format!(
        "Serving is in no figure: a server with another format must search for deltas again, or encode again, for every \
         plain client that clones or fetches. Read {} first.",
        PRICE.0
    ));
    limits.push(readers(&page.git));
    limits.extend(compressed_files(page));
    limits.extend(partly_searched(&page.git));
    limits.extend(incomplete(&page.git));
    limits.extend(chosen_on(page));
    limits.extend(origin(page));
    limits
}

/// How far predictions are from measurements on held-out repositories.
fn errors(page: &ResultsPage) -> String {
    let held_out = || page.repositories.iter().filter(|of| !of.listed.chosen_on && !of.checked.is_empty());
    let errors = |is_time: bool| {
        let mut errors = measured::errors(held_out().flat_map(|of| &of.checked), is_time);
        Some((quantile(&mut errors, 0.5)?, quantile(&mut errors, 1.0)?))
    };
    let words = |(median, largest)| format!("{} (at most {})", share(median), share(largest));
    match (errors(false).map(words), errors(true).map(words)) {
        (Some(size), Some(time)) => format!(
            "All figures are predicted from samples. On the {} that bench measured as well, predictions are off by a median of \
             {size} in size and of {time} in CPU time, apart from those that a ? marks.",
            counted(held_out().count() as u64, "repository", "repositories")
        ),
        _ => "All figures are predicted from samples, and no measurement checks them.".to_owned(),
    }
}

/// Which codecs were checked, and to which side their times are off.
fn checked_codecs(git: &HeldOut) -> Option<String> {
    let checked = &git.checked_codecs;
    let baseline = baseline(git.summary.states.first()?);
    if checked.is_empty() {
        return None;
    }
    let (measured, others): (Vec<String>, Vec<String>) =
        answers(git).into_iter().partition(|named| checked.iter().any(|codec| codec.typed == *named));
    let plain = |names: &[String]| listed(&names.iter().map(|name| plain_text(name)).collect::<Vec<_>>());
    let of_answer = match (measured.as_slice(), others.as_slice()) {
        (_, []) => "bench measured all codecs that the answer names.".to_owned(),
        ([], others) => format!("bench measured none of the codecs that the answer names ({}).", plain(others)),
        (_, others) => format!("bench did not measure {}, which the answer names.", plain(others)),
    };
    let figures = |codec: &repackbench_analysis::CheckedCodec| {
        let [predicted, measured] = [codec.predicted, codec.measured].map(time_ratio);
        format!("{} {predicted} and {measured}", plain_text(&codec.typed))
    };
    let times = git.summary.checks.iter().filter(|check| check.workload.is_some());
    let worst = times.max_by(|a, b| a.median_error.total_cmp(&b.median_error)).map(|check| {
        format!(
            " Furthest off is {} under {}: {} and {}.",
            check.workload.as_deref().map(plain_text).unwrap_or_default(),
            plain_text(&check.codec),
            time_ratio(check.predicted),
            time_ratio(check.measured),
        )
    });
    Some(format!(
        "{of_answer} By geometric means over the workloads, the CPU times that were predicted and measured in Git are these \
         multiples of {baseline}'s: {}.{}{}",
        listed(&checked.iter().map(figures).collect::<Vec<_>>()),
        overstated(git).map(|names| format!(" So predictions overstate the gain of {names}.")).unwrap_or_default(),
        worst.unwrap_or_default(),
    ))
}

/// The checked codecs whose measured times are more than 1 % above the predicted ones.
fn overstated(git: &HeldOut) -> Option<String> {
    let codecs = git.checked_codecs.iter().filter(|codec| codec.measured > codec.predicted * OVERSTATED);
    let names: Vec<String> = codecs.map(|codec| plain_text(&codec.typed)).collect();
    (!names.is_empty()).then(|| listed(&names))
}

/// How much longer a measured time is whose gain was overstated.
const OVERSTATED: f64 = 1.01;

/// The codecs that the answer names, each once.
fn answers(git: &HeldOut) -> Vec<String> {
    let is_other = |codec: &PageCodec| codec.is_plain && codec.readers != Readers::Stock;
    let named = [
        git.best(|codec| codec.readers == Readers::Stock),
        git.fastest(|_| true),
        git.best(is_other),
        git.smallest(is_other),
        git.best(|codec| !codec.is_plain),
        git.smallest(|_| true),
    ];
    let mut names: Vec<String> = Vec::new();
    for codec in named.into_iter().flatten() {
        if !names.contains(&codec.codec) {
            names.push(codec.codec.clone());
        }
    }
    names
}

/// The workloads of held-out repositories that read commits: how many, of how many, did not fit the time.
fn cut_replays(page: &ResultsPage) -> (usize, usize) {
    let held_out = page.repositories.iter().filter(|of| !of.listed.chosen_on);
    let workloads = held_out.flat_map(|of| &of.estimate.as_found.workloads);
    let reading = workloads.filter(|workload| workload.is_cut || workload.commits.is_some());
    reading.fold((0, 0), |(cut, all), workload| (cut + usize::from(workload.is_cut), all + 1))
}

/// `most of them of the newest commits only, `, if that is so.
pub(super) fn of_newest(page: &ResultsPage) -> &'static str {
    match cut_replays(page) {
        (0, _) => "",
        (cut, all) if cut * 2 > all => "most of them of the newest commits only, ",
        _ => "some of them of the newest commits only, ",
    }
}

/// How much of history the workloads read that did not fit the time.
fn newest_commits(page: &ResultsPage) -> Option<String> {
    let held_out = page.repositories.iter().filter(|of| !of.listed.chosen_on);
    let workloads = held_out.flat_map(|of| {
        let state = &of.estimate.as_found;
        state.workloads.iter().filter(|workload| workload.is_cut).map(|workload| (workload.commits, state.commits))
    });
    // Some older records say 0 where they do not know.
    let known = workloads.filter_map(|(read, all)| Some((read.filter(|read| *read > 0)?, all.max(1))));
    let mut parts: Vec<f64> = known.map(|(read, all)| read as f64 / all as f64).collect();
    let least = parts.iter().copied().reduce(f64::min)?;
    let (cut, all) = cut_replays(page);
    Some(format!(
        "{cut} of the {} did not fit the time, and only the newest commits were read: {} of all commits in \
         the median, {} at least. A few commits need more decoding for each than many, so gains over all of history are \
         smaller. Each repository's page has the numbers.",
        counted(all as u64, "replay that reads commits", "replays that read commits"),
        share(quantile(&mut parts, 0.5)?),
        exact_share(least),
    ))
}

/// How little the figures say about repositories of images and archives.
fn compressed_files(page: &ResultsPage) -> Option<String> {
    let smallest = page.git.smallest(|_| true)?;
    let is_held_out = |of: &&PageRepository| of.listed.kind == ContentKind::Compressed && !of.listed.chosen_on;
    let each = page.repositories.iter().filter(is_held_out).filter_map(|of| {
        let state = &of.estimate.as_found;
        let spec = state.specs.iter().find(|spec| spec.spec.typed == smallest.codec)?;
        Some(format!(
            "{}, where whole files keep {} of their bytes, and {} is {}",
            of.listed.name,
            share(of.kept_by_whole_files()?),
            plain_text(&smallest.codec),
            size_words(spec.total_bytes.value / state.total_bytes as f64)
        ))
    });
    let each: Vec<String> = each.collect();
    Some(match each.is_empty() {
        true => {
            "No repository here has mostly files that were compressed before, as images are: figures say nothing of \
                 such repositories."
                .to_owned()
        }
        false => format!(
            "Files that were compressed before, as images are, take most bytes only of {}. So figures say little of such \
             repositories.",
            each.join("; ")
        ),
    })
}

/// Which codecs stock git does not read.
fn readers(git: &HeldOut) -> String {
    let named = |readers: Readers| {
        let codecs = git.codecs.iter().filter(|codec| codec.readers == readers);
        codecs.map(|codec| plain_text(&codec.typed)).collect::<Vec<_>>()
    };
    let exec = named(Readers::Exec);
    let own = named(Readers::Repackbench);
    let own = if own.is_empty() { String::new() } else { format!(" Only repackbench reads {}.", listed(&own)) };
    format!("An unpatched git reads {} only under repackbench exec.{own}", listed(&exec))
}

/// Where sizes as found and after a search are of different repositories.
fn partly_searched(git: &HeldOut) -> Option<String> {
    let (all, searched) = (git.summary.repositories, git.search?.repositories);
    (searched < all).then(|| {
        format!(
            "Deltas were searched for anew in {searched} of the {all} repositories: figures after the search are of those alone."
        )
    })
}

fn incomplete(git: &HeldOut) -> Option<String> {
    let all = git.summary.repositories;
    let partial = match git.partial_clones {
        0 => None,
        count if count == all => Some(format!("All {all} Git repositories")),
        count => Some(format!("{count} of the {all} Git repositories")),
    };
    let partial = partial.map(|which| {
        format!(
            "{which} are mirrors that were made as partial clones: whether they are complete is known \
             only of the objects that replays read."
        )
    });
    let lacking = (git.incomplete > 0).then(|| {
        format!(
            "{} objects that the history names.",
            counted(git.incomplete as u64, "repository lacks", "repositories lack")
        )
    });
    let without = (git.searched_without_names > 0).then(|| {
        format!(
            "In {} git searched for deltas without file names, which is another search: their new deltas are in no figure.",
            counted(git.searched_without_names as u64, "repository", "repositories")
        )
    });
    let sentences: Vec<String> = [partial, lacking, without].into_iter().flatten().collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn chosen_on(page: &ResultsPage) -> Option<String> {
    let names = &page.chosen_on;
    let verb = if names.len() == 1 { "is" } else { "are" };
    (!names.is_empty()).then(|| {
        format!(
            "Named specs were chosen on {}, which {verb} in no figure here; rows of them are marked in the tables.",
            listed(names)
        )
    })
}

/// Versions and machines.
fn origin(page: &ResultsPage) -> Option<String> {
    let estimates = || page.repositories.iter().map(|of| &of.estimate);
    let versions: BTreeSet<String> = estimates().map(|of| plain_text(&of.program_version)).collect();
    let machines: BTreeSet<String> = estimates().filter_map(|of| of.host.as_ref()).map(Host::description).collect();
    let listed = |words: BTreeSet<String>| words.into_iter().collect::<Vec<_>>().join("; ");
    (!versions.is_empty())
        .then(|| format!("Measured by repackbench {} on: {}.", listed(versions), plain_text(&listed(machines))))
}

/// A row for each codec, with the figures of both states.
fn table(git: &HeldOut) -> Table {
    let ratio_columns = |over: &'static str| {
        ["size, mean", "size, all", "CPU, mean", "CPU, all"].map(|name| Column::numbers(name).below(over))
    };
    let columns = ["codec", "read by"].map(Column::words).into_iter().chain(ratio_columns("as found"));
    let mut table = Table::new(columns.chain(ratio_columns("rechosen")).chain([Column::numbers("encode CPU")]));
    let states = &git.summary.states;
    let Some(found) = states.iter().find(|state| state.deltas == DeltaOrigin::Kept) else { return table };
    let anew = states.iter().find(|state| state.deltas == DeltaOrigin::Recomputed);
    let encode = found.codecs.first().map_or(0.0, |codec| codec.encode_seconds);
    for codec in &found.codecs {
        let of_anew = anew.and_then(|state| state.codecs.iter().find(|of| of.codec == codec.codec));
        let readers = or_dash(git.codec(&codec.codec), |of| reader_name(of.readers).to_owned());
        let head = [plain_text(&codec.codec), readers];
        let encode = or_dash((encode > 0.0).then(|| codec.encode_seconds / encode), multiple);
        let cells = head.into_iter().chain(cells(Some(codec))).chain(cells(of_anew)).chain([encode]);
        table.variant_row(codec.codec.clone(), cells.map(Cell::from));
    }
    table
}

fn cells(codec: Option<&FleetCodec>) -> [String; 4] {
    let cpu = codec.and_then(|codec| codec.cpu);
    [
        or_dash(codec, |codec| three_decimals(codec.size.mean)),
        or_dash(codec, |codec| three_decimals(codec.size.total)),
        or_dash(cpu, |cpu| time_ratio(cpu.mean)),
        or_dash(cpu, |cpu| time_ratio(cpu.total)),
    ]
}

fn reader_name(readers: Readers) -> &'static str {
    match readers {
        Readers::Stock => "any git",
        Readers::Exec => "exec",
        Readers::Repackbench => "repackbench",
    }
}

fn table_notes(found: &FleetState) -> Vec<String> {
    vec![
        format!(
            "Sizes are multiples of the repository in that state: as found, or with deltas rechosen by git. CPU \
             times are multiples of those under {}, over all workloads. encode CPU: the time to encode all repositories, \
             likewise.",
            baseline(found)
        ),
        "mean: the geometric mean, in which every repository counts the same; all: all bytes or seconds together."
            .to_owned(),
    ]
}
