//! Workloads by the names that users type.

use std::{fmt, path::PathBuf, str::FromStr};

use repackbench_codec::nearest_name;
use repackbench_records::WorkloadLabel;

use super::{
    HistoryRange, Workload,
    checkout::{Checkout, CheckoutToSink},
    codec_only::CodecOnly,
    diff::{PickaxeDiff, RawDiff},
    encode::Encode,
    every_object::{CatAll, Sizes},
    floor::Floor,
    ingest::Ingest,
    patch::PatchDiff,
    serve::{Exchange, Serve},
    traverse::Traverse,
    web_file::WebFile,
};

/// A workload by name and parameters, parsed once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkloadSpec {
    /// `checkout`: write the files of a revision.
    Checkout,
    /// `checkout:sink`: decode the files of a revision.
    CheckoutToSink,
    /// `traverse`: visit everything reachable.
    Traverse,
    /// `traverse:count`: count everything reachable.
    TraverseCount,
    /// `diff:raw`: compare each commit with its parent.
    RawDiff,
    /// `diff:pickaxe=STRING`: find the commits that change how often a string occurs.
    PickaxeDiff(String),
    /// `diff:patch`: compare each commit with its parent line by line.
    PatchDiff,
    /// `sizes`: kind and size of every object.
    Sizes,
    /// `cat-all`: the content of every object.
    CatAll,
    /// `web:file`: read files at revisions, drawn from history.
    WebFile,
    /// `encode`: compress every payload again.
    Encode,
    /// `ingest`: write the objects of the last commits.
    Ingest,
    /// `serve:same`, `serve:zlib` and `serve:push`: make the pack for a clone, a fetch or a push.
    Serve(Exchange),
    /// `floor:WORKLOAD`: only what another workload decodes.
    Floor(Box<WorkloadSpec>),
}

/// A name that is no workload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownWorkload {
    /// An unknown name.
    #[error(
        "unknown workload '{typed}'{}: expected {}, or floor: before one of these except sizes and encode",
        did_you_mean(nearest),
        NAMES.join(", ")
    )]
    Name {
        /// What the user typed.
        typed: String,
        /// The most similar workload.
        nearest: Option<String>,
    },
    /// A workload without a meaningful floor.
    #[error("{workload} has no floor: {why}")]
    NoFloor {
        /// The workload.
        workload: String,
        /// Why not.
        why: &'static str,
    },
}

/// Every name, without floors.
const NAMES: [&str; 15] = [
    "checkout",
    "checkout:sink",
    "traverse",
    "traverse:count",
    "diff:raw",
    "diff:pickaxe=STRING",
    "diff:patch",
    "sizes",
    "cat-all",
    "web:file",
    "encode",
    "ingest",
    "serve:same",
    "serve:zlib",
    "serve:push",
];

/// The prefix of the name of a floor.
const FLOOR: &str = "floor:";

impl UnknownWorkload {
    fn name(typed: &str) -> Self {
        UnknownWorkload::among(typed, &[])
    }

    /// An unknown name, where `others` are names of workloads, too.
    pub(crate) fn among(typed: &str, others: &[&'static str]) -> Self {
        let (floor, name) = typed.strip_prefix(FLOOR).map_or(("", typed), |name| (FLOOR, name));
        // A needle is not a part of the name.
        let name = without_needle(name);
        let names = NAMES.iter().chain(others.iter().filter(|_| floor.is_empty())).map(|name| without_needle(name));
        let nearest = nearest_name(name, names).map(|name| format!("{floor}{name}"));
        UnknownWorkload::Name { typed: typed.to_owned(), nearest }
    }
}

fn without_needle(name: &str) -> &str {
    name.split('=').next().unwrap_or_default()
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!(" (did you mean {name}?)")).unwrap_or_default()
}

