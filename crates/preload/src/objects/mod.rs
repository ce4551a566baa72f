//! Follows which object stores this process reads and writes.
//!
//! | file | contents |
//! |---|---|
//! | `path.rs` | recognizes object files by their paths |
//! | `stores.rs` | the stores, their dictionaries and codecs |
//! | `spans.rs` | where in memory their content is |

mod path;
mod spans;
mod stores;

pub(crate) use self::{
    path::ObjectFile,
    spans::{dictionaries_for, mapped, opened, read, unmapped, written},
    stores::{DictionarySet, ObjectStore, Writer, any_has_namesake},
};
