//! Kinds of objects.

use clap::Args;
use repackbench_reader::ObjectKind;

/// The kinds of payloads to read.
#[derive(Debug, Args)]
pub(crate) struct KindArguments {
    /// Only payloads of this kind; may be repeated.
    ///
    /// A kind is commit, tree, blob, tag, changelog, manifest or filelog.
    #[arg(long = "kind", value_name = "KIND", value_parser = parse_kind, help_heading = super::WHAT)]
    pub(crate) kinds: Vec<ObjectKind>,
}

/// Every kind of object.
pub(crate) fn all_kinds() -> impl Iterator<Item = ObjectKind> {
    ObjectKind::GIT.into_iter().chain(ObjectKind::HG)
}

fn parse_kind(typed: &str) -> Result<ObjectKind, String> {
    all_kinds().find(|kind| kind.name() == typed).ok_or_else(|| {
        let names: Vec<&str> = all_kinds().map(ObjectKind::name).collect();
        format!("expected one of {}", names.join(", "))
    })
}
