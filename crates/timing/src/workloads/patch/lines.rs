//! The lines that differ between two versions of a file.
//!
//! The comparison is the library's Myers algorithm with git's shortcuts, and its sliding of edits with git's
//! indentation heuristic. Versions of a file are mostly equal, so common leading and trailing lines are found first, by
//! comparing bytes. In small changes only the lines in between and some around them are hashed. All memory except the
//! library's is reused from one file to the next.

use std::{hash::Hasher, ops::Range};

use gix_imara_diff::{Algorithm, Diff, IndentHeuristic, IndentLevel, Token};
use hashbrown::HashTable;
use memchr::{memchr, memchr_iter, memrchr};
use rustc_hash::FxHasher;

/// The number of context lines: git's default.
pub(super) const CONTEXT: usize = 3;

/// The number of common leading lines, and of common trailing lines, that take part in the comparison of a [`SMALL`]
/// change. An edit can slide that far up or down; git itself considers at most 100 places.
const WINDOW: usize = 128;

/// A change of fewer lines is small. In a larger change, git leaves out lines that are frequent in the whole file and
/// are surrounded by more than six lines that are only in one version (xdl_clean_mmatch() in its xdiff/xprepare.c).
/// Then the lines of the whole file have to be counted.
const SMALL: usize = 8;

/// The columns of a tab in git's measure of indentation.
const TAB_WIDTH: u8 = 8;

/// The bytes of `range`; empty if it is out of range.
pub(super) fn part(bytes: &[u8], range: Range<usize>) -> &[u8] {
    bytes.get(range).unwrap_or_default()
}

/// Consecutive lines of a file.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The number of the first line in the file, from 0.
    first: usize,
    /// The start of each line in the content, and the end of the last one.
    starts: Vec<usize>,
}

impl Lines {
    /// Splits `range` of `content` into lines, each with its newline. The first line has the number `first`.
    fn split(&mut self, content: &[u8], range: Range<usize>, first: usize) {
        self.first = first;
        self.starts.clear();
        self.starts.push(range.start);
        self.starts.extend(memchr_iter(b'\n', part(content, range.clone())).map(|at| range.start + at + 1));
        if self.starts.last() != Some(&range.end) {
            self.starts.push(range.end);
        }
    }

    fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The number of the first of these lines.
    pub(super) fn first(&self) -> usize {
        self.first
    }

    /// The number of the line after the last of these.
    pub(super) fn end(&self) -> usize {
        self.first + self.len()
    }

    /// The range of the line with that number in the content.
    pub(super) fn place(&self, number: usize) -> Range<usize> {
        let at = number.saturating_sub(self.first);
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(start), Some(end)) => *start..*end,
            (Some(start), None) => *start..*start,
            _ => 0..0,
        }
    }
}

/// Lines of the old version that are replaced by lines of the new one; either range may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    /// Numbers of lines of the old version, from 0.
    pub(super) old: Range<usize>,
    /// Numbers of lines of the new version, from 0.
    pub(super) new: Range<usize>,
}

/// Compares pairs of versions, reusing its buffers.
#[derive(Default)]
pub(super) struct LineDiff {
    diff: Diff,
    tokens: LineTokens,
    old_tokens: Vec<Token>,
    new_tokens: Vec<Token>,
    old: Lines,
    new: Lines,
    edits: Vec<Edit>,
}

impl std::fmt::Debug for LineDiff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LineDiff").field("edits", &self.edits).finish_non_exhaustive()
    }
}

