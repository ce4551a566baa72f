//! Results as one JSON document.

use repackbench_analysis::{JoinedVariant, Results, joined_jobs};
use repackbench_records::WorkloadComparison;
use serde::Serialize;
use serde_json::{Value, json};

use crate::sections::joined::job_names;

/// One variant in one job over several repositories.
#[derive(Debug, Serialize)]
struct JoinedRow {
    workload: String,
    variant: String,
    repositories: usize,
    time_mean: f64,
    time_total: f64,
    size_mean: f64,
    size_total: f64,
}

/// All findings as one JSON document.
///
/// # Errors
/// If a value has no JSON form.
pub fn json(results: &Results) -> serde_json::Result<String> {
    let mut document = json!({
        "comparisons": comparisons(results),
        "joined": joined(results),
        "budgets": results.budgets,
        "explanations": results.explanations,
        "traces": results.traces,
        "sizes": results.sizes,
        "experiments": results.experiments,
    });
    // Left out if there are none, as in documents of older versions.
    insert(&mut document, "estimates", &results.estimates)?;
    insert(&mut document, "chains", &results.chains)?;
    insert(&mut document, "device_checks", &results.device_checks)?;
    insert(&mut document, "memory_checks", &results.memory_checks)?;
    if let (Value::Object(fields), Some(fleet)) = (&mut document, &results.fleet) {
        fields.insert("fleet".to_owned(), serde_json::to_value(fleet)?);
    }
    insert(&mut document, "fleet_systems", &results.fleet_systems)?;
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

/// The comparisons. The name of a self-test's row is a comment on its spec, as in documents of older versions: `zlib:6 #1`.
fn comparisons(results: &Results) -> Vec<WorkloadComparison> {
    let mut comparisons = results.comparisons.clone();
    for row in comparisons.iter_mut().flat_map(|comparison| &mut comparison.rows) {
        if let (Some(spec), Some(name)) = (&mut row.variant.spec, row.variant.self_test_name.take()) {
            spec.typed = format!("{} #{name}", spec.typed);
        }
    }
    comparisons
}

/// Adds `values` to `document`, unless there are none.
fn insert<T: Serialize>(document: &mut Value, name: &str, values: &[T]) -> serde_json::Result<()> {
    if let (Value::Object(fields), false) = (document, values.is_empty()) {
        fields.insert(name.to_owned(), serde_json::to_value(values)?);
    }
    Ok(())
}

fn joined(results: &Results) -> Vec<JoinedRow> {
    let jobs = joined_jobs(&results.comparisons);
    let names = job_names(&jobs, &results.comparisons);
    let of_job = |(job, name): (_, &String)| -> Vec<JoinedRow> {
        let row = |of: JoinedVariant| JoinedRow {
            workload: name.clone(),
            variant: of.variant,
            repositories: of.repositories,
            time_mean: of.time_mean,
            time_total: of.time_total,
            size_mean: of.size_mean,
            size_total: of.size_total,
        };
        repackbench_analysis::JoinedJob::variants(job).into_iter().map(row).collect()
    };
    jobs.iter().zip(&names).flat_map(of_job).collect()
}
