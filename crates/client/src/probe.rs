//! Does this git call the library that is preloaded into it? Nothing but a try can tell: it may be linked statically, have a zlib of its
//! own, or not be allowed to preload anything. And the library may lack the zlib that was asked for.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use repackbench_codec::{ChunkEncoder, CodecSpec};
use repackbench_preload_abi::ZLIB_VARIABLE;

use crate::library::{Preload, Zlib};
use crate::{ClientError, name_of};

/// The content of a blob.
pub(crate) const CONTENT: &str = "probe\n";
/// Its name, in the two parts of which git makes a path.
const ID: (&str, &str) = ("da", "0c4eb8d9a48d171a33574b380752e183286751");
/// A codec that git itself cannot read.
const CODEC: &str = "store";
/// What the library's own messages begin with.
const COMPLAINT: &str = "repackbench: ";

/// Lets `git` read an object that it can only read through the library; `scratch` is a folder for it.
pub(crate) fn check(git: &Path, preload: &Preload, zlib: Zlib, scratch: &Path) -> Result<(), ClientError> {
    let repository = make_repository(scratch)?;
    fs::write(object_file(&repository), chunk()?)?;
    let mut command = Command::new(git);
    command.arg("--git-dir").arg(&repository).args(["cat-file", "blob", &[ID.0, ID.1].concat()]);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").stdin(Stdio::null());
    preload.set(&mut command);
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

/// Makes an empty repository in the folder, with room for the blob.
pub(crate) fn make_repository(scratch: &Path) -> Result<PathBuf, ClientError> {
    let repository = scratch.join("probe");
    fs::create_dir_all(repository.join("objects").join(ID.0))?;
    fs::create_dir(repository.join("refs"))?;
    fs::write(repository.join("HEAD"), "ref: refs/heads/main\n")?;
    Ok(repository)
}

/// The file of the blob.
pub(crate) fn object_file(repository: &Path) -> PathBuf {
    repository.join("objects").join(ID.0).join(ID.1)
}

/// What is compressed of the blob.
pub(crate) fn payload() -> String {
    format!("blob {}\0{CONTENT}", CONTENT.len())
}

fn chunk() -> Result<Vec<u8>, ClientError> {
    let failed = |error: String| ClientError::refused(error);
    let spec: CodecSpec = CODEC.parse().map_err(|error: repackbench_codec::SpecError| failed(error.to_string()))?;
    let mut encoder = ChunkEncoder::new(&spec).map_err(|error| failed(error.to_string()))?;
    let mut stored = Vec::new();
    encoder.encode(payload().as_bytes(), &mut stored).map_err(|error| failed(error.to_string()))?;
    Ok(stored)
}
