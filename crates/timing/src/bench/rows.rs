//! The rows of a table: repositories that are open for reading, each in its own way.

use std::time::Duration;

use repackbench_codec::{CodecSpec, Decoders, SharedFormat};
use repackbench_reader::{History, ReaderError, Repository};
use repackbench_records::{Checks, ChosenDeltaCache, ConversionCost, DeltaOrigin, Role, SizeRecord, Variant};
use repackbench_writer::{
    DeltaRecomputer, Encoding, JobControl, Layout, Progress, StoreKind,
    cache::{Cache, MakingCost, VariantDir},
    cached_recomputed, cached_variant,
};

use super::{
    decoders::{self, Readable},
    making::MakingProgress,
    plan::BenchPlan,
};
use crate::{
    BenchError,
    arms::stock::RowClient,
    context_memory,
    record_names::{variant_as_found, variant_of},
    session::BASELINE,
    sizes::{self, SharedFormats},
    workloads::VariantPlace,
};

/// The number of further names under which a self-test measures the baseline.
const SELF_TEST_NAMES: u32 = 4;

/// One row: a repository that is open for reading, once for each copy of a job that runs at once.
pub(super) struct Row {
    pub(super) variant: Variant,
    pub(super) decoder: String,
    pub(super) size: SizeRecord,
    pub(super) histories: Vec<Box<dyn History>>,
    pub(super) place: VariantPlace,
    /// The limit of the cache of delta bases; `None` for no limit.
    pub(super) delta_cache: Option<u64>,
    pub(super) checks: Checks,
    /// What making the variant took, if it was made.
    pub(super) conversion: Option<ConversionCost>,
    /// The user's own client that reads it; `None` if this program does.
    pub(super) stock: Option<RowClient>,
    /// The formats of its chunks that several implementations read.
    formats: SharedFormats,
    /// Keeps a cached variant from being pruned.
    _in_use: Option<VariantDir>,
}

impl Row {
    /// The same variant in a row of another reader.
    pub(super) fn read_by(&self, stock: RowClient, variant: Variant, decoder: String) -> Self {
        Row {
            size: SizeRecord { label: variant.label().into_owned(), ..self.size.clone() },
            variant,
            decoder,
            histories: Vec::new(),
            place: self.place.clone(),
            delta_cache: self.delta_cache,
            checks: self.checks,
            conversion: self.conversion,
            stock: Some(stock),
            formats: self.formats.clone(),
            _in_use: None,
        }
    }
}

/// A variant that is about to be opened.
struct Opening<'a> {
    repository: &'a Repository,
    variant: Variant,
    spec: Option<&'a CodecSpec>,
    /// The repository that its payloads come from, if that is another one.
    source: Option<&'a Repository>,
    in_use: Option<VariantDir>,
}

