//! The first screen of an estimate: what is predicted for each codec.

use repackbench_analysis::advise_on_estimate;
use repackbench_records::{DeltaState, Predicted, RepositoryEstimate, SpecPrediction, WorkloadPrediction};

use super::{Answer, AnswerCell, AnswerColumn, AnswerFigure, AnswerRow, about, size_cell, strength};
use crate::{
    document::Tone,
    number::{seconds, time_ratio},
    sections::{
        effects::{Clock, change_words},
        estimates,
        names::short_name,
    },
};

/// The answer of an estimate, for the state of the deltas that its advice is about.
pub(super) fn answer(estimate: &RepositoryEstimate) -> Answer {
    let state = advise_on_estimate(estimate).state;
    let baseline = state.specs.first();
    let searched = if std::ptr::eq(state, &estimate.as_found) { "" } else { ", with deltas searched for anew" };
    Answer {
        repository: Some(estimate.repository.name.clone()),
        title: format!("{}, predicted{searched}", short_name(&estimate.repository.name)),
        about: about(&estimate.repository),
        baseline: baseline.map(|spec| spec.spec.typed.clone()).unwrap_or_default(),
        quantities: "size and CPU time".to_owned(),
        time: Clock::Cpu.name(),
        // The baseline has its time.
        note: estimates::open_note(state.workloads.iter().flat_map(|workload| workload.ratios.iter().skip(1))),
        points: Vec::new(),
        advice: estimates::answer(estimate),
        workloads: state.workloads.iter().map(column).collect(),
        rows: state.specs.iter().enumerate().map(|(at, spec)| row(state, at, spec)).collect(),
    }
}

fn column(workload: &WorkloadPrediction) -> AnswerColumn {
    AnswerColumn { workload: workload.workload.to_string(), name: workload.workload.name.clone() }
}

fn row(state: &DeltaState, at: usize, spec: &SpecPrediction) -> AnswerRow {
    let bytes = |spec: &SpecPrediction| spec.total_bytes.value.max(0.0) as u64;
    let is_baseline = at == 0;
    AnswerRow {
        name: spec.spec.typed.clone(),
        label: spec.spec.typed.clone(),
        is_baseline,
        size: size_cell(bytes(spec), state.specs.first().map_or(0, bytes), is_baseline),
        times: state.workloads.iter().map(|workload| time_cell(workload, at)).collect(),
    }
}

fn time_cell(workload: &WorkloadPrediction, at: usize) -> Option<AnswerCell> {
    let ratio = workload.ratios.get(at)?;
    let (words, tone, exact) = match at {
        0 => (seconds(workload.seconds), Tone::Even, String::new()),
        _ => (changed(ratio), tone(ratio), estimates::with_error(ratio, 1.0, time_ratio)),
    };
    let figure = AnswerFigure {
        words: words.replace(" %", "\u{a0}%"),
        of: Clock::Cpu.short_name(),
        tone,
        strength: strength(ratio.value),
    };
    Some(AnswerCell {
        workload: workload.workload.to_string(),
        name: workload.workload.name.clone(),
        figures: vec![figure],
        exact,
    })
}

/// `25 % less`, with a question mark where the interval is too wide.
fn changed(ratio: &Predicted) -> String {
    let words = change_words(ratio.value);
    if ratio.is_unknown() { words + " ?" } else { words }
}

/// Good or bad news, if the whole interval is.
fn tone(ratio: &Predicted) -> Tone {
    match ratio.ends() {
        (_, high) if high < 1.0 => Tone::Better,
        (low, _) if low > 1.0 => Tone::Worse,
        _ => Tone::Even,
    }
}
