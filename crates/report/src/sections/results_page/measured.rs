//! Predictions beside what `bench` measured.

use repackbench_analysis::{CheckedPrediction, HeldOut, PageRepository, ResultsPage, quantile};

use super::{answer::titled, marked_name, words::listed};
use crate::{
    document::{Article, Block, Column, Table, plain_text},
    number::{counted, or_dash, share, signed_percent, three_decimals, time_ratio},
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
    let notes = [what.to_owned()].into_iter().chain(sessions(page));
    let by_repository = titled("By repository", vec![Block::Notes(notes.collect()), Block::Table(table)]);
    let by_codec = [("Git", &page.git), ("Mercurial", &page.mercurial)].map(|(vcs, of)| {
        let article = checks(&of.summary)?;
        let heading = format!("By codec, held-out repositories in {vcs}: geometric means of ratios to the baseline");
        Some(Article { heading, ..article })
    });
    let together = [("Git", &page.git), ("Mercurial", &page.mercurial)].map(|(vcs, of)| together(vcs, of));
    let together = together.into_iter().flatten();
    together.chain(std::iter::once(by_repository)).chain(by_codec.into_iter().flatten()).collect()
}

/// To which side the times of each checked codec are off.
fn together(vcs: &str, of: &HeldOut) -> Option<Article> {
    let columns = ["predicted", "measured", "error of the mean, %"].map(Column::numbers);
    let mut table = Table::new([Column::words("codec")].into_iter().chain(columns));
    for codec in &of.checked_codecs {
        let [predicted, measured] = [codec.predicted, codec.measured].map(three_decimals);
        let error = signed_percent(codec.predicted / codec.measured - 1.0);
        table.row([plain_text(&codec.typed), predicted, measured, error]);
    }
    let unchecked: Vec<String> = of
        .codecs
        .iter()
        .skip(1)
        .filter(|codec| !of.checked_codecs.iter().any(|checked| checked.typed == codec.typed))
        .map(|codec| plain_text(&codec.typed))
        .collect();
    let mut notes = vec![
        "CPU times as multiples of the baseline's: geometric means over the workloads of those over the held-out \
         repositories. Below 0 the gain was overstated."
            .to_owned(),
    ];
    if !unchecked.is_empty() {
        notes.push(format!("Not measured: {}.", listed(&unchecked)));
    }
    let blocks = vec![Block::Notes(notes), Block::Table(table.clone())];
    (!table.is_empty()).then(|| titled(&format!("All workloads together, {vcs}"), blocks))
}

/// Which predictions and measurements are of one session.
fn sessions(page: &ResultsPage) -> Option<String> {
    let measured = || page.repositories.iter().filter(|of| !of.checked.is_empty());
    let apart: Vec<String> = measured().filter(|of| of.is_measured_apart).map(|of| of.listed.name.clone()).collect();
    (!apart.is_empty()).then(|| {
        format!(
            "In {} of the {} the estimate is not of the session of the measurement ({}): it was made again, its lines took \
             the place of the first ones, and the runs of bench stayed.",
            apart.len(),
            counted(measured().count() as u64, "repository", "repositories"),
            listed(&apart)
        )
    })
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
