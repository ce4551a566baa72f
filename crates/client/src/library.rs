//! Where the library is that stands in for zlib.

use std::{
    env,
    ffi::OsString,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::Command,
};

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

/// The stand-in's file.
#[derive(Debug)]
pub struct Preload(PathBuf);

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
            let path = absolute(Path::new(&named))?;
            return Ok(Preload(path));
        }
        let program = env::current_exe()?;
        let folder = program.parent().unwrap_or(Path::new("/"));
        let places = [folder.to_owned(), folder.join("../lib")];
        let complete = |place: &&PathBuf| FILES.iter().all(|file| place.join(file).is_file());
        match places.iter().find(complete) {
            Some(place) => Ok(Preload(absolute(&place.join(FILES[0]))?)),
            None => {
                let message = format!("{} and {}: not found in {} or ../lib", FILES[0], FILES[1], name_of(folder));
                let hint =
                    format!("`cargo build --release` makes them; {VARIABLE} names the first if it lies elsewhere");
                Err(ClientError::refused(message).with_hint(hint))
            }
        }
    }

    /// Lets `command`, and what it starts, load it before anything else.
    ///
    /// # Errors
    /// No environment can hold its path.
    pub fn set(&self, command: &mut Command) -> Result<(), ClientError> {
        if self.0.as_os_str().as_bytes().iter().any(|byte| b": \t\n".contains(byte)) {
            let message = format!("{}: a path that {PRELOAD} cannot hold", name_of(&self.0));
            return Err(ClientError::refused(message).with_hint("move it where no name has a space or a colon"));
        }
        let mut value = OsString::from(&self.0);
        if let Some(others) = env::var_os(PRELOAD).filter(|others| !others.is_empty()) {
            value.push(":");
            value.push(others);
        }
        command.env(PRELOAD, value);
        Ok(())
    }
}
