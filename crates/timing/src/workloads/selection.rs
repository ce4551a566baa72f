//! Which workload, as the user names it.

use std::{fmt, path::PathBuf, str::FromStr};

use super::{
    HistoryRange, Workload,
    checkout::{Checkout, CheckoutToSink},
    diff::{PickaxeDiff, RawDiff},
    patch::PatchDiff,
    traverse::Traverse,
};

/// The pickaxe's string unless another is given: the one of the experiment of 2016.
const DEFAULT_NEEDLE: &str = "foo";

/// A workload by name and parameters, parsed once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkloadSpec {
    /// `checkout`: write a revision's files.
    Checkout,
    /// `checkout:sink`: decode a revision's files.
    CheckoutToSink,
    /// `traverse`: visit everything reachable.
    Traverse,
    /// `diff:raw`: compare each commit with its parent.
    RawDiff,
    /// `diff:pickaxe=STRING`: find the commits that change how often a string occurs.
    PickaxeDiff(String),
    /// `diff:patch`: compare each commit with its parent line by line.
    PatchDiff,
}

/// A name that no workload has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown workload '{0}': expected checkout, checkout:sink, traverse, diff:raw, diff:pickaxe=STRING or diff:patch"
)]
pub struct UnknownWorkload(String);

impl WorkloadSpec {
    /// All workloads with default parameters, which is what runs when none is named.
    pub fn all() -> Vec<WorkloadSpec> {
        vec![
            WorkloadSpec::Checkout,
            WorkloadSpec::CheckoutToSink,
            WorkloadSpec::Traverse,
            WorkloadSpec::RawDiff,
            WorkloadSpec::PickaxeDiff(DEFAULT_NEEDLE.to_owned()),
            WorkloadSpec::PatchDiff,
        ]
    }

    /// The workload, on `range`. A checkout writes into `into`, which is made and kept, or into a scratch folder.
    pub fn build(&self, range: &HistoryRange, into: Option<PathBuf>) -> Box<dyn Workload> {
        match self {
            WorkloadSpec::Checkout => Box::new(Checkout::new(&range.revision, into)),
            WorkloadSpec::CheckoutToSink => Box::new(CheckoutToSink::new(&range.revision)),
            WorkloadSpec::Traverse => Box::new(Traverse),
            WorkloadSpec::RawDiff => Box::new(RawDiff::new(range.clone())),
            WorkloadSpec::PickaxeDiff(needle) => Box::new(PickaxeDiff::new(range.clone(), needle)),
            WorkloadSpec::PatchDiff => Box::new(PatchDiff::new(range.clone())),
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
            "diff:raw" => Ok(WorkloadSpec::RawDiff),
            "diff:patch" => Ok(WorkloadSpec::PatchDiff),
            "diff:pickaxe" => Ok(WorkloadSpec::PickaxeDiff(DEFAULT_NEEDLE.to_owned())),
            _ => match text.strip_prefix("diff:pickaxe=") {
                Some(needle) if !needle.is_empty() => Ok(WorkloadSpec::PickaxeDiff(needle.to_owned())),
                _ => Err(UnknownWorkload(text.to_owned())),
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
            WorkloadSpec::RawDiff => f.write_str("diff:raw"),
            WorkloadSpec::PickaxeDiff(needle) => write!(f, "diff:pickaxe={needle}"),
            WorkloadSpec::PatchDiff => f.write_str("diff:patch"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for workload in WorkloadSpec::all() {
            assert_eq!(workload.to_string().parse(), Ok(workload));
        }
        assert_eq!("diff:pickaxe=a,b=c".parse(), Ok(WorkloadSpec::PickaxeDiff("a,b=c".into())));
        assert_eq!("diff:pickaxe".parse(), Ok(WorkloadSpec::PickaxeDiff("foo".into())));
    }

    #[test]
    fn an_unknown_name_is_answered_with_what_is_valid() {
        let error = "dif:raw".parse::<WorkloadSpec>().unwrap_err();
        assert!(error.to_string().contains("'dif:raw': expected checkout, checkout:sink, traverse"), "{error}");
        assert!("diff:pickaxe=".parse::<WorkloadSpec>().is_err(), "git refuses an empty -S too");
    }
}
