//! Verdicts on published claims, by rules that are the same for all experiments.
//!
//! - A claim that something takes less, or more, is **reproduced** where the interval lies wholly beyond the noise floor on that side of
//!   1, the published figure lies within the interval, widened by a [tolerance](TIME_TOLERANCE), and the interval is narrow enough to
//!   exclude both half and twice the published effect; **changed** where the side is the same and the figure is not in it; **not reproduced**
//!   where the interval lies on the other side, within the floor on both if that is less than [half](SAME_EFFECT) of the published effect,
//!   or across the floor with less than a [quarter](EFFECT_TOLERANCE) of that effect in it; and **undecided** where it lies anywhere
//!   else, is too wide to confirm the figure, or does not exist.
//! - An effect is the logarithm of a ratio, so that half of 0.81 is 0.9.
//! - A claim that two take the same is **reproduced** where the interval lies within [`SAME`] of 1 and within [half](SAME_EFFECT) of the
//!   effect that was published beside it, **not reproduced** where it lies wholly beyond, and beyond the noise floor, and undecided otherwise.
//! - Sizes are exact: they have a tolerance of their own, and are never undecided.

use repackbench_records::{ClaimOutcome, Estimate, Figure, JudgedClaim, Outcome, Published, Statement, StatementValue};

use crate::arm::Ratio;

/// A time ratio is the published one if that lies no further than this beyond its interval, as a part of 1, nor further than
/// [`EFFECT_TOLERANCE`].
const TIME_TOLERANCE: f64 = 0.02;
/// The same as a part of the published effect: a small one has a small tolerance.
const EFFECT_TOLERANCE: f64 = 0.25;
/// An interval confirms a figure if it holds neither this many times the published effect nor that effect divided by it.
const CONFIRMING: f64 = 2.0;
/// The tolerance of sizes, which have no interval; [`EFFECT_TOLERANCE`] applies to them, too.
const SIZE_TOLERANCE: f64 = 0.02;
/// Two times are about the same if their ratio is no further from 1.
pub const SAME: f64 = 0.05;
/// Nor further than this part of the smallest effect that was published beside it.
const SAME_EFFECT: f64 = 0.5;

/// A verdict, the figures that decide, and the reasons.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub outcome: Outcome,
    /// The measured figures; empty where nothing was measured.
    pub measured: Vec<Statement>,
    /// Why the figures lead to the verdict.
    pub reasons: Vec<Statement>,
}

impl Judgement {
    /// Undecided, because nothing was measured; `why` says so.
    pub fn missing(why: Statement) -> Self {
        Judgement { outcome: Outcome::Undecided, measured: Vec::new(), reasons: vec![why] }
    }

    /// Undecided, because `what` was not measured.
    pub fn not_measured(what: impl Into<StatementValue>) -> Self {
        Judgement::missing(Statement::new("not-measured").with("what", what))
    }

    /// A verdict with one reason.
    pub fn new(outcome: Outcome, measured: Vec<Statement>, reason: Statement) -> Self {
        Judgement { outcome, measured, reasons: vec![reason] }
    }

    /// Adds reasons.
    #[must_use]
    pub fn because(mut self, reasons: impl IntoIterator<Item = Statement>) -> Self {
        self.reasons.extend(reasons);
        self
    }
}

/// The outcomes of published claims, by their identifiers. Judgements of claims that were not published are dropped.
pub fn claim_outcomes<'a>(
    published: &Published,
    judged: impl IntoIterator<Item = (&'a str, Judgement)>,
) -> Vec<ClaimOutcome> {
    let outcome = |(id, judgement): (&str, Judgement)| {
        let Judgement { outcome, measured, reasons } = judgement;
        published.claim(id)?;
        Some(ClaimOutcome::Judged(JudgedClaim { id: id.to_owned(), outcome, measured, reasons }))
    };
    judged.into_iter().filter_map(outcome).collect()
}

/// A ratio as the measured figure of a claim.
pub fn measured_ratio(ratio: impl Into<StatementValue>) -> Statement {
    Statement::new("ratio").with("ratio", ratio)
}

/// A ratio of sizes as the measured figure of a claim.
pub fn measured_size(ratio: f64) -> Statement {
    Statement::new("size-ratio").with("ratio", Figure::ratio(ratio))
}

