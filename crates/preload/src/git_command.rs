//! Which of its commands a git is running, from the words that it was started with.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path, sync::OnceLock};

/// What stands between git's name and the command's, and has a value in the next word.
const WITH_VALUE: [&[u8]; 9] = [
    b"-C",
    b"-c",
    b"--git-dir",
    b"--work-tree",
    b"--namespace",
    b"--super-prefix",
    b"--config-env",
    b"--attr-source",
    b"--shallow-file",
];

/// The option that names the git directory.
const GIT_DIR: &[u8] = b"--git-dir";

/// As much of `--stdout` as git takes for it.
const TO_STDOUT: &[u8] = b"--stdo";

/// A command of git that writes packs by itself. All others let one of these do it: aliases, too, start their command anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PackWriter {
    /// `pack-objects`, into files.
    PackObjects,
    /// `index-pack`, which adds the bases that a thin pack lacks.
    IndexPack,
    /// `fast-import`
    FastImport,
}

/// A running git.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GitCommand {
    /// The program is called git, or after one of its commands, or its file is.
    pub(crate) is_git: bool,
    /// The command; empty if there is none.
    pub(crate) name: Vec<u8>,
    /// How many words stand before the command's own.
    pub(crate) at: usize,
    /// The folders that git goes to first, one after the other.
    pub(crate) folders: Vec<Vec<u8>>,
    /// The git directory that it is told.
    pub(crate) git_dir: Option<Vec<u8>>,
    /// The writer of packs that it is, if it is one.
    pub(crate) writer: Option<PackWriter>,
    /// What it writes leaves the repository.
    pub(crate) sends: bool,
    /// The command's words that are no options: among them the files that it writes to.
    pub(crate) operands: Vec<Vec<u8>>,
}

impl GitCommand {
    /// From all words, each with a NUL behind it, as the kernel tells them.
    pub(crate) fn of(command_line: &[u8]) -> Self {
        let words = command_line.strip_suffix(b"\0").unwrap_or(command_line).split(|byte| *byte == 0);
        GitCommand::of_words(&words.collect::<Vec<_>>())
    }

    /// From all words, the program's first.
    pub(crate) fn of_words(words: &[&[u8]]) -> Self {
        let program = words.first().copied().unwrap_or_default();
        let program = file_name(program);
        let mut command = GitCommand { at: 1, ..GitCommand::default() };
        match program.strip_prefix(b"git-") {
            Some(name) => (command.is_git, command.name) = (true, name.to_vec()),
            None => {
                command.is_git = program == b"git" || is_a_git();
                command.read_own_words(words);
            }
        }
        command.writer = match command.name.as_slice() {
            b"pack-objects" => Some(PackWriter::PackObjects),
            b"index-pack" => Some(PackWriter::IndexPack),
            b"fast-import" => Some(PackWriter::FastImport),
            _ => None,
        };
        let words = words.get(command.at..).unwrap_or_default();
        let to_stdout = words.iter().any(|word| word.starts_with(TO_STDOUT));
        command.sends = command.writer == Some(PackWriter::PackObjects) && to_stdout;
        command.operands = words.iter().filter(|word| !word.starts_with(b"-")).map(|word| word.to_vec()).collect();
        command
    }

    /// The path that `pack-objects` is given for its packs, less what it adds; none if it is not known.
    pub(crate) fn pack_place(&self) -> Option<&Path> {
        // Besides it there may be values of options, which name no folder.
        let operands = self.operands.iter().map(|operand| Path::new(OsStr::from_bytes(operand)));
        let mut places = operands.filter(|operand| operand.components().count() > 1);
        let (place, other) = (places.next()?, places.next());
        other.is_none().then_some(place)
    }

    /// Reads git's own words up to the command's name: the first that is neither an option nor an option's value.
    fn read_own_words(&mut self, words: &[&[u8]]) {
        while let Some(word) = words.get(self.at).copied() {
            self.at += 1;
            if WITH_VALUE.contains(&word) {
                let value = words.get(self.at).copied().unwrap_or_default().to_vec();
                self.at += 1;
                match word {
                    b"-C" => self.folders.push(value),
                    GIT_DIR => self.git_dir = Some(value),
                    _ => {}
                }
            } else if let Some(value) = word.strip_prefix(GIT_DIR).and_then(|rest| rest.strip_prefix(b"=")) {
                self.git_dir = Some(value.to_vec());
            } else if !word.starts_with(b"-") {
                self.name = word.to_vec();
                return;
            }
        }
    }
}

/// This process's command line; none if the kernel does not tell it.
pub(crate) fn this() -> Option<&'static GitCommand> {
    static THIS: OnceLock<Option<GitCommand>> = OnceLock::new();
    THIS.get_or_init(|| std::fs::read("/proc/self/cmdline").ok().map(|line| GitCommand::of(&line))).as_ref()
}

/// Whether this process's file is called as git's are, whatever name it was started by.
fn is_a_git() -> bool {
    static IS_GIT: OnceLock<bool> = OnceLock::new();
    *IS_GIT.get_or_init(|| {
        let file = std::fs::read_link("/proc/self/exe").unwrap_or_default();
        is_gits(file.file_name().map(OsStr::as_bytes).unwrap_or_default())
    })
}

/// Whether a file of this name is git, of whatever version, one of its commands, or scalar, which is made with git.
pub(crate) fn is_gits(name: &[u8]) -> bool {
    let has_end = |rest: &[u8]| rest.first().is_none_or(|byte| byte.is_ascii_digit() || b"-. ".contains(byte));
    [&b"git"[..], b"scalar"].iter().any(|git| name.strip_prefix(*git).is_some_and(has_end))
}

/// Whether this process is a git.
pub(crate) fn is_git() -> bool {
    this().is_some_and(|command| command.is_git)
}

/// The program of git's large files, and those of its commands that read objects with its own zlib.
const LFS: &[u8] = b"git-lfs";
const READERS: [&[u8]; 8] = [b"fetch", b"fsck", b"ls-files", b"migrate", b"pre-push", b"prune", b"pull", b"push"];

/// Whether this git answers a program that then reads objects by itself, and so has to meet what stops others: git-lfs learns from
/// git what the configuration says.
pub(crate) fn is_started_by_reader() -> bool {
    static ASKS: OnceLock<bool> = OnceLock::new();
    *ASKS.get_or_init(|| {
        let parent = std::os::unix::process::parent_id();
        std::fs::read(format!("/proc/{parent}/cmdline")).is_ok_and(|line| is_reader(&line))
    })
}

/// Whether a command line, each word with a NUL behind it, is that of such a program.
fn is_reader(command_line: &[u8]) -> bool {
    let mut words = command_line.split(|byte| *byte == 0);
    let program = words.next().unwrap_or_default();
    file_name(program) == LFS && words.next().is_some_and(|command| READERS.contains(&command))
}

/// The last name of a path.
pub(crate) fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}
