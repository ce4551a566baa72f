//! Pack files and their indexes.

mod entry;
mod entry_place;
mod file;
mod log;
mod repeated;
mod search;
mod stored_entry;
mod table;

pub use entry::{EntryHeaderError, EntryKind, PackEntryHeader, write_offset_distance, write_type_and_size};
pub use entry_place::EntryPlace;
pub use file::PackFile;
pub(crate) use log::DecodedChunk;
pub(in crate::git) use repeated::RepeatedIds;
pub use stored_entry::StoredEntry;
pub use table::{DeltaBase, DeltaForest, EntryTable};

/// Length of `PACK`, version and entry count at the head of a pack.
pub const PACK_HEADER_LEN: u64 = 12;
