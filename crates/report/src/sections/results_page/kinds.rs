//! What differs between kinds of content.

use repackbench_analysis::{HeldOut, ResultsPage};
use repackbench_records::{ContentKind, DeltaOrigin, FleetCodec, Readers};

use super::{
    answer::{MEDIAN, titled},
    kind_name,
    words::{size_words, time_words},
};
use crate::{
    document::{Article, Block, Column, Table, plain_text},
    number::{megabytes, or_dash, share, three_decimals, time_ratio},
};

/// A table of medians, and what stands out, in words; nothing for fewer than two kinds.
pub(super) fn kinds(page: &ResultsPage) -> Option<Article> {
    if page.kinds.len() < 2 {
        return None;
    }
    let codecs = named_codecs(&page.git);
    let mut notes: Vec<String> = search(page).into_iter().collect();
    notes.extend(codecs.iter().filter_map(|codec| effects(page, codec)));
    notes.extend(decoding(page));
    let what = "Sentences are about medians, with deltas as found. Each cell is the median of the size as a multiple of the \
                repository, and that of the CPU time as a multiple of the baseline's. Few repositories make a kind, so its \
                median says little about others of that kind. Compressed files: whole files keep 80 % of their bytes or \
                more, as images and archives do. The other kinds are what the person says who lists a repository.";
    let table = Block::Table(table(page, &codecs));
    Some(titled("What differs between kinds of content", vec![Block::Notes(notes), table, Block::note(what)]))
}

/// The codecs of the answer, each once.
fn named_codecs(git: &HeldOut) -> Vec<String> {
    let stock = git.best(|codec| codec.readers == Readers::Stock);
    let plain = git.best(|codec| codec.is_plain && codec.readers != Readers::Stock);
    let mut names: Vec<String> = Vec::new();
    for codec in [stock, plain, git.best(|codec| !codec.is_plain), git.smallest(|_| true)].into_iter().flatten() {
        if !names.contains(&codec.codec) {
            names.push(codec.codec.clone());
        }
    }
    names
}

fn in_state<'a>(of: &'a HeldOut, deltas: DeltaOrigin, codec: &str) -> Option<&'a FleetCodec> {
    let state = of.summary.states.iter().find(|state| state.deltas == deltas)?;
    state.codecs.iter().find(|of| of.codec == codec)
}

fn median_size(codec: &FleetCodec) -> Option<f64> {
    codec.size.quantiles.get(MEDIAN).copied()
}

fn median_cpu(codec: &FleetCodec) -> Option<f64> {
    codec.cpu?.quantiles.get(MEDIAN).copied()
}

/// The kinds with the lowest and the highest value.
fn extremes(page: &ResultsPage, value: impl Fn(&HeldOut) -> Option<f64>) -> Option<[(ContentKind, f64); 2]> {
    let mut values: Vec<(ContentKind, f64)> =
        page.kinds.iter().filter_map(|(kind, of)| Some((*kind, value(of)?))).collect();
    values.sort_by(|a, b| a.1.total_cmp(&b.1));
    match values.as_slice() {
        [lowest, .., highest] => Some([*lowest, *highest]),
        _ => None,
    }
}

/// The range of medians over the kinds in words: `12 % smaller (source code) to 2 % larger (documents)`.
fn range(page: &ResultsPage, ends: [(ContentKind, f64); 2], words: fn(f64) -> String) -> String {
    let is_one = |kind| page.kinds.iter().any(|(other, of)| *other == kind && of.summary.repositories == 1);
    let one = |kind| if is_one(kind) { ", one repository" } else { "" };
    let [low, high] = ends.map(|(kind, value)| format!("{} ({}{})", words(value), kind_name(kind), one(kind)));
    format!("from {low} to {high}")
}

/// What a codec does to size and CPU time.
fn effects(page: &ResultsPage, codec: &str) -> Option<String> {
    let sizes = extremes(page, |of| median_size(in_state(of, DeltaOrigin::Kept, codec)?))?;
    let times = extremes(page, |of| median_cpu(in_state(of, DeltaOrigin::Kept, codec)?));
    let times = times.map(|ends| format!("; {}", range(page, ends, time_words))).unwrap_or_default();
    Some(format!("{}: {}{times}.", plain_text(codec), range(page, sizes, size_words)))
}

fn search(page: &ResultsPage) -> Option<String> {
    let ends = extremes(page, |of| Some(of.search?.median))?;
    Some(format!("A new search for deltas: {}.", range(page, ends, size_words)))
}

/// Where decoding takes the largest and the smallest share of a traversal's CPU time.
fn decoding(page: &ResultsPage) -> Option<String> {
    let workload = page.git.decoding.iter().find(|of| of.workload == "traverse").or(page.git.decoding.first())?;
    let share_of = |of: &HeldOut| {
        let found = of.decoding.iter().find(|other| other.workload == workload.workload)?;
        Some(found.of_replay)
    };
    let ends = extremes(page, share_of)?;
    Some(format!("Decoding in the CPU time of {}: {}.", plain_text(&workload.workload), range(page, ends, share)))
}

/// A row for each kind, and for each codec a column for each state.
fn table(page: &ResultsPage, codecs: &[String]) -> Table {
    let head = [Column::words("content"), Column::numbers("repositories"), Column::numbers("MB")];
    let states = [(DeltaOrigin::Kept, "as found"), (DeltaOrigin::Recomputed, "rechosen")];
    let columns =
        codecs.iter().flat_map(|codec| states.map(|(_, name)| Column::numbers(name).below(plain_text(codec))));
    let mut table = Table::new(head.into_iter().chain([Column::numbers("rechosen")]).chain(columns));
    for (kind, of) in &page.kinds {
        let state = of.summary.states.first();
        let head = [
            kind_name(*kind).to_owned(),
            of.summary.repositories.to_string(),
            or_dash(state, |state| megabytes(state.bytes_as_found)),
            or_dash(of.search, |search| three_decimals(search.median)),
        ];
        let cell = |codec: &String, deltas| {
            or_dash(in_state(of, deltas, codec), |codec| {
                let (size, cpu) = (median_size(codec), median_cpu(codec));
                format!("{} / {}", or_dash(size, three_decimals), or_dash(cpu, time_ratio))
            })
        };
        let cells = codecs.iter().flat_map(|codec| states.map(|(deltas, _)| cell(codec, deltas)));
        table.row(head.into_iter().chain(cells));
    }
    table
}
