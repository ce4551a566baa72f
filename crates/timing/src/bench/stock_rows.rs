//! Rows that the user's own client reads.

mod hg;

use std::{path::Path, rc::Rc, time::Duration};

use repackbench_client::Zlib;
use repackbench_codec::{Algorithm, CodecSpec, catalogue};
use repackbench_reader::{ReaderError, Repository, git::GitRepository, hg::HgRepository};
use repackbench_records::{ConversionCost, DeltaOrigin, Role, Variant, Vcs};
use repackbench_writer::cache::{Cache, GetOrMakeError, ScratchFolder};

use super::{
    context::BenchContext,
    decoders,
    jobs::{RowGroup, WorkloadJob},
    rows::Row,
};
use crate::{
    BenchError,
    arms::stock::{
        DrawFrom, DrawFromHg, Drawn, Git, GitFeature, GitReader, GitRow, Hg, HgJob, HgNeeds, RowClient, StockClient,
        StockError, StockJob, StockPlan, StockWorkload,
    },
    workloads::WorkloadError,
};

/// The program that does the jobs.
enum Program {
    Git(Rc<Git>),
    Hg(Rc<Hg>),
}

impl Program {
    fn name(&self) -> (&str, Vcs) {
        match self {
            Program::Git(git) => (git.name(), Vcs::Git),
            Program::Hg(hg) => (hg.name(), Vcs::Mercurial),
        }
    }
}

/// The client of a session, and the folder that its commands work in.
pub(super) struct StockClients<'p> {
    plan: &'p StockPlan,
    program: Program,
    /// Removed at the end.
    folder: ScratchFolder,
}

impl<'p> StockClients<'p> {
    pub(super) fn new(plan: &'p StockPlan, source: &Repository, cache: &Cache) -> Result<Self, BenchError> {
        // On the file system of the variants, so that copies can be hard links.
        let folder = cache.scratch().map_err(GetOrMakeError::Cache)?;
        let program = match source {
            Repository::Git(_) => Program::Git(Rc::new(Git::new(&plan.git, folder.path())?)),
            Repository::Hg(_) => Program::Hg(Rc::new(Hg::new(&plan.hg, plan.hg_extension.as_deref(), folder.path())?)),
        };
        Ok(StockClients { plan, program, folder })
    }

