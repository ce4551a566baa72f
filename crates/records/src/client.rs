//! Who read a variant: this program, or the user's own git or hg.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The zlib of a client that has the one that it is linked with.
const HOST: &str = "host";

/// How a job was done that this program has not replayed itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClientKind {
    /// A command of the user's own, unpatched git or hg did it, in a process of its own.
    Stock,
}

/// The program that did a job.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Client {
    /// How it was done.
    pub kind: ClientKind,
    /// The program's name, as in `git`.
    pub program: String,
    /// What it says its version is, as in `git version 2.39.5`.
    pub version: String,
    /// Whether the library that stands in for zlib, or the extension of hg, was in place.
    pub library: bool,
    /// Who reads and writes zlib streams: `host`, the zlib that it is linked with, or `stock`, `zlib-rs`, `libdeflate`. Empty where an
    /// extension takes its place.
    pub zlib: String,
    /// What helps it besides, as in `commit-graph` and `bitmaps`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub helps: Vec<String>,
}

impl fmt::Display for Client {
    /// As it stands in a row's name: `plain git`, `git + library`, `git + zlib-rs`, `hg + extension`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.library, self.zlib.as_str()) {
            (false, _) => write!(f, "plain {}", self.program),
            (true, HOST) => write!(f, "{} + library", self.program),
            (true, "") => write!(f, "{} + extension", self.program),
            (true, zlib) => write!(f, "{} + {zlib}", self.program),
        }?;
        self.helps.iter().try_for_each(|help| write!(f, ", {help}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_named_by_what_was_put_into_it() {
        let client = |library, zlib: &str| Client {
            kind: ClientKind::Stock,
            program: "git".to_owned(),
            version: "git version 2.39.5".to_owned(),
            library,
            zlib: zlib.to_owned(),
            helps: Vec::new(),
        };
        assert_eq!(client(false, "host").to_string(), "plain git");
        assert_eq!(client(true, "host").to_string(), "git + library");
        assert_eq!(client(true, "zlib-rs").to_string(), "git + zlib-rs");
        let helps = vec!["commit-graph".to_owned(), "bitmaps".to_owned()];
        assert_eq!(Client { helps, ..client(false, "host") }.to_string(), "plain git, commit-graph, bitmaps");
    }
}
