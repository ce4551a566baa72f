//! Every predicted figure of every repository.

use repackbench_records::{DeltaOrigin, FleetFigure, RatioInterval, SpecPrediction};

use super::{
    Member,
    classes::{kind, size_class},
    is_ratio,
};

/// The figures of `members`: for each codec the size, then the time of each workload.
pub(super) fn figures(deltas: DeltaOrigin, members: &[Member<'_>]) -> Vec<FleetFigure> {
    let of_member = |member| {
        let codecs = member_codecs(member);
        codecs.flat_map(move |(at, spec)| {
            let size = size_figure(deltas, member, spec);
            size.into_iter().chain(time_figures(deltas, member, at, spec)).collect::<Vec<_>>()
        })
    };
    members.iter().flat_map(of_member).collect()
}

fn member_codecs<'a>(member: &Member<'a>) -> impl Iterator<Item = (usize, &'a SpecPrediction)> + use<'a> {
    member.state.specs.iter().enumerate()
}

fn size_figure(deltas: DeltaOrigin, member: &Member<'_>, spec: &SpecPrediction) -> Option<FleetFigure> {
    let whole = member.state.total_bytes as f64;
    let ratio = spec.total_bytes.value / whole;
    let interval = spec.total_bytes.interval;
    let interval = interval.map(|of| RatioInterval { low: of.low / whole, high: of.high / whole, ..of });
    let figure = FleetFigure { value: spec.total_bytes.value, ratio, interval, ..blank(deltas, member, spec) };
    is_ratio(ratio).then_some(figure)
}

fn time_figures<'a>(
    deltas: DeltaOrigin,
    member: &'a Member<'_>,
    at: usize,
    spec: &'a SpecPrediction,
) -> impl Iterator<Item = FleetFigure> + 'a {
    member.state.workloads.iter().filter_map(move |workload| {
        let predicted = workload.ratios.get(at)?;
        let figure = FleetFigure {
            workload: Some(workload.workload.name.clone()),
            value: predicted.value * workload.seconds,
            ratio: predicted.value,
            interval: predicted.interval,
            ..blank(deltas, member, spec)
        };
        is_ratio(predicted.value).then_some(figure)
    })
}

/// A figure without a value.
fn blank(deltas: DeltaOrigin, member: &Member<'_>, spec: &SpecPrediction) -> FleetFigure {
    let repository = &member.estimate.repository;
    let bytes_as_found = member.estimate.as_found.total_bytes;
    FleetFigure {
        repository: repository.name.clone(),
        fingerprint: repository.fingerprint.clone(),
        vcs: repository.vcs,
        bytes_as_found,
        size_class: size_class(bytes_as_found),
        content: kind(member),
        deltas,
        codec: spec.spec.canonical.clone(),
        workload: None,
        value: 0.0,
        ratio: 0.0,
        interval: None,
    }
}