impl WorkloadSpec {
    /// The workloads that run by default, with default parameters: everyday jobs that only read. `checkout` writes
    /// files, which takes longer than reading them and hides what a codec changes.
    pub fn all() -> Vec<WorkloadSpec> {
        vec![
            WorkloadSpec::CheckoutToSink,
            WorkloadSpec::Traverse,
            WorkloadSpec::RawDiff,
            WorkloadSpec::PickaxeDiff(WorkloadLabel::DEFAULT_NEEDLE.to_owned()),
            WorkloadSpec::PatchDiff,
        ]
    }

    /// Whether it starts from a revision. A traversal starts from all refs.
    pub fn needs_revision(&self) -> bool {
        match self {
            WorkloadSpec::Floor(inner) => inner.needs_revision(),
            _ => !matches!(
                self,
                WorkloadSpec::Traverse
                    | WorkloadSpec::TraverseCount
                    | WorkloadSpec::Sizes
                    | WorkloadSpec::CatAll
                    | WorkloadSpec::Encode
            ),
        }
    }

    /// Whether it reads and decodes only through the history, so that an access trace is complete.
    pub fn is_traced(&self) -> bool {
        matches!(
            self,
            WorkloadSpec::Checkout
                | WorkloadSpec::CheckoutToSink
                | WorkloadSpec::Traverse
                | WorkloadSpec::TraverseCount
                | WorkloadSpec::RawDiff
                | WorkloadSpec::PickaxeDiff(_)
                | WorkloadSpec::PatchDiff
                | WorkloadSpec::CatAll
                | WorkloadSpec::WebFile
        )
    }

    /// Whether it reads one commit after another, so that it can be limited to the newest ones and still is the same
    /// kind of job. Fewer commits make another job of `ingest` and `serve`: a clone becomes a fetch.
    pub fn reads_commits(&self) -> bool {
        matches!(
            self.without_floor(),
            WorkloadSpec::Traverse
                | WorkloadSpec::TraverseCount
                | WorkloadSpec::RawDiff
                | WorkloadSpec::PickaxeDiff(_)
                | WorkloadSpec::PatchDiff
        )
    }

    /// Whether it compresses the payloads of the store, so that it cannot compare stores with different payloads.
    pub fn compresses_stored_payloads(&self) -> bool {
        match self {
            WorkloadSpec::Floor(inner) => inner.compresses_stored_payloads(),
            _ => matches!(self, WorkloadSpec::Encode),
        }
    }

    /// Whether it compresses payloads of the kind that git has, and so none that name objects by number.
    pub fn compresses_payloads(&self) -> bool {
        matches!(self.without_floor(), WorkloadSpec::Encode | WorkloadSpec::Ingest)
    }

    /// The workload whose floor it is, or itself.
    pub fn without_floor(&self) -> &WorkloadSpec {
        match self {
            WorkloadSpec::Floor(inner) => inner.without_floor(),
            other => other,
        }
    }

    /// Its floor.
    fn with_floor(self) -> Result<WorkloadSpec, UnknownWorkload> {
        let why = match &self {
            WorkloadSpec::Encode => "it only encodes payloads in memory, which is a floor already",
            WorkloadSpec::Sizes => "it decodes at most the first bytes of payloads, but a floor decodes whole chunks",
            WorkloadSpec::Floor(_) => "it is a floor itself",
            _ => return Ok(WorkloadSpec::Floor(Box::new(self))),
        };
        Err(UnknownWorkload::NoFloor { workload: self.to_string(), why })
    }

    /// Whether it reads through the cache of delta bases, so that another limit can make a difference.
    pub fn uses_delta_cache(&self) -> bool {
        match self {
            WorkloadSpec::Floor(inner) => inner.uses_delta_cache(),
            _ => !matches!(self, WorkloadSpec::Encode | WorkloadSpec::Ingest),
        }
    }

