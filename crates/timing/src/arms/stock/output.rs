//! The results of a command: counted in timed runs, hashed in the untimed run.

use std::{fs, io, os::unix::ffi::OsStrExt, os::unix::fs::PermissionsExt, path::Path};

use repackbench_client::Sink;
use repackbench_reader::hash::IdHasher;
use repackbench_records::ContentDigest;
use walkdir::WalkDir;

use super::StockError;
use crate::workloads::Counts;

/// The part of a command's output that has to be the same for all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputForm {
    /// All of it.
    Text,
    /// The lines, in any order.
    Lines,
    /// Nothing: the output describes the work, not the content.
    Nothing,
    /// The objects that `git cat-file --batch` prints, in any order: git uses the order of the packs.
    Objects,
}

/// Counts bytes and lines.
#[derive(Debug, Default)]
pub(crate) struct OutputCounter {
    bytes: u64,
    lines: u64,
}

impl OutputCounter {
    /// The counts that are not zero, by name.
    pub(crate) fn counts(&self) -> Counts {
        let all = [("output bytes", self.bytes), ("output lines", self.lines)];
        all.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.to_owned(), count)).collect()
    }
}

impl Sink for OutputCounter {
    fn take(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
    }
}

/// Counts and hashes.
#[derive(Debug)]
pub(crate) struct OutputDigester {
    counter: OutputCounter,
    form: OutputForm,
    hasher: IdHasher,
    sum: [u64; 4],
    /// The beginning of a line that is not complete.
    part: Vec<u8>,
    /// The number of bytes of the object that are still to come, including its line feed.
    left: u64,
    is_broken: bool,
}

impl OutputDigester {
    pub(crate) fn new(form: OutputForm) -> Self {
        OutputDigester {
            counter: OutputCounter::default(),
            form,
            hasher: sha256(),
            sum: [0; 4],
            part: Vec::new(),
            left: 0,
            is_broken: false,
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counter.counts()
    }

    /// The digest of the output.
    ///
    /// # Errors
    /// The output does not have the form.
    pub(crate) fn digest(mut self) -> Result<ContentDigest, String> {
        if self.form == OutputForm::Text {
            return Ok(ContentDigest {
                algorithm: "sha256 of git's output".into(),
                hex: self.hasher.finish().to_string(),
            });
        }
        if self.is_broken || self.left > 0 || !self.part.is_empty() {
            return Err("its output has an unexpected form".to_owned());
        }
        let hex = self.sum.iter().map(|word| format!("{word:016x}")).collect();
        self.part.clear();
        let algorithm = match self.form {
            OutputForm::Objects => "sum of sha256 of the objects that git prints",
            _ => "sum of sha256 of the lines that git prints",
        };
        Ok(ContentDigest { algorithm: algorithm.into(), hex })
    }

    /// Adds the hash of a line or an object. A sum is independent of the order, and unlike an exclusive or, it counts
    /// repeated lines.
    fn add(&mut self) {
        let digest = std::mem::replace(&mut self.hasher, sha256()).finish();
        for (sum, word) in self.sum.iter_mut().zip(digest.as_bytes().chunks_exact(8)) {
            *sum = sum.wrapping_add(word.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)));
        }
    }

    /// Takes some of `bytes`, and returns the rest.
    fn take_some<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        if self.left > 0 {
            let len = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
            let (some, rest) = bytes.split_at(len);
            self.hasher.update(some);
            self.left -= len as u64;
            if self.left == 0 {
                self.add();
            }
            return rest;
        }
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            self.part.extend_from_slice(bytes);
            return &[];
        };
        let (some, rest) = bytes.split_at(end + 1);
        self.part.extend_from_slice(some);
        self.hasher.update(&self.part);
        match (self.form, size_in(&self.part)) {
            (OutputForm::Objects, Some(size)) => self.left = size.saturating_add(1),
            (OutputForm::Objects, None) => self.is_broken = true,
            _ => self.add(),
        }
        self.part.clear();
        rest
    }
}

impl Sink for OutputDigester {
    fn take(&mut self, bytes: &[u8]) {
        self.counter.take(bytes);
        if self.form == OutputForm::Text {
            return self.hasher.update(bytes);
        }
        let mut rest = bytes;
        while !rest.is_empty() && !self.is_broken {
            rest = self.take_some(rest);
        }
    }
}

fn sha256() -> IdHasher {
    IdHasher::new(gix_hash::Kind::Sha256)
}

/// The size in an object's line: `ID KIND SIZE`.
pub(super) fn size_in(line: &[u8]) -> Option<u64> {
    let mut words = std::str::from_utf8(line).ok()?.trim_end().split(' ');
    let (_, _, size) = (words.next()?, words.next()?, words.next()?);
    size.parse().ok().filter(|_| words.next().is_none())
}

