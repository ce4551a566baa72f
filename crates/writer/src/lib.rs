//! Rewrites a repository under a codec spec, with its delta structure untouched, and keeps the cache of variants.
//!
//! [`fn@convert`] builds the variant beside its final name, decodes every new chunk again, and only then renames it.
//!
//! ```
//! use repackbench_reader::Repository;
//! use repackbench_writer::{ConvertJob, JobControl, Layout, NoProgress, convert};
//! # let folder = tempfile::tempdir()?;
//! # let (path, target) = (folder.path().join("repo"), folder.path().join("variant"));
//! # ["objects", "refs"].iter().try_for_each(|name| std::fs::create_dir_all(path.join(name)))?;
//! # std::fs::write(path.join("HEAD"), "ref: refs/heads/main\n")?;
//!
//! let source = Repository::open(&path)?;
//! let control = JobControl { threads: 2, progress: &NoProgress };
//! let (_, written) = convert(&source, &"zstd:5".parse()?, Layout::default(), &ConvertJob::new(&target, control))?;
//! assert_eq!(Repository::open(&written)?.recorded_spec().map(|spec| spec.to_string()), Some("zstd:5".to_owned()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
// Values that come from a file are untrusted: they must neither cause a panic nor be truncated silently.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::cast_possible_truncation
    )
)]

pub mod cache;
mod check;
mod conversion;
mod convert;
mod delta_recomputer;
pub mod dictionaries;
mod encoding;
mod error;
pub mod files;
pub mod git;
pub mod hg;
mod in_place;
mod job;
pub mod layout;
pub mod leftovers;
mod new_file;
mod output;
mod payload_encoders;
pub mod payloads;
mod pipeline;
mod progress;
mod variant;
mod work_folder;

pub use conversion::{Conversion, SearchCost};
pub use convert::{check_kinds, convert, convert_recomputed};
pub use delta_recomputer::{DeltaRecomputer, GitDeltas, HgDeltas, Unreachable};
pub use encoding::{Encoding, TrainingKind};
pub use error::{Result, WriterError};
pub use in_place::{InPlaceJob, Replaced, convert_in_place};
pub use job::{ConvertJob, JobControl};
pub use layout::{Layout, Order, StoreKind};
pub use new_file::copy_as_owner;
pub use output::{OutputPath, default_output};
pub use payload_encoders::{PayloadBase, PayloadDecoder, PayloadEncoders};
pub use progress::{NoProgress, Progress, ProgressUnit, SessionStatus};
pub use variant::{cached_recomputed, cached_variant, fingerprint};
pub use work_folder::{Leftovers, WorkFolder, remove_leftovers};