    /// The client's rows on the variants of `variants`, which have to outlive them, and their jobs.
    pub(super) fn group<'a>(&self, context: &BenchContext<'a>, variants: &[Row]) -> Result<RowGroup<'a>, BenchError> {
        let range = &context.plan.range;
        let head = context.repository.head.as_deref();
        let drawn = Rc::new(self.draw(context, variants)?);
        let jobs = self.plan.workloads.iter().flat_map(|workload| {
            let compared = workload.compared_time(range);
            let jobs = workload.jobs(self.program.name(), &self.plan.caches, range, head);
            let has_features = !self.plan.features.is_empty();
            let drawn = &drawn;
            jobs.into_iter().map(move |job| {
                let mut job = StockJob { has_features, ..job };
                job.draw(drawn, context.plan.seed);
                WorkloadJob::command(job, compared, context.plan)
            })
        });
        let group = RowGroup { jobs: jobs.collect(), rows: self.rows(context, variants)? };
        note_left_out(context, &group);
        Ok(group)
    }

    /// Draws what the jobs need from the history of the baseline, which plain clients read.
    fn draw(&self, context: &BenchContext<'_>, variants: &[Row]) -> Result<Drawn, BenchError> {
        let (Some(baseline), Some(head)) = (variants.first(), context.repository.head.as_deref()) else {
            return Ok(Drawn::default());
        };
        if !self.plan.workloads.iter().any(StockWorkload::is_drawn) {
            return Ok(Drawn::default());
        }
        match (&self.program, Repository::open(&baseline.place.folder)?) {
            (Program::Git(git), Repository::Git(repository)) => self.draw_from_git(context, git, &repository, head),
            (Program::Hg(hg), Repository::Hg(repository)) => self.draw_from_hg(context, hg, &repository, head),
            _ => Ok(Drawn::default()),
        }
    }

    fn draw_from_hg(
        &self,
        context: &BenchContext<'_>,
        hg: &Hg,
        repository: &HgRepository,
        head: &str,
    ) -> Result<Drawn, BenchError> {
        let (plan, jobs) = (context.plan, &self.plan.workloads);
        let has = |own: HgJob| jobs.contains(&StockWorkload::Hg(own));
        let needs = HgNeeds {
            requests: has(HgJob::Annotate),
            changes: has(HgJob::Commit),
            bundle: StockWorkload::Hg(HgJob::Unbundle).new_commits(&plan.range).filter(|_| has(HgJob::Unbundle)),
        };
        Ok(DrawFromHg::new(hg, repository, head, plan.range.commits, plan.seed)?.draw(needs)?)
    }

    fn draw_from_git(
        &self,
        context: &BenchContext<'_>,
        git: &Git,
        repository: &GitRepository,
        head: &str,
    ) -> Result<Drawn, BenchError> {
        let (plan, jobs) = (context.plan, &self.plan.workloads);
        let from = DrawFrom { git, git_dir: repository.git_dir(), head, commits: plan.range.commits, seed: plan.seed };
        let has_web = jobs.iter().any(|job| matches!(job, StockWorkload::Web(_)));
        let has_maintenance = jobs.iter().any(|job| matches!(job, StockWorkload::Maintain(_)));
        let requests = if has_web { from.requests()? } else { Vec::new() };
        let pushes = self.folder.path().join("pushes");
        let stream = if has_maintenance { Some(from.stream(&pushes)?) } else { None };
        Ok(Drawn { requests, stream, ..Drawn::default() })
    }

    /// The rows in the order of the schedule, the baseline first.
    fn rows(&self, context: &BenchContext<'_>, variants: &[Row]) -> Result<Vec<Row>, BenchError> {
        let mut rows: Vec<Row> = Vec::new();
        // Names a row's folder, which stays if git fails.
        let mut folders = 0..;
        let mut starts = hg::Starts::default();
        let is_own = |row: &&Row| row.variant.decoder.is_none() && row.variant.delta_cache.is_none();
        for variant in variants.iter().filter(is_own) {
            match &self.program {
                Program::Git(git) => {
                    for ((reader, role), folder) in self.readers(context, variant)?.into_iter().zip(&mut folders) {
                        match self.row(git, context, variant, &reader, role, folder) {
                            // git writes none if no pack holds all reachable objects, as in many work trees.
                            Err(BenchError::Stock(error @ StockError::Failed { .. }))
                                if reader.features == [GitFeature::Bitmaps] =>
                            {
                                context.progress.note(&format!("no row with bitmaps: {error}"));
                            }
                            row => rows.push(row?),
                        }
                    }
                }
                Program::Hg(hg) => {
                    for reader in hg::readers(hg, variant)? {
                        rows.push(hg::row(hg, context, variant, reader, rows.len(), &mut starts)?);
                    }
                }
            }
        }
        // The table shows the source first.
        let of_source = rows.iter().filter(|row| row.variant.role == Role::AsFound).count();
        let of_baseline = rows.iter().position(|row| row.variant.role == Role::AsFound).unwrap_or(0);
        let mut in_table: Vec<&mut Row> = rows.iter_mut().collect();
        in_table.get_mut(..of_baseline + of_source).unwrap_or_default().rotate_left(of_baseline);
        for (number, row) in (0..).zip(in_table) {
            row.variant.row = number;
        }
        Ok(rows)
    }

    /// The readers of a variant: git without the library, or with it and some zlib, and what else features it.
    fn readers(&self, context: &BenchContext<'_>, variant: &Row) -> Result<Vec<(GitReader, Role)>, ReaderError> {
        let with = |zlib, features: &[GitFeature]| GitReader { zlib, features: features.to_vec() };
        let (plain, library) = (with(None, &[]), with(Some(Zlib::Host), &[]));
        let all = &self.plan.features;
        let with_and_without = |reader: GitReader| match all.is_empty() {
            true => vec![reader],
            false => vec![reader.clone(), with(reader.zlib, all)],
        };
        let is_of_baseline = variant.place.spec.as_ref() == Some(&context.plan.baseline);
        let candidates = match variant.variant.role {
            Role::AsFound if is_plain(&variant.place.folder)? => return Ok(vec![(plain, Role::AsFound)]),
            Role::AsFound => return Ok(vec![(library, Role::AsFound)]),
            Role::Baseline | Role::BaselineAgain => {
                let zlibs = self.plan.zlibs.iter().map(|zlib| with(Some(*zlib), &[]));
                let features = all.iter().map(|feature| with(None, &[*feature]));
                let others = [library].into_iter().chain(zlibs).chain(features).map(|reader| (reader, Role::Candidate));
                return Ok([(plain, Role::Baseline)].into_iter().chain(others).collect());
            }
            // Like the baseline except for its layout.
            Role::Candidate if variant.variant.deltas == DeltaOrigin::Kept && is_of_baseline => vec![plain],
            Role::Candidate if variant.variant.deltas == DeltaOrigin::Kept => vec![library],
            // Like the baseline except for its deltas.
            Role::Candidate if is_of_baseline => with_and_without(plain),
            Role::Candidate => with_and_without(library),
        };
        Ok(candidates.into_iter().map(|reader| (reader, Role::Candidate)).collect())
    }

    fn row(
        &self,
        git: &Rc<Git>,
        context: &BenchContext<'_>,
        variant: &Row,
        reader: &GitReader,
        role: Role,
        number: usize,
    ) -> Result<Row, BenchError> {
        let folder = &variant.place.folder;
        let Repository::Git(repository) = Repository::open(folder)? else {
            let why = format!("{}: expected a Git repository", folder.display());
            return Err(WorkloadError::Refused { why }.into());
        };
        // git's own zlib writes the baseline, with the library or without.
        let written = variant.place.spec.as_ref().filter(|spec| **spec != context.plan.baseline);
        let client = GitRow::new(git, &repository, written, reader, number, role == Role::AsFound)?;
        let start = context.runner().start_of(&client)?;
        let making = context.runner().making_of(&client)?;
        let version = client.client().version.as_str();
        let decoder = match reader.zlib {
            Some(zlib) if is_read_by_zlib(variant) => zlib_name(zlib, version),
            Some(_) => variant.decoder.clone(),
            None => zlib_name(Zlib::Host, version),
        };
        let read = Variant { role, client: Some(client.client().clone()), ..variant.variant.clone() };
        let feature_bytes = client.feature_bytes()?;
        let mut row = variant.read_by(RowClient { client: Box::new(client), start }, read, decoder);
        row.size.total_bytes = row.size.total_bytes.saturating_add(feature_bytes);
        row.size.other_bytes = row.size.other_bytes.saturating_add(feature_bytes);
        if let Some(making) = making {
            let before = row.conversion.unwrap_or_default();
            let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            row.conversion = Some(ConversionCost {
                cpu_ns: before.cpu_ns.saturating_add(nanoseconds(making.user.saturating_add(making.sys))),
                wall_ns: before.wall_ns.saturating_add(nanoseconds(making.wall)),
                ..before
            });
        }
        Ok(row)
    }
}

