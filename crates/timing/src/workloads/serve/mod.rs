//! `serve`: the pack for a clone or a fetch of the last commits, made like on a server that reuses its stored entries:
//! entry by entry, without applying deltas or searching for them.
//!
//! The objects to send are computed before the clock starts, as a server with bitmaps knows them.

mod git;
mod hg;
mod plan;
mod recode;
mod sink;
mod store_server;

use std::{collections::HashMap, path::PathBuf};

use repackbench_codec::{ChunkKind, Decoders};
use repackbench_reader::{History, Repository};
use repackbench_records::WorkloadLabel;

pub use self::recode::recode_pack;
pub(crate) use self::store_server::StoreServer;
use self::{git::PackServer, hg::BundleServer};
use super::{
    Counts, HistoryRange, Observer, VariantPlace, Workload, WorkloadError, codec_only::CodecPart, diff, floor::Program,
    ingest::DEFAULT_COMMITS,
};

/// The codec that the client reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Client {
    /// The variant's own codec: stored chunks can be sent.
    Same,
    /// Only zlib.
    Zlib,
}

/// The objects that the client wants.
#[derive(Debug, Clone)]
pub(super) enum Scope {
    /// Everything reachable; the client has nothing.
    Clone,
    /// The objects of the last commits; the client has all others.
    Fetch(HistoryRange),
}

impl Scope {
    /// The last commits of `range`, or everything if it has no limit.
    fn of(range: &HistoryRange) -> Self {
        match range.commits {
            None => Scope::Clone,
            Some(_) => Scope::Fetch(range.clone()),
        }
    }
}

/// The pack of one exchange.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Served {
    /// Objects that were sent.
    pub entries: u64,
    /// Objects whose stored bytes were sent unchanged.
    pub reused: u64,
    /// The others.
    pub encoded: u64,
    /// Length of the pack, and of the dictionaries.
    pub wire_bytes: u64,
    /// Length of the dictionaries, which a client that clones needs.
    pub dictionary_bytes: u64,
}

/// An exchange by the name that users type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exchange {
    /// `serve:same`: to a client that speaks the variant's codec.
    Same,
    /// `serve:zlib`: to one that speaks only zlib.
    Zlib,
    /// `serve:push`: from a converted client to a server that speaks only zlib.
    Push,
}

impl Exchange {
    /// All exchanges.
    pub(super) const ALL: [Exchange; 3] = [Exchange::Same, Exchange::Zlib, Exchange::Push];

    /// The workload's name.
    pub fn name(self) -> &'static str {
        match self {
            Exchange::Same => "serve:same",
            Exchange::Zlib => "serve:zlib",
            Exchange::Push => "serve:push",
        }
    }

    fn client(self) -> Client {
        match self {
            Exchange::Same => Client::Same,
            Exchange::Zlib | Exchange::Push => Client::Zlib,
        }
    }
}

/// What is decoded and encoded for a client.
struct Recoding {
    program: Program,
    encodes: Vec<Encode>,
}

/// A payload that is encoded.
struct Encode {
    /// The number of decodes before it.
    decodes: usize,
    kind: ChunkKind,
    /// The object; `None` for the last decoded payload.
    object: Option<Vec<u8>>,
}

/// The server of one repository.
enum Server {
    Git(Box<PackServer>),
    Hg(Box<BundleServer>),
}

/// The repository of a server, its decoders, and the limit of decoded bytes that are kept.
type ServerKey = (PathBuf, Decoders, Option<u64>);

/// Serves variants in turn.
pub(super) struct Serve {
    exchange: Exchange,
    range: HistoryRange,
    into: Option<PathBuf>,
    /// The servers so far, by repository and decoders: the objects to send are computed once.
    servers: HashMap<ServerKey, Server>,
    current: Option<ServerKey>,
    served: Served,
    /// The recorded decoding and encoding, by the same key, for the floor.
    recodings: HashMap<ServerKey, Recoding>,
    payload: Vec<u8>,
}

impl std::fmt::Debug for Serve {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Serve").field("exchange", &self.exchange).field("range", &self.range).finish_non_exhaustive()
    }
}

