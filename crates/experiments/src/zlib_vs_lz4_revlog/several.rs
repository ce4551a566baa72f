//! The claim that several repositories decide: whether the gain is only noticed in large ones.

use repackbench_analysis::{Judgement, claim_outcomes, median_estimate};
use repackbench_records::{
    ClaimOutcome, Estimate, Experiment, ExperimentTable, Figure, Outcome, Statement, Unit, published_experiment,
};

use super::{
    LayoutKind, NAME,
    findings::{LZ4, SIZE, UPDATE_COLUMN, ZLIB, by_extension},
    tables::{commands_title, is_column, sizes_title},
};

/// The claim that one repository does not decide.
const CLAIM: &str = "large-only";
/// People notice a delay from about here on, in seconds.
const NOTICED: f64 = 0.1;

/// The largest repository has to be this many times as large as the smallest.
const LARGER: f64 = 5.0;

/// The gain in one repository.
struct Gain {
    fingerprint: String,
    bytes: f64,
    /// The elapsed time that lz4 saves of update, both by the extension, in seconds: of pairs of runs in the same
    /// block.
    saved: Estimate,
}

/// Judges the claim in each of the results, if they are of several repositories.
pub(crate) fn compare_repositories(results: &mut [Experiment]) {
    let gains = |layout| {
        let of_this = results.iter().filter(|experiment| experiment.name == NAME);
        of_this.filter_map(|experiment| gain(experiment, layout)).collect()
    };
    // Like with the other claims, the layout of 2012 decides if it was measured.
    let layouts = [LayoutKind::Of2012, LayoutKind::AsFound];
    let Some(judgement) = layouts.into_iter().find_map(|layout| judge(layout, gains(layout))) else { return };
    let outcomes = published_experiment(NAME).map(|published| claim_outcomes(published, [(CLAIM, judgement)]));
    let Some([outcome]) = outcomes.as_deref() else { return };
    let is_it = |claim: &&mut ClaimOutcome| matches!(claim, ClaimOutcome::Judged(judged) if judged.id == CLAIM);
    let of_this = results.iter_mut().filter(|experiment| experiment.name == NAME);
    of_this.flat_map(|experiment| &mut experiment.claims).filter(is_it).for_each(|claim| claim.clone_from(outcome));
}

/// `None` unless there are two repositories: the same one twice is one.
fn judge(layout: LayoutKind, mut gains: Vec<Gain>) -> Option<Judgement> {
    gains.sort_by(|one, other| one.bytes.total_cmp(&other.bytes));
    let (smallest, largest) = (gains.first()?, gains.last()?);
    if smallest.fingerprint == largest.fingerprint {
        return None;
    }
    let measured = [smallest, largest].map(|gain| {
        let saved = layout.says("saved-in-repository").with("bytes", Figure::bytes(gain.bytes));
        saved.with("saved", Figure::estimated(&gain.saved, Unit::Seconds))
    });
    let judge = |outcome, reason| Some(Judgement::new(outcome, measured.to_vec(), reason));
    if largest.bytes < LARGER * smallest.bytes {
        let times = Figure::exact(LARGER, Unit::Count);
        return judge(Outcome::Undecided, Statement::new("repositories-too-alike").with("times", times));
    }
    let (Some([small_low, small_high]), Some([large_low, large_high])) =
        (smallest.saved.interval, largest.saved.interval)
    else {
        return judge(Outcome::Undecided, Statement::new("saving-without-interval"));
    };
    let (outcome, id) = if small_low >= NOTICED {
        (Outcome::NotReproduced, "noticed-in-smallest")
    } else if small_high < NOTICED && large_low >= NOTICED {
        (Outcome::Reproduced, "noticed-only-in-largest")
    } else if small_high < NOTICED && large_high < NOTICED {
        (Outcome::Undecided, "noticed-in-neither")
    } else {
        (Outcome::Undecided, "perhaps-noticed")
    };
    judge(outcome, Statement::new(id).with("noticed", Figure::seconds(NOTICED)))
}

