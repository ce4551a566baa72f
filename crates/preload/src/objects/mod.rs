//! The object stores whose files this process opens.
//!
//! | file | contents |
//! |---|---|
//! | `path.rs` | what a path says of the file that it leads to |
//! | `stores.rs` | the stores, and their dictionaries |
//! | `spans.rs` | where in memory their content lies |

mod path;
mod spans;
mod stores;

pub(crate) use self::{
    path::ObjectFile,
    spans::{mapped, opened, read, tables_for, unmapped, written},
    stores::{DictionarySet, ObjectStore, Writer, any_has_namesake},
};
