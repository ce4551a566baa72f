//! All repositories in one state of their deltas.

use repackbench_records::{DeltaOrigin, FleetCodec, FleetRatios, FleetRow, FleetState, FleetWorkload, SpecText};

use super::{Member, WORST, classes::classes, geometric_mean, is_ratio};
use crate::{SIZE_THRESHOLD, TIME_THRESHOLD, quantile};

/// The quantiles of [`FleetRatios::quantiles`].
const QUANTILES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

/// The findings about `members`.
pub(super) fn state(deltas: DeltaOrigin, members: &[Member<'_>]) -> FleetState {
    let codecs = codecs(members);
    let sum = |bytes: fn(&Member<'_>) -> u64| members.iter().map(bytes).fold(0, u64::saturating_add);
    FleetState {
        deltas,
        repositories: members.len(),
        bytes: sum(|member| member.state.total_bytes),
        bytes_as_found: sum(|member| member.estimate.as_found.total_bytes),
        codecs: codecs.iter().filter_map(|codec| fleet_codec(members, codec)).collect(),
        classes: classes(members, &codecs),
    }
}

/// Every codec of any estimate, in the order in which they appear.
fn codecs(members: &[Member<'_>]) -> Vec<SpecText> {
    let mut codecs: Vec<SpecText> = Vec::new();
    for spec in members.iter().flat_map(|member| &member.state.specs) {
        if !codecs.iter().any(|codec| codec.canonical == spec.spec.canonical) {
            codecs.push(spec.spec.clone());
        }
    }
    codecs
}

/// One codec on the repositories that were estimated under it; `None` without one.
fn fleet_codec(members: &[Member<'_>], codec: &SpecText) -> Option<FleetCodec> {
    let (mut sizes, mut encode_seconds) = (Sums::default(), 0.0);
    let mut rows = Vec::new();
    let (mut gains, mut loses, mut trades) = (0_u32, 0_u32, 0_u32);
    for member in members {
        let Some(at) = member.place_of(&codec.canonical) else { continue };
        let Some((bytes, size)) = member.size(at) else { continue };
        sizes.add(bytes, member.state.total_bytes as f64, size);
        let speed = member.state.specs.get(at).map_or(0.0, |spec| spec.encode_bytes_per_second);
        if is_ratio(speed) {
            encode_seconds += member.state.payload_bytes as f64 / speed;
        }
        let cpu = member.cpu(at);
        match Change::of(size, cpu) {
            Change { is_better: true, is_worse: true } => trades += 1,
            Change { is_better: true, .. } => gains += 1,
            Change { is_worse: true, .. } => loses += 1,
            Change { .. } => {}
        }
        let name = member.estimate.repository.name.clone();
        rows.push(FleetRow { name, bytes: member.estimate.as_found.total_bytes, size, cpu });
    }
    let workloads = workloads(members, codec);
    let totals = workloads.iter().map(|workload| workload.cpu.total);
    let mut each: Vec<f64> = rows.iter().filter_map(|row| row.cpu).collect();
    let cpu = geometric_mean(totals).zip(geometric_mean(each.iter().copied()));
    let cpu = cpu.map(|(total, mean)| FleetRatios { total, mean, quantiles: quantiles(&mut each) });
    let repositories = rows.len();
    let share = |count: u32| f64::from(count) / repositories as f64;
    rows.sort_by(|a, b| product(b).total_cmp(&product(a)).then_with(|| a.name.cmp(&b.name)));
    rows.truncate(WORST);
    Some(FleetCodec {
        codec: codec.typed.clone(),
        repositories,
        bytes: sizes.value as u64,
        size: sizes.ratios()?,
        cpu,
        encode_seconds,
        gains: share(gains),
        loses: share(loses),
        trades: share(trades),
        workloads,
        worst: rows,
    })
}

/// Bytes times CPU time.
fn product(row: &FleetRow) -> f64 {
    row.size * row.cpu.unwrap_or(1.0)
}

/// Whether a codec changes a repository by enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    is_better: bool,
    is_worse: bool,
}

impl Change {
    /// The thresholds are those of the advice for one repository.
    fn of(size: f64, cpu: Option<f64>) -> Self {
        let cpu = cpu.unwrap_or(1.0);
        Change {
            is_better: size <= 1.0 - SIZE_THRESHOLD || cpu <= 1.0 - TIME_THRESHOLD,
            is_worse: size >= 1.0 + SIZE_THRESHOLD || cpu >= 1.0 + TIME_THRESHOLD,
        }
    }
}

/// Each workload under the codec, in the order in which they appear.
fn workloads(members: &[Member<'_>], codec: &SpecText) -> Vec<FleetWorkload> {
    let mut all: Vec<(&str, Sums)> = Vec::new();
    for member in members {
        let Some(at) = member.place_of(&codec.canonical) else { continue };
        for workload in &member.state.workloads {
            let Some(ratio) = workload.ratios.get(at).map(|ratio| ratio.value) else { continue };
            if !is_ratio(ratio) || !workload.seconds.is_finite() {
                continue;
            }
            let name = workload.workload.name.as_str();
            let place = all.iter().position(|(other, _)| *other == name).unwrap_or_else(|| {
                all.push((name, Sums::default()));
                all.len() - 1
            });
            if let Some((_, sums)) = all.get_mut(place) {
                sums.add(workload.seconds * ratio, workload.seconds, ratio);
            }
        }
    }
    let finish = |(name, sums): (&str, Sums)| {
        let cpu = sums.ratios()?;
        Some(FleetWorkload { workload: name.to_owned(), repositories: sums.each.len(), seconds: sums.value, cpu })
    };
    all.into_iter().filter_map(finish).collect()
}

/// Bytes or seconds of several repositories.
#[derive(Debug, Clone, Default)]
pub(super) struct Sums {
    value: f64,
    base: f64,
    each: Vec<f64>,
}

impl Sums {
    /// Adds a repository with this value, what it is compared with, and its ratio.
    pub(super) fn add(&mut self, value: f64, base: f64, ratio: f64) {
        self.value += value;
        self.base += base;
        self.each.push(ratio);
    }

    /// The sum as a multiple; 1 of nothing.
    pub(super) fn total(&self) -> f64 {
        if self.base > 0.0 { self.value / self.base } else { 1.0 }
    }

    /// The geometric mean of the ratios; `None` of none.
    pub(super) fn mean(&self) -> Option<f64> {
        geometric_mean(self.each.iter().copied())
    }

    /// `None` without a repository.
    fn ratios(&self) -> Option<FleetRatios> {
        let quantiles = quantiles(&mut self.each.clone());
        Some(FleetRatios { total: self.total(), mean: self.mean()?, quantiles })
    }
}

fn quantiles(each: &mut [f64]) -> [f64; 5] {
    QUANTILES.map(|part| quantile(each, part).unwrap_or_default())
}
