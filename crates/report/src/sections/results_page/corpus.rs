//! The table of the repositories.

use repackbench_analysis::{PageRepository, ResultsPage};
use repackbench_records::Rechosen;

use super::{answer::titled, kind_name, marked_name};
use crate::{
    document::{Article, Block, Column, Table, plain_text},
    number::{megabytes, or_dash, thousands, three_decimals},
};

/// The digits of a hash in a table.
const DIGITS: usize = 12;

/// The repositories, and those that are listed without records.
pub(super) fn corpus(page: &ResultsPage) -> Vec<Article> {
    let mut blocks = Vec::new();
    if !page.repositories.is_empty() {
        blocks.extend([Block::Table(table(page)), Block::Notes(notes())]);
    }
    blocks.extend(missing(page));
    if blocks.is_empty() { Vec::new() } else { vec![titled("The repositories", blocks)] }
}

fn table(page: &ResultsPage) -> Table {
    let words = ["repository", "content", "commit", "pack checksum", "missing"].map(Column::words);
    let numbers = ["objects", "MB as found", "MB rechosen", "ratio"].map(Column::numbers);
    let mut table = Table::new(words.into_iter().chain(numbers));
    page.repositories.iter().for_each(|repository| table.row(row(repository)));
    table
}

fn row(repository: &PageRepository) -> [String; 9] {
    let estimate = &repository.estimate;
    let searched = repository.searched();
    [
        marked_name(repository),
        format!("{}: {}", kind_name(repository.listed.kind), plain_text(&repository.listed.about)),
        or_dash(estimate.repository.tip.as_deref(), short),
        checksums(&estimate.pack_checksums),
        completeness(repository),
        thousands(estimate.as_found.chunks),
        megabytes(estimate.as_found.total_bytes),
        or_dash(searched, |state| megabytes(state.total_bytes)),
        or_dash(searched, |state| three_decimals(state.total_bytes as f64 / estimate.as_found.total_bytes as f64)),
    ]
}

fn short(hash: &str) -> String {
    plain_text(hash).chars().take(DIGITS).collect()
}

/// The first checksum, and the number of the others.
fn checksums(checksums: &[String]) -> String {
    match checksums {
        [] => "-".to_owned(),
        [only] => short(only),
        [first, rest @ ..] => format!("{} and {} more", short(first), rest.len()),
    }
}

/// The missing objects, and whether git had to search without file names.
fn completeness(repository: &PageRepository) -> String {
    let count = match repository.estimate.missing_objects {
        0 => "none".to_owned(),
        count => thousands(count),
    };
    match repository.estimate.rechosen {
        Rechosen::Searched { is_without_names: true, .. } => format!("{count} †"),
        _ => count,
    }
}

fn notes() -> Vec<String> {
    vec![
        "(chosen on): specs were chosen on it, so it is in no summary. commit: the one that HEAD names. missing: objects that \
         the history that was read names, and that are not there. †: so git could only search for deltas without file names, \
         and the figures are left out."
            .to_owned(),
        "A repository's own page has whole hashes, every figure with its error, and the command.".to_owned(),
    ]
}

fn missing(page: &ResultsPage) -> Option<Block> {
    let named = page.missing.iter().map(|(name, why)| match why {
        Some(why) => format!("{name} ({})", plain_text(why)),
        None => name.clone(),
    });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| Block::note(format!("Listed, and not estimated yet: {}.", named.join(", "))))
}
