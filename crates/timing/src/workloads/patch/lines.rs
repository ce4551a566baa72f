//! Which lines differ between two versions of a file.
//!
//! The comparison itself is the library's Myers algorithm with git's shortcuts, and its sliding of edits with git's
//! indentation heuristic. Versions of a file are mostly the same, so what both begin and end with is found first, by
//! comparing bytes, and where nothing else matters only the lines between and some around them are hashed. All memory is
//! reused from one file to the next, but for what the library takes.

use std::{hash::Hasher, ops::Range};

use gix_imara_diff::{Algorithm, Diff, IndentHeuristic, IndentLevel, Token};
use hashbrown::HashTable;
use memchr::{memchr, memchr_iter, memrchr};
use rustc_hash::FxHasher;

/// How many lines around an edit are shown: git's default.
pub(super) const CONTEXT: usize = 3;

/// How many of the lines that both versions begin with, and how many of those that they end with, take part in the
/// comparison of a [`SMALL`] change. An edit can slide so far up or down; git itself weighs no more than 100 places.
const WINDOW: usize = 128;

/// A change of fewer lines is small. In a larger one git leaves lines out of the comparison that are frequent in the
/// whole file and have more than six lines around them that are in one version only (xdl_clean_mmatch() in its
/// xdiff/xprepare.c): all of the file has to be counted then.
const SMALL: usize = 8;

/// Columns of a tab, as git counts indentation.
const TAB_WIDTH: u8 = 8;

/// The bytes of `range`; none if there are none.
pub(super) fn part(bytes: &[u8], range: Range<usize>) -> &[u8] {
    bytes.get(range).unwrap_or_default()
}

/// Some lines of a file, one after the other.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The number of the first one in the file, from 0.
    first: usize,
    /// Where each starts in the file's content, and where the last one ends.
    starts: Vec<usize>,
}

impl Lines {
    /// Splits `range` of `content` into lines, each with its newline. The line at its start has the number `first`.
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

    /// The number of the line behind the last of these.
    pub(super) fn end(&self) -> usize {
        self.first + self.len()
    }

    /// Where the line of that number lies in the file's content.
    pub(super) fn place(&self, number: usize) -> Range<usize> {
        let at = number.saturating_sub(self.first);
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(start), Some(end)) => *start..*end,
            (Some(start), None) => *start..*start,
            _ => 0..0,
        }
    }
}

/// Lines of the old version that lines of the new one stand in for; either may be none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    /// Numbers of lines of the old version, from 0.
    pub(super) old: Range<usize>,
    /// Numbers of lines of the new version, from 0.
    pub(super) new: Range<usize>,
}

/// Compares one pair of versions after another.
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
    /// Finds what differs between `old` and `new`, of which neither may be longer than 2^31 bytes.
    pub(super) fn compare(&mut self, old: &[u8], new: &[u8]) {
        let head = common_head(old, new);
        let tail = common_tail(part(old, head..old.len()), part(new, head..new.len()));
        let changed = head..old.len() - tail;
        // Everything outside `changed` is the same in both, and has the same length.
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

    /// Gives every line of the window, which starts at the line `window`, its token. What both begin and end with is
    /// hashed once; `shared` says how many lines that is at either end, `counts` how many are between in each version.
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

    /// What differs, in the order of lines.
    pub(super) fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// The lines of the old version that are edited, and those around them.
    pub(super) fn old_lines(&self) -> &Lines {
        &self.old
    }

    /// The same of the new version.
    pub(super) fn new_lines(&self) -> &Lines {
        &self.new
    }
}

/// Which of the two contents a line lies in.
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

/// Numbers lines so that the same bytes have the same number. The library's own table borrows the lines, and so cannot
/// outlive a file.
#[derive(Debug, Default)]
struct LineTokens {
    lines: Vec<InternedLine>,
    table: HashTable<u32>,
}

impl LineTokens {
    /// Forgets all lines, and makes room for `expected` new ones.
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

/// How many bytes of whole lines both begin with.
fn common_head(old: &[u8], new: &[u8]) -> usize {
    const STRIDE: usize = 64;
    let strides = old.chunks_exact(STRIDE).zip(new.chunks_exact(STRIDE));
    let mut same = STRIDE * strides.take_while(|(old, new)| old == new).count();
    let rest = part(old, same..old.len()).iter().zip(part(new, same..new.len()));
    same += rest.take_while(|(old, new)| old == new).count();
    memrchr(b'\n', part(old, 0..same)).map_or(0, |at| at + 1)
}

/// How many bytes of whole lines both end with. Both start with a line.
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

/// Where the line starts that is `count` lines before the one at `from`, or the first one, and how many lines before it is.
fn lines_back(content: &[u8], from: usize, count: usize) -> (usize, usize) {
    let mut start = from;
    for done in 0..count {
        let Some(last) = start.checked_sub(1) else { return (start, done) };
        start = memrchr(b'\n', part(content, 0..last)).map_or(0, |at| at + 1);
    }
    (start, count)
}

/// Where the line ends that is the last of `count` ones from `from`, or the last one, and how many lines that are.
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

/// How many lines `range`, which starts with a line, has; the last may lack its newline.
fn count_lines(content: &[u8], range: Range<usize>) -> usize {
    let lines = part(content, range);
    memchr_iter(b'\n', lines).count() + usize::from(lines.last().is_some_and(|last| *last != b'\n'))
}