impl Opening<'_> {
    /// The rows of the variant: read by its own implementation, by the plan's other decoders that can read it, and with
    /// other limits of the cache.
    fn rows(self, plan: &BenchPlan) -> Result<Vec<Row>, BenchError> {
        let (size, formats) = sizes::examine(self.repository, &self.variant.label())?;
        let has = |format: SharedFormat| formats.contains(&format);
        let readable = Readable { spec: self.spec, has: &has };
        let own = readable.own_decoders();
        let (first_cache, other_caches) = plan.delta_caches();
        let role = if self.variant.role == Role::AsFound { Role::AsFound } else { Role::Candidate };
        let row = |variant: Variant, decoders: Decoders, decoder: String, delta_cache: Option<u64>| {
            Ok::<Row, BenchError>(Row {
                size: SizeRecord { label: variant.label().into_owned(), ..size.clone() },
                histories: histories(self.repository, decoders, delta_cache, plan.jobs)?,
                place: VariantPlace {
                    folder: self.repository.own_folder().to_owned(),
                    payloads: self.source.unwrap_or(self.repository).own_folder().to_owned(),
                    spec: self.spec.cloned(),
                    decoders,
                    delta_cache,
                },
                checks: self.checks(&formats),
                conversion: self.in_use.as_ref().and_then(VariantDir::making_cost).map(cost),
                formats: formats.clone(),
                variant,
                decoder,
                delta_cache,
                stock: None,
                _in_use: None,
            })
        };
        let name = decoders::name(self.spec, None);
        let mut rows = vec![row(self.variant.clone(), own, name.clone(), first_cache)?];
        for choice in readable.rows(&plan.decoders) {
            let decoder = Some(decoders::record(choice));
            let variant = Variant { role, decoder, ..self.variant.clone() };
            rows.push(row(variant, choice.apply(own), decoders::name(self.spec, Some(choice)), first_cache)?);
        }
        for limit_bytes in other_caches.iter().copied() {
            let delta_cache = Some(ChosenDeltaCache { limit_bytes });
            let variant = Variant { role, delta_cache, ..self.variant.clone() };
            rows.push(row(variant, own, name.clone(), limit_bytes)?);
        }
        if let Some(first) = rows.first_mut() {
            first._in_use = self.in_use;
        }
        Ok(rows)
    }

    /// What reading checks. No row reads a commit-graph or a bitmap: the reader does not know them.
    fn checks(&self, formats: &SharedFormats) -> Checks {
        let is_git = matches!(self.repository, Repository::Git(_));
        Checks {
            // A chunk of a revlog has no checksum, unless zlib brings its own.
            chunk_checksums: match self.spec {
                _ if is_git => self.variant.checksum,
                Some(spec) => spec.choices().all(|choice| choice.algorithm().is_zlib_family()),
                None => formats.contains(&SharedFormat::Zlib),
            },
            // hg hashes every text that it reads, and so does the reader of its repositories.
            object_hashes: !is_git,
            commit_graph: false,
            bitmaps: false,
        }
    }
}

fn cost(making: MakingCost) -> ConversionCost {
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    ConversionCost {
        cpu_ns: nanoseconds(making.cpu),
        wall_ns: nanoseconds(making.wall),
        search_ns: making.search.map(|search| nanoseconds(search.wall)),
        search_peak_bytes: making.search.and_then(|search| search.peak_resident_bytes),
        encode_memory_bytes: None,
    }
}

/// Adds the memory of the contexts that encode under the codec of each variant to what making it took.
pub(super) fn add_memory(source: &Repository, rows: &mut [Row], progress: &dyn Progress) -> Result<(), BenchError> {
    let with_bases = rows.iter().any(|row| row.place.uses_bases());
    let longest = context_memory::longest_of(source, with_bases, progress)?;
    for Row { conversion, place, .. } in rows {
        let (Some(conversion), Some(spec)) = (conversion, &place.spec) else { continue };
        let encoding = Encoding::of_variant(&Repository::open(&place.folder)?, spec)?;
        let memory = context_memory::measure(source, &longest, std::iter::once(&encoding))?;
        conversion.encode_memory_bytes = memory.first().and_then(|memory| memory.encode);
    }
    Ok(())
}

/// One history for each of `jobs` copies of a job.
fn histories(
    repository: &Repository,
    decoders: Decoders,
    delta_cache: Option<u64>,
    jobs: u32,
) -> Result<Vec<Box<dyn History>>, ReaderError> {
    let open = |_| {
        let mut history = repository.history(decoders)?;
        history.set_delta_cache(delta_cache);
        Ok(history)
    };
    (0..jobs.max(1)).map(open).collect()
}

/// The rows of the source as it is, without a conversion.
pub(super) fn as_found(source: &Repository, plan: &BenchPlan) -> Result<Vec<Row>, BenchError> {
    let spec = source.recorded_spec();
    let variant = variant_as_found();
    Opening { repository: source, variant, spec: spec.as_ref(), source: None, in_use: None }.rows(plan)
}

