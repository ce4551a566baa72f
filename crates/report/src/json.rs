//! Results as one JSON document.

use repackbench_analysis::Results;
use serde_json::json;

use crate::joined::joined;

/// What the tables are made of as one JSON document.
///
/// # Errors
/// A figure has no form in JSON.
pub fn json(results: &Results) -> serde_json::Result<String> {
    let document = json!({
        "comparisons": results.comparisons,
        "joined": joined(&results.comparisons),
        "budgets": results.budgets,
        "explanations": results.explanations,
        "traces": results.traces,
        "sizes": results.sizes,
        "experiments": results.experiments,
    });
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