impl LineDiff {
    /// Finds the differences between `old` and `new`, neither of which may be longer than 2^31 bytes.
    pub(super) fn compare(&mut self, old: &[u8], new: &[u8]) {
        let head = common_head(old, new);
        let tail = common_tail(part(old, head..old.len()), part(new, head..new.len()));
        let changed = head..old.len() - tail;
        // Both are equal outside of `changed`, and have the same length there.
        let old_count = count_lines(old, changed.clone());
        let new_count = count_lines(new, head..new.len() - tail);
        let is_small = old_count.min(new_count) == 0 || old_count.max(new_count) < SMALL;
        let reach = if is_small { WINDOW } else { usize::MAX };
        let (window, head_lines) = lines_back(old, changed.start, reach);
        let (shown, lead) = lines_back(old, window, CONTEXT);
        let (window_end, tail_lines) = lines_ahead(old, changed.end, reach);
        let (shown_end, _) = lines_ahead(old, window_end, CONTEXT);
        let first = memchr_iter(b'\n', part(old, 0..shown)).count();
        self.old.split(old, shown..shown_end, first);
        self.new.split(new, shown..new.len() - (old.len() - shown_end), first);

        let window = first + lead;
        self.intern(old, new, window, [head_lines, tail_lines], [old_count, new_count]);
        self.diff.compute_with(Algorithm::Myers, &self.old_tokens, &self.new_tokens, self.tokens.count());
        let (tokens, contents) = (&self.tokens, [old, new]);
        let indent =
            |token: Token| IndentLevel::for_ascii_line(tokens.line(contents, token).iter().copied(), TAB_WIDTH);
        self.diff.postprocess_with(&self.old_tokens, &self.new_tokens, IndentHeuristic::new(indent));
        let numbers = |range: Range<u32>| window + range.start as usize..window + range.end as usize;
        self.edits.clear();
        self.edits.extend(self.diff.hunks().map(|hunk| Edit { old: numbers(hunk.before), new: numbers(hunk.after) }));
    }

    /// Assigns a token to every line of the window, which starts at the line `window`. Common lines are hashed once;
    /// `shared` is their number at each end, `counts` the number of lines in between in each version.
    fn intern(&mut self, old: &[u8], new: &[u8], window: usize, shared: [usize; 2], counts: [usize; 2]) {
        let ([head_lines, tail_lines], [old_count, new_count]) = (shared, counts);
        let contents = [old, new];
        self.tokens.clear(head_lines + tail_lines + old_count + new_count);
        self.old_tokens.clear();
        self.new_tokens.clear();
        for number in window..window + head_lines + old_count + tail_lines {
            self.old_tokens.push(self.tokens.intern(contents, Version::Old, self.old.place(number)));
        }
        self.new_tokens.extend_from_slice(self.old_tokens.get(..head_lines).unwrap_or_default());
        let start = window + head_lines;
        for number in start..start + new_count {
            self.new_tokens.push(self.tokens.intern(contents, Version::New, self.new.place(number)));
        }
        self.new_tokens.extend_from_slice(self.old_tokens.get(head_lines + old_count..).unwrap_or_default());
    }

    /// The edits, in the order of lines.
    pub(super) fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// The edited lines of the old version, and those around them.
    pub(super) fn old_lines(&self) -> &Lines {
        &self.old
    }

    /// The same of the new version.
    pub(super) fn new_lines(&self) -> &Lines {
        &self.new
    }
}

/// The version that a line is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Old,
    New,
}

#[derive(Debug)]
struct InternedLine {
    hash: u64,
    version: Version,
    place: Range<usize>,
}

impl InternedLine {
    fn bytes<'c>(&self, [old, new]: [&'c [u8]; 2]) -> &'c [u8] {
        let content = match self.version {
            Version::Old => old,
            Version::New => new,
        };
        part(content, self.place.clone())
    }
}

/// Numbers lines, so that equal lines have the same number. The library's own table borrows the lines, so it cannot
/// outlive a file.
#[derive(Debug, Default)]
struct LineTokens {
    lines: Vec<InternedLine>,
    table: HashTable<u32>,
}

impl LineTokens {
    /// Removes all lines, and reserves room for `expected` new ones.
    fn clear(&mut self, expected: usize) {
        /// Clearing costs time by capacity: one large file must not slow down all others.
        const SPARSE: usize = 64;
        self.lines.clear();
        self.table.clear();
        if self.table.capacity() / SPARSE > expected {
            self.table.shrink_to(expected, |_| 0);
        }
    }

