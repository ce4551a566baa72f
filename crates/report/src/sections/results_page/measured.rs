//! Predictions beside what `bench` measured.

use repackbench_analysis::{CheckedPrediction, PageRepository, ResultsPage, quantile};

use super::{answer::titled, marked_name};
use crate::{
    document::{Article, Block, Column, Table, plain_text},
    number::{or_dash, share, signed_percent, three_decimals, time_ratio},
    sections::fleet::checks,
};

/// Errors by repository, then by codec over the held-out ones.
pub(super) fn all(page: &ResultsPage) -> Vec<Article> {
    let columns = ["figures", "size, median error", "largest", "CPU, median error", "largest"].map(Column::numbers);
    let mut table = Table::new([Column::words("repository")].into_iter().chain(columns));
    for repository in page.repositories.iter().filter(|repository| !repository.checked.is_empty()) {
        let figures = repository.checked.iter().filter(|of| !of.is_unknown).count().to_string();
        let errors = [false, true].map(|is_time| error_cells(&repository.checked, is_time));
        table.row([marked_name(repository), figures].into_iter().chain(errors.into_iter().flatten()));
    }
    if table.is_empty() {
        return vec![Article::of([Block::note("No repository was measured yet.")])];
    }
    let what = "bench measured these repositories under several codecs, with deltas as found. The error of a prediction is its \
                difference from the measured ratio to the baseline, as a share of it. Both \
                read the newest commits that fit their time, and not the same number of them, which is a part of the difference. \
                A prediction whose interval is wider than itself says nothing: it has a ?, and its error is not counted. \
                Each repository's page has every pair.";
    let by_repository = titled("By repository", vec![Block::note(what), Block::Table(table)]);
    let by_codec = [("Git", &page.git), ("Mercurial", &page.mercurial)].map(|(vcs, of)| {
        let article = checks(&of.summary)?;
        let heading = format!("By codec, held-out repositories in {vcs}: geometric means of ratios to the baseline");
        Some(Article { heading, ..article })
    });
    std::iter::once(by_repository).chain(by_codec.into_iter().flatten()).collect()
}

/// The errors of sizes or of times, without sign, except of predictions that say nothing.
pub(super) fn errors<'a>(checked: impl IntoIterator<Item = &'a CheckedPrediction>, is_time: bool) -> Vec<f64> {
    let checked = checked.into_iter().filter(|of| of.workload.is_some() == is_time && !of.is_unknown);
    checked.map(|of| of.error().abs()).collect()
}

fn error_cells(checked: &[CheckedPrediction], is_time: bool) -> [String; 2] {
    let mut errors = errors(checked, is_time);
    [or_dash(quantile(&mut errors, 0.5), share), or_dash(quantile(&mut errors, 1.0), share)]
}

/// Every pair of one repository; nothing if it was not measured.
pub(super) fn one(repository: &PageRepository) -> Option<Article> {
    let words = ["of", "codec"].map(Column::words);
    let numbers = ["predicted", "measured", "interval", "error, %"].map(Column::numbers);
    let mut table = Table::new(words.into_iter().chain(numbers));
    for checked in &repository.checked {
        let show = if checked.workload.is_some() { time_ratio } else { three_decimals };
        let (mark, error) =
            if checked.is_unknown { (" ?", "-".to_owned()) } else { ("", signed_percent(checked.error())) };
        table.row([
            checked.workload.as_deref().map_or_else(|| "size".to_owned(), plain_text),
            plain_text(&checked.codec),
            format!("{}{mark}", show(checked.predicted)),
            show(checked.measured),
            or_dash(checked.interval, |of| format!("{} to {}", show(of.low), show(of.high))),
            error,
        ]);
    }
    let what = "Ratios to the baseline with deltas as found: CPU time by workload, and size.";
    let blocks = vec![Block::note(what), Block::Table(table)];
    (!repository.checked.is_empty()).then(|| titled("Predicted and measured", blocks))
}
