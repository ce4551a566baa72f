//! Reads stored repositories: where their objects are, how they are framed, and what they contain.
//!
//! The modules are layered. At the bottom are [`traits`] and plain types: what the rest of the program sees of either
//! version-control system. [`Store`] gives chunks in file order, for conversion; [`History`] gives revisions and
//! content, for workloads. [`git`] and [`hg`] implement them side by side, in folders that mirror the formats.
//! [`Repository`] is on top and picks one of the two. [`files`] reads trees of files, which are no repositories.
//!
//! The chunks of a repository are read in the order of its files, and their payloads only if they are decoded. The
//! example `chunks` sums them up by kind.
//!
//! ```
//! use repackbench_reader::Repository;
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("repo");
//! # ["objects", "refs"].iter().try_for_each(|name| std::fs::create_dir_all(path.join(name)))?;
//! # std::fs::write(path.join("HEAD"), "ref: refs/heads/main\n")?;
//!
//! let repository = Repository::open(&path)?;
//! let (mut payload, mut stored) = (0, 0);
//! repository.store().for_each_chunk(&mut |chunk| {
//!     payload += chunk.payload_len;
//!     stored += chunk.stored_len;
//!     Ok(())
//! })?;
//! // A repository without commits.
//! assert_eq!((payload, stored), (0, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
// Data from a file is an unchecked claim. It must not cause a panic or be truncated silently.
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
    Change, Changes, Chunk, Content, ContentVisitor, CountVisitor, DeltaLinks, FileVersion, History, LeftOut, Revision,
    SizeVisitor, Store, TraverseVisitor, WantedPayloads,
};
