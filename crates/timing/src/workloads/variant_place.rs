//! The place of a variant, for workloads that need more than its history.

use std::path::PathBuf;

use repackbench_codec::{CodecSpec, Decoders};
use repackbench_reader::{DEFAULT_DELTA_CACHE, Repository};

/// A repository that a workload is about to run on.
#[derive(Debug, Clone)]
pub struct VariantPlace {
    /// Its folder.
    pub folder: PathBuf,
    /// The folder of a repository that holds the same payloads and can be converted: the source of a variant that keeps
    /// its deltas, else the variant itself.
    pub payloads: PathBuf,
    /// The spec that it was written under, if known.
    pub spec: Option<CodecSpec>,
    /// The implementations that read it.
    pub decoders: Decoders,
    /// The limit of decoded bytes that are kept as bases of deltas; `None` for no limit.
    pub delta_cache: Option<u64>,
}

impl VariantPlace {
    /// Whether its spec compresses deltas with their bases.
    pub(crate) fn uses_bases(&self) -> bool {
        self.spec.as_ref().is_some_and(CodecSpec::uses_bases)
    }

    /// A repository about which nothing else is known.
    pub fn of(repository: &Repository, decoders: Decoders) -> Self {
        let folder = repository.own_folder().to_owned();
        VariantPlace {
            payloads: folder.clone(),
            folder,
            spec: repository.recorded_spec(),
            decoders,
            delta_cache: Some(DEFAULT_DELTA_CACHE),
        }
    }
}
