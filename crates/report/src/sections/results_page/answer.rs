//! The first screen: the answer to the question of the title, with its limits. Every figure is computed from the records of
//! held-out repositories.

use std::collections::BTreeSet;

use repackbench_analysis::{HeldOut, PageCodec, ResultsPage};
use repackbench_records::{DeltaOrigin, FleetCodec, FleetState, Host, Readers};

use super::{
    measured,
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
    notes.push(scope(found));
    notes.extend(deltas(git));
    notes.extend(no_new_format(git));
    notes.extend(plain_codec(git));
    notes.extend(with_dictionaries(git));
    notes.extend(decoding(git));
    notes.extend(mercurial(&page.mercurial));
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
    let (fastest, smallest) = (git.fastest(|_| true)?, git.smallest(|_| true)?);
    let mut text = String::from("In short:");
    if let Some(search) = git.search {
        text += &format!(
            " a new search for deltas makes repositories {}, in the format that there is.",
            size_words(search.mean)
        );
    }
    if let Some((codec, cpu)) = git.best(|codec| codec.readers == Readers::Stock).and_then(|of| Some((of, of.cpu?))) {
        let name = plain_text(&codec.codec);
        text += &format!(" Another implementation of zlib ({name}) reads with {}.", time_words(cpu.mean));
    }
    text += &format!(" Another format reads with {},", fastest.cpu.map(|cpu| time_words(cpu.mean)).unwrap_or_default());
    text += &format!(" {} ({}),", size_words(fastest.size.mean), plain_text(&fastest.codec));
    let name = plain_text(&smallest.codec);
    let gains = |of: &FleetCodec| {
        let time = of.cpu.map(|cpu| format!(" with {}", time_words(cpu.mean))).unwrap_or_default();
        size_words(of.size.mean) + &time
    };
    let anew = anew(git, smallest).map(|of| format!(", and after a new search {}", gains(of))).unwrap_or_default();
    text += &format!(" or makes repositories {}{anew} ({name}).", gains(smallest));
    Some(text)
}

fn scope(found: &FleetState) -> String {
    format!(
        "Scope: {}, {} MB as found; no spec was chosen on any of them. Figures are geometric means of the repositories, and \
         in brackets those of all bytes or CPU seconds together. CPU time is that of replays of checkout, traversal and \
         diffs, compared with {}.",
        counted(found.repositories as u64, "public Git repository", "public Git repositories"),
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
    Some(format!(
        "No new format: {}. Every git reads it; the CPU time is that of a git with this library.",
        is(git, best)
    ))
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

/// How much any codec could save.
fn decoding(git: &HeldOut) -> Option<String> {
    let range = |shares: Vec<f64>| {
        let (low, high) = (shares.iter().copied().reduce(f64::min)?, shares.iter().copied().reduce(f64::max)?);
        Some(format!("{} to {}", share(low), share(high)))
    };
    let replays = range(git.decoding.iter().map(|of| of.of_replay).collect())?;
    let own = range(git.decoding.iter().filter_map(|of| of.of_git).collect());
    let own = own.map(|own| format!(" Of the same jobs by git itself it takes {own}; git also sets up a zlib stream for each object, which a codec may save, too.")).unwrap_or_default();
    Some(format!(
        "Decoding: it takes {replays} of the CPU time of a replay (medians, by workload), and no codec can save more of that.{own}"
    ))
}

fn mercurial(hg: &HeldOut) -> Option<String> {
    let state = hg.summary.states.first()?;
    let best = hg.best(|codec| codec.readers == Readers::Stock)?;
    let smallest = hg.smallest(|codec| codec.readers != Readers::Stock);
    let smallest = smallest.map(|of| format!(" The smallest that hg does not read: {}.", is(hg, of)));
    let repositories = counted(state.repositories as u64, "converted repository", "converted repositories");
    let by_default = state.codecs.iter().find(|codec| codec.codec == HG_DEFAULT && codec.codec != best.codec);
    let by_default = by_default.map(|default| {
        let size = size_words(best.size.mean / default.size.mean);
        let cpu = best.cpu.zip(default.cpu).map(|(best, default)| time_words(best.mean / default.mean));
        let at = cpu.map(|cpu| format!(" with {cpu}")).unwrap_or_default();
        format!(" Compared with {HG_DEFAULT}, which hg itself writes since 5.8, that is {size}{at}.")
    });
    Some(format!(
        "Mercurial: in {repositories}, {} MB, {}, and hg reads it.{}{}",
        megabytes(state.bytes_as_found),
        is(hg, best),
        by_default.unwrap_or_default(),
        smallest.unwrap_or_default()
    ))
}

/// The codec of new Mercurial repositories by default, since hg 5.8.
const HG_DEFAULT: &str = "zstd:3";

fn limits(page: &ResultsPage) -> Vec<String> {
    let mut limits = vec![errors(page)];
    limits.push(
        "Times are CPU times of one process whose files are in memory. No disk, network or second client takes part, and git \
         does more around the decoding than a replay."
            .to_owned(),
    );
    limits.extend(newest_commits(page));
    limits.push(readers(&page.git));
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
        Some((repackbench_analysis::quantile(&mut errors, 0.5)?, repackbench_analysis::quantile(&mut errors, 1.0)?))
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
    Some(format!(
        "{} did not fit the time, and only the newest commits were read: {} of all commits in the median, {} at least. A few \
         commits need more decoding for each than many, so gains over all of history are smaller. Each repository's page has \
         the numbers.",
        counted(parts.len() as u64, "workload", "workloads"),
        share(repackbench_analysis::quantile(&mut parts, 0.5)?),
        exact_share(least),
    ))
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
    let lacking = counted(git.incomplete as u64, "repository lacks", "repositories lack");
    let without = match git.searched_without_names {
        0 => String::new(),
        count => format!(
            " In {} git searched for deltas without file names, which is another search: their new deltas are in no figure.",
            counted(count as u64, "repository", "repositories")
        ),
    };
    let lacking = (git.incomplete > 0).then(|| format!("{lacking} objects that the history names."));
    (lacking.is_some() || !without.is_empty())
        .then(|| format!("{}{without}", lacking.unwrap_or_default()).trim().to_owned())
}

fn chosen_on(page: &ResultsPage) -> Option<String> {
    let chosen_on = page.repositories.iter().filter(|of| of.listed.chosen_on);
    let names: Vec<String> = chosen_on.map(|of| of.listed.name.clone()).collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    (!names.is_empty()).then(|| {
        format!(
            "Named specs were chosen on {}, which {verb} in no figure here, and marked in the tables.",
            listed(&names)
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
