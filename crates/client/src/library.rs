//! Where the library is that stands in for zlib.

use std::{
    env,
    ffi::OsString,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::{ClientError, git::absolute, name_of};

/// The variable that names it, if it is not beside the program.
const VARIABLE: &str = "REPACKBENCH_PRELOAD";

/// The stand-in, and the codecs that it loads from beside it.
const FILES: [&str; 2] = ["librepackbench_preload.so", "librepackbench_preload_codecs.so"];

/// What the dynamic linker of the platform preloads by.
const PRELOAD: &str = "LD_PRELOAD";

/// The zlib that the preloaded library hands zlib streams to.
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
    /// libdeflate where a stream is read at once, else the one that git is linked with.
    Libdeflate,
}

impl Zlib {
    /// The name that the library knows it by.
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

/// Folders for temporary files, of which one has a name that [`PRELOAD`] can hold.
const PLAIN_FOLDERS: [&str; 2] = ["/tmp", "/var/tmp"];

/// The stand-in's file.
#[derive(Debug)]
pub struct Preload {
    path: PathBuf,
    /// The folder of links that `path` is in, where the library itself lies at a path that [`PRELOAD`] cannot hold.
    _links: Option<TempDir>,
}

impl Preload {
    /// Finds it: where the environment says, beside this program, or in `../lib`.
    ///
    /// # Errors
    /// There is none, or the platform preloads nothing.
    pub fn find() -> Result<Self, ClientError> {
        if !cfg!(target_os = "linux") {
            return Err(ClientError::refused("exec preloads a library into git, which it can do on Linux only"));
        }
        if let Some(named) = env::var_os(VARIABLE) {
            return Preload::at(absolute(Path::new(&named))?);
        }
        let program = env::current_exe()?;
        let folder = program.parent().unwrap_or(Path::new("/"));
        let places = [folder.to_owned(), folder.join("../lib")];
        let complete = |place: &&PathBuf| FILES.iter().all(|file| place.join(file).is_file());
        match places.iter().find(complete) {
            Some(place) => Preload::at(absolute(&place.join(FILES[0]))?),
            None => {
                let message = format!("{} and {}: not found in {} or ../lib", FILES[0], FILES[1], name_of(folder));
                let hint =
                    format!("`cargo build --release` makes them; {VARIABLE} names the first if it lies elsewhere");
                Err(ClientError::refused(message).with_hint(hint))
            }
        }
    }

    /// The library at `path`. If [`PRELOAD`] cannot hold that path, a temporary folder gets links to the library and its codecs.
    fn at(path: PathBuf) -> Result<Self, ClientError> {
        if fits_preload(&path) {
            return Ok(Preload { path, _links: None });
        }
        let temporary = env::temp_dir();
        let plain = PLAIN_FOLDERS.iter().map(Path::new);
        let place =
            std::iter::once(temporary.as_path()).chain(plain).find(|place| fits_preload(place) && place.is_dir());
        let Some(place) = place else {
            let message = format!("{}: a path that {PRELOAD} cannot hold", name_of(&path));
            return Err(ClientError::refused(message).with_hint("move it where no name has a space or a colon"));
        };
        let links = tempfile::Builder::new().prefix("repackbench-preload-").tempdir_in(place)?;
        symlink(&path, links.path().join(FILES[0]))?;
        symlink(path.with_file_name(FILES[1]), links.path().join(FILES[1]))?;
        Ok(Preload { path: links.path().join(FILES[0]), _links: Some(links) })
    }

    /// Lets `command`, and what it starts, load it before anything else.
    pub fn set(&self, command: &mut Command) {
        let mut value = OsString::from(&self.path);
        if let Some(others) = env::var_os(PRELOAD).filter(|others| !others.is_empty()) {
            value.push(":");
            value.push(others);
        }
        command.env(PRELOAD, value);
    }
}

/// Whether [`PRELOAD`] can hold the path: a space or a colon ends a name there.
fn fits_preload(path: &Path) -> bool {
    !path.as_os_str().as_bytes().iter().any(|byte| b": \t\n".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_whose_path_has_a_space_is_named_by_a_link() {
        let folder = tempfile::Builder::new().prefix("with a space").tempdir().unwrap();
        for file in FILES {
            std::fs::write(folder.path().join(file), file).unwrap();
        }
        let preload = Preload::at(folder.path().join(FILES[0])).unwrap();
        assert!(fits_preload(&preload.path), "{}", preload.path.display());
        for file in FILES {
            assert_eq!(std::fs::read_to_string(preload.path.with_file_name(file)).unwrap(), file);
        }
        let mut command = Command::new("true");
        preload.set(&mut command);
        let set = command.get_envs().find(|(name, _)| *name == PRELOAD).and_then(|(_, value)| value).unwrap();
        assert!(set.as_bytes().starts_with(preload.path.as_os_str().as_bytes()));
        let links = preload.path.clone();
        drop(preload);
        assert!(!links.exists(), "the links go with it");
    }
}
