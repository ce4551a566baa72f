//! The object stores whose files this process opens.
//!
//! | file | contents |
//! |---|---|
//! | `path.rs` | what a path says of the file that it leads to |
//! | `folders.rs` | the stores, and their dictionaries |
//! | `spans.rs` | where in memory their content lies |

mod folders;
mod path;
mod spans;

pub(crate) use self::{
    folders::{Folder, Tables, Writer, any_has_namesake},
    path::ObjectFile,
    spans::{mapped, opened, read, tables_for, unmapped, written},
};
