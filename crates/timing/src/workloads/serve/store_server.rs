//! The server of either system, for measuring the cost of a transition.

use repackbench_reader::Repository;

use super::{Client, PackServer, Served, hg::BundleServer};
use crate::workloads::{HistoryRange, VariantPlace, WorkloadError};

/// Serves one repository, or two that hold the same deltas.
pub(crate) enum StoreServer {
    Git(Box<PackServer>),
    Hg(Box<BundleServer>),
}

impl StoreServer {
    /// The spec that old clients read and old servers write.
    pub(crate) const PLAIN: &str = PackServer::PLAIN;

    /// A server of the repository at `place`, for the last commits of `range` or for clones if it has no limit. None of
    /// this is timed.
    pub(crate) fn at(place: &VariantPlace, range: &HistoryRange) -> Result<Self, WorkloadError> {
        Ok(match Repository::open(&place.folder)? {
            Repository::Git(_) => StoreServer::Git(Box::new(PackServer::at(place, range)?)),
            Repository::Hg(hg) => StoreServer::Hg(Box::new(BundleServer::open(place, hg, range)?)),
        })
    }

    /// Takes every second entry, or revlog, from the repository at `place` instead.
    pub(crate) fn mix(&mut self, place: &VariantPlace) -> Result<(), WorkloadError> {
        match self {
            StoreServer::Git(server) => server.mix(place),
            StoreServer::Hg(server) => server.mix(place),
        }
    }

    /// Clears caches of decoded objects, so that the next exchange is like the first one.
    pub(crate) fn forget(&mut self) {
        match self {
            StoreServer::Git(server) => server.forget(),
            StoreServer::Hg(server) => server.forget(),
        }
    }

    /// Serves a client that reads the codec, or one that does not; `is_plain` means that both can read all stored
    /// chunks. Mercurial sends its files unchanged to a client that clones and can read them, and a bundle to all
    /// others.
    pub(crate) fn serve(
        &mut self,
        is_upgraded: bool,
        is_plain: bool,
        is_checked: bool,
    ) -> Result<Served, WorkloadError> {
        match self {
            StoreServer::Git(server) => server.serve_to(is_upgraded, is_checked),
            StoreServer::Hg(server) => {
                let is_streamed = server.is_clone() && (is_upgraded || is_plain);
                server.serve(if is_streamed { Client::Same } else { Client::Zlib }, None)
            }
        }
    }
}
