//! The traces of one workload on several variants of a repository, and the record of each.

use std::{io, path::Path};

use repackbench_codec::{CodecSpec, Decoders};
use repackbench_reader::{AccessTrace, History, Recording, Repository};
use repackbench_records::{DeltaOrigin, ModelledMemory, RepositoryState, Role, SCHEMA_VERSION, TraceRecord, Variant};
use repackbench_writer::{
    JobControl, Layout, Progress,
    cache::{Cache, VariantDir},
    cached_variant, fingerprint,
};

use super::{
    Device,
    access_map::access_maps,
    pages::{PAGE_LEN, file_pages, parts},
    store_bytes,
};
use crate::{
    BenchError,
    record_names::{variant_as_found, variant_of},
    workloads::{Counts, HistoryRange, VariantPlace, WorkloadSpec, record_accesses},
};

/// What to trace.
#[derive(Debug, Clone)]
pub struct TracePlan {
    /// The codecs of the variants. Empty for only that of the baseline, or without layouts, for only the repository as
    /// found.
    pub codecs: Vec<CodecSpec>,
    /// The codec whose store files are 100 % of a page cache. Without codecs it is the repository as found.
    pub baseline: CodecSpec,
    /// How variants are laid out on disk: each codec in each layout, the first of which is the baseline's. Empty for
    /// the layout of the source only.
    pub layouts: Vec<Layout>,
    /// The job.
    pub workload: WorkloadSpec,
    /// The part of history that it looks at.
    pub range: HistoryRange,
    /// The devices to model.
    pub devices: Vec<Device>,
    /// Sizes of a page cache to model, in percent of the baseline's store files.
    pub memory: Vec<u32>,
    /// Threads for making variants.
    pub threads: usize,
    /// The command that asked for it, as a shell reads it.
    pub command: Option<String>,
}

/// A repository to trace.
struct TracedVariant {
    repository: Option<Repository>,
    variant: Variant,
    decoders: Decoders,
    /// Keeps a cached variant from being pruned.
    _in_use: Option<VariantDir>,
}

impl TracePlan {
    /// The variants in the order in which they are traced, the baseline first.
    fn variants(
        &self,
        source: &Repository,
        cache: &Cache,
        progress: &dyn Progress,
    ) -> Result<Vec<TracedVariant>, BenchError> {
        let mut specs: Vec<CodecSpec> = Vec::new();
        let has_variants = !self.codecs.is_empty() || !self.layouts.is_empty();
        for spec in std::iter::once(&self.baseline).chain(&self.codecs).filter(|_| has_variants) {
            let spec = if matches!(source, Repository::Hg(_)) { spec.for_revlogs() } else { spec.clone() };
            if !specs.contains(&spec) {
                specs.push(spec);
            }
        }
        let recorded = source.recorded_spec();
        let mut variants = Vec::new();
        let layouts = if self.layouts.is_empty() { &[Layout::default()][..] } else { &self.layouts };
        let pairs: Vec<_> = specs.iter().flat_map(|spec| layouts.iter().map(move |layout| (spec, *layout))).collect();
        pairs.iter().try_for_each(|(spec, layout)| layout.check(source, spec))?;
        for (row, (spec, layout)) in (1..).zip(pairs) {
            let folder = cached_variant(cache, source, spec, layout, JobControl { threads: self.threads, progress })?;
            let role = if row == 1 { Role::Baseline } else { Role::Candidate };
            variants.push(TracedVariant {
                repository: Some(Repository::open(folder.path())?),
                variant: Variant { row, ..variant_of(source, spec, layout, role, DeltaOrigin::Kept) },
                decoders: Decoders::for_spec(spec),
                _in_use: Some(folder),
            });
        }
        let as_found = TracedVariant {
            repository: None,
            variant: variant_as_found(),
            decoders: recorded.as_ref().map_or_else(Decoders::default, Decoders::for_spec),
            _in_use: None,
        };
        let second = variants.len().min(1);
        variants.insert(second, as_found);
        Ok(variants)
    }

