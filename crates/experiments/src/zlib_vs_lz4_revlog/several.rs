//! What several repositories tell: whether the gain is only to be noticed in large ones.

use repackbench_records::{Estimate, Experiment, ExperimentTable, Outcome, published_experiment};

use super::{
    AS_FOUND, NAME, OLD,
    tables::{LZ4, SIZE, UPDATE_COLUMN, ZLIB, by_extension, commands_title, is_column, sizes_title},
};
use crate::{
    estimates::median_estimate,
    text::{megabytes, seconds},
    verdict::{Judgement, claim},
};

/// The claim that one repository does not decide.
const CLAIM: &str = "large-only";
/// People notice a delay from about here on, in seconds.
const NOTICED: f64 = 0.1;

/// The largest repository has to be so many times as large as the smallest.
const LARGER: f64 = 5.0;

/// What one repository's result says.
struct Gain {
    fingerprint: String,
    bytes: f64,
    /// What lz4 saves of the elapsed time of update, both by the extension, in seconds: of pairs of runs in the same block.
    saved: Estimate,
}

/// Judges the claim in each of the results, if those of several repositories are there.
pub(crate) fn compare_repositories(results: &mut [Experiment]) {
    let gains = |layout: &str| {
        let of_this = results.iter().filter(|experiment| experiment.name == NAME);
        of_this.filter_map(|experiment| gain(experiment, layout)).collect()
    };
    // As with the other claims, the layout of 2012 decides where it was measured.
    let Some(judgement) = [OLD, AS_FOUND].into_iter().find_map(|layout| judge(layout, gains(layout))) else { return };
    let outcome = published_experiment(NAME).and_then(|published| claim(published, CLAIM, judgement));
    let Some(outcome) = outcome else { return };
    for experiment in results.iter_mut().filter(|experiment| experiment.name == NAME) {
        for found in experiment.claims.iter_mut().filter(|found| found.claim == outcome.claim) {
            found.clone_from(&outcome);
        }
    }
}

/// `None` where there are no two repositories: the same one twice is one.
fn judge(layout: &str, mut gains: Vec<Gain>) -> Option<Judgement> {
    gains.sort_by(|one, other| one.bytes.total_cmp(&other.bytes));
    let (smallest, largest) = (gains.first()?, gains.last()?);
    if smallest.fingerprint == largest.fingerprint {
        return None;
    }
    let measured = format!("{layout}, {}; {}", shown(smallest), shown(largest));
    let undecided = |reason: &str| Judgement::new(Outcome::Undecided, measured.clone(), reason.to_owned());
    if largest.bytes < LARGER * smallest.bytes {
        return Some(undecided(
            "The repositories are too much alike: it takes one that is five times as large as another.",
        ));
    }
    let (Some([small_low, small_high]), Some([large_low, large_high])) =
        (smallest.saved.interval, largest.saved.interval)
    else {
        return Some(undecided("What update saves has no interval in one of them: it takes six runs."));
    };
    let decided = |outcome, reason: &str| Judgement::new(outcome, measured.clone(), reason.to_owned());
    Some(if small_low >= NOTICED {
        let reason = "In the smallest repository, too, the whole interval of what update saves is at 0.1 s or more.";
        decided(Outcome::NotReproduced, reason)
    } else if small_high < NOTICED && large_low >= NOTICED {
        let reason = "Only in the largest repository the whole interval of what update saves is at 0.1 s or more, which people notice.";
        decided(Outcome::Reproduced, reason)
    } else if small_high < NOTICED && large_high < NOTICED {
        undecided("In neither repository update saves 0.1 s or more.")
    } else {
        undecided("An interval of what update saves reaches across 0.1 s.")
    })
}

fn shown(gain: &Gain) -> String {
    let signed = |time: f64| format!("{}{}", if time < 0.0 { "-" } else { "" }, seconds(time.abs()));
    let interval = gain.saved.interval.map(|[low, high]| format!(" [{}, {}]", signed(low), signed(high)));
    format!("{}: {}{} saved", megabytes(gain.bytes), signed(gain.saved.value), interval.unwrap_or_default())
}

/// What hg update gained in the repository in that layout.
fn gain(experiment: &Experiment, layout: &str) -> Option<Gain> {
    let table = |title: String| experiment.tables.iter().find(|table| table.title == title);
    let (sizes, commands) = (table(sizes_title(layout))?, table(commands_title(layout))?);
    let bytes = value(sizes, ZLIB, SIZE)?.value;
    let (zlib, lz4) = (value(commands, &by_extension(ZLIB), UPDATE_COLUMN)?, value(commands, LZ4, UPDATE_COLUMN)?);
    // Times are in the order of their blocks; of a block that the user stopped, one may have a run that the other has not.
    let saved = zlib.samples.iter().zip(&lz4.samples).map(|(zlib, lz4)| zlib - lz4);
    let saved = median_estimate(saved.collect())?;
    Some(Gain { fingerprint: experiment.repository.fingerprint.clone(), bytes, saved })
}