/// One of several measured ratios of a claim, with its name.
pub fn named_ratio(what: impl Into<StatementValue>, ratio: impl Into<StatementValue>) -> Statement {
    Statement::new("named-ratio").with("what", what).with("ratio", ratio)
}

/// The side of 1 on which a ratio lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Below 1, by more than the noise floor.
    Below,
    /// Within the noise floor.
    Within,
    /// Above 1, by more than the noise floor.
    Above,
    /// The interval covers more than one of them, or there is none.
    Unknown,
}

/// The side of 1 on which the interval of `ratio` lies, beyond the noise floor.
pub fn side(ratio: &Ratio) -> Side {
    let Some([low, high]) = ratio.estimate.interval else { return Side::Unknown };
    let (least, most) = (1.0 / (1.0 + ratio.floor), 1.0 + ratio.floor);
    if high < least {
        Side::Below
    } else if low > most {
        Side::Above
    } else if low >= least && high <= most {
        Side::Within
    } else {
        Side::Unknown
    }
}

/// Judges the claim that `what` takes `published` times as long as something else; several published figures are a range.
pub fn takes(what: impl Into<StatementValue>, published: &[f64], measured: Option<&Ratio>) -> Judgement {
    let what = what.into();
    let Some(found) = measured else { return Judgement::not_measured(what) };
    let (Some(least), Some(most)) =
        (published.iter().copied().min_by(f64::total_cmp), published.iter().copied().max_by(f64::total_cmp))
    else {
        return Judgement::missing(Statement::new("no-published-figure"));
    };
    let expected = if most < 1.0 { Side::Below } else { Side::Above };
    let figure = published_figure(least, most, Statement::new("ratio-range"));
    let of = |id: &str| Statement::new(id).with("what", what.clone());
    let floor = Figure::share(found.floor);
    let side = side(found);
    let judge = |outcome, reason| Judgement::new(outcome, vec![measured_ratio(&found.estimate)], reason);
    match side {
        Side::Unknown if leaves_out(found, expected, effects(least, most)[0]) => {
            let excluded = Statement::new("effect-excluded").with("figure", figure);
            judge(Outcome::NotReproduced, undecided(what.clone(), found)).because([excluded])
        }
        Side::Unknown => judge(Outcome::Undecided, undecided(what.clone(), found)),
        Side::Within if found.floor.ln_1p() >= effects(least, most)[0] * SAME_EFFECT => {
            judge(Outcome::Undecided, of("floor-includes-figure").with("floor", floor).with("figure", figure))
        }
        Side::Within => judge(Outcome::NotReproduced, of("within-floor").with("floor", floor)),
        side if side != expected => {
            let id = if side == Side::Above { "takes-longer" } else { "takes-less-time" };
            judge(Outcome::NotReproduced, of(id).with("ratio", &found.estimate))
        }
        _ if overlaps(&found.estimate, least, most) && !confirms(&found.estimate, least, most) => {
            judge(Outcome::Undecided, of("too-wide-to-confirm").with("figure", figure))
        }
        _ if overlaps(&found.estimate, least, most) => {
            let tolerance = Figure::share(tolerance(least, most));
            judge(Outcome::Reproduced, of("figure-in-interval").with("figure", figure).with("tolerance", tolerance))
        }
        _ => {
            let is_more = (found.estimate.value - 1.0).abs() > (least - 1.0).abs().max((most - 1.0).abs());
            let id = if is_more { "effect-is-more" } else { "effect-is-less" };
            judge(Outcome::Changed, Statement::new(id).with("figure", figure))
        }
    }
}

/// A published figure, or the range of several.
fn published_figure(least: f64, most: f64, range: Statement) -> StatementValue {
    if least == most {
        return Figure::ratio(least).into();
    }
    range.with("least", Figure::ratio(least)).with("most", Figure::ratio(most)).into()
}

/// The smallest and the largest effect of the published figures, whichever their direction.
fn effects(least: f64, most: f64) -> [f64; 2] {
    let (one, other) = (least.ln().abs(), most.ln().abs());
    [one.min(other), one.max(other)]
}

