//! The program that read a variant: this one, or the user's own git or hg.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The zlib that a client is linked with.
const HOST: &str = "host";

/// How another program did a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClientKind {
    /// By a command of the user's own, unpatched git or hg, in its own process.
    Stock,
}

/// The program that did a job.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Client {
    /// How it was done.
    pub kind: ClientKind,
    /// The program's name, as in `git`.
    pub program: String,
    /// The version that it reports, as in `git version 2.39.5`.
    pub version: String,
    /// Whether it ran with the stand-in for zlib, or with the hg extension.
    pub library: bool,
    /// The implementation of zlib streams: `host`, which is the zlib that it is linked with, or `stock`, `zlib-rs`,
    /// `libdeflate`. Empty if an extension replaces it.
    pub zlib: String,
    /// Other features that speed it up, as in `commit-graph` and `bitmaps`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub helps: Vec<String>,
}

impl Client {
    /// The zlib that it ran with in place of its own.
    pub fn other_zlib(&self) -> Option<&str> {
        Some(self.zlib.as_str()).filter(|zlib| self.library && !matches!(*zlib, HOST | ""))
    }

    /// Whether it had more than what reads the codec: another zlib than its own, or other features.
    pub fn is_helped(&self) -> bool {
        self.other_zlib().is_some() || !self.helps.is_empty()
    }
}

impl fmt::Display for Client {
    /// As in the name of a row: `plain git`, `git + library`, `git + zlib-rs`, `hg + extension`.
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
    fn client_name_lists_library_zlib_and_features() {
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
        let helped = Client { helps, ..client(false, "host") };
        assert_eq!(helped.to_string(), "plain git, commit-graph, bitmaps");
        assert!(helped.is_helped());
        for (library, zlib, other) in
            [(true, "zlib-rs", Some("zlib-rs")), (true, "host", None), (false, "host", None), (true, "", None)]
        {
            let client = client(library, zlib);
            assert_eq!((client.other_zlib(), client.is_helped()), (other, other.is_some()), "{client}");
        }
    }
}
