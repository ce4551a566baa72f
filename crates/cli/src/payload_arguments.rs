//! The command lines of `payloads` and `train`.

use std::path::PathBuf;

use clap::Args;
use repackbench_codec::{CodecSpec, MIN_DICTIONARY_LEN};
use repackbench_reader::ObjectKind;
use repackbench_writer::payloads::PayloadSelection;

use crate::{
    byte_size::ByteSize,
    repository_path::located,
    shared_arguments::{Effort, MemoryArguments},
};

/// Write the payloads of a repository into files, for programs that measure codecs on files.
///
/// A payload is what is compressed on its own: a whole object or a delta as it is in a pack, a
/// loose object with its header, a text or a delta of a revlog. Each becomes a file, such as
/// DIR/blob-delta/0012/0012345, a thousand to a folder; DIR/payloads.tsv lists them with kind,
/// form, payload bytes, stored bytes, source file and offset. Payloads above 64 MiB are left out.
///
/// zstd measures every file as a block of its own, and takes a folder's files with -r. lzbench
/// does so with -j, which loads them all and still compresses each on its own:
///   zstd -b3 -r DIR/blob-delta
///   lzbench -j -r -ezstd,3 DIR/blob-delta
///
/// Examples:
///   repackbench payloads . --export /tmp/payloads
///   repackbench payloads . --export /tmp/trees --kind tree --every 10
///   repackbench payloads hgrepo --export /tmp/some --limit 16M
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct PayloadsArguments {
    /// The repository, as found or a variant.
    #[arg(value_parser = located())]
    pub(crate) repository: PathBuf,

    /// The folder to write into: new or empty.
    #[arg(long, value_name = "DIR")]
    pub(crate) export: PathBuf,

    /// Only payloads of this kind: commit, tree, blob, tag, changelog, manifest or filelog; may be given several times.
    #[arg(long = "kind", value_name = "KIND", value_parser = parse_kind)]
    kinds: Vec<ObjectKind>,

    /// Only every N-th payload of each kind, whole and delta counted apart.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,

    /// At most so many payload bytes of each kind, whole and delta counted apart: bytes, or with K, M or G.
    #[arg(long, value_name = "BYTES")]
    limit: Option<ByteSize>,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,

    /// Show no progress, no notes and no summary.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl PayloadsArguments {
    pub(crate) fn selection(&self) -> PayloadSelection {
        PayloadSelection {
            kinds: self.kinds.clone(),
            every: self.every,
            limit: self.limit.map(|ByteSize(bytes)| bytes),
        }
    }
}

fn parse_kind(typed: &str) -> Result<ObjectKind, String> {
    let kinds = || ObjectKind::GIT.into_iter().chain(ObjectKind::HG);
    kinds().find(|kind| kind.name() == typed).ok_or_else(|| {
        let names: Vec<&str> = kinds().map(ObjectKind::name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Train one dictionary from the payloads of one or several repositories.
///
/// The result is in the format of `zstd --train`; `zstd -D FILE` takes it. Payloads are sampled
/// evenly, at most 100 times the dictionary's size and 16 MiB. A quarter of the sample is held
/// out of training: on it the dictionary is tried. The same repositories in the same order always
/// give the same dictionary.
///
/// Examples:
///   repackbench train . -o commits.dict --kind commit
///   repackbench train repo1 repo2 repo3 -o all.dict --size 64k --level 19
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct TrainArguments {
    /// The repositories, as found or variants.
    #[arg(required = true, value_parser = located())]
    pub(crate) repositories: Vec<PathBuf>,

    /// The file to write.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Replace FILE if it is there.
    #[arg(long)]
    pub(crate) force: bool,

    /// The dictionary's length at most, 512 bytes to 16M: bytes, or with K or M.
    #[arg(long, value_name = "BYTES", default_value = "112k", value_parser = parse_dictionary_size)]
    pub(crate) size: usize,

    /// Only payloads of this kind: commit, tree, blob, tag, changelog, manifest or filelog; may be given several times.
    #[arg(long = "kind", value_name = "KIND", value_parser = parse_kind)]
    pub(crate) kinds: Vec<ObjectKind>,

    /// The level of zstd that it is for, -7 to 22.
    #[arg(long, value_name = "N", default_value = "3", value_parser = parse_zstd_level, allow_negative_numbers = true)]
    pub(crate) level: CodecSpec,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,

    #[command(flatten)]
    pub(crate) effort: Effort,
}

/// No sample is larger than this, so that no dictionary need be.
const MAX_DICTIONARY_LEN: usize = 16 << 20;

fn parse_dictionary_size(typed: &str) -> Result<usize, String> {
    let ByteSize(bytes) = typed.parse()?;
    let size = usize::try_from(bytes).ok().filter(|size| (MIN_DICTIONARY_LEN..=MAX_DICTIONARY_LEN).contains(size));
    size.ok_or_else(|| format!("expected {MIN_DICTIONARY_LEN} to {MAX_DICTIONARY_LEN} bytes"))
}

fn parse_zstd_level(typed: &str) -> Result<CodecSpec, String> {
    format!("zstd:{typed}").parse().map_err(|error: repackbench_codec::SpecError| error.to_string())
}
