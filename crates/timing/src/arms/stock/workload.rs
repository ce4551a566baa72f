//! The jobs of stock clients, by the names that users type.

use std::{fmt, rc::Rc, str::FromStr};

use repackbench_records::{ComparedTime, Vcs, WorkloadLabel};

use super::StockJob;
use crate::workloads::{HistoryRange, REQUESTS, UnknownWorkload, WorkloadSpec};

/// The default number of new commits.
const NEW_COMMITS: u64 = 100;

/// The caches that do a part of the work beforehand: git's commit-graph, bitmaps and multi-pack-index, or those of hg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caches {
    /// No cache is used.
    Off,
    /// All caches exist and are used, as on a forge.
    Forge,
}

/// The receiver of a clone or a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receiver {
    /// Stock git without the library.
    Zlib,
    /// The same as the sender: with the library if the sender has it.
    Same,
}

/// What a web page of a forge reads, with a commit-graph that has changed-path filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebRead {
    /// `web:file`: files at revisions, each by a process.
    File,
    /// `web:file:batch`: files at revisions, all by one long-lived process.
    FileBatch,
    /// `web:blame`: who wrote each line of a file.
    Blame,
    /// `web:log`: the newest commits that changed a file.
    Log,
    /// `web:archive`: all files of a revision.
    Archive,
}

impl WebRead {
    /// How many requests a run has.
    pub(crate) fn requests(self) -> usize {
        match self {
            WebRead::File => 40,
            WebRead::FileBatch => REQUESTS,
            WebRead::Blame => 10,
            WebRead::Log => 20,
            WebRead::Archive => 4,
        }
    }
}

/// What a server does with pushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maintenance {
    /// `index-pack`: takes in the packs of pushes.
    IndexPack,
    /// `repack:geometric`: joins the packs of pushes after some of them.
    Geometric,
    /// `repack:cruft`: packs everything again, unreachable objects apart.
    Cruft,
    /// `multi-pack-index`: an index of all packs.
    MultiPackIndex,
    /// `multi-pack-index:bitmap`: the same with bitmaps.
    MultiPackIndexBitmap,
}

/// A job that only hg has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HgJob {
    /// `unbundle`: takes in the newest changesets.
    Unbundle,
    /// `commit`: a small change.
    Commit,
    /// `annotate`: who wrote each line of a file.
    Annotate,
    /// `clone:stream`: the files of the store as they are, sent and received.
    StreamClone,
}

impl HgJob {
    /// How many files a run of [`HgJob::Annotate`] reads.
    pub(crate) const ANNOTATED: usize = 10;
}

/// A job of a stock client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StockWorkload {
    /// A job that is also replayed in-process.
    Replayed(WorkloadSpec),
    /// `fsck`: check everything; hg calls it `verify`.
    Fsck,
    /// `repack`: search for all deltas again, and write everything; hg calls it `debugupgraderepo`.
    Repack,
    /// `repack:incremental`: pack the objects of the newest commits.
    RepackIncremental,
    /// `clone:zlib` and `clone:same`: a bare clone over a local transport.
    Clone(Receiver),
    /// `fetch:zlib` and `fetch:same`: the newest commits over a local transport.
    Fetch(Receiver),
    /// `web:...`: what a web page of a forge reads.
    Web(WebRead),
    /// `index-pack`, `repack:geometric`, `repack:cruft`, `multi-pack-index`: what a server does with pushes.
    Maintain(Maintenance),
    /// `unbundle`, `commit`, `annotate` and `clone:stream`, which only hg has.
    Hg(HgJob),
}

/// A name that is no job of a stock client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoStockWorkload {
    /// An unknown name.
    #[error(
        "{0}, fsck, repack, repack:incremental, clone:zlib, clone:same, fetch:zlib, fetch:same, \
         web:file, web:file:batch, web:blame, web:log, web:archive, index-pack, repack:geometric, repack:cruft, \
         multi-pack-index, multi-pack-index:bitmap; for stock hg: unbundle, commit, annotate, clone:stream"
    )]
    Unknown(String),
    /// No command does exactly that.
    #[error("{0}: git and hg have no command for exactly that; it is only replayed in-process")]
    NoCommand(WorkloadSpec),
    /// The job of another client.
    #[error("{0}: {client} has no command for that", client = if *.1 == Vcs::Git { "git" } else { "hg" })]
    NotOf(StockWorkload, Vcs),
}

