//! `serve`: the pack that a clone, or a fetch of the last commits, needs, made as a server makes it when it reuses what it has
//! stored: entry by entry, no delta applied or searched for.
//!
//! What to send is found out before the clock starts, as a server with bitmaps knows it.

mod git;
mod hg;
mod plan;
mod sink;

use std::{collections::HashMap, path::PathBuf};

use repackbench_codec::Decoders;
use repackbench_reader::{History, Repository};
use repackbench_records::WorkloadLabel;

pub(crate) use self::git::PackServer;
use self::hg::BundleServer;
use super::{Counts, HistoryRange, Observer, VariantPlace, Workload, WorkloadError, diff, ingest::DEFAULT_COMMITS};

/// What the client understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Client {
    /// The variant's own codec: what is stored can be sent.
    Same,
    /// zlib, and nothing else.
    Zlib,
}

/// What the client wants.
#[derive(Debug, Clone)]
pub(super) enum Scope {
    /// Everything reachable; it has nothing.
    Clone,
    /// What the last commits brought; it has everything else.
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

/// A pack that was served.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Served {
    /// Objects that were sent.
    pub entries: u64,
    /// Those of them whose stored bytes were sent as they are.
    pub reused: u64,
    /// The others.
    pub encoded: u64,
    /// Length of the pack, and of the dictionaries.
    pub wire_bytes: u64,
    /// Bytes of dictionaries, which a client that clones has to be sent.
    pub dictionary_bytes: u64,
}

/// Which exchange, as the user names it.
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
    /// All of them.
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

/// The server of one repository.
enum Server {
    Git(Box<PackServer>),
    Hg(Box<BundleServer>),
}

/// Which repository a server serves, who reads it, and how many decoded bytes are kept.
type ServerKey = (PathBuf, Decoders, Option<u64>);

/// Serves one variant after another.
pub(super) struct Serve {
    exchange: Exchange,
    range: HistoryRange,
    into: Option<PathBuf>,
    /// The servers so far, by repository and who reads it: what they have to send is found out once.
    servers: HashMap<ServerKey, Server>,
    current: Option<ServerKey>,
    served: Served,
}

impl std::fmt::Debug for Serve {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Serve").field("exchange", &self.exchange).field("range", &self.range).finish_non_exhaustive()
    }
}

impl Serve {
    /// A pack is written into the file `into`, or nowhere.
    pub(super) fn new(exchange: Exchange, range: &HistoryRange, into: Option<PathBuf>) -> Self {
        let mut range = range.clone();
        if exchange == Exchange::Push {
            range.commits.get_or_insert(DEFAULT_COMMITS);
        }
        Serve { exchange, range, into, servers: HashMap::new(), current: None, served: Served::default() }
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
