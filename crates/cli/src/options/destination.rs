//! Where a form of output goes.

use std::{
    convert::Infallible,
    ffi::OsString,
    path::{Path, PathBuf},
};

use clap::builder::{OsStringValueParser, TypedValueParser};

/// A file, or stdout for `-`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Destination {
    /// `-`.
    Stdout,
    /// The file at this path.
    File(PathBuf),
}

impl Destination {
    /// The path of the file; `None` for stdout.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Destination::Stdout => None,
            Destination::File(path) => Some(path),
        }
    }
}

/// Parses a path, or `-`.
pub(crate) fn destination() -> impl TypedValueParser<Value = Destination> {
    OsStringValueParser::new().try_map(|typed: OsString| {
        Ok::<_, Infallible>(if typed == "-" { Destination::Stdout } else { Destination::File(typed.into()) })
    })
}
