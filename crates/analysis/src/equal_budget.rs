//! Codecs at equal budgets: how fast at the same size, how small at the same speed.
//!
//! Levels of one codec are points on a curve of size, read time and encode time, each as a multiple of the baseline's.
//! If two neighbouring levels are on both sides of the budget, the values between them are interpolated on a straight
//! line between the logarithms.

use std::collections::BTreeMap;

use repackbench_records::{EqualBudget, Quantity, Role, SpecParts, VariantComparison, WorkloadComparison};

use crate::decode_floor::baseline;

/// The workload that measures encode time.
const ENCODE: &str = "encode";

/// Prefixes of the names of workloads that measure read time.
const READING: [&str; 4] = ["checkout", "traverse", "diff:", "cat-all"];

/// The views: the quantity that is equal, and the one that is compared.
const VIEWS: [(Quantity, Quantity); 4] = [
    (Quantity::Size, Quantity::ReadTime),
    (Quantity::ReadTime, Quantity::Size),
    (Quantity::EncodeTime, Quantity::Size),
    (Quantity::EncodeTime, Quantity::ReadTime),
];

/// One level of a codec. Values are logarithms of multiples of the baseline's.
#[derive(Debug, Clone)]
struct Level {
    number: i64,
    label: String,
    size: f64,
    read_time: f64,
    encode_time: Option<f64>,
}

impl Level {
    fn get(&self, quantity: Quantity) -> Option<f64> {
        match quantity {
            Quantity::Size => Some(self.size),
            Quantity::ReadTime => Some(self.read_time),
            Quantity::EncodeTime => self.encode_time,
        }
    }
}

/// Every view of every codec that was measured at several levels. Encode times come from the workload `encode`, if
/// `comparisons` has it.
pub fn equal_budgets(comparisons: &[WorkloadComparison]) -> Vec<EqualBudget> {
    let mut budgets = Vec::new();
    let is_viewed = |comparison: &&WorkloadComparison| {
        comparison.is_valid && READING.iter().any(|name| comparison.workload.name.starts_with(name))
    };
    for comparison in comparisons.iter().filter(is_viewed) {
        let encode = comparisons.iter().find(|other| {
            other.workload.name == ENCODE
                && other.repository.fingerprint == comparison.repository.fingerprint
                && other.host.machine() == comparison.host.machine()
                && other.is_valid
                // Otherwise its multiples refer to another baseline.
                && baseline(other).is_some_and(|other| baseline(comparison) == Some(other))
        });
        for (codec, levels) in curves(comparison, encode) {
            for (budget, of) in VIEWS {
                if levels.iter().all(|level| level.get(budget).is_some()) {
                    budgets.push(view(comparison, &codec, &levels, budget, of));
                }
            }
        }
    }
    budgets
}

/// The levels of each codec that has several, sorted.
fn curves(comparison: &WorkloadComparison, encode: Option<&WorkloadComparison>) -> BTreeMap<String, Vec<Level>> {
    let mut curves: BTreeMap<String, Vec<Level>> = BTreeMap::new();
    let Some(baseline) = comparison.baseline() else { return curves };
    for row in &comparison.rows {
        let Some((codec, number)) = codec_and_level(row) else { continue };
        // The baseline is a level too if it is of the same codec.
        let is_baseline = row.variant.role == Role::Baseline;
        let read_time = if is_baseline { Some(0.0) } else { row.ratio.map(|ratio| ratio.ratio.ln()) };
        let same_row = |other: &&VariantComparison| {
            (&other.variant.spec, &other.variant.layout) == (&row.variant.spec, &row.variant.layout)
        };
        let encode_row = encode.and_then(|encode| encode.rows.iter().find(same_row));
        let encode_time = if is_baseline {
            encode.map(|_| 0.0)
        } else {
            encode_row.and_then(|row| row.ratio).map(|ratio| ratio.ratio.ln())
        };
        let Some(read_time) = read_time else { continue };
        let size = (row.size.total_bytes as f64 / baseline.size.total_bytes.max(1) as f64).ln();
        let label = row.variant.label().into_owned();
        curves.entry(codec).or_default().push(Level { number, label, size, read_time, encode_time });
    }
    curves.retain(|_, levels| levels.len() > 1);
    curves.values_mut().for_each(|levels| levels.sort_by_key(|level| level.number));
    curves
}

