//! The claims of an experiment with their verdicts.

use repackbench_records::{ClaimOutcome, Experiment, Outcome, published_experiment};

use super::statement::{enumeration, paragraph};

/// A claim in words, for any output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClaimInWords {
    pub(crate) claim: String,
    /// The published figure; empty where the claim has none.
    pub(crate) published: String,
    /// The measured figures; empty where nothing was measured.
    pub(crate) measured: String,
    pub(crate) outcome: Outcome,
    pub(crate) reason: String,
}

impl ClaimInWords {
    /// The published and the measured figures in one line.
    pub(crate) fn figures(&self) -> String {
        let published = if self.published.is_empty() { "without a figure" } else { &self.published };
        let measured = if self.measured.is_empty() { "nothing" } else { &self.measured };
        format!("published: {published}; measured: {measured}.")
    }
}

/// The claims of `experiment`, in the order of its result.
pub(crate) fn claims(experiment: &Experiment) -> Vec<ClaimInWords> {
    experiment.claims.iter().map(|claim| in_words(&experiment.name, claim)).collect()
}

fn in_words(experiment: &str, claim: &ClaimOutcome) -> ClaimInWords {
    match claim {
        ClaimOutcome::Judged(judged) => {
            let published = published_experiment(experiment).and_then(|published| published.claim(&judged.id));
            ClaimInWords {
                claim: published.map_or_else(|| judged.id.clone(), |published| published.claim.clone()),
                published: published.map_or_else(String::new, |published| published.figure.clone()),
                measured: enumeration(&judged.measured),
                outcome: judged.outcome,
                reason: paragraph(&judged.reasons),
            }
        }
        ClaimOutcome::Text(text) => ClaimInWords {
            claim: text.claim.clone(),
            published: text.published.clone(),
            measured: text.measured.clone(),
            outcome: text.outcome,
            reason: text.reason.clone(),
        },
    }
}
