//! From figures to verdicts, by rules.
//!
//! - A claim that something takes less, or more, is **reproduced** where the interval lies wholly beyond the noise floor on that side of
//!   1, the published figure lies within the interval, widened by a [tolerance](TIME_TOLERANCE), and the interval is narrow enough to leave
//!   out both half and twice the published effect; **changed** where the side is the same and the figure is not in it; **not reproduced**
//!   where the interval lies on the other side, within the floor on both if that is less than [half](SAME_EFFECT) of the published effect,
//!   or across the floor with less than a [quarter](EFFECT_TOLERANCE) of that effect in it; and **undecided** where it lies anywhere
//!   else, is too wide to tell the figure, or where there is none.
//! - An effect is the logarithm of a ratio, so that half of 0.81 is 0.9.
//! - A claim that two take the same is **reproduced** where the interval lies within [`SAME`] of 1 and within [half](SAME_EFFECT) of the
//!   effect that was published beside it, **not reproduced** where it lies wholly beyond, and beyond the noise floor, and undecided else.
//! - Sizes are exact: they have a tolerance of their own, and are never undecided.

use repackbench_records::{ClaimOutcome, Estimate, Outcome, Published};

use crate::{
    estimates::Ratio,
    text::{estimate, percent, ratio, size_ratio},
};

/// A time ratio is the published one if that lies no further than this beyond its interval, as a part of 1, nor further than
/// [`EFFECT_TOLERANCE`].
pub(crate) const TIME_TOLERANCE: f64 = 0.02;
/// The same as a part of the published effect: a small one has a small tolerance.
const EFFECT_TOLERANCE: f64 = 0.25;
/// An interval tells a figure if it holds neither so many times the published effect nor that effect divided by it.
const TOLD: f64 = 2.0;
/// The same of sizes, which have no interval; nor further than [`EFFECT_TOLERANCE`] either.
pub(crate) const SIZE_TOLERANCE: f64 = 0.02;
/// Two times are about the same if their ratio is no further from 1.
pub(crate) const SAME: f64 = 0.05;
/// Nor further than so much of the smallest effect that was published beside it.
const SAME_EFFECT: f64 = 0.5;

/// A verdict and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Judgement {
    pub(crate) outcome: Outcome,
    /// What was measured, as text.
    pub(crate) measured: String,
    pub(crate) reason: String,
}

impl Judgement {
    /// What was not measured.
    pub(crate) fn missing(why: &str) -> Self {
        Judgement { outcome: Outcome::Undecided, measured: String::new(), reason: why.to_owned() }
    }

    pub(crate) fn new(outcome: Outcome, measured: String, reason: String) -> Self {
        Judgement { outcome, measured, reason }
    }
}

/// The outcome of a published claim.
pub(crate) fn claim(published: &Published, id: &str, judgement: Judgement) -> Option<ClaimOutcome> {
    let found = published.claim(id)?;
    Some(ClaimOutcome {
        claim: found.claim.clone(),
        published: found.figure.clone(),
        measured: judgement.measured,
        outcome: judgement.outcome,
        reason: judgement.reason,
    })
}

/// The outcomes of published claims, by their names.
pub(crate) fn outcomes<'a>(
    published: &Published,
    judged: impl IntoIterator<Item = (&'a str, Judgement)>,
) -> Vec<ClaimOutcome> {
    judged.into_iter().filter_map(|(id, judgement)| claim(published, id, judgement)).collect()
}

/// On which side of 1 something lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Below,
    Within,
    Above,
    /// On more than one of them, or nobody knows.
    Unknown,
}

