//! The times of a workload under codecs as multiples of the baseline's: from what decoding costs in place under codecs
//! that are replayed, or under others by what the sample says of the two, and from the share of decoding.

use repackbench_analysis::{COVERAGE, CostRatio, cost_ratio, student_quantile};
use repackbench_records::{Predicted, RatioInterval, WorkloadPrediction};

use super::{decoding::DecodeCosts, shares::WorkloadShare};
use crate::decode_share::{LEAST_ERROR, RoundMean, Took};

/// The error of what decoding costs under a codec, as a part of what it costs under the baseline, beyond what replays
/// in one process show: the same replays in another process, with other places in memory, or on another machine differ
/// by more than rounds of one process do. Fitted to `bench` on five repositories (`docs/method.md`).
const ERROR_BETWEEN_PROCESSES: f64 = 0.10;

/// The prediction for one workload. `standing_for` has the number of the codec that is replayed for each codec, and
/// `own` is that of the repository, if it is one of them.
pub(super) fn workload_prediction(
    share: WorkloadShare,
    costs: &DecodeCosts,
    (standing_for, own): (&[Option<usize>], Option<usize>),
) -> WorkloadPrediction {
    let of = |baseline| Ratios { workload: &share, costs, standing_for, baseline };
    let (ratios, elapsed_ratios) = (of(0).all(|took| took.cpu), of(0).all(|took| took.elapsed));
    let own = own.filter(|own| *own > 0).map(of);
    let to_own = |time| own.as_ref().map(|of| of.all(time)).unwrap_or_default();
    let (ratios_to_own, elapsed_ratios_to_own) = (to_own(|took| took.cpu), to_own(|took| took.elapsed));
    let decoding = share.decoding;
    let decode_share = within((decoding.share, 2.0 * decoding.error), 1.0);
    WorkloadPrediction {
        workload: share.label,
        commits: share.commits,
        is_cut: share.is_cut,
        seconds: decoding.seconds,
        decode_share,
        own_share: share.own_git.map(|own| own.decode_share),
        own_graph_ratio: share.own_git.and_then(|own| own.graph_ratio),
        own_graph_elapsed_ratio: share.own_git.and_then(|own| own.graph_elapsed_ratio),
        decodes: share.decodes,
        ratios,
        elapsed_ratios,
        ratios_to_own,
        elapsed_ratios_to_own,
    }
}

/// What the ratios of one workload come from.
struct Ratios<'a> {
    workload: &'a WorkloadShare,
    costs: &'a DecodeCosts,
    standing_for: &'a [Option<usize>],
    /// The codec whose times the others are multiples of.
    baseline: usize,
}

impl Ratios<'_> {
    fn all(&self, time: fn(&Took) -> f64) -> Vec<Predicted> {
        (0..self.standing_for.len()).map(|codec| self.ratio(codec, time)).collect()
    }

    fn ratio(&self, codec: usize, time: fn(&Took) -> f64) -> Predicted {
        if codec == self.baseline {
            return Predicted::exact(1.0);
        }
        let stands = |codec| self.standing_for.get(codec).copied().flatten();
        let replayed = stands(codec).filter(|_| stands(self.baseline) == Some(self.baseline));
        replayed.and_then(|of| self.carried(codec, of, time)).unwrap_or_else(|| self.sampled(codec, time))
    }

    /// The ratio of `codec` by the replays under `replayed`, itself or another. They say what decoding costs; its share
    /// of the time is that of replays as found, which may be of more commits.
    fn carried(&self, codec: usize, replayed: usize, time: fn(&Took) -> f64) -> Option<Predicted> {
        let rounds = &self.workload.rounds;
        let (cost, baseline) =
            (rounds.cost(replayed, self.baseline, time)?, rounds.cost_to_found(self.baseline, time)?);
        let (baseline, baseline_error) = (baseline.value, half_width(&baseline));
        let (mut cost, mut cost_error) = (cost.value, half_width(&cost));
        // Stand-ins for a part of the chunks are another sample, whose error shrinks as fewer chunks are missing.
        let missing = 1.0 - rounds.part(replayed).min(rounds.part(self.baseline));
        if replayed != self.baseline && missing > 0.0 {
            cost_error = cost_error.hypot(missing.sqrt() * half_of(&self.relative(replayed, self.baseline)));
        }
        if replayed != codec {
            let relative = self.relative(codec, replayed);
            cost_error = (cost_error * relative.value).hypot(cost * half_of(&relative));
            cost *= relative.value;
        }
        let (share, share_error) = self.share(time);
        let (ratio, error) = ratio_of((share, 2.0 * share_error), (baseline, baseline_error), (cost, cost_error));
        // Without any time beside decoding, and without any cost of the baseline, nothing is known.
        (ratio.is_finite() && error.is_finite()).then(|| within((ratio, error), f64::INFINITY))
    }

    /// The ratio by the sample alone.
    fn sampled(&self, codec: usize, time: fn(&Took) -> f64) -> Predicted {
        let (share, error) = self.share(time);
        let ratio = self.cost_ratio((codec, self.baseline), share, error);
        let baseline = self.costs.baseline_to_found(self.baseline);
        let half_width = half_of(&ratio).hypot(share_in_baseline(share, baseline) * ERROR_BETWEEN_PROCESSES);
        if ratio.interval.is_some() { within((ratio.value, half_width), f64::INFINITY) } else { ratio }
    }

    /// The share of decoding in a time as found, with its standard error.
    fn share(&self, time: fn(&Took) -> f64) -> (f64, f64) {
        let decoding = &self.workload.decoding;
        let share = Took { cpu: decoding.share, elapsed: decoding.elapsed };
        let error = Took { cpu: decoding.error, elapsed: decoding.elapsed_error };
        (time(&share), time(&error))
    }

    /// What decoding costs under `codec` as a multiple of what it costs under `replayed`.
    fn relative(&self, codec: usize, replayed: usize) -> Predicted {
        self.cost_ratio((codec, replayed), 1.0, 0.0)
    }

    fn cost_ratio(&self, (codec, baseline): (usize, usize), share: f64, share_error: f64) -> Predicted {
        let members = self.costs.members(codec, baseline);
        cost_ratio(&CostRatio { members: &members, decoded_x: &self.workload.decoded, share, share_error })
    }
}

