//! Finds the library that stands in for zlib.

use std::{
    env,
    ffi::{OsStr, OsString},
    hash::{DefaultHasher, Hash, Hasher},
    io,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::{Path, PathBuf},
    process::Command,
};

use nix::unistd::geteuid;

use crate::{
    ClientError, absolute,
    embedded::{self, FILES},
    name_of, private_folder,
};

/// The variable with the path of the library, if it is not beside the program.
const VARIABLE: &str = "REPACKBENCH_PRELOAD";

/// The variable from which the dynamic linker takes libraries to preload.
const PRELOAD: &str = "LD_PRELOAD";

/// The zlib to which the preloaded library passes zlib streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Zlib {
    /// The one that git is linked with.
    #[default]
    Host,
    /// Stock zlib.
    Stock,
    /// zlib-rs, a zlib written in Rust.
    ZlibRs,
    /// zlib-ng, if the library is built with it.
    ZlibNg,
    /// libdeflate for streams that are read at once, otherwise the one that git is linked with.
    Libdeflate,
}

impl Zlib {
    /// The name in the environment variable of the library.
    pub fn name(self) -> &'static str {
        match self {
            Zlib::Host => "host",
            Zlib::Stock => "stock",
            Zlib::ZlibRs => "zlib-rs",
            Zlib::ZlibNg => "zlib-ng",
            Zlib::Libdeflate => "libdeflate",
        }
    }
}

/// The folder for links to libraries whose own paths [`PRELOAD`] cannot contain.
const LINKS: &str = "/tmp";

/// The file of the stand-in.
#[derive(Debug)]
pub struct Preload {
    path: PathBuf,
}

impl Preload {
    /// Tells this process which libraries its program contains. `build.rs` of the program describes the bytes. Only the
    /// first call has an effect.
    pub fn embed(bytes: &'static [u8]) {
        embedded::set(bytes);
    }

    /// Finds the library: at the path in the environment, beside this program, in `../lib`, or in the program itself,
    /// which then writes it to a folder of the user.
    ///
    /// # Errors
    /// Fails if it is not found, if it cannot be loaded from where it is, or if the platform cannot preload libraries.
    pub fn find() -> Result<Self, ClientError> {
        if !cfg!(target_os = "linux") {
            return Err(ClientError::refused("exec preloads a library into git, which works only on Linux"));
        }
        if let Some(named) = env::var_os(VARIABLE) {
            return Preload::at(absolute(Path::new(&named))?);
        }
        let program = env::current_exe()?;
        let folder = program.parent().unwrap_or(Path::new("/"));
        let places = [folder.to_owned(), folder.join("../lib")];
        let complete = |place: &&PathBuf| FILES.iter().all(|file| place.join(file).is_file());
        if let Some(place) = places.iter().find(complete) {
            return Preload::at(absolute(&place.join(FILES[0]))?);
        }
        if let Some(path) = embedded::stand_in()? {
            return Preload::at(path);
        }
        let message = format!("{} and {}: not found in {} or ../lib", FILES[0], FILES[1], name_of(folder));
        let hint = format!(
            "`cargo build` puts them beside the program, and release builds contain them; set {VARIABLE} to the path of \
             the first if they are elsewhere"
        );
        Err(ClientError::refused(message).with_hint(hint))
    }

    /// The library at `path`. If [`PRELOAD`] cannot contain that path, this makes a folder with links to the library
    /// and its codecs. The folder is not removed, because commands may need it longer than this process, and the next
    /// process uses it again.
    fn at(path: PathBuf) -> Result<Self, ClientError> {
        private_folder::refuse_noexec(&path)
            .map_err(|error| error.with_hint(format!("set {VARIABLE} to the path of a copy elsewhere")))?;
        if fits_preload(&path) {
            return Ok(Preload { path });
        }
        let mut hasher = DefaultHasher::new();
        path.hash(&mut hasher);
        let folder = Path::new(LINKS).join(format!("repackbench-preload-{}-{:016x}", geteuid(), hasher.finish()));
        // Every user can make folders there. In a folder that another user can write to, that user could put any
        // library.
        private_folder::make(&folder)?;
        for (file, library) in FILES.into_iter().zip([path.clone(), path.with_file_name(FILES[1])]) {
            match symlink(library, folder.join(file)) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
                _ => {}
            }
        }
        Ok(Preload { path: folder.join(FILES[0]) })
    }

    /// Makes `command`, and everything that it starts, load the library first.
    pub fn set(&self, command: &mut Command) {
        let mut value = OsString::from(&self.path);
        let others = env::var_os(PRELOAD).unwrap_or_default();
        // `exec` or `env` may have set it already, perhaps to another build. Two builds would each take the other for
        // zlib.
        let is_separator = |byte: &u8| b": \t\n".contains(byte);
        let file = OsStr::new(FILES[0]);
        let is_other =
            |other: &&[u8]| !other.is_empty() && Path::new(OsStr::from_bytes(other)).file_name() != Some(file);
        for other in others.as_bytes().split(is_separator).filter(is_other) {
            value.push(":");
            value.push(OsStr::from_bytes(other));
        }
        command.env(PRELOAD, value);
    }
}

/// Whether [`PRELOAD`] can contain the path: spaces and colons separate names there.
fn fits_preload(path: &Path) -> bool {
    !path.as_os_str().as_bytes().iter().any(|byte| b": \t\n".contains(byte))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn library_at_a_path_with_a_space_gets_a_link() {
        let folder = tempfile::Builder::new().prefix("with a space").tempdir().unwrap();
        for file in FILES {
            fs::write(folder.path().join(file), file).unwrap();
        }
        let preload = Preload::at(folder.path().join(FILES[0])).unwrap();
        assert!(fits_preload(&preload.path), "{}", preload.path.display());
        for file in FILES {
            assert_eq!(fs::read_to_string(preload.path.with_file_name(file)).unwrap(), file);
        }
        let mut command = Command::new("true");
        preload.set(&mut command);
        let set = command.get_envs().find(|(name, _)| *name == PRELOAD).and_then(|(_, value)| value).unwrap();
        assert!(set.as_bytes().starts_with(preload.path.as_os_str().as_bytes()));
        assert_eq!(Preload::at(folder.path().join(FILES[0])).unwrap().path, preload.path, "the same links serve again");
        fs::remove_dir_all(preload.path.parent().unwrap()).unwrap();
    }
}