/// On which side of 1 the ratio lies, beyond the noise floor.
pub(crate) fn side(ratio: &Ratio) -> Side {
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

/// Judges that `what` takes `published` as long as something else; several published figures are a range.
pub(crate) fn takes(what: &str, published: &[f64], measured: Option<&Ratio>) -> Judgement {
    let Some(found) = measured else { return Judgement::missing(&format!("{what} was not measured.")) };
    let (Some(least), Some(most)) =
        (published.iter().copied().min_by(f64::total_cmp), published.iter().copied().max_by(f64::total_cmp))
    else {
        return Judgement::missing("No figure was published.");
    };
    let expected = if most < 1.0 { Side::Below } else { Side::Above };
    let shown = estimate(&found.estimate);
    let figure = if least == most { ratio(least) } else { format!("{} to {}", ratio(least), ratio(most)) };
    let inside = in_a_sentence(what);
    let (outcome, reason) = match side(found) {
        Side::Unknown if leaves_out(found, expected, effects(least, most)[0]) => (
            Outcome::NotReproduced,
            format!(
                "{} It leaves out the published {figure}, and all but a quarter of that effect.",
                undecided(what, found)
            ),
        ),
        Side::Unknown => (Outcome::Undecided, undecided(what, found)),
        Side::Within if found.floor.ln_1p() >= effects(least, most)[0] * SAME_EFFECT => (
            Outcome::Undecided,
            format!(
                "The interval of {} lies within the noise floor of {}, which is too wide to leave out the published {figure}.",
                inside.trim_end_matches(','),
                percent(found.floor)
            ),
        ),
        Side::Within => (
            Outcome::NotReproduced,
            format!("{what} takes as long, within the noise floor of {}.", percent(found.floor)),
        ),
        found_side if found_side != expected => {
            let direction = if found_side == Side::Above { "longer" } else { "less long" };
            (Outcome::NotReproduced, format!("{what} takes {direction}: {shown}."))
        }
        _ if overlaps(&found.estimate, least, most) && !tells(&found.estimate, least, most) => (
            Outcome::Undecided,
            format!(
                "The direction holds, and the published {figure} may: but the interval of {inside} also has half or twice that effect in it."
            ),
        ),
        _ if overlaps(&found.estimate, least, most) => (
            Outcome::Reproduced,
            format!(
                "The published {figure} lies in the interval of {}, or at most {} beyond it.",
                inside.trim_end_matches(','),
                percent(tolerance(least, most))
            ),
        ),
        _ => {
            let gap = if (found.estimate.value - 1.0).abs() > (least - 1.0).abs().max((most - 1.0).abs()) {
                "more"
            } else {
                "less"
            };
            (Outcome::Changed, format!("The direction holds, and the effect is {gap} than the published {figure}."))
        }
    };
    Judgement::new(outcome, shown, reason)
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

/// Whether the interval, which lies on the published side of 1, is narrow enough to tell the figure from half and from twice its effect.
fn tells(estimate: &Estimate, least: f64, most: f64) -> bool {
    let [low, high] = estimate.interval.unwrap_or([estimate.value; 2]);
    let ([smallest, largest], [nearest, farthest]) = (effects(least, most), effects(low, high));
    nearest > smallest / TOLD && farthest < largest * TOLD
}

/// Judges that `what` takes about as long as something else.
pub(crate) fn takes_the_same(what: &str, measured: Option<&Ratio>) -> Judgement {
    takes_the_same_beside(what, &[], measured)
}

/// The same where effects were published beside it, as ratios, such as that of another codec on the same command: what is the same then
/// has to be so within half of the smallest of them.
pub(crate) fn takes_the_same_beside(what: &str, published: &[f64], measured: Option<&Ratio>) -> Judgement {
    let Some(found) = measured else { return Judgement::missing(&format!("{what} was not measured.")) };
    let (shown, inside) = (estimate(&found.estimate), in_a_sentence(what));
    let Some([low, high]) = found.estimate.interval else {
        return Judgement::new(Outcome::Undecided, shown, undecided(what, found));
    };
    let same = same_within(published);
    // What the noise floor holds is no difference.
    let other = same.max(found.floor);
    let (outcome, reason) = if high < 1.0 / (1.0 + other) || low > 1.0 + other {
        (Outcome::NotReproduced, format!("The interval of {inside} lies more than {} from 1.", percent(other)))
    } else if found.floor > same {
        let inside = inside.trim_end_matches(',');
        let reason = format!("The noise floor of {inside}, {}, is wider than {}.", percent(found.floor), percent(same));
        (Outcome::Undecided, reason)
    } else if low >= 1.0 / (1.0 + same) && high <= 1.0 + same {
        (Outcome::Reproduced, format!("The interval of {inside} lies within {} of 1.", percent(same)))
    } else {
        (
            Outcome::Undecided,
            format!("The interval of {inside} lies neither within {} of 1 nor wholly beyond.", percent(other)),
        )
    };
    Judgement::new(outcome, shown, reason)
}

/// How far from 1 the same may be, as a part of 1, beside published effects.
fn same_within(published: &[f64]) -> f64 {
    let smallest = published.iter().map(|ratio| ratio.ln().abs()).fold(f64::INFINITY, f64::min);
    (smallest * SAME_EFFECT).exp_m1().min(SAME)
}

/// Judges that `what` is `published` times as large as something else; several published figures are a range.
pub(crate) fn is_as_large(what: &str, published: &[f64], measured: Option<f64>) -> Judgement {
    let Some(found) = measured else { return Judgement::missing(&format!("The size of {what} is not known.")) };
    let least = published.iter().copied().fold(f64::INFINITY, f64::min);
    let most = published.iter().copied().fold(0.0, f64::max);
    let figure =
        if least == most { size_ratio(least) } else { format!("{} to {}", size_ratio(least), size_ratio(most)) };
    let is_same_side = (found > 1.0) == (least > 1.0);
    let tolerance = tolerance(least, most).min(SIZE_TOLERANCE);
    let (outcome, reason) = if found >= least * (1.0 - tolerance) && found <= most * (1.0 + tolerance) {
        (Outcome::Reproduced, format!("{what} is as large as published, {figure}, within {}.", percent(tolerance)))
    } else if is_same_side {
        let than = if found < least { "less" } else { "more" };
        (Outcome::Changed, format!("The direction holds; {what} is {than} than the published {figure}."))
    } else {
        (Outcome::NotReproduced, format!("{what} lies on the other side of 1 than the published {figure}."))
    };
    Judgement::new(outcome, size_ratio(found), reason)
}

/// Why nothing can be said of a ratio.
pub(crate) fn undecided(what: &str, found: &Ratio) -> String {
    match found.estimate.interval {
        None => format!(
            "{what} has no interval: it takes six runs, and a machine quiet enough for two runs of the same files to agree."
        ),
        Some(_) => {
            let inside = in_a_sentence(what);
            format!("The interval of {inside} reaches across the noise floor of {}.", percent(found.floor))
        }
    }
}

/// What can begin a sentence, as it stands inside of one: with a small letter, but for names such as GZIP.
fn in_a_sentence(what: &str) -> String {
    let mut letters = what.chars();
    match (letters.next(), letters.next()) {
        (Some(first), second) if !second.is_some_and(char::is_uppercase) => {
            first.to_lowercase().chain(what.chars().skip(1)).collect()
        }
        _ => what.to_owned(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use repackbench_records::published_experiment;

    use super::*;

    /// The one of the claim of this name.
    #[track_caller]
    pub(crate) fn outcome_of(published: &Published, id: &str, outcomes: Vec<ClaimOutcome>) -> ClaimOutcome {
        let claim = &published.claim(id).unwrap().claim;
        outcomes.into_iter().find(|outcome| outcome.claim == *claim).unwrap()
    }

    /// Each claim has an outcome, which tells of no measurement.
    #[track_caller]
    pub(crate) fn assert_all_are_undecided(published: &Published, outcomes: &[ClaimOutcome]) {
        assert_eq!(outcomes.len(), published.claims.len());
        let is_undecided =
            |outcome: &ClaimOutcome| outcome.outcome == Outcome::Undecided && outcome.measured.is_empty();
        assert!(outcomes.iter().all(is_undecided), "{outcomes:#?}");
    }

    fn measured(low: f64, high: f64) -> Ratio {
        let estimate = Estimate { value: (low * high).sqrt(), interval: Some([low, high]), samples: vec![] };
        Ratio { estimate, floor: 0.02 }
    }

    #[test]
    fn a_claim_of_less_time_needs_the_side_and_the_figure() {
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
            assert_eq!(found.outcome, outcome, "{low} {high}: {}", found.reason);
        }
        // A small effect asks for a narrow interval, and one at half of it is another.
        for (low, high, outcome) in [
            (0.50, 0.9895, Outcome::Undecided),
            (0.987, 0.989, Outcome::Changed),
            (0.96, 0.98, Outcome::Reproduced),
            (0.975, 0.98, Outcome::Reproduced),
        ] {
            let found = takes("it", &[0.97], Some(&Ratio { floor: 0.01, ..measured(low, high) }));
            assert_eq!(found.outcome, outcome, "{low} {high}: {}", found.reason);
        }
        // Within a floor that holds what was published, too.
        let noisy = takes("it", &[0.76, 0.81], Some(&Ratio { floor: 0.5, ..measured(0.9, 1.2) }));
        assert_eq!(noisy.outcome, Outcome::Undecided, "{}", noisy.reason);
        // Across the floor, and far from what was published.
        for (low, high, floor, outcome) in [
            (0.82, 1.01, 0.01, Outcome::NotReproduced),
            (0.82, 1.09, 0.01, Outcome::Undecided),
            (0.82, 1.01, 0.1, Outcome::Undecided),
        ] {
            let found = takes("it", &[1.38], Some(&Ratio { floor, ..measured(low, high) }));
            assert_eq!(found.outcome, outcome, "{low} {high} {floor}: {}", found.reason);
        }
        assert_eq!(takes("it", &[2.0], Some(&measured(1.9, 2.1))).outcome, Outcome::Reproduced);
        assert_eq!(takes("it", &[2.0], Some(&measured(1.3, 2.1))).outcome, Outcome::Undecided);
        let more = takes("it", &[0.937], Some(&measured(0.7, 0.8)));
        assert_eq!(more.reason, "The direction holds, and the effect is more than the published 0.94.");
        let less = takes("it", &[0.76, 0.81], Some(&measured(0.9, 0.92)));
        assert_eq!(less.reason, "The direction holds, and the effect is less than the published 0.76 to 0.81.");
        assert_eq!(takes("it", &[0.76, 0.81], Some(&measured(0.78, 0.79))).outcome, Outcome::Reproduced);
    }

    #[test]
    fn without_an_interval_nothing_is_decided() {
        let mut found = measured(0.9, 0.95);
        found.estimate.interval = None;
        assert_eq!(takes("it", &[0.9], Some(&found)).outcome, Outcome::Undecided);
        assert_eq!(takes_the_same("it", Some(&found)).outcome, Outcome::Undecided);
        let missing = takes("rev-list", &[0.9], None);
        assert_eq!((missing.outcome, missing.measured.as_str()), (Outcome::Undecided, ""));
        assert_eq!(missing.reason, "rev-list was not measured.");
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
    fn the_same_beside_an_effect_is_within_half_of_it() {
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
            assert_eq!(found.outcome, outcome, "{low} {high} {floor}: {}", found.reason);
        }
        // A large effect makes nothing the same that is not within the common margin.
        assert_eq!(judge(&[0.1], 0.97, 1.03, 0.01), judge(&[], 0.97, 1.03, 0.01));
        assert_eq!(judge(&[0.1], 1.06, 1.07, 0.01).outcome, Outcome::NotReproduced);
    }

    #[test]
    fn sizes_are_exact() {
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
    fn what_begins_a_sentence_can_stand_inside_of_one() {
        for (what, inside) in [
            ("The tree compressed in place", "the tree compressed in place"),
            ("hg update under lz4", "hg update under lz4"),
            ("A clone", "a clone"),
            ("GZIP", "GZIP"),
            ("", ""),
        ] {
            assert_eq!(in_a_sentence(what), inside);
        }
        let judged = takes("Reading,", &[0.9], Some(&measured(0.88, 0.92)));
        assert!(judged.reason.contains("lies in the interval of reading, or at most"), "{}", judged.reason);
    }

    #[test]
    fn a_claim_takes_its_words_from_the_data_file() {
        let published = published_experiment("zlib-vs-zstd-pack").unwrap();
        let outcome = claim(published, "rev-list", Judgement::missing("why")).unwrap();
        assert_eq!((outcome.published.as_str(), outcome.reason.as_str()), ("0.94", "why"));
        assert!(claim(published, "no-such-claim", Judgement::missing("")).is_none());
    }
}
