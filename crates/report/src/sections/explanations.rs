//! The factors of a ratio of times.

use repackbench_records::{Explanation, Factor, FactorKind, NumbersSplit};

use crate::{
    document::{Article, Block, Column, Table, plain_text},
    number::{or_dash, percent, ratio_cell, signed_percent, time_ratio},
    sections::names::workload_name,
};

/// For each workload, the steps from the baseline to the codec, their product and the measured ratio.
pub fn explanations(explanations: &[Explanation]) -> Vec<Article> {
    explanations.iter().map(article).collect()
}

fn article(explanation: &Explanation) -> Article {
    let Explanation { repository, workload, codec, .. } = explanation;
    let title = format!("{codec} in {}, {}", workload_name(workload), repository.name);
    Article {
        repository: Some(repository.name.clone()),
        workload: Some(workload.to_string()),
        heading: plain_text(&format!("{}: {}", repository.name, workload_name(workload))),
        blocks: vec![
            Block::note(summary(explanation)),
            Block::Table(steps(explanation).captioned(title.clone())),
            Block::Notes(notes(explanation)),
        ],
        title,
        ..Article::default()
    }
}

fn notes(explanation: &Explanation) -> Vec<String> {
    let split = explanation.numbers.as_ref().map(|split| split_note(explanation, split));
    let notes = [step_note(explanation), product_note(explanation), SHARE_NOTE.to_owned()];
    split.into_iter().chain(notes).collect()
}

/// What numbers save by decoding less, and by looking less up.
fn split_note(explanation: &Explanation, split: &NumbersSplit) -> String {
    let time = explanation.compared_time.name();
    let saved = |share: f64, ratio: f64| format!("{} %", signed_percent(share * (ratio - 1.0)));
    let (decoding, rest) = (split.decoding.ratio, split.rest.ratio);
    let all_else = match explanation.workload.name.as_str() {
        "traverse:count" => "all else, such as looking ids up",
        _ => "all else, such as looking ids up and putting them back",
    };
    format!(
        "Numbers change the {time} by {} by decoding, and by {} by {all_else}. Decoding takes {} of the time with ids, \
         and {} times as long with numbers; all else takes {} times as long.",
        saved(split.decode_share, decoding),
        saved(1.0 - split.decode_share, rest),
        percent(split.decode_share, 0),
        ratio_cell(&split.decoding),
        ratio_cell(&split.rest),
    )
}

/// The steps, their product and the measured ratio.
fn steps(explanation: &Explanation) -> Table {
    let mut table = Table::new([
        Column::words("step"),
        Column::words("from"),
        Column::words("to"),
        Column::words(format!("{} ratio", explanation.compared_time.name())),
        Column::numbers("share"),
    ]);
    let whole = explanation.product.ln();
    for factor in &explanation.factors {
        let share = share(factor.ratio.ratio.ln(), whole);
        table.row([factor_name(factor.kind), &factor.from, &factor.to, &ratio_cell(&factor.ratio), &share]);
    }
    table.row(["product", "", "", &time_ratio(explanation.product), ""]);
    let (baseline, codec) = (&explanation.baseline, &explanation.codec);
    table.row(["measured", baseline, codec, &ratio_cell(&explanation.measured), ""]);
    if let Some(noise) = &explanation.noise {
        table.row(["noise (A / A')", "", "", &ratio_cell(noise), ""]);
    }
    table
}

const SHARE_NOTE: &str = "share: the step's part of the whole ratio, both as logarithms.";

fn step_note(explanation: &Explanation) -> String {
    let time = explanation.compared_time.name();
    format!("Each step is a ratio of the {time} of two rows that differ in one thing. A step below 1 saves {time}.")
}

fn product_note(explanation: &Explanation) -> String {
    let apart = percent((explanation.product / explanation.measured.ratio - 1.0).abs(), 1);
    format!("The product differs from the measured ratio by {apart}, because medians do not multiply exactly.")
}

/// The steps in words, by the size of their effect.
fn summary(explanation: &Explanation) -> String {
    let mut factors: Vec<&Factor> = explanation.factors.iter().collect();
    factors.sort_by(|a, b| b.ratio.ratio.ln().abs().total_cmp(&a.ratio.ratio.ln().abs()));
    let steps: Vec<String> = factors
        .iter()
        .map(|factor| format!("{} {} %", phrase(factor.kind), signed_percent(factor.ratio.ratio - 1.0)))
        .collect();
    let (codec, baseline) = (plain_text(&explanation.codec), plain_text(&explanation.baseline));
    let ratio = time_ratio(explanation.measured.ratio);
    let unit = explanation.compared_time.name();
    format!("{codec} takes {ratio} times the {unit} of {baseline}: {}.", steps.join(", "))
}

fn share(log: f64, whole: f64) -> String {
    // Shares of almost nothing are meaningless.
    or_dash(Some(whole).filter(|whole| whole.abs() >= 0.005), |whole| percent(log / whole, 0))
}

/// A step in a word.
pub(crate) fn factor_name(kind: FactorKind) -> &'static str {
    match kind {
        FactorKind::Implementation => "implementation",
        FactorKind::Framing => "framing",
        FactorKind::Format => "format",
        FactorKind::Integrity => "integrity",
        FactorKind::Numbers => "numbers",
    }
}

fn phrase(kind: FactorKind) -> &'static str {
    match kind {
        FactorKind::Implementation => "another implementation of zlib",
        FactorKind::Framing => "framing without Adler-32",
        FactorKind::Format => "the format",
        FactorKind::Integrity => "the checksum",
        FactorKind::Numbers => "numbers in the place of ids",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use repackbench_records::{ComparedTime, RatioEstimate, RepositoryState, WorkloadLabel};

    use super::*;
    use crate::fixtures::plain;

    fn explain_table(explanations: &[Explanation]) -> String {
        plain(&super::explanations(explanations))
    }

    #[test]
    fn steps_lead_from_baseline_to_codec() {
        let estimate = |ratio| RatioEstimate { ratio, interval: None, pairs: 5 };
        let factor = |kind, from: &str, to: &str, ratio| Factor {
            kind,
            from: from.to_owned(),
            to: to.to_owned(),
            ratio: estimate(ratio),
        };
        let explanation = Explanation {
            schema: 2,
            session: 0,
            repository: RepositoryState { name: "sample".into(), ..RepositoryState::default() },
            workload: WorkloadLabel { name: "traverse".into(), parameters: BTreeMap::new() },
            compared_time: ComparedTime::Cpu,
            codec: "zstd:5".into(),
            baseline: "zlib:6".into(),
            measured: estimate(0.5),
            factors: vec![
                factor(FactorKind::Implementation, "zlib:6", "zlib:6 by libdeflate", 0.8),
                factor(FactorKind::Format, "zlib:6 by libdeflate", "zstd:5", 0.63),
            ],
            product: 0.504,
            noise: Some(estimate(1.001)),
            numbers: None,
        };
        let text = explain_table(&[explanation]);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = text.lines().map(words).collect();
        assert_eq!(lines[0], "sample: traverse");
        assert_eq!(lines[6], "implementation zlib:6 zlib:6 by libdeflate 0.80 33 %");
        assert_eq!(lines[7], "format zlib:6 by libdeflate zstd:5 0.63 67 %");
        assert_eq!(lines[8], "product 0.50");
        assert_eq!(lines[9], "measured zlib:6 zstd:5 0.50");
        assert!(text.contains("takes 0.50 times the CPU time of zlib:6: the format -37.0 %, another"), "{text}");
        assert!(text.contains("by 0.8 %, because medians"), "{text}");
    }
}
