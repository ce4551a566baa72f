//! Checks a sent pack as its client would: git indexes it beside what the client has, and then finds every wanted
//! object.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use repackbench_reader::dictionaries::DICTIONARY_FOLDER;
use repackbench_records::{LoadRequest, ServingArm};

use super::server::Servers;
use crate::arms::stock::{Caches, GitRow, StockError, copy_repository, output};

/// Clients to check packs with.
pub(super) struct Clients<'a> {
    servers: &'a Servers<'a>,
    folder: &'a Path,
    /// The repository of a client that has what the oldest client has.
    oldest: PathBuf,
    /// The commit that it has; `None` if nothing is fetched.
    has: Option<String>,
}

impl<'a> Clients<'a> {
    /// Makes the oldest client of `requests` in `folder`.
    pub(super) fn new(
        servers: &'a Servers<'a>,
        requests: &[LoadRequest],
        folder: &'a Path,
    ) -> Result<Self, StockError> {
        let oldest = requests.iter().rev().find_map(|request| request.have.clone());
        let clients = Clients { servers, folder, oldest: folder.join("oldest"), has: None };
        clients.init(&clients.oldest)?;
        if let Some(commit) = &oldest {
            clients.give(&clients.oldest, &format!("{commit}\n"))?;
        }
        Ok(Clients { has: oldest, ..clients })
    }

    /// Checks the pack at `pack`, which `arm` sent for `request`, whose text is in the file `text`.
    pub(super) fn check(
        &self,
        arm: ServingArm,
        request: &LoadRequest,
        text: &Path,
        pack: &Path,
    ) -> Result<(), StockError> {
        let place = self.folder.join("client");
        self.client(arm, request, &place)?;
        let row = match arm {
            ServingArm::CodecStored => &self.servers.codec,
            _ => &self.servers.zlib,
        };
        let mut index = row.command_on(&place, Caches::Off)?;
        index.args(["index-pack", "--stdin", "--fix-thin"]);
        output(with_input(&mut index, pack)?)?;
        let found = listed(row, &place, text)?;
        let expected = listed(&self.servers.zlib, self.servers.zlib.forge()?, text)?;
        if found != expected {
            let why = "the client that got its pack has other objects than the server";
            return Err(StockError::failed(&self.servers.command(arm)?, why));
        }
        fs::remove_dir_all(&place).map_err(|error| StockError::files("remove", &place, error))
    }

    /// Makes the client of `request` at `place`.
    fn client(&self, arm: ServingArm, request: &LoadRequest, place: &Path) -> Result<(), StockError> {
        match (&request.have, &self.has) {
            (Some(have), Some(oldest)) => {
                copy_repository(&self.oldest, place)?;
                if have != oldest {
                    self.give(place, &format!("{have}\n--not\n{oldest}\n"))?;
                }
            }
            _ => self.init(place)?,
        }
        if arm == ServingArm::CodecStored {
            self.servers.codec.guard(place)?;
            self.copy_dictionaries(place)?;
        }
        Ok(())
    }

    /// Gives the repository at `place` the objects that the zlib server sends for the request `text`.
    fn give(&self, place: &Path, text: &str) -> Result<(), StockError> {
        let (request, pack) = (self.folder.join("given"), self.folder.join("given.pack"));
        fs::write(&request, text).map_err(|error| StockError::files("write", &request, error))?;
        let sent = output(with_input(&mut self.servers.command(ServingArm::Zlib)?, &request)?)?;
        fs::write(&pack, sent).map_err(|error| StockError::files("write", &pack, error))?;
        let mut index = self.servers.zlib.command_on(place, Caches::Off)?;
        index.args(["index-pack", "--stdin", "--fix-thin"]);
        output(with_input(&mut index, &pack)?).map(drop)
    }

    fn init(&self, place: &Path) -> Result<(), StockError> {
        let mut command = self.servers.zlib.command_on(place, Caches::Off)?;
        let format = format!("--object-format={}", self.servers.variant.object_hash());
        command.env_remove("GIT_DIR").args(["init", "-q", "--bare", "--template=", &format]).arg(place);
        output(&mut command).map(drop)
    }

    fn copy_dictionaries(&self, place: &Path) -> Result<(), StockError> {
        let (from, to) = (self.servers.dictionaries(), place.join("objects").join("info").join(DICTIONARY_FOLDER));
        if !from.exists() || to.exists() {
            return Ok(());
        }
        let info = place.join("objects").join("info");
        fs::create_dir_all(&info).map_err(|error| StockError::files("create", &info, error))?;
        copy_repository(&from, &to)
    }
}

/// The objects that a request names, as the repository at `place` has them. Fails if it lacks one.
fn listed(row: &GitRow, place: &Path, text: &Path) -> Result<Vec<u8>, StockError> {
    let mut list = row.command_on(place, Caches::Off)?;
    list.args(["rev-list", "--objects", "--no-object-names", "--stdin"]);
    let mut lines: Vec<Vec<u8>> =
        output(with_input(&mut list, text)?)?.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    lines.sort_unstable();
    Ok(lines.join(&b'\n'))
}

/// `command` with the file at `path` as stdin.
pub(super) fn with_input<'c>(command: &'c mut Command, path: &Path) -> Result<&'c mut Command, StockError> {
    let file = fs::File::open(path).map_err(|error| StockError::files("open", path, error))?;
    Ok(command.stdin(file))
}
