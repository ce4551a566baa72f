//! What several repositories tell: whether the gain is only to be noticed in large ones.

use repackbench_records::{Experiment, ExperimentTable, Outcome, published_experiment};

use super::{
    AS_FOUND, NAME,
    tables::{LZ4, SIZE, UPDATE_COLUMN, ZLIB, commands_title, is_column, sizes_title},
};
use crate::{
    text::{megabytes, seconds},
    verdict::{Judgement, claim},
};

/// The claim that one repository does not decide.
const CLAIM: &str = "large-only";
/// People notice a delay from about here on, in seconds.
const NOTICED: f64 = 0.1;

/// What one repository's result says.
struct Gain {
    bytes: f64,
    /// What lz4 saves of the elapsed time of update, in seconds.
    saved: f64,
}

/// Judges the claim in each of the results, if those of several repositories are there.
pub(crate) fn compare_repositories(results: &mut [Experiment]) {
    let of_this = results.iter().filter(|experiment| experiment.name == NAME);
    let mut gains: Vec<Gain> = of_this.filter_map(gain).collect();
    gains.sort_by(|one, other| one.bytes.total_cmp(&other.bytes));
    let (Some(smallest), Some(largest)) = (gains.first(), gains.last().filter(|_| gains.len() > 1)) else { return };
    let judgement = judge(smallest, largest);
    let outcome = published_experiment(NAME).and_then(|published| claim(published, CLAIM, judgement));
    let Some(outcome) = outcome else { return };
    for experiment in results.iter_mut().filter(|experiment| experiment.name == NAME) {
        for found in experiment.claims.iter_mut().filter(|found| found.claim == outcome.claim) {
            found.clone_from(&outcome);
        }
    }
}

fn judge(smallest: &Gain, largest: &Gain) -> Judgement {
    let shown = |gain: &Gain| {
        let sign = if gain.saved < 0.0 { "-" } else { "" };
        format!("{}: {sign}{} saved", megabytes(gain.bytes), seconds(gain.saved.abs()))
    };
    let (outcome, reason) = match (smallest.saved >= NOTICED, largest.saved >= NOTICED) {
        (false, true) => (
            Outcome::Reproduced,
            "Only in the largest repository update gets faster by 0.1 s or more, which people notice.",
        ),
        (true, _) => (Outcome::NotReproduced, "In the smallest repository, too, update gets faster by 0.1 s or more."),
        (false, false) => (Outcome::Undecided, "In neither repository update gets faster by 0.1 s or more."),
    };
    Judgement::new(outcome, format!("{}; {}", shown(smallest), shown(largest)), reason.to_owned())
}

/// What hg update gained in the repository as found.
fn gain(experiment: &Experiment) -> Option<Gain> {
    let table = |title: String| experiment.tables.iter().find(|table| table.title == title);
    let (sizes, commands) = (table(sizes_title(AS_FOUND))?, table(commands_title(AS_FOUND))?);
    let bytes = value(sizes, ZLIB, SIZE)?;
    Some(Gain { bytes, saved: value(commands, ZLIB, UPDATE_COLUMN)? - value(commands, LZ4, UPDATE_COLUMN)? })
}

fn value(table: &ExperimentTable, row: &str, column: &str) -> Option<f64> {
    let at = table.columns.iter().position(|found| is_column(found, column))?;
    let row = table.rows.iter().find(|found| found.label == row)?;
    row.measured.get(at)?.as_ref().map(|estimate| estimate.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_has_to_be_noticed_in_the_large_one_alone() {
        let gain = |megabytes: f64, saved| Gain { bytes: megabytes * 1e6, saved };
        let judge = |small, large| judge(&gain(5.0, small), &gain(500.0, large));
        assert_eq!(judge(0.02, 1.5).outcome, Outcome::Reproduced);
        assert_eq!(judge(0.2, 1.5).outcome, Outcome::NotReproduced);
        let neither = judge(-0.01, 0.05);
        assert_eq!(neither.outcome, Outcome::Undecided);
        assert_eq!(neither.measured, "5.00 MB: -10 ms saved; 500 MB: 50 ms saved");
    }
}
