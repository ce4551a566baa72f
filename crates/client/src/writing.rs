//! Makes git write object stores with a codec.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use repackbench_codec::{ChunkEncoder, CodecSpec};
use repackbench_reader::git::GitRepository;

use crate::{ClientError, name_of};

/// The content of a blob, and its id in the two parts of its path.
const CONTENT: &str = "probe\n";
const ID: (&str, &str) = ("da", "0c4eb8d9a48d171a33574b380752e183286751");

/// The configuration of a repository that can be written to with any codec.
const GUARDED: &str = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\trepackbench = \"1;store\"\n";

/// Makes `command`, a complete git command, write an object, and checks that it used the codec. Otherwise a git that
/// does not write with the codec would be measured as if it did.
pub(crate) fn try_out(mut command: Command, git: &Path, codec: &CodecSpec) -> Result<(), ClientError> {
    let repository = tempfile::Builder::new().prefix("repackbench-probe-").tempdir()?;
    let folder = repository.path();
    fs::create_dir_all(folder.join("objects"))?;
    fs::create_dir(folder.join("refs"))?;
    fs::write(folder.join("HEAD"), "ref: refs/heads/main\n")?;
    fs::write(folder.join("config"), GUARDED)?;
    command.env("GIT_DIR", folder).env_remove("GIT_WORK_TREE").args(["hash-object", "-w", "--stdin"]);
    let failed = |why: &dyn std::fmt::Display| ClientError::refused(format!("{}: {why}", name_of(git)));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed(&error))?;
    if let Some(mut input) = child.stdin.take() {
        // A program that does not read its input fails below.
        let _ = input.write_all(CONTENT.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| failed(&error))?;
    let written = fs::read(folder.join("objects").join(ID.0).join(ID.1));
    let expected = loose_chunk(codec).map_err(|error| failed(&error))?;
    if output.status.success() && written.is_ok_and(|written| written == expected) {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let hint = format!("name git itself and not a program that starts it; this one printed {:?}", said.trim_end());
    Err(failed(&format!("does not write with {codec} although it was asked to")).with_hint(hint))
}

fn loose_chunk(codec: &CodecSpec) -> Result<Vec<u8>, repackbench_codec::CodecError> {
    let payload = format!("blob {}\0{CONTENT}", CONTENT.len());
    let mut stored = Vec::new();
    ChunkEncoder::new(&codec.for_loose_objects())?.encode(payload.as_bytes(), &mut stored)?;
    Ok(stored)
}

/// Whether git and hg can write with `spec`: it needs only the payload.
pub fn clients_write(spec: &CodecSpec) -> bool {
    check_needs_only_payload(spec).is_ok()
}

/// Refuses codecs that need more than the payload for encoding.
///
/// # Errors
/// [`ClientError::Usage`] if the codec needs more.
pub fn check_needs_only_payload(spec: &CodecSpec) -> Result<(), ClientError> {
    let what = if spec.uses_numbers() {
        "ids=number, which needs the index of the pack".to_owned()
    } else if spec.uses_bases() {
        "prefix or patch, which need the content of a delta's base".to_owned()
    } else if spec.uses_dictionaries() {
        "dictionaries, which are trained when a repository is converted".to_owned()
    } else if let Some(kind) = spec.kinds().next() {
        format!("a codec only for {}: clients do not say which kind a payload has", kind.name())
    } else {
        return Ok(());
    };
    let message = format!("--codec {spec}: expected a codec that needs only the payload, found {what}");
    Err(ClientError::Usage { message })
}

/// Refuses to write chunks into an ordinary repository if plain git could not read them.
pub(crate) fn refuse_ordinary_repository(repository: &GitRepository, spec: &CodecSpec) -> Result<(), ClientError> {
    if repository.extension_spec().is_some() || spec.is_read_by_git() {
        return Ok(());
    }
    let place = name_of(repository.git_dir());
    let message = format!(
        "{place}: expected a variant that plain git refuses, found an ordinary repository, which plain git could no longer \
         read with objects under {spec} in it"
    );
    Err(ClientError::refused(message).with_hint(format!("`repackbench convert --codec {spec}` makes a variant of it")))
}