    fn count(&self) -> u32 {
        u32::try_from(self.lines.len()).unwrap_or(u32::MAX)
    }

    /// The token of the line at `place` in the content of `version`.
    fn intern(&mut self, contents: [&[u8]; 2], version: Version, place: Range<usize>) -> Token {
        let mut line = InternedLine { hash: 0, version, place };
        let bytes = line.bytes(contents);
        let mut hasher = FxHasher::default();
        hasher.write(bytes);
        line.hash = hasher.finish();
        let lines = &self.lines;
        let is_same = |number: &u32| lines.get(*number as usize).is_some_and(|line| line.bytes(contents) == bytes);
        if let Some(number) = self.table.find(line.hash, is_same) {
            return Token(*number);
        }
        let number = self.count();
        let rehash = |number: &u32| lines.get(*number as usize).map_or(0, |line| line.hash);
        self.table.insert_unique(line.hash, number, rehash);
        self.lines.push(line);
        Token(number)
    }

    fn line<'c>(&self, contents: [&'c [u8]; 2], token: Token) -> &'c [u8] {
        self.lines.get(token.0 as usize).map(|line| line.bytes(contents)).unwrap_or_default()
    }
}

/// The length of the common leading lines.
fn common_head(old: &[u8], new: &[u8]) -> usize {
    const STRIDE: usize = 64;
    let strides = old.chunks_exact(STRIDE).zip(new.chunks_exact(STRIDE));
    let mut same = STRIDE * strides.take_while(|(old, new)| old == new).count();
    let rest = part(old, same..old.len()).iter().zip(part(new, same..new.len()));
    same += rest.take_while(|(old, new)| old == new).count();
    memrchr(b'\n', part(old, 0..same)).map_or(0, |at| at + 1)
}

/// The length of the common trailing lines. Both start with a line.
fn common_tail(old: &[u8], new: &[u8]) -> usize {
    const STRIDE: usize = 64;
    let strides = old.rchunks_exact(STRIDE).zip(new.rchunks_exact(STRIDE));
    let mut same = STRIDE * strides.take_while(|(old, new)| old == new).count();
    let rest = part(old, 0..old.len() - same).iter().rev().zip(part(new, 0..new.len() - same).iter().rev());
    same += rest.take_while(|(old, new)| old == new).count();
    let starts_a_line = |content: &[u8]| {
        let before = (content.len() - same).checked_sub(1);
        before.is_none_or(|before| content.get(before) == Some(&b'\n'))
    };
    if starts_a_line(old) && starts_a_line(new) {
        return same;
    }
    memchr(b'\n', part(old, old.len() - same..old.len())).map_or(0, |at| same - at - 1)
}

/// The start of the line that is `count` lines before the one at `from`, or of the first line, and the number of lines
/// in between.
fn lines_back(content: &[u8], from: usize, count: usize) -> (usize, usize) {
    let mut start = from;
    for done in 0..count {
        let Some(last) = start.checked_sub(1) else { return (start, done) };
        start = memrchr(b'\n', part(content, 0..last)).map_or(0, |at| at + 1);
    }
    (start, count)
}

/// The end of the last of `count` lines from `from`, or of the last line, and the number of these lines.
fn lines_ahead(content: &[u8], from: usize, count: usize) -> (usize, usize) {
    let mut end = from;
    for done in 0..count {
        if end >= content.len() {
            return (end, done);
        }
        end = memchr(b'\n', part(content, end..content.len())).map_or(content.len(), |at| end + at + 1);
    }
    (end, count)
}

/// The number of lines in `range`, which starts with a line; the last may lack its newline.
fn count_lines(content: &[u8], range: Range<usize>) -> usize {
    let lines = part(content, range);
    memchr_iter(b'\n', lines).count() + usize::from(lines.last().is_some_and(|last| *last != b'\n'))
}
