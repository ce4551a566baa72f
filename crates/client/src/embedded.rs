//! The preload libraries that the program contains, and the private folder from which git loads them.
//!
//! The dynamic linker loads libraries from files only. So they are written to a folder of this user on first use, and
//! compared with the embedded ones before each further use.
//!
//! Layout of the embedded bytes, which `crates/cli/build/pack.rs` writes. Numbers are little-endian:
//!
//! | offset | length | content |
//! |---|---|---|
//! | 0 | 32 | a mark by which tests find the bytes in a program; ignored here |
//! | 32 | 8 | the length of the frame, or 0 if no library is embedded |
//! | 40 | 8 | the length of the stand-in |
//! | 48 | 8 | the length of the library with the codecs |
//! | 56 | | a standard zstd frame of both libraries, in this order |
//! | | | unused room |

use std::{
    env, fs,
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use nix::unistd::geteuid;
use repackbench_codec::{ChunkDecoder, Decoders};
use repackbench_writer::cache::Cache;
use sha2::{Digest, Sha256};

use crate::{ClientError, name_of, private_folder};

/// The stand-in, and the library with the codecs that it loads from the same folder.
pub(crate) const FILES: [&str; 2] = ["librepackbench_preload.so", "librepackbench_preload_codecs.so"];

/// The bytes in the program. They belong to the program, like its code, so all clients of the process share them.
static BYTES: OnceLock<&'static [u8]> = OnceLock::new();

/// The folder in which the private folder is made, below `XDG_RUNTIME_DIR`.
const RUNTIME_FOLDER: &str = "repackbench";

/// Sets the bytes in the program. Only the first call has an effect.
pub(crate) fn set(bytes: &'static [u8]) {
    let _ = BYTES.set(bytes);
}

/// The path of the stand-in in a private folder, which is made and filled if necessary. `None` if the program contains
/// no libraries.
///
/// # Errors
/// Fails if no folder of the user can hold the libraries.
pub(crate) fn stand_in() -> Result<Option<PathBuf>, ClientError> {
    let Some(embedded) = BYTES.get().copied().map(Embedded::of).transpose()?.flatten() else { return Ok(None) };
    let libraries = embedded.libraries()?;
    let mut refusals = Vec::new();
    let mut hint = None;
    for root in roots() {
        match install(&root, &embedded.folder_name(), &libraries) {
            Ok(path) => return Ok(Some(path)),
            Err(ClientError::Refused { message, hint: own }) => {
                refusals.push(message);
                hint = hint.or(own);
            }
            Err(error) => refusals.push(error.to_string()),
        }
    }
    if refusals.is_empty() {
        refusals.push("HOME, XDG_CACHE_HOME and XDG_RUNTIME_DIR name none".to_owned());
    }
    let message = format!("no folder can hold the preload libraries: {}", refusals.join("; "));
    let elsewhere = "set XDG_CACHE_HOME to a folder of your own from which programs may be run";
    Err(ClientError::refused(message).with_hint(hint.unwrap_or_else(|| elsewhere.to_owned())))
}

/// The folders in which the private folder may be: the cache, which lasts, and then that of the user's login.
fn roots() -> impl Iterator<Item = PathBuf> {
    let runtime = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    Cache::default_root().into_iter().chain(runtime.map(|path| path.join(RUNTIME_FOLDER)))
}

/// Ensures that the folder `name` in `root` is private and holds the libraries. Returns the path of the stand-in.
fn install(root: &Path, name: &str, libraries: &[Vec<u8>; 2]) -> Result<PathBuf, ClientError> {
    let folder = root.join(name);
    fs::create_dir_all(root).map_err(|error| refused(root, &error))?;
    private_folder::make(&folder)?;
    private_folder::refuse_noexec(&folder)?;
    for (file, content) in FILES.iter().zip(libraries) {
        let path = folder.join(file);
        let holds = || private_folder::holds(&path, content).map_err(|error| refused(&path, &error));
        if !holds()? {
            replace(&folder, &path, content).map_err(|error| refused(&path, &error))?;
            if !holds()? {
                return Err(ClientError::refused(format!("{}: changed after it was written", name_of(&path))));
            }
        }
    }
    Ok(folder.join(FILES[0]))
}

/// Writes a file beside `path` and renames it, so that a git which loads the old file meanwhile is not disturbed.
fn replace(folder: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    let mode = fs::Permissions::from_mode(private_folder::FILE_MODE);
    let mut file = tempfile::Builder::new().permissions(mode).tempfile_in(folder)?;
    file.write_all(content)?;
    file.persist(path)?;
    Ok(())
}

fn refused(path: &Path, error: &io::Error) -> ClientError {
    ClientError::refused(format!("{}: {error}", name_of(path)))
}

/// The parts of the embedded bytes.
struct Embedded {
    frame: &'static [u8],
    lengths: [usize; 2],
}

impl Embedded {
    /// The parts of `bytes`, or `None` if these contain no library.
    fn of(bytes: &'static [u8]) -> Result<Option<Self>, ClientError> {
        let number = |at: usize| {
            let field = bytes.get(at..)?.first_chunk::<8>()?;
            usize::try_from(u64::from_le_bytes(*field)).ok()
        };
        let parts = || {
            let (frame_len, lengths) = (number(32)?, [number(40)?, number(48)?]);
            Some(Embedded { frame: bytes.get(56..)?.get(..frame_len)?, lengths })
        };
        let found = parts().ok_or_else(damaged)?;
        Ok(Some(found).filter(|found| !found.frame.is_empty()))
    }

    /// The name of the private folder. Each build has its own, so that a git which has loaded the stand-in of one build
    /// never loads the codecs of another. So has each user, as `sudo` may keep `HOME`.
    fn folder_name(&self) -> String {
        // Eight bytes are enough to tell builds apart. What the folder holds is compared in full.
        let hash: [u8; 32] = Sha256::digest(self.frame).into();
        hash.iter().take(8).fold(format!("preload-{}-", geteuid()), |name, byte| format!("{name}{byte:02x}"))
    }

    /// The libraries, in the order of [`FILES`].
    fn libraries(&self) -> Result<[Vec<u8>; 2], ClientError> {
        let [first, second] = self.lengths;
        let mut stand_in = vec![0; first.checked_add(second).ok_or_else(damaged)?];
        let decoded = ChunkDecoder::new(Decoders::default()).decode(self.frame, &mut stand_in);
        decoded.map_err(|error| ClientError::refused(format!("the embedded preload libraries: {error}")))?;
        let codecs = stand_in.split_off(first);
        Ok([stand_in, codecs])
    }
}

fn damaged() -> ClientError {
    ClientError::refused("the embedded preload libraries: expected their lengths and a zstd frame, found less")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    /// The content of two libraries.
    fn libraries() -> [Vec<u8>; 2] {
        [b"stand-in".to_vec(), b"codecs".to_vec()]
    }

    #[test]
    fn empty_room_contains_no_library() {
        assert!(Embedded::of(&[0; 64]).unwrap().is_none());
    }

    #[test]
    fn truncated_bytes_are_an_error() {
        let mut bytes = vec![0; 60];
        bytes[32] = 5;
        assert!(Embedded::of(bytes.leak()).is_err(), "four of five bytes of the frame");
        assert!(Embedded::of(&[0; 55]).is_err(), "no complete header");
    }

    #[test]
    fn installed_libraries_are_used_again() {
        let scratch = tempfile::tempdir().unwrap();
        let inodes = || {
            let path = install(scratch.path(), "preload", &libraries()).unwrap();
            FILES.map(|file| fs::metadata(path.with_file_name(file)).unwrap().ino())
        };
        assert_eq!(inodes(), inodes());
        let folder = scratch.path().join("preload");
        for (file, content) in FILES.iter().zip(libraries()) {
            assert_eq!(fs::read(folder.join(file)).unwrap(), content);
        }
        assert_eq!(fs::read_dir(folder).unwrap().count(), FILES.len(), "no other file is left");
    }

    #[test]
    fn changed_libraries_are_replaced() {
        let scratch = tempfile::tempdir().unwrap();
        let path = install(scratch.path(), "preload", &libraries()).unwrap();
        let codecs = path.with_file_name(FILES[1]);
        fs::write(&path, "Stand-in").unwrap();
        fs::set_permissions(&codecs, fs::Permissions::from_mode(0o666)).unwrap();
        let old = [&path, &codecs].map(|file| fs::metadata(file).unwrap().ino());
        // Whoever has opened the old files can still write to them.
        let kept = [&path, &codecs].map(|file| fs::File::open(file).unwrap());
        install(scratch.path(), "preload", &libraries()).unwrap();
        assert_ne!(old, [&path, &codecs].map(|file| fs::metadata(file).unwrap().ino()));
        drop(kept);
        assert_eq!([fs::read(&path).unwrap(), fs::read(&codecs).unwrap()], libraries());
        assert_eq!(fs::metadata(&codecs).unwrap().mode() & 0o777, private_folder::FILE_MODE);
    }
}