fn value<'a>(table: &'a ExperimentTable, row: &str, column: &str) -> Option<&'a Estimate> {
    let at = table.columns.iter().position(|found| is_column(found, column))?;
    let row = table.rows.iter().find(|found| found.label == row)?;
    row.measured.get(at)?.as_ref()
}

#[cfg(test)]
mod tests {
    use repackbench_records::{ExperimentRow, Unit};

    use super::*;
    use crate::{
        setting::begin,
        tables::column,
        tests::{Setting, files_of},
    };

    fn gain(fingerprint: &str, megabytes: f64, low: f64, high: f64) -> Gain {
        let saved = Estimate { value: (low + high) / 2.0, interval: Some([low, high]), samples: vec![] };
        Gain { fingerprint: fingerprint.to_owned(), bytes: megabytes * 1e6, saved }
    }

    /// A result of a repository of so many megabytes, with what lz4 saves in each of six runs in the layout of 2012 and as found.
    fn result(fingerprint: &str, megabytes: f64, saved: [f64; 2]) -> Experiment {
        let setting = Setting::new(&files_of(1), 1);
        let mut result = setting.run(|context| begin(context, published_experiment(NAME).unwrap())).unwrap();
        result.repository.fingerprint = fingerprint.to_owned();
        let table = |title: String, name: &str, rows: Vec<(String, Vec<f64>)>| ExperimentTable {
            title,
            columns: vec![column(name, Unit::Seconds)],
            rows: rows
                .into_iter()
                .map(|(label, samples)| ExperimentRow {
                    label,
                    published: vec![None],
                    measured: vec![median_estimate(samples)],
                })
                .collect(),
        };
        for (layout, saved) in [OLD, AS_FOUND].into_iter().zip(saved) {
            result.tables.push(table(sizes_title(layout), SIZE, vec![(ZLIB.to_owned(), vec![megabytes * 1e6])]));
            let times = vec![(by_extension(ZLIB), vec![2.0; 6]), (LZ4.to_owned(), vec![2.0 - saved; 6])];
            result.tables.push(table(commands_title(layout), UPDATE_COLUMN, times));
        }
        let judgement = Judgement::missing("It takes two repositories.");
        result.claims.extend(claim(published_experiment(NAME).unwrap(), CLAIM, judgement));
        result
    }

    #[test]
    fn the_layout_of_2012_decides_where_two_repositories_have_it() {
        // As found the gain is to be noticed in the small one, too.
        let mut results = vec![result("small", 5.0, [0.01, 0.5]), result("large", 500.0, [1.5, 1.5])];
        compare_repositories(&mut results);
        for result in &results {
            assert_eq!(result.claims[0].outcome, Outcome::Reproduced, "{:?}", result.claims);
        }
        results[0].tables.retain(|table| !table.title.ends_with(OLD));
        compare_repositories(&mut results);
        assert_eq!(results[1].claims[0].outcome, Outcome::NotReproduced, "{:?}", results[1].claims);
    }

    #[test]
    fn a_gain_has_to_be_noticed_in_the_large_one_alone() {
        let judge = |small: [f64; 2], large: [f64; 2]| {
            judge(OLD, vec![gain("large", 500.0, large[0], large[1]), gain("small", 5.0, small[0], small[1])]).unwrap()
        };
        assert_eq!(judge([0.01, 0.03], [1.4, 1.6]).outcome, Outcome::Reproduced);
        assert_eq!(judge([0.15, 0.25], [1.4, 1.6]).outcome, Outcome::NotReproduced);
        let neither = judge([-0.02, 0.0], [0.04, 0.06]);
        assert_eq!(neither.outcome, Outcome::Undecided);
        assert_eq!(
            neither.measured,
            "in the layout of 2012, 5.00 MB: -10 ms [-20 ms, 0 s] saved; 500 MB: 50 ms [40 ms, 60 ms] saved"
        );
        // Medians on both sides of 0.1 s, and noise that could have put them there.
        assert_eq!(judge([-0.3, 0.4], [1.4, 1.6]).outcome, Outcome::Undecided);
        assert_eq!(judge([0.01, 0.03], [-0.2, 0.6]).outcome, Outcome::Undecided);
    }

    #[test]
    fn repositories_have_to_be_two_and_of_different_sizes() {
        let of = |other: &str, megabytes| {
            judge(AS_FOUND, vec![gain("one", 5.0, 0.08, 0.09), gain(other, megabytes, 0.11, 0.12)])
        };
        assert_eq!(of("one", 5.0), None);
        assert_eq!(of("other", 6.0).unwrap().outcome, Outcome::Undecided);
        assert_eq!(of("other", 25.0).unwrap().outcome, Outcome::Reproduced);
    }
}
