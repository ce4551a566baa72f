//! A server under the load of several clients at once.

use serde::{Deserialize, Serialize};

use crate::{Host, SpecText};

/// What clones and fetches cost a server by arm and number of clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServingLoad {
    /// Version of this form.
    pub schema: u32,
    /// The program's version.
    pub program_version: String,
    /// The machine.
    pub host: Host,
    /// The repository, as typed.
    pub repository: String,
    /// The codec of the variant.
    pub spec: SpecText,
    /// The version line of the git that served.
    pub git: String,
    /// The revision of the newest fetched commit.
    pub revision: String,
    /// The seed of the requests and of the order of arms.
    pub seed: u64,
    /// The time that was allowed for the measurement, in seconds.
    pub time_s: f64,
    /// The length of the variant's dictionaries, which a client of the codec needs with a clone.
    pub dictionary_bytes: u64,
    /// The different requests.
    pub requests: Vec<LoadRequest>,
    /// The pack of every request in every arm, checked as the client would. Timed packs have the same lengths.
    pub packs: Vec<CheckedPack>,
    /// What was measured.
    pub rows: Vec<LoadRow>,
    /// What would have taken too long.
    pub left_out: Vec<LeftOutLoad>,
}

/// The version of [`ServingLoad`]'s form.
pub const SERVING_LOAD_SCHEMA_VERSION: u32 = 1;

/// What a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadExchange {
    /// All refs; the client has nothing.
    Clone,
    /// The newest commits; the client has those before.
    Fetch,
}

/// How a server makes its packs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServingArm {
    /// git, from zlib to a client of zlib: stored bytes are reused.
    Zlib,
    /// git, from zlib to a client of zlib: deltas are searched for again.
    ZlibDeltasSearched,
    /// git with the library, from the codec to a client of the codec: stored bytes are reused.
    CodecStored,
    /// git with the library, from the codec to a client of zlib: git compresses again, and searches for deltas again.
    CodecByGit,
    /// From the codec to a client of zlib: as `CodecStored`, and each entry is then compressed again as it is.
    CodecDeltasKept,
}

impl ServingArm {
    /// Every arm, the baseline first.
    pub const ALL: [ServingArm; 5] = [
        ServingArm::Zlib,
        ServingArm::CodecStored,
        ServingArm::CodecDeltasKept,
        ServingArm::CodecByGit,
        ServingArm::ZlibDeltasSearched,
    ];
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadRequest {
    /// What it is.
    pub exchange: LoadExchange,
    /// The number of commits, by first parents, between what a fetch wants and what the client has; `None` for a clone.
    pub age: Option<u32>,
    /// The wanted commit of a fetch.
    pub want: Option<String>,
    /// The commit that the client of a fetch has.
    pub have: Option<String>,
}

/// One arm under one number of clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadRow {
    /// What the clients asked for.
    pub exchange: LoadExchange,
    /// How it was served.
    pub arm: ServingArm,
    /// Clients at once.
    pub clients: u32,
    /// The exchanges, in the order of the draw within each block.
    pub exchanges: Vec<LoadSample>,
    /// CPU time of all server processes, user and system, in nanoseconds.
    pub cpu_ns: u64,
}

/// One exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadSample {
    /// The number of the request in [`ServingLoad::requests`].
    pub request: usize,
    /// Time from the start of the process until it had sent everything and had ended, in nanoseconds.
    pub elapsed_ns: u64,
}

/// A pack that was sent once without load, and checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedPack {
    /// How it was served.
    pub arm: ServingArm,
    /// The number of the request in [`ServingLoad::requests`].
    pub request: usize,
    /// Its length.
    pub bytes: u64,
    /// The peak memory of the largest process that served it, in bytes; `None` if unknown.
    pub peak_bytes: Option<u64>,
}

/// An arm that was not measured, because not even one request of each client fits the time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LeftOutLoad {
    /// What the clients would have asked for.
    pub exchange: LoadExchange,
    /// How it would have been served.
    pub arm: ServingArm,
    /// Clients at once.
    pub clients: u32,
    /// The expected time of one request of each client, in seconds.
    pub expected_s: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ResultLine, read_results, write_result};

    #[test]
    fn a_load_is_one_line_that_reads_back() {
        let sample = LoadSample { request: 0, elapsed_ns: 5 };
        let arm = ServingArm::CodecDeltasKept;
        let row = LoadRow { exchange: LoadExchange::Clone, arm, clients: 8, exchanges: vec![sample], cpu_ns: 4 };
        let load = ServingLoad {
            schema: SERVING_LOAD_SCHEMA_VERSION,
            program_version: "0".into(),
            host: Host::current(),
            repository: "repo".into(),
            spec: SpecText { typed: "zstd:3".into(), canonical: "zstd:3".into() },
            git: "git version 2".into(),
            revision: "HEAD".into(),
            seed: 1,
            time_s: 60.0,
            dictionary_bytes: 0,
            requests: vec![LoadRequest { exchange: LoadExchange::Clone, age: None, want: None, have: None }],
            packs: vec![CheckedPack { arm, request: 0, bytes: 9, peak_bytes: None }],
            rows: vec![row],
            left_out: Vec::new(),
        };
        let mut line = Vec::new();
        write_result(&mut line, &ResultLine::ServingLoad(Box::new(load.clone()))).unwrap();
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert!(String::from_utf8_lossy(&line).contains("\"codec-deltas-kept\""));
        let read: Vec<_> = read_results(&line[..]).map(Result::unwrap).collect();
        assert!(matches!(&read[..], [ResultLine::ServingLoad(read)] if **read == load), "{read:?}");
    }
}