/// The jobs that no replay does, with their names.
const OWN: [(&str, StockWorkload); 21] = [
    ("fsck", StockWorkload::Fsck),
    ("repack", StockWorkload::Repack),
    ("repack:incremental", StockWorkload::RepackIncremental),
    ("clone:zlib", StockWorkload::Clone(Receiver::Zlib)),
    ("clone:same", StockWorkload::Clone(Receiver::Same)),
    ("fetch:zlib", StockWorkload::Fetch(Receiver::Zlib)),
    ("fetch:same", StockWorkload::Fetch(Receiver::Same)),
    ("web:file", StockWorkload::Web(WebRead::File)),
    ("web:file:batch", StockWorkload::Web(WebRead::FileBatch)),
    ("web:blame", StockWorkload::Web(WebRead::Blame)),
    ("web:log", StockWorkload::Web(WebRead::Log)),
    ("web:archive", StockWorkload::Web(WebRead::Archive)),
    ("index-pack", StockWorkload::Maintain(Maintenance::IndexPack)),
    ("repack:geometric", StockWorkload::Maintain(Maintenance::Geometric)),
    ("repack:cruft", StockWorkload::Maintain(Maintenance::Cruft)),
    ("multi-pack-index", StockWorkload::Maintain(Maintenance::MultiPackIndex)),
    ("multi-pack-index:bitmap", StockWorkload::Maintain(Maintenance::MultiPackIndexBitmap)),
    ("unbundle", StockWorkload::Hg(HgJob::Unbundle)),
    ("commit", StockWorkload::Hg(HgJob::Commit)),
    ("annotate", StockWorkload::Hg(HgJob::Annotate)),
    ("clone:stream", StockWorkload::Hg(HgJob::StreamClone)),
];

impl StockWorkload {
    /// The jobs that run in a repository of `vcs` by default: all that only read.
    pub fn all(vcs: Vcs) -> Vec<StockWorkload> {
        let replayed = WorkloadSpec::all().into_iter().chain([WorkloadSpec::Sizes, WorkloadSpec::CatAll]);
        let replayed = replayed.filter_map(|spec| StockWorkload::try_from(spec).ok());
        replayed.chain([StockWorkload::Fsck]).filter(|workload| workload.is_of(vcs)).collect()
    }

    /// Whether the client of `vcs` has a command for it.
    pub fn is_of(&self, vcs: Vcs) -> bool {
        match self {
            StockWorkload::Hg(_) => vcs == Vcs::Mercurial,
            _ if vcs == Vcs::Git => true,
            StockWorkload::Replayed(spec) => {
                matches!(spec, WorkloadSpec::Checkout | WorkloadSpec::RawDiff | WorkloadSpec::PatchDiff)
            }
            StockWorkload::Fsck | StockWorkload::Repack => true,
            StockWorkload::Clone(receiver) | StockWorkload::Fetch(receiver) => *receiver == Receiver::Same,
            StockWorkload::RepackIncremental | StockWorkload::Web(_) | StockWorkload::Maintain(_) => false,
        }
    }

    /// The replay that does the same, if there is one.
    pub fn replay(&self) -> Option<&WorkloadSpec> {
        match self {
            StockWorkload::Replayed(spec) => Some(spec),
            _ => None,
        }
    }

    /// Whether it starts from a revision.
    pub fn needs_revision(&self) -> bool {
        match self {
            StockWorkload::Replayed(spec) => spec.needs_revision(),
            StockWorkload::RepackIncremental
            | StockWorkload::Fetch(_)
            | StockWorkload::Web(_)
            | StockWorkload::Maintain(_)
            | StockWorkload::Hg(HgJob::Unbundle | HgJob::Commit | HgJob::Annotate) => true,
            StockWorkload::Fsck
            | StockWorkload::Repack
            | StockWorkload::Clone(_)
            | StockWorkload::Hg(HgJob::StreamClone) => false,
        }
    }