/// The gain of hg update in the repository in that layout.
fn gain(experiment: &Experiment, layout: LayoutKind) -> Option<Gain> {
    let table = |title: Statement| experiment.tables.iter().find(|table| table.is_titled(&title));
    let (sizes, commands) = (table(sizes_title(layout))?, table(commands_title(layout))?);
    let bytes = value(sizes, ZLIB, SIZE)?.value;
    let (zlib, lz4) = (value(commands, &by_extension(ZLIB), UPDATE_COLUMN)?, value(commands, LZ4, UPDATE_COLUMN)?);
    // Times are in the order of their blocks; in a block that the user stopped, only one of the two may have a run.
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
    use super::*;
    use crate::{
        setting::begin,
        tables::{column, unpublished},
        tests::{Setting, files_of, reason},
        zlib_vs_lz4_revlog::LayoutKind::{AsFound, Of2012},
    };

    fn gain(fingerprint: &str, megabytes: f64, low: f64, high: f64) -> Gain {
        let saved = Estimate { value: (low + high) / 2.0, interval: Some([low, high]), samples: vec![] };
        Gain { fingerprint: fingerprint.to_owned(), bytes: megabytes * 1e6, saved }
    }

    /// The result of a repository of `megabytes`, with the time that lz4 saves in each of six runs in the layout of
    /// 2012 and as found.
    fn result(fingerprint: &str, megabytes: f64, saved: [f64; 2]) -> Experiment {
        let setting = Setting::new(&files_of(1), 1);
        let mut result = setting.run(|context| begin(context, published_experiment(NAME).unwrap())).unwrap();
        result.repository.fingerprint = fingerprint.to_owned();
        let table = |title: Statement, name: &str, rows: Vec<(String, Vec<f64>)>| ExperimentTable {
            title: title.into(),
            columns: vec![column(name, Unit::Seconds)],
            rows: rows.into_iter().map(|(label, samples)| unpublished(label, vec![median_estimate(samples)])).collect(),
        };
        for (layout, saved) in [Of2012, AsFound].into_iter().zip(saved) {
            result.tables.push(table(sizes_title(layout), SIZE, vec![(ZLIB.to_owned(), vec![megabytes * 1e6])]));
            let times = vec![(by_extension(ZLIB), vec![2.0; 6]), (LZ4.to_owned(), vec![2.0 - saved; 6])];
            result.tables.push(table(commands_title(layout), UPDATE_COLUMN, times));
        }
        let judgement = Judgement::missing(Statement::new("one-repository"));
        result.claims.extend(claim_outcomes(published_experiment(NAME).unwrap(), [(CLAIM, judgement)]));
        result
    }

    #[test]
    fn layout_of_2012_decides_if_two_repositories_have_it() {
        // As found the gain is noticed in the small one, too.
        let mut results = vec![result("small", 5.0, [0.01, 0.5]), result("large", 500.0, [1.5, 1.5])];
        compare_repositories(&mut results);
        for result in &results {
            assert_eq!(result.claims[0].outcome(), Outcome::Reproduced, "{:?}", result.claims);
        }
        results[0]
            .tables
            .retain(|table| [sizes_title(Of2012), commands_title(Of2012)].iter().all(|title| !table.is_titled(title)));
        compare_repositories(&mut results);
        assert_eq!(results[1].claims[0].outcome(), Outcome::NotReproduced, "{:?}", results[1].claims);
    }

    #[test]
    fn gain_has_to_be_noticed_only_in_the_large_one() {
        let judge = |small: [f64; 2], large: [f64; 2]| {
            judge(Of2012, vec![gain("large", 500.0, large[0], large[1]), gain("small", 5.0, small[0], small[1])])
                .unwrap()
        };
        assert_eq!(judge([0.01, 0.03], [1.4, 1.6]).outcome, Outcome::Reproduced);
        assert_eq!(judge([0.15, 0.25], [1.4, 1.6]).outcome, Outcome::NotReproduced);
        let neither = judge([-0.02, 0.0], [0.04, 0.06]);
        assert_eq!(neither.outcome, Outcome::Undecided);
        assert_eq!(
            reason(&neither.measured),
            "5.00 MB in the layout of 2012: -10.0 ms [-20.0 ms, 0.00 us] saved 500 MB in the layout of 2012: 50.0 ms [40.0 \
             ms, 60.0 ms] saved"
        );
        // Medians on both sides of 0.1 s, and noise that could have put them there.
        assert_eq!(judge([-0.3, 0.4], [1.4, 1.6]).outcome, Outcome::Undecided);
        assert_eq!(judge([0.01, 0.03], [-0.2, 0.6]).outcome, Outcome::Undecided);
    }

    #[test]
    fn repositories_have_to_be_two_and_of_different_sizes() {
        let of = |other: &str, megabytes| {
            judge(AsFound, vec![gain("one", 5.0, 0.08, 0.09), gain(other, megabytes, 0.11, 0.12)])
        };
        assert_eq!(of("one", 5.0), None);
        assert_eq!(of("other", 6.0).unwrap().outcome, Outcome::Undecided);
        assert_eq!(of("other", 25.0).unwrap().outcome, Outcome::Reproduced);
    }
}
