//! Hunks: edits with their context lines.

use std::ops::Range;

use memchr::memrchr;

use super::lines::{CONTEXT, Edit, LineDiff, Lines, part};

/// The limit of a function line in a hunk's header, in bytes, as in git (struct func_line in its xdiff/xemit.c).
const MAX_HEADING: usize = 80;

/// Adds the hunks of `diff`, which compared `old` with `new`, to `patch`.
pub(super) fn put_hunks(patch: &mut Vec<u8>, diff: &LineDiff, old: &[u8], new: &[u8]) {
    let mut edits = diff.edits();
    let mut heading = Heading::default();
    while !edits.is_empty() {
        let (together, rest) = edits.split_at(hunk_len(edits));
        edits = rest;
        let (Some(first), Some(last)) = (together.first(), together.last()) else { return };
        let shown_old = with_context(first.old.start, last.old.end, diff.old_lines());
        let shown_new = with_context(first.new.start, last.new.end, diff.new_lines());
        heading.search(old, diff.old_lines().place(shown_old.start).start);
        put_header(patch, &shown_old, &shown_new, heading.text(old));
        let mut unchanged_from = shown_new.start;
        for edit in together {
            put_lines(patch, b' ', new, diff.new_lines(), unchanged_from..edit.new.start);
            put_lines(patch, b'-', old, diff.old_lines(), edit.old.clone());
            put_lines(patch, b'+', new, diff.new_lines(), edit.new.clone());
            unchanged_from = edit.new.end;
        }
        put_lines(patch, b' ', new, diff.new_lines(), unchanged_from..shown_new.end);
    }
}

/// The number of `edits` in the first hunk: those whose context touches or overlaps.
fn hunk_len(edits: &[Edit]) -> usize {
    let neighbours = edits.iter().zip(edits.iter().skip(1));
    let are_near = |(edit, next): &(&Edit, &Edit)| next.old.start - edit.old.end <= 2 * CONTEXT;
    1 + neighbours.take_while(are_near).count()
}

/// The lines from `start` to `end` with their context, within the file. The versions are equal around an edit, so both
/// have the same number of context lines.
fn with_context(start: usize, end: usize, lines: &Lines) -> Range<usize> {
    start.saturating_sub(CONTEXT).max(lines.first())..(end + CONTEXT).min(lines.end())
}

fn put_header(patch: &mut Vec<u8>, old: &Range<usize>, new: &Range<usize>, heading: &[u8]) {
    patch.extend_from_slice(b"@@ -");
    put_range(patch, old);
    patch.extend_from_slice(b" +");
    put_range(patch, new);
    patch.extend_from_slice(b" @@");
    if !heading.is_empty() {
        patch.push(b' ');
        patch.extend_from_slice(heading);
    }
    patch.push(b'\n');
}

/// The first line, counted from 1, and the number of lines unless it is 1. An empty range has the number of the line
/// before it.
fn put_range(patch: &mut Vec<u8>, lines: &Range<usize>) {
    let first = lines.start + usize::from(!lines.is_empty());
    put_number(patch, first);
    if lines.len() != 1 {
        patch.push(b',');
        put_number(patch, lines.len());
    }
}

/// Formatting by the standard library would take most of the time of a short hunk.
fn put_number(patch: &mut Vec<u8>, mut number: usize) {
    let start = patch.len();
    loop {
        let digit = u8::try_from(number % 10).unwrap_or_default();
        patch.push(b'0' + digit);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    patch.get_mut(start..).unwrap_or_default().reverse();
}

fn put_lines(patch: &mut Vec<u8>, sign: u8, content: &[u8], lines: &Lines, numbers: Range<usize>) {
    for number in numbers {
        let line = part(content, lines.place(number));
        patch.push(sign);
        patch.extend_from_slice(line);
        if line.last() != Some(&b'\n') {
            patch.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

/// The line that a hunk's header shows after its numbers: the nearest line before the hunk that starts with a letter,
/// an underscore or a dollar sign, which in most languages starts a function or the like (def_ff() in git's
/// xdiff/xemit.c).
#[derive(Debug, Default)]
struct Heading {
    /// Its range in the old version.
    place: Range<usize>,
    /// The end of the searched lines.
    searched: usize,
}

impl Heading {
    /// Searches the lines of `content` from the end of the last search up to `end`, backwards. If none is found, the
    /// previous line stays.
    fn search(&mut self, content: &[u8], end: usize) {
        let mut line_end = end;
        while line_end > self.searched {
            let start = match line_end.checked_sub(1).and_then(|last| memrchr(b'\n', part(content, 0..last))) {
                Some(newline) => newline + 1,
                None => 0,
            };
            if content.get(start).is_some_and(|first| first.is_ascii_alphabetic() || matches!(first, b'_' | b'$')) {
                self.place = start..line_end;
                break;
            }
            line_end = start;
        }
        self.searched = end;
    }

    /// The shown part of it: limited, without trailing spaces, and only valid UTF-8.
    fn text<'c>(&self, content: &'c [u8]) -> &'c [u8] {
        let line = part(content, self.place.clone());
        let line = part(line, 0..line.len().min(MAX_HEADING)).trim_ascii_end();
        let valid = std::str::from_utf8(line).map_or_else(|error| error.valid_up_to(), str::len);
        part(line, 0..valid)
    }
}
