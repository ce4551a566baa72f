//! Which of its commands a git is running, from the words that it was started with.

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GitCommand {
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
        let mut words = command_line.strip_suffix(b"\0").unwrap_or(command_line).split(|byte| *byte == 0);
        let program = words.next().unwrap_or_default();
        let program = program.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let command = match program.strip_prefix(b"git-") {
            Some(command) => command,
            None => command_behind(&mut words),
        };
        let writer = match command {
            b"pack-objects" => Some(PackWriter::PackObjects),
            b"index-pack" => Some(PackWriter::IndexPack),
            b"fast-import" => Some(PackWriter::FastImport),
            _ => None,
        };
        let words: Vec<&[u8]> = words.collect();
        let sends = writer == Some(PackWriter::PackObjects) && words.iter().any(|word| word.starts_with(TO_STDOUT));
        let operands = words.iter().filter(|word| !word.starts_with(b"-")).map(|word| word.to_vec()).collect();
        GitCommand { writer, sends, operands }
    }
}

/// The first of git's own words that is neither an option nor an option's value.
fn command_behind<'a>(words: &mut impl Iterator<Item = &'a [u8]>) -> &'a [u8] {
    while let Some(word) = words.next() {
        if WITH_VALUE.contains(&word) {
            words.next();
        } else if !word.starts_with(b"-") {
            return word;
        }
    }
    b""
}