/// The ratio of times, with its error, of the share of decoding in the time as found, what decoding costs under the
/// baseline as a multiple of that as found, and under the codec as a multiple of the baseline, each with its error.
fn ratio_of(
    (share, share_error): (f64, f64),
    (baseline, baseline_error): (f64, f64),
    (cost, cost_error): (f64, f64),
) -> (f64, f64) {
    let cost_error = cost_error.hypot(ERROR_BETWEEN_PROCESSES);
    // The share in the baseline has the errors of that as found and of the cost by its derivatives.
    let whole = share.mul_add(baseline - 1.0, 1.0);
    let of_baseline = share_in_baseline(share, baseline);
    let by_share = share_error * baseline / whole.powi(2);
    let by_cost = baseline_error * share * (1.0 - share) / whole.powi(2);
    let error = (of_baseline * cost_error).hypot(by_share.hypot(by_cost) * (1.0 - cost));
    (of_baseline.mul_add(cost - 1.0, 1.0), error)
}

/// The share of decoding in the time under the baseline, of that as found, if decoding costs `baseline` times as much
/// there.
fn share_in_baseline(share: f64, baseline: f64) -> f64 {
    share * baseline / share.mul_add(baseline - 1.0, 1.0)
}

/// Half of the interval of a mean over rounds.
fn half_width(mean: &RoundMean) -> f64 {
    student_quantile(mean.rounds as f64 - 1.0) * mean.error.max(LEAST_ERROR)
}

fn half_of(predicted: &Predicted) -> f64 {
    predicted.interval.map_or(0.0, |interval| (interval.high - interval.low) / 2.0)
}

/// A value with its interval, which is cut at 0 and `most`.
fn within((value, half_width): (f64, f64), most: f64) -> Predicted {
    let (low, high) = ((value - half_width).max(0.0), (value + half_width).min(most));
    Predicted { value, interval: Some(RatioInterval { low, high, coverage: COVERAGE }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_near((ratio, error): (f64, f64), expected: (f64, f64)) {
        assert!((ratio - expected.0).abs() < 1e-9 && (error - expected.1).abs() < 1e-9, "{ratio} ±{error}");
    }

    #[test]
    fn interval_has_the_error_between_processes_at_least() {
        let exact = |share, baseline, cost| ratio_of((share, 0.0), (baseline, 0.0), (cost, 0.0));
        assert_near(exact(0.8, 1.0, 0.5), (0.6, 0.08));
        assert_near(exact(0.8, 1.0, 1.0), (1.0, 0.08));
        // Decoding costs the baseline twice as much as it does as found: two thirds of its time.
        assert_near(exact(0.5, 2.0, 0.25), (0.5, 0.2 / 3.0));
        assert_near(exact(0.0, 1.0, 0.5), (1.0, 0.0));
    }

    #[test]
    fn errors_add_in_quadrature() {
        // The share counts by half of its error, as the codec saves half of it.
        assert_near(ratio_of((0.8, 0.12), (1.0, 0.0), (0.5, 0.0)), (0.6, 0.1));
    }
}
