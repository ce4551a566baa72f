//! Parsing and comparing manifests. A manifest has one line per file, sorted by path.
//!
//! A line is the path, NUL, the node in hexadecimal, flags, and a line feed. The flags are `x` for an executable file,
//! `l` for a symbolic link, and `t` for a directory with a manifest of its own.

use gix_hash::ObjectId;

use crate::{FileVersion, common_prefix::common_prefix, traits::FileMode};

/// One line of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) path: &'a [u8],
    pub(super) node: ObjectId,
    /// `None` for a directory.
    pub(super) mode: Option<FileMode>,
}

impl Line<'_> {
    /// The version of the file; `None` for a directory.
    pub(super) fn version(&self) -> Option<FileVersion> {
        self.mode.map(|mode| FileVersion { id: self.node, mode })
    }
}

/// Damage in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BadLine {
    /// It cannot be parsed.
    Malformed,
    /// Its path does not sort after that of the previous line.
    OutOfOrder,
}

impl BadLine {
    /// The expected content, for an error.
    pub(super) fn expected(self) -> &'static str {
        match self {
            BadLine::Malformed => "a manifest of lines with path, node and flags",
            BadLine::OutOfOrder => "a manifest sorted by path, each path once",
        }
    }

    /// The content that was found, for an error.
    pub(super) fn found(self) -> &'static str {
        match self {
            BadLine::Malformed => "a malformed line",
            BadLine::OutOfOrder => "a line out of order",
        }
    }
}

/// Length in bytes of a node in hexadecimal.
const HEX_LEN: usize = 40;

/// Lines that are still to be read.
#[derive(Debug, Clone, Copy)]
struct Lines<'a> {
    rest: &'a [u8],
    /// The path of the previous line. Empty at the start; no path is empty.
    last: &'a [u8],
}

impl<'a> Lines<'a> {
    fn new(text: &'a [u8]) -> Self {
        Lines { rest: text, last: b"" }
    }

    /// Removes the first line; `None` at the end.
    fn next(&mut self) -> Result<Option<Line<'a>>, BadLine> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (line, rest) = split_line(self.rest).ok_or(BadLine::Malformed)?;
        let line = parse(line).ok_or(BadLine::Malformed)?;
        if line.path <= self.last {
            return Err(BadLine::OutOfOrder);
        }
        *self = Lines { rest, last: line.path };
        Ok(Some(line))
    }

    /// Skips the first `len` bytes, which are whole lines. Their order is not checked.
    fn skip(&mut self, len: usize) -> Result<(), BadLine> {
        let (Some(skipped), Some(rest)) = (self.rest.get(..len), self.rest.get(len..)) else { return Ok(()) };
        let Some(skipped) = skipped.strip_suffix(b"\n") else { return Ok(()) };
        let start = memchr::memrchr(b'\n', skipped).map_or(0, |at| at + 1);
        let line = skipped.get(start..).unwrap_or_default();
        let path = memchr::memchr(0, line).and_then(|nul| line.get(..nul)).ok_or(BadLine::Malformed)?;
        *self = Lines { rest, last: path };
        Ok(())
    }
}

/// The first line without its line feed, and what follows. The node has a fixed length, so only the rest of the line is
/// searched for the line feed.
fn split_line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let nul = memchr::memchr(0, text)?;
    let flags = nul + 1 + HEX_LEN;
    let end = flags + memchr::memchr(b'\n', text.get(flags..)?)?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

/// The directories of a manifest, each without its trailing slash, and the nodes of their manifests. They end at a damaged
/// line.
pub(super) fn directories(text: &[u8]) -> impl Iterator<Item = (&[u8], ObjectId)> {
    let mut lines = Lines::new(text);
    let lines = std::iter::from_fn(move || lines.next().ok().flatten());
    lines.filter(|line| line.mode.is_none()).map(|line| (line.path, line.node))
}

fn parse(line: &[u8]) -> Option<Line<'_>> {
    let nul = memchr::memchr(0, line)?;
    let path = line.get(..nul)?;
    let node = line.get(nul + 1..nul + 1 + HEX_LEN)?;
    let mode = match line.get(nul + 1 + HEX_LEN..)? {
        b"" => Some(FileMode::Regular),
        b"x" => Some(FileMode::Executable),
        b"l" => Some(FileMode::Symlink),
        b"t" => None,
        _ => return None,
    };
    (!path.is_empty()).then_some(())?;
    Some(Line { path, node: ObjectId::from_hex(node).ok()?, mode })
}