/// Checks before variants are made that each decoder of `plan` has something to read.
pub(super) fn check_decoders(source: &Repository, plan: &BenchPlan, as_found: &[Row]) -> Result<(), BenchError> {
    let specs = plan.specs(source);
    let recorded = source.recorded_spec();
    let of_source = |format| as_found.first().is_some_and(|row| row.formats.contains(&format));
    let written: Vec<_> = specs.iter().map(|spec| move |format: SharedFormat| format.is_written_by(spec)).collect();
    let variants = specs.iter().zip(&written).map(|(spec, has)| Readable { spec: Some(spec), has });
    let source = Readable { spec: recorded.as_ref(), has: &of_source };
    decoders::check(&plan.decoders, &std::iter::once(source).chain(variants).collect::<Vec<_>>())
}

/// All rows in the order of the schedule, the baseline first: the variants, and `as_found` among them.
pub(super) fn all(
    source: &Repository,
    as_found: Vec<Row>,
    plan: &BenchPlan,
    cache: &Cache,
    progress: &MakingProgress<'_>,
) -> Result<Vec<Row>, BenchError> {
    if plan.is_self_test {
        return same_under_other_names(source, plan, cache, progress);
    }
    let control = JobControl { threads: plan.threads, progress };
    let mut rows: Vec<Row> = Vec::new();
    let mut add = |spec: &CodecSpec, layout: Layout, searched_by: Option<&DeltaRecomputer>, folder: VariantDir| {
        let repository = &Repository::open(folder.path())?;
        let role = if rows.is_empty() { Role::Baseline } else { Role::Candidate };
        let deltas = if searched_by.is_some() { DeltaOrigin::Recomputed } else { DeltaOrigin::Kept };
        let delta_window = searched_by.and_then(DeltaRecomputer::chosen_window);
        let variant = Variant { delta_window, ..variant_of(source, spec, layout, role, deltas) };
        // Other stores hold no deltas.
        let has_same = deltas == DeltaOrigin::Kept && layout.store == StoreKind::AsFound;
        let payloads = has_same.then_some(source);
        let opening = Opening { repository, variant, spec: Some(spec), source: payloads, in_use: Some(folder) };
        rows.extend(opening.rows(plan)?);
        Ok::<(), BenchError>(())
    };
    for spec in plan.specs(source) {
        for layout in plan.layouts() {
            progress.next_variant(&spec);
            let folder = cached_variant(cache, source, &spec, layout, control)?;
            add(&spec, layout, None, folder)?;
        }
        for recomputer in plan.recomputers() {
            progress.next_variant(format_args!("{spec}, rechosen"));
            let folder = cached_recomputed(cache, source, &spec, recomputer, control)?;
            add(&spec, Layout::default(), Some(recomputer), folder)?;
        }
    }
    let of_source = as_found.len();
    rows.splice(BASELINE + 1..BASELINE + 1, as_found);
    // The table shows the source first.
    let mut in_table: Vec<&mut Row> = rows.iter_mut().collect();
    in_table.get_mut(..=of_source).unwrap_or_default().rotate_left(1);
    for (number, row) in (0..).zip(in_table) {
        row.variant.row = number;
    }
    Ok(rows)
}

/// The rows of a self-test: the baseline, and the same files under other names.
fn same_under_other_names(
    source: &Repository,
    plan: &BenchPlan,
    cache: &Cache,
    progress: &MakingProgress<'_>,
) -> Result<Vec<Row>, BenchError> {
    let Some(spec) = plan.specs(source).into_iter().next() else { return Ok(Vec::new()) };
    let layout = Layout::default();
    let control = JobControl { threads: plan.threads, progress };
    progress.next_variant(&spec);
    let folder = cached_variant(cache, source, &spec, layout, control)?;
    let repository = &Repository::open(folder.path())?;
    let mut in_use = Some(folder);
    let mut rows = Vec::new();
    for row in 0..=SELF_TEST_NAMES {
        let role = if row == 0 { Role::Baseline } else { Role::Candidate };
        let mut variant = Variant { row, ..variant_of(source, &spec, layout, role, DeltaOrigin::Kept) };
        variant.self_test_name = (row > 0).then(|| row.to_string());
        let opening = Opening { repository, variant, spec: Some(&spec), source: Some(source), in_use: in_use.take() };
        // Only one row of each name: other decoders and limits of the cache would make real differences.
        rows.extend(opening.rows(plan)?.into_iter().take(1));
    }
    Ok(rows)
}