impl Serve {
    /// A pack is written to the file `into`, or not at all.
    pub(super) fn new(exchange: Exchange, range: &HistoryRange, into: Option<PathBuf>) -> Self {
        let mut range = range.clone();
        if exchange == Exchange::Push {
            range.commits.get_or_insert(DEFAULT_COMMITS);
        }
        Serve {
            exchange,
            range,
            into,
            servers: HashMap::new(),
            current: None,
            served: Served::default(),
            recodings: HashMap::new(),
            payload: Vec::new(),
        }
    }
}

impl Workload for Serve {
    fn label(&self) -> WorkloadLabel {
        diff::label(self.exchange.name(), &self.range, &[])
    }

    fn prepare(&mut self, variant: &VariantPlace) -> Result<(), WorkloadError> {
        let key = (variant.folder.clone(), variant.decoders, variant.delta_cache);
        if !self.servers.contains_key(&key) {
            let server = match Repository::open(&variant.folder)? {
                Repository::Git(_) => Server::Git(Box::new(PackServer::at(variant, &self.range)?)),
                Repository::Hg(hg) => Server::Hg(Box::new(BundleServer::open(variant, hg, &self.range)?)),
            };
            self.servers.insert(key.clone(), server);
        }
        match self.servers.get_mut(&key) {
            Some(Server::Git(server)) => server.forget(),
            Some(Server::Hg(server)) => server.forget(),
            None => {}
        }
        self.current = Some(key);
        Ok(())
    }

    fn run(&mut self, _history: &mut dyn History, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        let is_checked = observer.wants_written_files();
        let (client, file) = (self.exchange.client(), self.into.as_deref());
        match self.current.as_ref().and_then(|current| self.servers.get_mut(current)) {
            Some(Server::Git(server)) => {
                self.served = server.serve(client, file, is_checked)?;
                server.tell(observer);
            }
            Some(Server::Hg(server)) => {
                self.served = server.serve(client, file)?;
                server.tell(observer);
            }
            None => return Err(WorkloadError::not_prepared()),
        }
        Ok(())
    }

    fn extra(&self) -> Counts {
        let Served { entries, reused, encoded, wire_bytes, dictionary_bytes } = self.served;
        let counts = [
            ("entries", entries),
            ("entries reused", reused),
            ("entries encoded", encoded),
            ("wire bytes", wire_bytes),
            ("dictionary bytes", dictionary_bytes),
        ];
        counts.map(|(name, count)| (name.to_owned(), count)).into()
    }
}

impl CodecPart for Serve {
    fn prepare_codec(&mut self, place: &VariantPlace) -> Result<(), WorkloadError> {
        self.prepare(place)?;
        let Some(key) = self.current.clone().filter(|key| !self.recodings.contains_key(key)) else { return Ok(()) };
        let client = self.exchange.client();
        let recoding = match self.servers.get_mut(&key) {
            Some(Server::Git(server)) => server.record(client)?,
            Some(Server::Hg(server)) => server.record(client)?,
            None => return Err(WorkloadError::not_prepared()),
        };
        self.recodings.insert(key, recoding);
        Ok(())
    }

    fn has_codec_work(&self) -> bool {
        let recoding = self.current.as_ref().and_then(|current| self.recodings.get(current));
        recoding.is_some_and(|recoding| recoding.program.len() + recoding.encodes.len() > 0)
    }

    fn run_codec(&mut self, history: &mut dyn History) -> Result<(), WorkloadError> {
        let Some(current) = &self.current else { return Err(WorkloadError::not_prepared()) };
        match (self.servers.get_mut(current), self.recodings.get(current)) {
            (Some(Server::Git(server)), Some(recoding)) => server.recode(self.exchange.client(), recoding, history),
            (Some(Server::Hg(_)), Some(recoding)) => {
                recoding.program.run(0..recoding.program.len(), history, &mut self.payload)
            }
            _ => Err(WorkloadError::not_prepared()),
        }
    }

    fn codec_counts(&self) -> Counts {
        let recoding = self.current.as_ref().and_then(|current| self.recodings.get(current));
        let Some(Recoding { program, encodes }) = recoding else { return Counts::new() };
        let counts = [
            ("chunks decoded", program.len() as u64),
            ("stored bytes decoded", program.stored_bytes()),
            ("payloads encoded", encodes.len() as u64),
        ];
        counts.map(|(name, count)| (name.to_owned(), count)).into()
    }
}