    /// Whether caches do a part of it: git's commit-graph or bitmaps, hg's manifest cache and the like.
    fn has_caches(&self, vcs: Vcs) -> bool {
        match self {
            _ if vcs == Vcs::Mercurial => {
                !matches!(self, StockWorkload::Repack | StockWorkload::Hg(HgJob::StreamClone))
            }
            StockWorkload::Replayed(spec) => matches!(
                spec,
                WorkloadSpec::Traverse
                    | WorkloadSpec::TraverseCount
                    | WorkloadSpec::RawDiff
                    | WorkloadSpec::PickaxeDiff(_)
                    | WorkloadSpec::PatchDiff
            ),
            StockWorkload::Clone(_) | StockWorkload::Fetch(_) => true,
            StockWorkload::Fsck
            | StockWorkload::Repack
            | StockWorkload::RepackIncremental
            | StockWorkload::Web(_)
            | StockWorkload::Maintain(_)
            | StockWorkload::Hg(_) => false,
        }
    }

    /// Whether it does what a session prepares once for all rows: drawn from history by the seed, or the newest
    /// changesets in a bundle.
    pub(crate) fn is_drawn(&self) -> bool {
        match self {
            StockWorkload::Web(_) | StockWorkload::Maintain(_) => true,
            StockWorkload::Hg(own) => *own != HgJob::StreamClone,
            _ => false,
        }
    }

    /// How many of the newest commits it takes in, under `range`; `None` if it does not.
    pub(crate) fn new_commits(&self, range: &HistoryRange) -> Option<u64> {
        match self {
            StockWorkload::RepackIncremental | StockWorkload::Fetch(_) | StockWorkload::Hg(HgJob::Unbundle) => {
                Some(range.commits.unwrap_or(NEW_COMMITS))
            }
            _ => None,
        }
    }

    /// Its jobs under each of `caches`; one job if caches make no difference.
    pub(crate) fn jobs(
        &self,
        (program, vcs): (&str, Vcs),
        caches: &[Caches],
        range: &HistoryRange,
        head: Option<&str>,
    ) -> Vec<StockJob> {
        let caches = if self.has_caches(vcs) { caches } else { &[Caches::Off] };
        caches.iter().map(|caches| self.job(program, *caches, range, head)).collect()
    }

    fn job(&self, program: &str, caches: Caches, range: &HistoryRange, head: Option<&str>) -> StockJob {
        let mut label = match self {
            StockWorkload::Replayed(spec) => spec.build(range, None).label(),
            _ => WorkloadLabel { name: self.to_string(), parameters: Default::default() },
        };
        let new_commits = self.new_commits(range);
        let commits = new_commits.or(range.commits);
        let drawn_from = matches!(self, StockWorkload::Web(_) | StockWorkload::Hg(HgJob::Annotate | HgJob::Commit));
        if let Some(commits) = commits.filter(|_| new_commits.is_some() || drawn_from) {
            label.parameters.insert(WorkloadLabel::COMMITS.to_owned(), commits.to_string());
        }
        label.parameters.insert(WorkloadLabel::CLIENT.to_owned(), program.to_owned());
        if caches == Caches::Forge {
            label.parameters.insert(WorkloadLabel::CACHES.to_owned(), "forge".to_owned());
        }
        StockJob {
            workload: self.clone(),
            caches,
            label,
            revision: head.map(str::to_owned),
            commits,
            has_features: false,
            drawn: Rc::default(),
        }
    }

    /// The time of a run that is compared: that of the replay, except if files are written. The moments when a command
    /// writes them are unknown, so all of the kernel's work is left out.
    pub(crate) fn compared_time(&self, range: &HistoryRange) -> ComparedTime {
        match self.replay().map(|spec| spec.build(range, None).compared_time()) {
            Some(ComparedTime::CpuWithoutWriting) => ComparedTime::UserOfCommand,
            replayed => replayed.unwrap_or(ComparedTime::Cpu),
        }
    }
}

