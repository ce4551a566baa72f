//! Makes file permissions apply to root, too: they protect the fixtures that all tests share.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::process;

/// The words to put before a command so that it respects permissions when root runs it.
///
/// Empty for other users, who respect them anyway, and if there is no setpriv.
pub(super) fn starter_that_respects_them() -> Vec<OsString> {
    let dropped = "-dac_override,-dac_read_search";
    let words = ["setpriv", "--bounding-set", dropped, "--inh-caps", dropped];
    let is_root = process::output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if is_root && process::succeeds(Command::new(words[0]).args(&words[1..]).arg("true")) {
        words.map(OsString::from).into()
    } else {
        Vec::new()
    }
}

/// Makes a folder writable on drop, so that cargo can remove it.
pub(super) struct WritableAgain(pub(super) PathBuf);

impl Drop for WritableAgain {
    fn drop(&mut self) {
        if self.0.is_dir() && !process::succeeds(Command::new("chmod").args(["-R", "u+w"]).arg(&self.0)) {
            eprintln!("note: {} stays read-only; run `chmod -R u+w` on it before `cargo clean`", self.0.display());
        }
    }
}