    fn memory(&self, trace: &AccessTrace, baseline_bytes: u64) -> Vec<ModelledMemory> {
        let modelled = |percent: &u32| {
            let cache_bytes = (u128::from(baseline_bytes) * u128::from(*percent) / 100).try_into().unwrap_or(u64::MAX);
            let pages = usize::try_from(cache_bytes / PAGE_LEN).unwrap_or(usize::MAX);
            let devices = self.devices.iter().map(|device| device.replay(trace, pages)).collect();
            ModelledMemory { percent: *percent, cache_bytes, devices }
        };
        self.memory.iter().map(modelled).collect()
    }
}

/// Carries `plan` out on `source`, which tables call `name`. Calls `on_trace` with the record of each trace, the trace
/// and the folder of its repository. Returns the records in the order of the table.
///
/// # Errors
/// See [`BenchError`].
pub fn trace_variants(
    source: &Repository,
    name: &str,
    plan: &TracePlan,
    cache: &Cache,
    progress: &dyn Progress,
    on_trace: &mut dyn FnMut(&TraceRecord, &AccessTrace, &Path) -> io::Result<()>,
) -> Result<Vec<TraceRecord>, BenchError> {
    let snapshot = source.snapshot()?;
    let repository = state(source, name, plan)?;
    let mut workload = plan.workload.build(&plan.range, None);
    let mut baseline_bytes = None;
    let mut reference: Option<(String, Counts)> = None;
    let mut records = Vec::new();
    for TracedVariant { repository: variant_repository, variant, decoders, _in_use } in
        plan.variants(source, cache, progress)?
    {
        if progress.is_cancelled() {
            return Err(BenchError::Interrupted);
        }
        let read = variant_repository.as_ref().unwrap_or(source);
        let mut history = read.history(decoders)?;
        let place = VariantPlace::of(read, decoders);
        let (trace, counts) = record_accesses(workload.as_mut(), history.as_mut(), &place, Recording::Accesses)?;
        check_counts(&mut reference, &variant, &workload.label().to_string(), counts)?;
        let baseline_bytes = match baseline_bytes {
            Some(bytes) => bytes,
            None => *baseline_bytes.insert(store_bytes(read)?),
        };
        let record = TraceRecord {
            schema: SCHEMA_VERSION,
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            repository: repository.clone(),
            variant,
            workload: workload.label(),
            page_len: PAGE_LEN,
            files: file_pages(&trace),
            parts: parts(&trace),
            devices: plan.devices.iter().map(|device| device.replay(&trace, usize::MAX)).collect(),
            memory: plan.memory(&trace, baseline_bytes),
            maps: access_maps(&trace),
            command: plan.command.clone(),
        };
        on_trace(&record, &trace, read.folder())
            .map_err(|source| BenchError::Io { action: "write a trace", source })?;
        records.push(record);
    }
    snapshot.check()?;
    records.sort_by_key(|record| record.variant.row);
    Ok(records)
}

/// Checks that two variants see the same: otherwise they are not the same repository.
fn check_counts(
    reference: &mut Option<(String, Counts)>,
    variant: &Variant,
    workload: &str,
    counts: Counts,
) -> Result<(), BenchError> {
    let (label, expected) = reference.get_or_insert_with(|| (variant.label().into_owned(), counts.clone()));
    if *expected == counts {
        return Ok(());
    }
    Err(BenchError::Differs {
        workload: workload.to_owned(),
        variant: variant.label().into_owned(),
        reference: label.clone(),
        expected: format!("{expected:?}"),
        found: format!("{counts:?}"),
    })
}

fn state(source: &Repository, name: &str, plan: &TracePlan) -> Result<RepositoryState, BenchError> {
    let head = if plan.workload.needs_revision() {
        // Before variants are made: a misspelt revision should not cost the time that they take.
        let mut history: Box<dyn History> = source.history(Decoders::default())?;
        Some(history.resolve(&plan.range.revision)?.to_string())
    } else {
        None
    };
    let fingerprint = fingerprint(source)?.to_string();
    Ok(RepositoryState { name: name.to_owned(), fingerprint, head, ..RepositoryState::default() })
}
