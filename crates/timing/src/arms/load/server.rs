//! The server's side of a request: `git pack-objects`, started as `git upload-pack` starts it.

use std::{
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use repackbench_client::{GitClient, run_by};
use repackbench_reader::git::GitRepository;
use repackbench_records::{LoadRequest, ServingArm};

use crate::arms::stock::{Caches, GitRow, StockError, output};

/// The command of this program that compresses the pack of another command again:
/// `recode-pack HASH FOLDER COMMAND...` runs COMMAND and passes its pack on under zlib. HASH is the repository's hash
/// function, FOLDER that of its dictionaries.
pub const RECODE_COMMAND: &str = "recode-pack";

/// The first git that reuses entries of several packs at once.
const MULTI_PACK_REUSE: (u32, u32) = (2, 44);

/// What the words after `pack-objects` say in every arm, as in git's upload-pack with a current client.
const PACK_OBJECTS: [&str; 7] =
    ["pack-objects", "--revs", "--thin", "--stdout", "--delta-base-offset", "--include-tag", "-q"];

/// The two repositories that are served, and how.
pub(super) struct Servers<'a> {
    pub(super) zlib: GitRow,
    pub(super) codec: GitRow,
    /// The variant that `codec` serves.
    pub(super) variant: &'a GitRepository,
    /// The version line of git.
    pub(super) version: String,
    /// This program, which has [`RECODE_COMMAND`].
    pub(super) program: &'a Path,
}

impl Servers<'_> {
    /// The repository that `arm` serves.
    pub(super) fn row(&self, arm: ServingArm) -> &GitRow {
        match arm {
            ServingArm::Zlib | ServingArm::ZlibDeltasSearched => &self.zlib,
            ServingArm::CodecStored | ServingArm::CodecByGit | ServingArm::CodecDeltasKept => &self.codec,
        }
    }

    /// The command that serves a request, which it reads from stdin.
    pub(super) fn command(&self, arm: ServingArm) -> Result<Command, StockError> {
        let row = self.row(arm);
        let mut command = row.command_on(row.forge()?, Caches::Forge)?;
        let reuse = match arm {
            ServingArm::ZlibDeltasSearched => "pack.allowPackReuse=false",
            _ if version_of(&self.version).is_some_and(|version| version >= MULTI_PACK_REUSE) => {
                "pack.allowPackReuse=multi"
            }
            _ => "pack.allowPackReuse=true",
        };
        // The library overrides this where git must compress again.
        command.args(["-c", reuse]).args(PACK_OBJECTS);
        match arm {
            ServingArm::Zlib | ServingArm::CodecByGit => {}
            ServingArm::ZlibDeltasSearched => {
                command.arg("--no-reuse-delta");
            }
            ServingArm::CodecStored => GitClient::send_stored(&mut command),
            ServingArm::CodecDeltasKept => {
                GitClient::send_stored(&mut command);
                let (hash, dictionaries) = (self.variant.object_hash().to_string(), self.dictionaries());
                let words = [OsStr::new(RECODE_COMMAND), OsStr::new(&hash), dictionaries.as_os_str()];
                command = run_by(self.program, &words, &command);
            }
        }
        Ok(command)
    }

    /// The folder of the variant's dictionaries, which may not exist.
    pub(super) fn dictionaries(&self) -> PathBuf {
        self.variant.common_dir().join("objects").join("info").join(repackbench_reader::dictionaries::DICTIONARY_FOLDER)
    }

    /// Writes what upload-pack would write to stdin for each of `requests` to a file in `folder`.
    pub(super) fn write_requests(&self, requests: &[LoadRequest], folder: &Path) -> Result<Vec<PathBuf>, StockError> {
        let mut list = self.zlib.command_on(self.zlib.forge()?, Caches::Forge)?;
        let refs = output(list.args(["for-each-ref", "--format=%(objectname)"]))?;
        let write = |(number, request): (usize, &LoadRequest)| {
            let place = folder.join(format!("request-{number}"));
            let text = match (&request.want, &request.have) {
                (Some(want), Some(have)) => format!("{want}\n--not\n{have}\n").into_bytes(),
                _ => refs.clone(),
            };
            fs::write(&place, text).map_err(|error| StockError::files("write", &place, error))?;
            Ok(place)
        };
        requests.iter().enumerate().map(write).collect()
    }

    /// The newest `count` commits of `revision` by first parents.
    pub(super) fn first_parents(&self, revision: &str, count: u32) -> Result<Vec<String>, StockError> {
        let mut list = self.zlib.command_on(self.zlib.forge()?, Caches::Forge)?;
        list.args(["rev-list", "--first-parent", &format!("-n{count}"), "--end-of-options"]);
        let text = output(list.args([OsString::from(revision), OsString::from("--")]))?;
        Ok(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect())
    }
}

/// Major and minor version in git's version line.
fn version_of(line: &str) -> Option<(u32, u32)> {
    let mut numbers = line.split_whitespace().nth(2)?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(version_of("git version 2.47.3"), Some((2, 47)));
        assert!(version_of("git version 2.9.1") < Some(MULTI_PACK_REUSE));
        assert!(version_of("git version 2.100.GIT") > Some(MULTI_PACK_REUSE));
        assert_eq!(version_of("git"), None);
    }
}