impl TryFrom<WorkloadSpec> for StockWorkload {
    type Error = NoStockWorkload;

    fn try_from(spec: WorkloadSpec) -> Result<Self, Self::Error> {
        match spec {
            WorkloadSpec::Checkout
            | WorkloadSpec::Traverse
            | WorkloadSpec::TraverseCount
            | WorkloadSpec::RawDiff
            | WorkloadSpec::PickaxeDiff(_)
            | WorkloadSpec::PatchDiff
            | WorkloadSpec::Sizes
            | WorkloadSpec::CatAll => Ok(StockWorkload::Replayed(spec)),
            WorkloadSpec::WebFile => Ok(StockWorkload::Web(WebRead::File)),
            WorkloadSpec::CheckoutToSink
            | WorkloadSpec::Encode
            | WorkloadSpec::Ingest
            | WorkloadSpec::Serve(_)
            | WorkloadSpec::Floor(_) => Err(NoStockWorkload::NoCommand(spec)),
        }
    }
}

impl FromStr for StockWorkload {
    type Err = NoStockWorkload;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some((_, own)) = OWN.iter().find(|(name, _)| *name == text) {
            return Ok(own.clone());
        }
        let spec: WorkloadSpec = text.parse().map_err(|error| {
            let error = match error {
                UnknownWorkload::Name { typed, .. } => UnknownWorkload::among(&typed, &OWN.map(|(name, _)| name)),
                other => other,
            };
            NoStockWorkload::Unknown(format!("{error}; for stock git also"))
        })?;
        spec.try_into()
    }
}

impl fmt::Display for StockWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StockWorkload::Replayed(spec) => write!(f, "{spec}"),
            own => f.write_str(OWN.iter().find(|(_, other)| other == own).map_or("", |(name, _)| name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for (name, own) in OWN {
            assert_eq!((own.to_string().as_str(), name.parse()), (name, Ok(own)));
        }
        for workload in StockWorkload::all(Vcs::Git) {
            assert_eq!(workload.to_string().parse(), Ok(workload));
        }
        let error = |name: &str| name.parse::<StockWorkload>().unwrap_err().to_string();
        assert!(
            error("floor:traverse").starts_with("floor:traverse: git and hg have no command"),
            "{}",
            error("floor:traverse")
        );
        assert!(
            error("fsk").contains("'fsk' (did you mean fsck?): expected checkout,")
                && error("fsk").ends_with("annotate, clone:stream")
        );
    }

    #[test]
    fn user_time_is_compared_where_files_are_written() {
        let range = HistoryRange { revision: "HEAD".into(), commits: None, seed: 0 };
        for (name, compared) in
            [("checkout", ComparedTime::UserOfCommand), ("traverse", ComparedTime::Cpu), ("repack", ComparedTime::Cpu)]
        {
            assert_eq!(name.parse::<StockWorkload>().unwrap().compared_time(&range), compared, "{name}");
        }
    }

    #[test]
    fn jobs_have_the_name_of_the_replay_and_the_client() {
        let range = HistoryRange { revision: "HEAD".into(), commits: Some(7), seed: 0 };
        let labels = |name: &str, caches: &[Caches]| {
            let workload: StockWorkload = name.parse().unwrap();
            let jobs = workload.jobs(("git", Vcs::Git), caches, &range, Some("id"));
            jobs.iter().map(|job| job.label.to_string()).collect::<Vec<_>>()
        };
        let both = [Caches::Off, Caches::Forge];
        assert_eq!(
            labels("traverse", &both),
            ["traverse (client=git, commits=7)", "traverse (caches=forge, client=git, commits=7)"]
        );
        assert_eq!(labels("cat-all", &both), ["cat-all (client=git)"]);
        assert_eq!(labels("fetch:zlib", &both[..1]), ["fetch:zlib (client=git, commits=7)"]);
        let pickaxe = WorkloadSpec::PickaxeDiff("a".into());
        let mut replayed = pickaxe.build(&range, None).label();
        replayed.parameters.insert("client".into(), "git".into());
        assert_eq!(labels("diff:pickaxe=a", &both[..1]), [replayed.to_string()]);
    }
}
