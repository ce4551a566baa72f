//! Lets the user's git and hg search for deltas again, for `writer`.

use std::{
    fs::{self, File},
    os::unix::ffi::OsStrExt,
    path::Path,
    process::{Command, Stdio},
};

use repackbench_codec::CodecSpec;
use repackbench_reader::ReaderError;
use repackbench_writer::{
    GitDeltas, HgDeltas, Unreachable, WriterError, cache::KeyHasher, hg::recompute::is_native_to_hg,
};
use walkdir::WalkDir;

use crate::{ClientError, GitProgram, HgProgram, metered, read_peak, run, run_child};

impl From<ClientError> for WriterError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Reader(error) => WriterError::Reader(error),
            ClientError::Interrupted => WriterError::Interrupted,
            ClientError::Program { command, why } => WriterError::Program { command, why },
            other => WriterError::Program { command: "the user's program".to_owned(), why: other.to_string() },
        }
    }
}

impl GitDeltas for GitProgram {
    fn identity(&self) -> String {
        let window = self.window.map(|window| format!(", window {window}"));
        self.version().to_owned() + &window.unwrap_or_default()
    }

    fn window(&self) -> Option<u32> {
        self.window
    }

    fn recompute(
        &self,
        git_dir: &Path,
        threads: usize,
        unreachable: Unreachable,
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> repackbench_writer::Result<Option<u64>> {
        let threads = threads.to_string();
        let mut command = self.command([("pack.threads", threads.as_str()), ("repack.writeBitmaps", "false")]);
        command.arg("--git-dir").arg(git_dir).args(["repack", "-a", "-d", "-F", "-q"]);
        let (name, keep) = match unreachable {
            Unreachable::Keep => ("git repack -adFk", Some("-k")),
            Unreachable::Drop => ("git repack -adF", None),
        };
        command.args(keep);
        // No info/refs: a list for clients of plain HTTP, which no variant has.
        command.arg("-n");
        command.args(self.window.map(|window| format!("--window={window}")));
        let Some(meter) = &self.meter else {
            run(command, name, is_cancelled)?;
            return Ok(None);
        };
        let peak = git_dir.join("peak-memory");
        let failed = |error| WriterError::io("write", &peak, error);
        run(metered(meter, &command, None, &peak).map_err(failed)?, name, is_cancelled)?;
        let bytes = read_peak(&peak);
        match fs::remove_file(&peak) {
            Err(error) if bytes.is_some() => Err(failed(error)),
            _ => Ok(bytes),
        }
    }

    fn recompute_incomplete(
        &self,
        git_dir: &Path,
        threads: usize,
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> repackbench_writer::Result<()> {
        let threads = threads.to_string();
        let git = || {
            let mut command = self.command([("pack.threads", threads.as_str())]);
            command.arg("--git-dir").arg(git_dir);
            command
        };
        let output = |mut command: Command, words: &[&str]| {
            command.args(words).stdin(Stdio::null());
            output_of(command, &format!("git {}", words.join(" ")), is_cancelled)
        };
        // With the file names that git finds most deltas by; then all others, to which nothing leads.
        let mut objects = output(git(), &["rev-list", "--objects", "--all", "--missing=allow-any"])?;
        let every = ["cat-file", "--batch-all-objects", "--batch-check=%(objectname)", "--unordered"];
        objects.extend(output(git(), &every)?);
        let list = git_dir.join("objects-to-pack");
        let packs = git_dir.join("objects").join("pack");
        let failed = |error| WriterError::io("write", &list, error);
        fs::write(&list, objects).map_err(failed)?;
        let mut pack = git();
        pack.args(["pack-objects", "--no-reuse-object", "--delta-base-offset", "--honor-pack-keep", "-q"]);
        pack.args(self.window.map(|window| format!("--window={window}"))).arg(packs.join("pack"));
        pack.stdin(File::open(&list).map_err(failed)?);
        let hash = output_of(pack, "git pack-objects", is_cancelled)?;
        fs::remove_file(&list).map_err(failed)?;
        remove_other_packs(&packs, String::from_utf8_lossy(&hash).trim())?;
        // Loose objects are in the pack, too.
        output(git(), &["prune-packed", "-q"]).map(drop)
    }
}

/// The output of `command`, which messages call `name`.
fn output_of(
    mut command: Command,
    name: &str,
    is_cancelled: &(dyn Fn() -> bool + Sync),
) -> repackbench_writer::Result<Vec<u8>> {
    let mut output = Vec::new();
    run_child(&mut command, is_cancelled, Some(&mut output), &mut ()).map_err(|error| error.of(name))?;
    Ok(output)
}

/// Removes all packs in `folder` but the one with this hash and those that are to be kept, with what belongs to them, and
/// indexes over several packs.
fn remove_other_packs(folder: &Path, hash: &str) -> repackbench_writer::Result<()> {
    let failed = |error| WriterError::io("list", folder, error);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let is_new = path.file_stem().is_some_and(|stem| stem.to_str() == Some(&format!("pack-{hash}")));
        if !is_new && !path.with_extension("keep").exists() {
            fs::remove_file(&path).map_err(|error| WriterError::io("remove", &path, error))?;
        }
    }
    Ok(())
}

impl HgDeltas for HgProgram {
    fn identity(&self, spec: &CodecSpec) -> repackbench_writer::Result<String> {
        let mut hasher = KeyHasher::default();
        if let Some(extension) = extension_for(self, spec)? {
            for entry in WalkDir::new(extension).sort_by_file_name() {
                let entry = entry.map_err(|error| ReaderError::io("list", extension, error.into()))?;
                // Python writes compiled files beside the sources.
                if entry.file_type().is_file() && entry.path().extension().is_none_or(|name| name != "pyc") {
                    let content =
                        fs::read(entry.path()).map_err(|error| ReaderError::io("read", entry.path(), error))?;
                    hasher.text(entry.file_name().as_bytes());
                    hasher.text(&content);
                }
            }
        }
        Ok(format!("hg {}, extension {}", self.version(), hasher.finish()))
    }

    fn recompute(
        &self,
        repository: &Path,
        spec: &CodecSpec,
        settings: &[String],
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> repackbench_writer::Result<()> {
        let mut command = self.command();
        command.arg("--repository").arg(repository);
        for setting in settings {
            command.args(["--config", setting]);
        }
        if let Some(extension) = extension_for(self, spec)? {
            HgProgram::extend(&mut command, extension, Some(&spec.canonical()));
        }
        command.args(["debugupgraderepo", "--run", "--no-backup", "--optimize", "re-delta-all"]);
        Ok(run(command, "hg debugupgraderepo", is_cancelled)?)
    }
}

/// The extension of `hg`, if `spec` needs it.
fn extension_for<'h>(hg: &'h HgProgram, spec: &CodecSpec) -> Result<Option<&'h Path>, ClientError> {
    match (hg.extension(), is_native_to_hg(spec)) {
        (_, true) => Ok(None),
        (Some(extension), false) => Ok(Some(extension)),
        (None, false) => Err(ClientError::Program {
            command: hg.path().display().to_string(),
            why: format!("cannot search for deltas under {spec} without repackbench's Mercurial extension"),
        }),
    }
}
