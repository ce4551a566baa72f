//! The fixtures that all tests read are protected by their permissions, which have to hold for root, too.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::process;

/// The words that start a program which heeds permissions, for root; none for others, who do so anyway, and where there is no setpriv.
pub(super) fn without_the_power_to_ignore_them() -> Vec<OsString> {
    let powers = "-dac_override,-dac_read_search";
    let words = ["setpriv", "--bounding-set", powers, "--inh-caps", powers];
    let is_root = process::output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if is_root && process::succeeds(Command::new(words[0]).args(&words[1..]).arg("true")) {
        words.map(OsString::from).into()
    } else {
        Vec::new()
    }
}

/// A folder that is made writable when this is dropped, so that cargo can remove it.
pub(super) struct WritableAgain(pub(super) PathBuf);

impl Drop for WritableAgain {
    fn drop(&mut self) {
        if self.0.is_dir() && !process::succeeds(Command::new("chmod").args(["-R", "u+w"]).arg(&self.0)) {
            eprintln!("note: {} stays read-only: `chmod -R u+w` before `cargo clean`", self.0.display());
        }
    }
}
