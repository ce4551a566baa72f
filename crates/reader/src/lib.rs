//! Understands stored repositories: where their objects lie, how they are framed, what they say.
//!
//! Folders mirror the formats: [`git`] holds packs, loose objects, deltas, refs and history, [`hg`] revlogs, store names and
//! history. [`traits`] holds what the
//! rest of the program sees of any version-control system: [`Store`], chunks in file order, which conversion reads, and
//! [`History`], revisions and content, which workloads replay. [`files`] reads trees of files, which are no repositories.
#![forbid(unsafe_code)]
// What comes from a file is a claim: it must not be able to panic or to be cut short silently.
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

mod access;
mod bases;
mod bounds;
mod common_prefix;
mod delta_base_cache;
pub mod dictionaries;
mod error;
mod file_section;
mod file_state;
pub mod files;
pub mod git;
pub mod hash;
pub mod hg;
pub mod memory;
mod payloads;
mod repository;
pub mod threads;
pub mod traits;

pub use access::{Access, AccessPart, AccessTrace, ChunkInMemory, FileRole, Recording, TracedDecode, TracedFile};
pub use bases::{BaseReader, ChunkPlace};
pub use bounds::read_regular_file;
pub use delta_base_cache::CacheLookups;
pub use error::{Place, ReaderError, Result};
pub use file_section::FileSection;
pub use memory::DEFAULT_DELTA_CACHE;
pub use payloads::{VisitPayload, VisitPayloadInPlace};
pub use repackbench_codec::{ChunkKind, ObjectKind};
pub use repository::{Repository, Snapshot};
pub use traits::{
    Change, Changes, Chunk, Content, ContentVisitor, DeltaLinks, FileVersion, History, LeftOut, Revision, SizeVisitor,
    Store, TraverseVisitor, WantedPayloads,
};