/// Whether the interval reaches less than [`EFFECT_TOLERANCE`] of `effect` towards the expected side, and the noise floor is narrower than
/// that, too.
fn leaves_out(found: &Ratio, expected: Side, effect: f64) -> bool {
    let Some([low, high]) = found.estimate.interval else { return false };
    let reach = if expected == Side::Below { -low.ln() } else { high.ln() };
    reach.max(found.floor.ln_1p()) < effect * EFFECT_TOLERANCE
}

/// How far beyond the interval the published figures may lie, as a part of 1.
fn tolerance(least: f64, most: f64) -> f64 {
    let [smallest, _] = effects(least, most);
    (smallest * EFFECT_TOLERANCE).exp_m1().min(TIME_TOLERANCE)
}

/// Whether the interval, widened by the tolerance, has something of `least` to `most`.
fn overlaps(estimate: &Estimate, least: f64, most: f64) -> bool {
    let [low, high] = estimate.interval.unwrap_or([estimate.value; 2]);
    let tolerance = tolerance(least, most);
    low * (1.0 - tolerance) <= most && high * (1.0 + tolerance) >= least
}

/// Whether the interval, which lies on the published side of 1, is narrow enough to distinguish the figure from half and from twice its effect.
fn confirms(estimate: &Estimate, least: f64, most: f64) -> bool {
    let [low, high] = estimate.interval.unwrap_or([estimate.value; 2]);
    let ([smallest, largest], [nearest, farthest]) = (effects(least, most), effects(low, high));
    nearest > smallest / CONFIRMING && farthest < largest * CONFIRMING
}

/// Judges the claim that `what` takes about as long as something else.
pub fn takes_the_same(what: impl Into<StatementValue>, measured: Option<&Ratio>) -> Judgement {
    takes_the_same_beside(what, &[], measured)
}

/// The same where effects were published beside it, as ratios, such as that of another codec on the same command: what is the same then
/// has to be so within half of the smallest of them.
pub fn takes_the_same_beside(
    what: impl Into<StatementValue>,
    published: &[f64],
    measured: Option<&Ratio>,
) -> Judgement {
    let what = what.into();
    let Some(found) = measured else { return Judgement::not_measured(what) };
    let judge = |outcome, reason| Judgement::new(outcome, vec![measured_ratio(&found.estimate)], reason);
    let Some([low, high]) = found.estimate.interval else {
        return judge(Outcome::Undecided, undecided(what, found));
    };
    let same = same_within(published);
    // A difference within the noise floor is no difference.
    let other = same.max(found.floor);
    let of = |id: &str, same: f64| Statement::new(id).with("what", what.clone()).with("same", Figure::share(same));
    if high < 1.0 / (1.0 + other) || low > 1.0 + other {
        judge(Outcome::NotReproduced, of("not-the-same", other))
    } else if found.floor > same {
        judge(Outcome::Undecided, of("floor-wider-than-same", same).with("floor", Figure::share(found.floor)))
    } else if low >= 1.0 / (1.0 + same) && high <= 1.0 + same {
        judge(Outcome::Reproduced, of("the-same", same))
    } else {
        judge(Outcome::Undecided, of("perhaps-the-same", other))
    }
}

/// How far from 1 the same may be, as a part of 1, beside published effects.
fn same_within(published: &[f64]) -> f64 {
    let smallest = published.iter().map(|ratio| ratio.ln().abs()).fold(f64::INFINITY, f64::min);
    (smallest * SAME_EFFECT).exp_m1().min(SAME)
}

/// Judges the claim that `what` is `published` times as large as something else; several published figures are a range.
pub fn is_as_large(what: impl Into<StatementValue>, published: &[f64], measured: Option<f64>) -> Judgement {
    let what = what.into();
    let Some(found) = measured else {
        return Judgement::missing(Statement::new("size-unknown").with("what", what));
    };
    let least = published.iter().copied().fold(f64::INFINITY, f64::min);
    let most = published.iter().copied().fold(0.0, f64::max);
    let figure = published_figure(least, most, Statement::new("size-range"));
    let of = |id: &str| Statement::new(id).with("what", what.clone()).with("figure", figure.clone());
    let is_same_side = (found > 1.0) == (least > 1.0);
    let tolerance = tolerance(least, most).min(SIZE_TOLERANCE);
    let (outcome, reason) = if found >= least * (1.0 - tolerance) && found <= most * (1.0 + tolerance) {
        (Outcome::Reproduced, of("as-large").with("tolerance", Figure::share(tolerance)))
    } else if is_same_side {
        (Outcome::Changed, of(if found < least { "smaller-than-published" } else { "larger-than-published" }))
    } else {
        (Outcome::NotReproduced, of("size-on-other-side"))
    };
    Judgement::new(outcome, vec![measured_size(found)], reason)
}

