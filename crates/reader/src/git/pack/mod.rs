//! Pack files and their indexes.

mod entry;
mod file;
mod log;
mod search;
mod stored_entry;
mod table;

pub use entry::{EntryHeaderError, EntryKind, PackEntryHeader, write_offset_distance, write_type_and_size};
pub use file::{PACK_HEADER_LEN, PackFile};
pub(crate) use log::DecodedChunk;
pub use stored_entry::StoredEntry;
pub use table::{DeltaBase, DeltaForest, EntryTable};
