//! Verdicts and figures as text.

use repackbench_records::{Estimate, Experiment, Outcome, Unit};

use crate::number::{bytes, multiple, seconds, share, thousands};

/// All verdicts, reproduced claims first.
const OUTCOMES: [Outcome; 5] =
    [Outcome::Reproduced, Outcome::Changed, Outcome::NotReproduced, Outcome::NotComparable, Outcome::Undecided];

/// A verdict in words.
pub(crate) fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Reproduced => "reproduced",
        Outcome::Changed => "changed",
        Outcome::NotReproduced => "not reproduced",
        Outcome::NotComparable => "not comparable",
        Outcome::Undecided => "undecided",
    }
}

/// The number of claims with each verdict.
pub(crate) fn summary(experiment: &Experiment) -> String {
    let counts = OUTCOMES.iter().filter_map(|outcome| {
        let count = experiment.claims.iter().filter(|claim| claim.outcome() == *outcome).count();
        (count > 0).then(|| format!("{count} {}", outcome_name(*outcome)))
    });
    let counts: Vec<String> = counts.collect();
    match (experiment.claims.len(), counts.is_empty()) {
        (_, true) => "No claim was tested.".to_owned(),
        (1, _) => format!("Of one claim: {}.", counts.join(", ")),
        (claims, _) => format!("Of {claims} claims: {}.", counts.join(", ")),
    }
}

/// A figure in its unit.
pub(crate) fn figure(value: f64, unit: Unit) -> String {
    if !value.is_finite() || value < 0.0 {
        return "-".to_owned();
    }
    match unit {
        Unit::Seconds => seconds(value),
        Unit::Bytes => bytes(value.round() as u64),
        // Without commas between thousands, as others print it.
        Unit::Identifier => format!("{value:.0}"),
        Unit::Count if value.fract() == 0.0 => thousands(value as u64),
        Unit::Count => format!("{value:.1}"),
        Unit::Ratio => multiple(value),
        Unit::Share => share(value),
    }
}

/// A measured figure with its interval.
pub(crate) fn estimate(estimate: &Estimate, unit: Unit) -> String {
    let value = figure(estimate.value, unit);
    match estimate.interval {
        Some([low, high]) => format!("{value} [{}, {}]", figure(low, unit), figure(high, unit)),
        None => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_in_the_unit_that_fits_them() {
        for (value, unit, text) in [
            (0.0, Unit::Bytes, "0 B"),
            (512.0, Unit::Bytes, "512 B"),
            (5_900.0, Unit::Bytes, "5.90 kB"),
            (13_200.0, Unit::Bytes, "13.2 kB"),
            (123_456.0, Unit::Bytes, "123 kB"),
            (999_499.0, Unit::Bytes, "999 kB"),
            (999_500.0, Unit::Bytes, "1.00 MB"),
            (246e6, Unit::Bytes, "246 MB"),
            (6810.0, Unit::Count, "6,810"),
            (6810.0, Unit::Identifier, "6810"),
            (f64::NAN, Unit::Identifier, "-"),
        ] {
            assert_eq!(figure(value, unit), text, "{value} {unit:?}");
        }
    }
}
