//! Finds out which git command a process runs, from its command line.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path, sync::OnceLock};

/// The options of git itself that come before the command's name and take their value from the next word.
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

/// Names the git directory.
const GIT_DIR: &[u8] = b"--git-dir";

/// The shortest abbreviation of `--stdout` that git accepts.
const TO_STDOUT: &[u8] = b"--stdo";

/// A git command that writes packs itself. All other commands, and aliases, start one of these to do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PackWriter {
    /// `pack-objects`
    PackObjects,
    /// `index-pack`, which adds the bases that a thin pack lacks.
    IndexPack,
    /// `fast-import`
    FastImport,
}

/// What the command line of a process says about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GitCommand {
    /// Whether the process is git: the program's name or its file is that of git or of one of its commands.
    pub(crate) is_git: bool,
    /// The command's name; empty if there is none.
    pub(crate) name: Vec<u8>,
    /// How many words come before the command's own arguments.
    pub(crate) at: usize,
    /// The folders that git changes to first (`-C`), in order.
    pub(crate) folders: Vec<Vec<u8>>,
    /// The git directory given by `--git-dir`.
    pub(crate) git_dir: Option<Vec<u8>>,
    /// Set if the command writes packs.
    pub(crate) writer: Option<PackWriter>,
    /// Whether it writes its pack to standard output: that pack leaves the repository.
    pub(crate) sends: bool,
    /// The command's arguments that are not options. The files that it writes to are among them.
    pub(crate) operands: Vec<Vec<u8>>,
}

impl GitCommand {
    /// Parses the contents of `/proc/PID/cmdline`: words, each followed by a NUL.
    pub(crate) fn of(command_line: &[u8]) -> Self {
        let words = command_line.strip_suffix(b"\0").unwrap_or(command_line).split(|byte| *byte == 0);
        GitCommand::of_words(&words.collect::<Vec<_>>())
    }

    /// Parses the words of a command line, the program's name first.
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

    /// The path prefix that `pack-objects` was given for its packs. `None` if it is not certain.
    pub(crate) fn pack_place(&self) -> Option<&Path> {
        // The other operands are values of options, which contain no slash.
        let operands = self.operands.iter().map(|operand| Path::new(OsStr::from_bytes(operand)));
        let mut places = operands.filter(|operand| operand.components().count() > 1);
        let (place, other) = (places.next()?, places.next());
        other.is_none().then_some(place)
    }

    /// Reads git's own options up to the command's name: the first word that is neither an option nor an option's
    /// value.
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

/// The command line of this process. `None` if the kernel does not show it.
pub(crate) fn this() -> Option<&'static GitCommand> {
    static THIS: OnceLock<Option<GitCommand>> = OnceLock::new();
    THIS.get_or_init(|| std::fs::read("/proc/self/cmdline").ok().map(|line| GitCommand::of(&line))).as_ref()
}

/// Whether this process runs a file with one of git's names, whatever name it was started under.
fn is_a_git() -> bool {
    static IS_GIT: OnceLock<bool> = OnceLock::new();
    *IS_GIT.get_or_init(|| {
        let file = std::fs::read_link("/proc/self/exe").unwrap_or_default();
        is_gits(file.file_name().map(OsStr::as_bytes).unwrap_or_default())
    })
}

/// Whether a file of this name is git of any version, one of its commands, or scalar, which is built with git.
pub(crate) fn is_gits(name: &[u8]) -> bool {
    let has_end = |rest: &[u8]| rest.first().is_none_or(|byte| byte.is_ascii_digit() || b"-. ".contains(byte));
    [&b"git"[..], b"scalar"].iter().any(|git| name.strip_prefix(*git).is_some_and(has_end))
}

/// Whether this process is git.
pub(crate) fn is_git() -> bool {
    this().is_some_and(|command| command.is_git)
}

/// The program for Git's large files, and its commands that read objects with the zlib built into it.
const LFS: &[u8] = b"git-lfs";
const READERS: [&[u8]; 8] = [b"fetch", b"fsck", b"ls-files", b"migrate", b"pre-push", b"prune", b"pull", b"push"];

/// Whether this git was started by a program that reads objects itself, and so must see the guard: git-lfs asks git for
/// the configuration.
pub(crate) fn is_started_by_reader() -> bool {
    static ASKS: OnceLock<bool> = OnceLock::new();
    *ASKS.get_or_init(|| {
        let parent = std::os::unix::process::parent_id();
        std::fs::read(format!("/proc/{parent}/cmdline")).is_ok_and(|line| is_reader(&line))
    })
}

/// Whether a command line (words, each followed by a NUL) is that of such a program.
fn is_reader(command_line: &[u8]) -> bool {
    let mut words = command_line.split(|byte| *byte == 0);
    let program = words.next().unwrap_or_default();
    file_name(program) == LFS && words.next().is_some_and(|command| READERS.contains(&command))
}

/// The last component of a path.
pub(crate) fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}
