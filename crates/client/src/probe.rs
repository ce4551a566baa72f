//! Does this git call the library that is preloaded into it? Nothing but a try can tell: it may be linked statically, have a zlib of its
//! own, or not be allowed to preload anything. And the library may lack the zlib that was asked for.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use repackbench_codec::{ChunkEncoder, CodecSpec};

use crate::git::ZLIB_VARIABLE;
use crate::library::{Preload, Zlib};
use crate::{ClientError, name_of};

/// The content of a blob.
const CONTENT: &str = "probe\n";
/// Its name, in the two parts of which git makes a path.
const ID: (&str, &str) = ("da", "0c4eb8d9a48d171a33574b380752e183286751");
/// A codec that git itself cannot read.
const CODEC: &str = "store";
/// What the library's own messages begin with.
const COMPLAINT: &str = "repackbench: ";

/// Lets `git` read an object that it can only read through the library; `scratch` is a folder for it.
pub(crate) fn check(git: &Path, preload: &Preload, zlib: Zlib, scratch: &Path) -> Result<(), ClientError> {
    let repository = scratch.join("probe");
    let fan_out = repository.join("objects").join(ID.0);
    fs::create_dir_all(&fan_out)?;
    fs::create_dir(repository.join("refs"))?;
    fs::write(repository.join("HEAD"), "ref: refs/heads/main\n")?;
    fs::write(fan_out.join(ID.1), chunk()?)?;
    let mut command = Command::new(git);
    command.arg("--git-dir").arg(&repository).args(["cat-file", "blob", &[ID.0, ID.1].concat()]);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").stdin(Stdio::null());
    preload.set(&mut command)?;
    command.env(ZLIB_VARIABLE, zlib.name());
    let failed = |why: &str| ClientError::refused(format!("{}: {why}", name_of(git)));
    let output = command.output().map_err(|error| failed(&error.to_string()))?;
    fs::remove_dir_all(&repository)?;
    if output.status.success() && output.stdout == CONTENT.as_bytes() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    if let Some(complaint) = said.lines().find_map(|line| line.strip_prefix(COMPLAINT)) {
        return Err(ClientError::refused(format!("the preloaded library says: {complaint}")));
    }
    let why = "does not call the zlib that is preloaded into it: it is linked statically, or with a zlib of its own";
    let hint = format!("a git that is linked with libz.so is needed; this one said {:?}", said.trim_end());
    Err(failed(why).with_hint(hint))
}

fn chunk() -> Result<Vec<u8>, ClientError> {
    let failed = |error: String| ClientError::refused(error);
    let spec: CodecSpec = CODEC.parse().map_err(|error: repackbench_codec::SpecError| failed(error.to_string()))?;
    let mut encoder = ChunkEncoder::new(&spec).map_err(|error| failed(error.to_string()))?;
    let payload = format!("blob {}\0{CONTENT}", CONTENT.len());
    let mut stored = Vec::new();
    encoder.encode(payload.as_bytes(), &mut stored).map_err(|error| failed(error.to_string()))?;
    Ok(stored)
}
