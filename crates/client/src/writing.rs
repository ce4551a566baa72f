//! A codec for what git writes to the object store.

use std::{
    fs,
    io::Write,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use repackbench_codec::{ChunkEncoder, CodecSpec};
use repackbench_preload_abi::{CODEC_VARIABLE, REPOSITORY_VARIABLE, WRITERS_VARIABLE};
use repackbench_reader::git::GitRepository;

use crate::{ClientError, exec_path, git::absolute, library::Preload, name_of, probe};

/// What the library is told.
#[derive(Debug)]
pub(crate) struct Writing {
    spec: CodecSpec,
    /// git's executables, each as `DEVICE:INODE`.
    writers: String,
    /// The git directory with the object store, as commands see it: not that of a linked work tree.
    common_dir: PathBuf,
}

impl Writing {
    /// Lets `git` write with `spec` to the repository that it sees at `common_dir`, after a try in a folder of `scratch`.
    pub(crate) fn new(
        repository: &GitRepository,
        common_dir: &Path,
        spec: &CodecSpec,
        git: &Path,
        preload: &Preload,
        scratch: &Path,
    ) -> Result<Self, ClientError> {
        refuse_what_needs_more_than_the_payload(spec)?;
        refuse_ordinary_repository(repository, spec)?;
        let writing = Writing { spec: spec.clone(), writers: writers(git)?, common_dir: common_dir.to_owned() };
        writing.try_out(git, preload, scratch)?;
        Ok(writing)
    }

    /// Tells the library about it.
    pub(crate) fn set(&self, command: &mut Command) {
        self.set_for(command, &self.common_dir);
    }

    /// Tells the library about it, for the repository at `common_dir`.
    pub(crate) fn set_for(&self, command: &mut Command, common_dir: &Path) {
        command.env(CODEC_VARIABLE, self.spec.canonical());
        command.env(WRITERS_VARIABLE, &self.writers);
        command.env(REPOSITORY_VARIABLE, common_dir);
    }

    /// Lets git write an object: who is told to write and does not would be measured as if it did.
    fn try_out(&self, git: &Path, preload: &Preload, scratch: &Path) -> Result<(), ClientError> {
        let repository = probe::make_repository(scratch)?;
        let mut command = Command::new(git);
        command.env("GIT_DIR", &repository).args(["hash-object", "-w", "--stdin"]).stdin(Stdio::piped());
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        preload.set(&mut command);
        self.set_for(&mut command, &repository);
        let failed = |why: &dyn std::fmt::Display| ClientError::refused(format!("{}: {why}", name_of(git)));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(|error| failed(&error))?;
        if let Some(mut input) = child.stdin.take() {
            // Who does not read it fails in another way.
            let _ = input.write_all(probe::CONTENT.as_bytes());
        }
        let output = child.wait_with_output().map_err(|error| failed(&error))?;
        let written = fs::read(probe::object_file(&repository));
        fs::remove_dir_all(&repository)?;
        let expected = self.loose_chunk().map_err(|error| failed(&error))?;
        if output.status.success() && written.is_ok_and(|written| written == expected) {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let hint = format!(
            "a program that starts git in its own place has to be passed over: name git itself; this one said {:?}",
            said.trim_end()
        );
        Err(failed(&format!("told to write with {}, it does not", self.spec)).with_hint(hint))
    }

    fn loose_chunk(&self) -> Result<Vec<u8>, repackbench_codec::CodecError> {
        let mut stored = Vec::new();
        ChunkEncoder::new(&self.spec.for_loose_objects())?.encode(probe::payload().as_bytes(), &mut stored)?;
        Ok(stored)
    }
}

/// Whether git and hg can be told to write with `spec`: it takes nothing but the payload.
pub fn clients_write(spec: &CodecSpec) -> bool {
    refuse_what_needs_more_than_the_payload(spec).is_ok()
}

/// Refuses codecs that take more than a payload to encode it.
///
/// # Errors
/// The codec does.
pub fn refuse_what_needs_more_than_the_payload(spec: &CodecSpec) -> Result<(), ClientError> {
    let what = if spec.uses_bases() {
        "prefix or patch, which take the content of a delta's base".to_owned()
    } else if spec.uses_dictionaries() {
        "dictionaries, which are trained when a repository is converted".to_owned()
    } else if let Some(kind) = spec.kinds().next() {
        format!("a codec for {} alone: no client says of which kind a payload is", kind.name())
    } else {
        return Ok(());
    };
    let message = format!("--codec {spec}: expected a codec that takes nothing but the payload, found {what}");
    Err(ClientError::Usage { message })
}

/// Refuses to put chunks where plain git would meet them unwarned.
fn refuse_ordinary_repository(repository: &GitRepository, spec: &CodecSpec) -> Result<(), ClientError> {
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

/// The executables that are this git: the one that is run, and the one of its folder of programs, which may be a copy.
fn writers(git: &Path) -> Result<String, ClientError> {
    let programs: PathBuf = exec_path::programs(git)?.join("git");
    let mut identities = Vec::new();
    for program in [absolute(git)?, programs] {
        let Ok(found) = fs::metadata(&program) else { continue };
        let identity = format!("{}:{}", found.dev(), found.ino());
        if !identities.contains(&identity) {
            identities.push(identity);
        }
    }
    Ok(identities.join(","))
}