/// Why a ratio decides nothing.
pub fn undecided(what: impl Into<StatementValue>, found: &Ratio) -> Statement {
    match found.estimate.interval {
        None => Statement::new("no-interval").with("what", what),
        Some(_) => Statement::new("across-floor").with("what", what).with("floor", Figure::share(found.floor)),
    }
}

#[cfg(test)]
mod tests {
    use repackbench_records::published_experiment;

    use super::*;

    fn measured(low: f64, high: f64) -> Ratio {
        let estimate = Estimate { value: (low * high).sqrt(), interval: Some([low, high]), samples: vec![] };
        Ratio { estimate, floor: 0.02 }
    }

    #[test]
    fn less_time_takes_the_side_and_the_figure() {
        for (low, high, outcome) in [
            (0.92, 0.96, Outcome::Reproduced),
            (0.95, 0.967, Outcome::Reproduced),
            // Wider than half of the published effect, which is 0.968.
            (0.95, 0.97, Outcome::Undecided),
            (0.955, 0.975, Outcome::Changed),
            (0.5, 0.96, Outcome::Undecided),
            (0.70, 0.80, Outcome::Changed),
            (0.97, 0.979, Outcome::Changed),
            (0.97, 1.0, Outcome::Undecided),
            (0.985, 1.015, Outcome::NotReproduced),
            (1.03, 1.05, Outcome::NotReproduced),
            (0.9, 1.2, Outcome::Undecided),
        ] {
            let found = takes("it", &[0.937], Some(&measured(low, high)));
            assert_eq!(found.outcome, outcome, "{low} {high}: {:?}", found.reasons);
        }
        // A small effect asks for a narrow interval, and one at half of it is another.
        for (low, high, outcome) in [
            (0.50, 0.9895, Outcome::Undecided),
            (0.987, 0.989, Outcome::Changed),
            (0.96, 0.98, Outcome::Reproduced),
            (0.975, 0.98, Outcome::Reproduced),
        ] {
            let found = takes("it", &[0.97], Some(&Ratio { floor: 0.01, ..measured(low, high) }));
            assert_eq!(found.outcome, outcome, "{low} {high}: {:?}", found.reasons);
        }
        // Within a floor that holds what was published, too.
        let noisy = takes("it", &[0.76, 0.81], Some(&Ratio { floor: 0.5, ..measured(0.9, 1.2) }));
        assert_eq!(noisy.outcome, Outcome::Undecided, "{:?}", noisy.reasons);
        // Across the floor, and far from what was published.
        for (low, high, floor, outcome) in [
            (0.82, 1.01, 0.01, Outcome::NotReproduced),
            (0.82, 1.09, 0.01, Outcome::Undecided),
            (0.82, 1.01, 0.1, Outcome::Undecided),
        ] {
            let found = takes("it", &[1.38], Some(&Ratio { floor, ..measured(low, high) }));
            assert_eq!(found.outcome, outcome, "{low} {high} {floor}: {:?}", found.reasons);
        }
        assert_eq!(takes("it", &[2.0], Some(&measured(1.9, 2.1))).outcome, Outcome::Reproduced);
        assert_eq!(takes("it", &[2.0], Some(&measured(1.3, 2.1))).outcome, Outcome::Undecided);
        let more = takes("it", &[0.937], Some(&measured(0.7, 0.8)));
        assert_eq!(more.reasons, [Statement::new("effect-is-more").with("figure", Figure::ratio(0.937))]);
        let less = takes("it", &[0.76, 0.81], Some(&measured(0.9, 0.92)));
        let range = Statement::new("ratio-range").with("least", Figure::ratio(0.76)).with("most", Figure::ratio(0.81));
        assert_eq!(less.reasons, [Statement::new("effect-is-less").with("figure", range)]);
        assert_eq!(takes("it", &[0.76, 0.81], Some(&measured(0.78, 0.79))).outcome, Outcome::Reproduced);
    }