/// Codec with options, and level, of a row that its own decoder reads in-process with the default limit of the cache.
fn codec_and_level(row: &VariantComparison) -> Option<(String, i64)> {
    let variant = &row.variant;
    let is_own = variant.decoder.is_none() && variant.delta_cache.is_none() && variant.client.is_none();
    let is_plain = is_own && variant.role != Role::AsFound;
    let canonical = &variant.spec.as_ref().filter(|_| is_plain)?.canonical;
    let spec = SpecParts::of(canonical);
    let (SpecParts { codec, options, .. }, level) = (spec, spec.level?);
    if spec.has_levels_of_kinds() {
        return None;
    }
    let deltas = match variant.deltas {
        repackbench_records::DeltaOrigin::Kept => "",
        repackbench_records::DeltaOrigin::Recomputed => ", rechosen",
    };
    let window = variant.delta_window.map(|window| format!(" with window {window}")).unwrap_or_default();
    let layout = variant.layout.as_ref().map(|layout| format!(", {layout}")).unwrap_or_default();
    Some((format!("{codec}{options}{deltas}{window}{layout}"), level))
}

fn view(comparison: &WorkloadComparison, codec: &str, levels: &[Level], budget: Quantity, of: Quantity) -> EqualBudget {
    let crossing = levels.windows(2).find_map(|pair| {
        let [low, high] = pair else { return None };
        Some((interpolated((low.get(budget)?, low.get(of)?), (high.get(budget)?, high.get(of)?))?, low, high))
    });
    let distance = |level: &&Level| level.get(budget).unwrap_or(f64::INFINITY).abs();
    let nearest = levels.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
    let (ratio, levels) = match crossing {
        Some((log, low, high)) => (Some(log.exp()), vec![low.label.clone(), high.label.clone()]),
        None => (None, nearest.map(|level| level.label.clone()).into_iter().collect()),
    };
    EqualBudget {
        repository: comparison.repository.clone(),
        host: comparison.host.clone(),
        workload: comparison.workload.clone(),
        compared_time: comparison.compared_time,
        codec: codec.to_owned(),
        budget,
        of,
        ratio,
        levels,
    }
}

/// The second coordinate where the first is 0, on the line between two points on both sides of 0.
fn interpolated((budget_low, of_low): (f64, f64), (budget_high, of_high): (f64, f64)) -> Option<f64> {
    if budget_low == 0.0 {
        return Some(of_low);
    }
    if budget_high == 0.0 {
        return Some(of_high);
    }
    if (budget_low < 0.0) == (budget_high < 0.0) {
        return None;
    }
    let share = budget_low / (budget_low - budget_high);
    Some(of_low + share * (of_high - of_low))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(number: i64, size: f64, read_time: f64) -> Level {
        let label = format!("zstd:{number}");
        Level { number, label, size: size.ln(), read_time: read_time.ln(), encode_time: None }
    }

    #[test]
    fn interpolation_is_linear_in_logarithms() {
        let at = |low: (f64, f64), high: (f64, f64)| interpolated((low.0.ln(), low.1.ln()), (high.0.ln(), high.1.ln()));
        let half = at((0.5, 0.6), (2.0, 0.9)).expect("1 is between").exp();
        assert!((half - (0.6_f64 * 0.9).sqrt()).abs() < 1e-12, "{half}");
        assert_eq!(at((1.1, 0.6), (2.0, 0.9)), None);
        assert_eq!(at((1.0, 0.6), (2.0, 0.9)), Some(0.6_f64.ln()));
    }

    #[test]
    fn first_two_levels_around_budget_are_used() {
        let records = [repackbench_records::fixtures::record("traverse", Role::Baseline, 0, 0, 10)];
        let comparisons = crate::compare_records(&records);
        let levels = [level(1, 1.2, 0.5), level(5, 0.9, 0.6), level(9, 0.8, 0.7)];
        let found = view(&comparisons[0], "zstd", &levels, Quantity::Size, Quantity::ReadTime);
        assert_eq!(found.levels, ["zstd:1", "zstd:5"]);
        assert!(found.ratio.is_some_and(|ratio| (0.5..0.6).contains(&ratio)), "{found:?}");
        let none = view(&comparisons[0], "zstd", &levels, Quantity::ReadTime, Quantity::Size);
        assert_eq!((none.ratio, none.levels), (None, vec!["zstd:9".to_owned()]), "all are faster");
    }
}