/// Names the rows that a job leaves out, for users who look for them.
fn note_left_out(context: &BenchContext<'_>, group: &RowGroup<'_>) {
    for job in &group.jobs {
        let (found, variants): (Vec<_>, Vec<_>) =
            group.rows.iter().filter(|row| !job.is_for(row)).partition(|row| row.variant.role == Role::AsFound);
        let whys = [
            (found, "it works on copies, which only variants have"),
            (variants, "clients cannot write with codecs that take more than a payload"),
        ];
        for (rows, why) in whys.iter().filter(|(rows, _)| !rows.is_empty()) {
            let names: Vec<_> = rows.iter().map(|row| row.variant.label()).collect();
            context.progress.note(&format!("{}: left out for {}: {why}", job.label(), names.join(", ")));
        }
    }
}

/// Whether git without the library reads the repository.
fn is_plain(folder: &Path) -> Result<bool, ReaderError> {
    Ok(match Repository::open(folder)? {
        Repository::Git(git) => git.extension_spec().is_none(),
        Repository::Hg(_) => true,
    })
}

/// The implementation that decodes zlib streams for git.
fn zlib_name(zlib: Zlib, version: &str) -> String {
    let name = match zlib {
        Zlib::Host => return format!("zlib of {version}"),
        Zlib::Stock => Algorithm::Zlib.name(),
        Zlib::ZlibRs | Zlib::ZlibNg | Zlib::Libdeflate => zlib.name(),
    };
    let codec = catalogue().into_iter().find(|codec| codec.algorithm.name() == name);
    codec.map_or_else(|| zlib.name().to_owned(), |codec| format!("{} {}", codec.implementation, codec.version))
}

/// Whether zlib decodes the row's chunks, and no other decoder was chosen.
fn is_read_by_zlib(row: &Row) -> bool {
    let is_zlib = |spec: &CodecSpec| spec.algorithm().is_zlib_family();
    row.place.spec.as_ref().is_none_or(is_zlib) && decoders::name(row.place.spec.as_ref(), None) == row.decoder
}
