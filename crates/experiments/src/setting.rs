//! The machine and the repository of a result.

use std::time::{SystemTime, UNIX_EPOCH};

use repackbench_records::{
    EXPERIMENT_SCHEMA_VERSION, Experiment, Host, Published, Record, RepositoryState, SizeRecord, Storage, Vcs,
    published_experiment,
};
use repackbench_timing::{host_with_software, record_names::vcs_of};
use repackbench_writer::fingerprint;

use crate::{Context, ExperimentError};

/// The published experiment of this name.
pub(crate) fn published(name: &'static str) -> Result<&'static Published, ExperimentError> {
    let refused = || ExperimentError::Refused { experiment: name, why: "nothing was published of it".to_owned() };
    published_experiment(name).ok_or_else(refused)
}

/// A result without figures.
pub(crate) fn begin(context: &Context<'_>, published: &Published) -> Result<Experiment, ExperimentError> {
    let repository = RepositoryState {
        name: context.name.to_owned(),
        fingerprint: fingerprint(context.source)?.to_string(),
        vcs: Some(vcs_of(context.source)),
        ..RepositoryState::default()
    };
    let host = Host {
        source_storage: Storage::of(context.source.folder()),
        variant_storage: Storage::of(context.cache.root()),
        ..host_with_software(&[Vcs::Git, Vcs::Mercurial])
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Experiment {
        experiment_schema: EXPERIMENT_SCHEMA_VERSION,
        name: published.name.clone(),
        command: context.options.command.clone(),
        began_unix_ms: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
        host,
        repository,
        differences: Vec::new(),
        tables: Vec::new(),
        listings: Vec::new(),
        claims: Vec::new(),
        notes: Vec::new(),
    })
}

/// Completes machine and repository with the facts of `records` and the size of the repository as found.
pub(crate) fn complete(experiment: &mut Experiment, records: &[Record], as_found: &SizeRecord) {
    if let Some(record) = records.first() {
        experiment.host = record.host.clone();
    }
    experiment.repository.objects = Some(as_found.objects.sum().entries);
    experiment.repository.bytes = Some(as_found.total_bytes);
    experiment.repository.head = records.iter().find_map(|record| record.repository.head.clone());
    experiment.repository.tip = records.iter().find_map(|record| record.repository.tip.clone());
}