/// The files of a work tree, counted; hashed as well if `is_hashed`.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn files(folder: &Path, is_hashed: bool) -> Result<(Counts, Option<ContentDigest>), StockError> {
    let failed = |error: &dyn std::fmt::Display| StockError::files("read", folder, error);
    let (mut files, mut bytes) = (0_u64, 0_u64);
    let mut hasher = sha256();
    // hg's own files, which differ, are in the work tree.
    let is_tree = |entry: &walkdir::DirEntry| entry.depth() != 1 || entry.file_name() != ".hg";
    for entry in WalkDir::new(folder).sort_by_file_name().into_iter().filter_entry(is_tree) {
        let entry = entry.map_err(|error| failed(&error))?;
        let found = entry.metadata().map_err(|error| failed(&error))?;
        if found.is_dir() {
            continue;
        }
        files += 1;
        bytes += found.len();
        if is_hashed {
            let path = entry.path().strip_prefix(folder).unwrap_or(entry.path()).as_os_str().as_bytes();
            let content = content(entry.path(), &found).map_err(|error| failed(&error))?;
            let is_program = found.permissions().mode() & 0o100 != 0;
            for piece in [path, &[u8::from(found.is_symlink()), u8::from(is_program)], &content] {
                hasher.update(&(piece.len() as u64).to_le_bytes());
                hasher.update(piece);
            }
        }
    }
    let counts = [("files", files), ("file bytes", bytes)];
    let counts = counts.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.to_owned(), count));
    let digest = || ContentDigest { algorithm: "sha256 of files".into(), hex: hasher.finish().to_string() };
    Ok((counts.collect(), is_hashed.then(digest)))
}

fn content(path: &Path, found: &fs::Metadata) -> io::Result<Vec<u8>> {
    if found.is_symlink() { Ok(fs::read_link(path)?.as_os_str().as_bytes().to_vec()) } else { fs::read(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(form: OutputForm, pieces: &[&[u8]]) -> Result<String, String> {
        let mut digester = OutputDigester::new(form);
        pieces.iter().for_each(|piece| digester.take(piece));
        digester.digest().map(|digest| digest.hex)
    }

    #[test]
    fn order_matters_for_text_but_not_for_lines() {
        let (one, other) = (&[&b"a\nb\n"[..]][..], &[&b"b\n"[..], b"a\n"][..]);
        assert_ne!(digest(OutputForm::Text, one), digest(OutputForm::Text, other));
        assert_eq!(digest(OutputForm::Lines, one), digest(OutputForm::Lines, other));
        assert_ne!(digest(OutputForm::Lines, one), digest(OutputForm::Lines, &[b"a\nb\nb\n"]));
        assert!(digest(OutputForm::Lines, &[b"a\nb"]).is_err(), "a line without its end");
    }

    #[test]
    fn objects_are_found_across_pieces() {
        let (first, second) = (b"aa blob 4\n\nx\n\n\n", b"bb tree 0\n\n");
        let whole = digest(OutputForm::Objects, &[&first[..], second].concat().chunks(100).collect::<Vec<_>>());
        let other = [&second[..], first].concat();
        for len in 1..other.len() {
            assert_eq!(digest(OutputForm::Objects, &other.chunks(len).collect::<Vec<_>>()), whole, "{len}");
        }
        assert!(whole.is_ok());
        for broken in [&b"aa blob 4\nxx"[..], b"aa missing\n", b"aa blob x\n", b"aa"] {
            assert!(digest(OutputForm::Objects, &[broken]).is_err(), "{broken:?}");
        }
    }

    #[test]
    fn bytes_and_lines_are_counted() {
        let mut counter = OutputCounter::default();
        assert!(counter.counts().is_empty());
        counter.take(b"a\nb");
        assert_eq!((counter.counts()["output bytes"], counter.counts()["output lines"]), (3, 1));
    }

    #[test]
    fn files_differ_by_name_mode_and_content() {
        let digest = |name: &str, mode: u32, content: &str| {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("sub")).unwrap();
            let path = folder.path().join("sub").join(name);
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let (counts, digest) = files(folder.path(), true).unwrap();
            assert_eq!((counts["files"], counts["file bytes"]), (1, content.len() as u64));
            digest.unwrap().hex
        };
        let found = digest("a", 0o644, "x");
        assert_eq!(found, digest("a", 0o600, "x"), "git knows one bit of a mode");
        assert!(
            found != digest("b", 0o644, "x") && found != digest("a", 0o755, "x") && found != digest("a", 0o644, "y")
        );
    }
}