    /// The workload on `range`. A checkout writes to `into`, which it creates and keeps, or to a scratch folder.
    pub fn build(&self, range: &HistoryRange, into: Option<PathBuf>) -> Box<dyn Workload> {
        match self {
            WorkloadSpec::Checkout => Box::new(Checkout::new(&range.revision, into)),
            WorkloadSpec::CheckoutToSink => Box::new(CheckoutToSink::new(&range.revision)),
            WorkloadSpec::Traverse => Box::new(Traverse::listing(range.commits)),
            WorkloadSpec::TraverseCount => Box::new(Traverse::counting(range.commits)),
            WorkloadSpec::RawDiff => Box::new(RawDiff::new(range.clone())),
            WorkloadSpec::PickaxeDiff(needle) => Box::new(PickaxeDiff::new(range.clone(), needle)),
            WorkloadSpec::PatchDiff => Box::new(PatchDiff::new(range.clone())),
            WorkloadSpec::Sizes => Box::new(Sizes),
            WorkloadSpec::CatAll => Box::new(CatAll),
            WorkloadSpec::WebFile => Box::new(WebFile::new(range.clone())),
            WorkloadSpec::Encode => Box::new(Encode::default()),
            WorkloadSpec::Ingest => Box::new(Ingest::new(range.clone(), into)),
            WorkloadSpec::Serve(exchange) => Box::new(Serve::new(*exchange, range, into)),
            WorkloadSpec::Floor(inner) => match inner.as_ref() {
                WorkloadSpec::Ingest => Box::new(CodecOnly(Ingest::new(range.clone(), None))),
                WorkloadSpec::Serve(exchange) => Box::new(CodecOnly(Serve::new(*exchange, range, None))),
                inner => Box::new(Floor::new(inner.build(range, into))),
            },
        }
    }
}

impl FromStr for WorkloadSpec {
    type Err = UnknownWorkload;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "checkout" => Ok(WorkloadSpec::Checkout),
            "checkout:sink" => Ok(WorkloadSpec::CheckoutToSink),
            "traverse" => Ok(WorkloadSpec::Traverse),
            "traverse:count" => Ok(WorkloadSpec::TraverseCount),
            "diff:raw" => Ok(WorkloadSpec::RawDiff),
            "diff:patch" => Ok(WorkloadSpec::PatchDiff),
            "sizes" => Ok(WorkloadSpec::Sizes),
            "cat-all" => Ok(WorkloadSpec::CatAll),
            "web:file" => Ok(WorkloadSpec::WebFile),
            "encode" => Ok(WorkloadSpec::Encode),
            "ingest" => Ok(WorkloadSpec::Ingest),
            "diff:pickaxe" => Ok(WorkloadSpec::PickaxeDiff(WorkloadLabel::DEFAULT_NEEDLE.to_owned())),
            _ if let Some(exchange) = Exchange::ALL.into_iter().find(|exchange| exchange.name() == text) => {
                Ok(WorkloadSpec::Serve(exchange))
            }
            _ if let Some(inner) = text.strip_prefix(FLOOR) => match inner.parse::<WorkloadSpec>() {
                Ok(inner) => inner.with_floor(),
                Err(_) => Err(UnknownWorkload::name(text)),
            },
            _ => match text.strip_prefix("diff:pickaxe=") {
                Some(needle) if !needle.is_empty() => Ok(WorkloadSpec::PickaxeDiff(needle.to_owned())),
                _ => Err(UnknownWorkload::name(text)),
            },
        }
    }
}