    #[test]
    fn no_interval_is_undecided() {
        let mut found = measured(0.9, 0.95);
        found.estimate.interval = None;
        assert_eq!(takes("it", &[0.9], Some(&found)).outcome, Outcome::Undecided);
        assert_eq!(takes_the_same("it", Some(&found)).outcome, Outcome::Undecided);
        let missing = takes("rev-list", &[0.9], None);
        assert_eq!((missing.outcome, missing.measured.len()), (Outcome::Undecided, 0));
        assert_eq!(missing.reasons, [Statement::new("not-measured").with("what", "rev-list")]);
    }

    #[test]
    fn the_same_is_within_five_percent() {
        for (low, high, outcome) in [
            (0.97, 1.03, Outcome::Reproduced),
            (0.99, 1.06, Outcome::Undecided),
            (1.06, 1.2, Outcome::NotReproduced),
            (0.8, 0.9, Outcome::NotReproduced),
        ] {
            assert_eq!(takes_the_same("it", Some(&measured(low, high))).outcome, outcome, "{low} {high}");
        }
    }

    #[test]
    fn the_same_is_within_half_of_a_published_effect() {
        let judge = |published: &[f64], low: f64, high: f64, floor: f64| {
            takes_the_same_beside("it", published, Some(&Ratio { floor, ..measured(low, high) }))
        };
        // Half of 0.937 is 0.968, or 1.033 the other way.
        for (low, high, floor, outcome) in [
            (0.97, 1.03, 0.01, Outcome::Reproduced),
            (0.97, 1.04, 0.01, Outcome::Undecided),
            (1.035, 1.045, 0.01, Outcome::NotReproduced),
            (0.94, 0.96, 0.01, Outcome::NotReproduced),
            // Two runs of the same files may differ by more than that.
            (0.99, 1.01, 0.04, Outcome::Undecided),
            (1.035, 1.045, 0.05, Outcome::Undecided),
            (1.06, 1.07, 0.05, Outcome::NotReproduced),
        ] {
            let found = judge(&[0.937, 0.5], low, high, floor);
            assert_eq!(found.outcome, outcome, "{low} {high} {floor}: {:?}", found.reasons);
        }
        // A large effect makes nothing the same that is not within the common margin.
        assert_eq!(judge(&[0.1], 0.97, 1.03, 0.01), judge(&[], 0.97, 1.03, 0.01));
        assert_eq!(judge(&[0.1], 1.06, 1.07, 0.01).outcome, Outcome::NotReproduced);
    }

    #[test]
    fn sizes_have_no_interval() {
        for (found, outcome) in [
            (1.42, Outcome::Reproduced),
            (1.60, Outcome::Reproduced),
            (1.3, Outcome::Changed),
            (1.7, Outcome::Changed),
            (0.9, Outcome::NotReproduced),
        ] {
            assert_eq!(is_as_large("lz4", &[1.42, 1.58], Some(found)).outcome, outcome, "{found}");
        }
        // Two percent more is neither none nor four.
        for (found, outcome) in [
            (1.018, Outcome::Reproduced),
            (1.001, Outcome::Changed),
            (1.039, Outcome::Changed),
            (0.999, Outcome::NotReproduced),
        ] {
            assert_eq!(is_as_large("lzo", &[1.02], Some(found)).outcome, outcome, "{found}");
        }
        assert_eq!(is_as_large("lz4", &[1.42], None).outcome, Outcome::Undecided);
    }

    #[test]
    fn outcomes_name_published_claims() {
        let published = published_experiment("zlib-vs-zstd-pack").unwrap();
        let judged = ["rev-list", "no-such-claim"].map(|id| (id, Judgement::not_measured("git")));
        let [ClaimOutcome::Judged(claim)] = &claim_outcomes(published, judged)[..] else { panic!("not one claim") };
        assert_eq!((claim.id.as_str(), claim.outcome), ("rev-list", Outcome::Undecided));
    }
}