/// Calls `visit` with the old and the new version of every line that differs between two manifests. Common lines, which
/// are most of them, are skipped without parsing. So lines out of order are only detected where the manifests differ.
/// If one of them is empty, that is everywhere.
pub(super) fn differences<E: From<BadLine>>(
    old: &[u8],
    new: &[u8],
    mut visit: impl FnMut(Option<Line<'_>>, Option<Line<'_>>) -> Result<(), E>,
) -> Result<(), E> {
    let (mut old, mut new) = (Lines::new(old), Lines::new(new));
    loop {
        skip_common_lines(&mut old, &mut new)?;
        let (mut old_after, mut new_after) = (old, new);
        let (left, right) = match (old_after.next()?, new_after.next()?) {
            (None, None) => return Ok(()),
            lines => lines,
        };
        let order = match (&left, &right) {
            (Some(left), Some(right)) => left.path.cmp(right.path),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, _) => std::cmp::Ordering::Greater,
        };
        if order.is_le() {
            old = old_after;
        }
        if order.is_ge() {
            new = new_after;
        }
        visit(left.filter(|_| order.is_le()), right.filter(|_| order.is_ge()))?;
    }
}

/// Skips the common lines at the start of both.
fn skip_common_lines(old: &mut Lines<'_>, new: &mut Lines<'_>) -> Result<(), BadLine> {
    let common = common_prefix(old.rest, new.rest);
    let end = old.rest.get(..common).and_then(|common| memchr::memrchr(b'\n', common)).map_or(0, |at| at + 1);
    old.skip(end)?;
    new.skip(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(lines: &[(&str, u8, &str)]) -> Vec<u8> {
        let mut text = Vec::new();
        for (path, digit, flags) in lines {
            text.extend_from_slice(format!("{path}\0{}{flags}\n", format!("{digit:x}").repeat(40)).as_bytes());
        }
        text
    }

    /// The line in the old manifest and the line in the new one.
    type Difference = (Option<String>, Option<String>);

    fn diff(old: &[u8], new: &[u8]) -> Result<Vec<Difference>, BadLine> {
        let show = |line: Line<'_>| format!("{}:{:?}", String::from_utf8_lossy(line.path), line.mode);
        let mut found = Vec::new();
        differences(old, new, |old, new| {
            found.push((old.map(show), new.map(show)));
            Ok::<(), BadLine>(())
        })?;
        Ok(found)
    }

    #[test]
    fn only_differing_lines_are_visited() {
        let old = manifest(&[("a", 1, ""), ("b", 2, "x"), ("d/e", 3, "l"), ("z", 4, "")]);
        let new = manifest(&[("a", 1, ""), ("b", 2, ""), ("c", 5, ""), ("z", 4, ""), ("zz", 1, "t")]);
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            diff(&old, &new).unwrap(),
            [
                (some("b:Some(Executable)"), some("b:Some(Regular)")),
                (None, some("c:Some(Regular)")),
                (some("d/e:Some(Symlink)"), None),
                (None, some("zz:None")),
            ]
        );
        assert_eq!(diff(&old, &old).unwrap(), []);
        assert_eq!(diff(b"", &old).unwrap().len(), 4);
    }

    #[test]
    fn rejects_malformed_lines() {
        let node = "1".repeat(40);
        for text in [
            "a\n".to_owned(),
            format!("a\0{node}"),
            format!("a\0{}\n", &node[..39]),
            format!("a\0{node}q\n"),
            format!("\0{node}\n"),
            format!("a\0g{}\n", &node[1..]),
        ] {
            assert_eq!(diff(b"", text.as_bytes()), Err(BadLine::Malformed), "{text:?}");
        }
    }

    #[test]
    fn rejects_lines_out_of_order() {
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|path| (path, 1, ""));
        for bad in [&[b, a][..], &[a, a], &[a, c, b, d], &[a, b, b], &[("a", 1, ""), ("a", 2, "x")]] {
            let bad = manifest(bad);
            assert_eq!(diff(b"", &bad), Err(BadLine::OutOfOrder));
            assert_eq!(diff(&bad, b""), Err(BadLine::OutOfOrder));
        }
        // Where two manifests differ, after common lines.
        let sorted = manifest(&[a, b, c]);
        for bad in [&[a, b, a][..], &[a, b, c, c], &[a, b, c, ("A", 1, "")], &[a, c, b]] {
            assert_eq!(diff(&sorted, &manifest(bad)), Err(BadLine::OutOfOrder), "{bad:?}");
        }
        // hg sorts by bytes.
        assert_eq!(
            diff(b"", &manifest(&[("B", 1, ""), ("a", 1, ""), ("a-b", 1, ""), ("a/b", 1, "")])).unwrap().len(),
            4
        );
    }
}