impl fmt::Display for WorkloadSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorkloadSpec::Checkout => f.write_str("checkout"),
            WorkloadSpec::CheckoutToSink => f.write_str("checkout:sink"),
            WorkloadSpec::Traverse => f.write_str("traverse"),
            WorkloadSpec::TraverseCount => f.write_str("traverse:count"),
            WorkloadSpec::RawDiff => f.write_str("diff:raw"),
            WorkloadSpec::PickaxeDiff(needle) => write!(f, "diff:pickaxe={needle}"),
            WorkloadSpec::PatchDiff => f.write_str("diff:patch"),
            WorkloadSpec::Sizes => f.write_str("sizes"),
            WorkloadSpec::CatAll => f.write_str("cat-all"),
            WorkloadSpec::WebFile => f.write_str("web:file"),
            WorkloadSpec::Encode => f.write_str("encode"),
            WorkloadSpec::Ingest => f.write_str("ingest"),
            WorkloadSpec::Serve(exchange) => f.write_str(exchange.name()),
            WorkloadSpec::Floor(inner) => write!(f, "floor:{inner}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        let others = [
            WorkloadSpec::TraverseCount,
            WorkloadSpec::Sizes,
            WorkloadSpec::CatAll,
            WorkloadSpec::WebFile,
            WorkloadSpec::Encode,
            WorkloadSpec::Ingest,
        ];
        let serve = Exchange::ALL.map(WorkloadSpec::Serve);
        for workload in WorkloadSpec::all().into_iter().chain(others).chain(serve) {
            assert_eq!(workload.to_string().parse(), Ok(workload));
        }
        assert_eq!("diff:pickaxe=a,b=c".parse(), Ok(WorkloadSpec::PickaxeDiff("a,b=c".into())));
        assert_eq!("diff:pickaxe".parse(), Ok(WorkloadSpec::PickaxeDiff("foo".into())));
    }

    #[test]
    fn only_some_workloads_have_floors() {
        for name in ["floor:checkout", "floor:diff:pickaxe=a,b", "floor:cat-all", "floor:ingest", "floor:serve:push"] {
            let floor: WorkloadSpec = name.parse().unwrap();
            assert_eq!(floor.to_string(), name);
        }
        for (name, why) in [
            ("floor:", "unknown workload 'floor:': expected"),
            ("floor:nothing", "unknown workload 'floor:nothing'"),
            ("floor:encode", "encode has no floor: it only encodes"),
            ("floor:sizes", "sizes has no floor: it decodes at most the first bytes"),
            ("floor:floor:checkout", "floor:checkout has no floor: it is a floor itself"),
        ] {
            let error = name.parse::<WorkloadSpec>().unwrap_err().to_string();
            assert!(error.starts_with(why), "{error}");
        }
        let needs = |name: &str| name.parse::<WorkloadSpec>().unwrap().needs_revision();
        assert!(needs("floor:diff:raw") && !needs("floor:traverse"));
    }

    #[test]
    fn workloads_over_commits_can_be_limited() {
        let reads = |name: &str| name.parse::<WorkloadSpec>().unwrap().reads_commits();
        assert!(reads("traverse") && reads("diff:pickaxe=a") && reads("floor:diff:patch"));
        assert!(!reads("checkout:sink") && !reads("cat-all") && !reads("serve:same") && !reads("floor:ingest"));
    }

    #[test]
    fn workloads_in_memory_need_no_cache() {
        let uses = |name: &str| name.parse::<WorkloadSpec>().unwrap().uses_delta_cache();
        assert!(uses("traverse") && uses("serve:zlib") && uses("floor:checkout"));
        assert!(!uses("encode") && !uses("ingest"));
    }

    #[test]
    fn unknown_names_suggest_the_nearest() {
        for name in NAMES {
            assert!(name.parse::<WorkloadSpec>().is_ok(), "{name}");
        }
        let nearest = |typed: &str, others: &[&'static str]| match UnknownWorkload::among(typed, others) {
            UnknownWorkload::Name { nearest, .. } => nearest.unwrap_or_default(),
            other => panic!("{other}"),
        };
        assert_eq!(nearest("checkot", &[]), "checkout");
        assert_eq!(nearest("checkout:snk", &[]), "checkout:sink");
        assert_eq!(nearest("floor:travers", &[]), "floor:traverse");
        assert_eq!(nearest("diff:pickax=traverse", &[]), "diff:pickaxe");
        assert_eq!(nearest("fsk", &["fsck"]), "fsck");
        assert_eq!(nearest("no-such", &[]), "");
    }

    #[test]
    fn unknown_names_list_the_valid_ones() {
        let error = "dif:raw".parse::<WorkloadSpec>().unwrap_err();
        let expected =
            "unknown workload 'dif:raw' (did you mean diff:raw?): expected checkout, checkout:sink, traverse";
        assert!(error.to_string().starts_with(expected), "{error}");
        assert!("diff:pickaxe=".parse::<WorkloadSpec>().is_err(), "git refuses an empty -S too");
    }
}
