//! Expansion of the `ident` attribute's keyword, `$Id$`, into `$Id: <id of the blob> $`.
//!
//! git has two implementations, which differ on some adjacent keywords: [`expand_streamed`] is used for most files
//! (`ident_filter_fn()` in git's convert.c), [`expand_whole`] for files that another conversion needs as a whole
//! (`ident_to_worktree()`). Both replace earlier expansions, and leave expansions of other version-control systems
//! unchanged. The library's function does neither.

use std::ops::Range;

use gix_hash::oid;
use memchr::{memchr, memchr2};

/// Writes `content` with its keywords expanded to `expanded`; returns `false`, with `expanded` in any state, if it has
/// none.
pub(super) fn expand_streamed(content: &[u8], id: &oid, expanded: &mut Vec<u8>) -> bool {
    expand(content, id, expanded, next_streamed)
}

/// Like [`expand_streamed`], for content that git converts as a whole.
pub(super) fn expand_whole(content: &[u8], id: &oid, expanded: &mut Vec<u8>) -> bool {
    expand(content, id, expanded, next_whole)
}

fn expand(content: &[u8], id: &oid, expanded: &mut Vec<u8>, next: fn(&[u8], usize) -> Option<Range<usize>>) -> bool {
    let mut keyword = Vec::new();
    let mut at = 0;
    expanded.clear();
    while let Some(found) = next(content, at) {
        if keyword.is_empty() {
            keyword = format!("$Id: {id} $").into_bytes();
        }
        expanded.extend_from_slice(content.get(at..found.start).unwrap_or_default());
        expanded.extend_from_slice(&keyword);
        at = found.end;
    }
    expanded.extend_from_slice(content.get(at..).unwrap_or_default());
    !keyword.is_empty()
}

fn find(byte: u8, content: &[u8], from: usize) -> Option<usize> {
    Some(from + memchr(byte, content.get(from..)?)?)
}

/// The number of bytes of `$Id` that `content` begins with.
fn matched(content: &[u8]) -> usize {
    content.iter().zip(b"$Id").take_while(|(found, expected)| found == expected).count()
}

/// The range of the first keyword at or after `at` that the streaming implementation replaces.
///
/// It looks at each byte once. A byte that ends an unsuccessful match is skipped even if it is a `$`, so `$$Id$` has no
/// keyword. A `$Idx` directly before a keyword with a colon is replaced together with it.
fn next_streamed(content: &[u8], mut at: usize) -> Option<Range<usize>> {
    let mut pending: Option<Range<usize>> = None;
    loop {
        let dollar = find(b'$', content, at)?;
        let matched = matched(content.get(dollar..)?);
        let after = dollar + matched;
        let before = pending.take().filter(|pending| pending.end == dollar);
        if matched < b"$Id".len() {
            at = after + 1;
            continue;
        }
        match content.get(after)? {
            b'$' => return Some(dollar..after + 1),
            b':' => {
                let start = before.map_or(dollar, |before| before.start);
                let end = after + 1 + memchr2(b'$', b'\n', content.get(after + 1..)?)?;
                at = end + 1;
                if content.get(end) == Some(&b'$') && !is_foreign(content.get(start..at)?) {
                    return Some(start..at);
                }
            }
            // In git's comparison the NUL ends the searched word, and so is matched as well.
            0 => at = after + 2,
            _ => {
                at = after + 1;
                pending = Some(before.map_or(dollar, |before| before.start)..at);
            }
        }
    }
}

/// Whether `keyword` has spaces between words, like expansions of other systems. git's own has one only before the end.
fn is_foreign(keyword: &[u8]) -> bool {
    let Some(value) = keyword.strip_prefix(b"$Id: ") else { return false };
    let value = value.get(..memchr(0, value).unwrap_or(value.len())).unwrap_or_default();
    let followers = value.iter().skip(1).map(Some).chain([None]);
    value.iter().zip(followers).any(|(byte, follower)| b" \t\n\r".contains(byte) && follower != Some(&b'$'))
}

/// The range of the first keyword at or after `at` that the other implementation replaces.
fn next_whole(content: &[u8], mut at: usize) -> Option<Range<usize>> {
    loop {
        let dollar = find(b'$', content, at)?;
        at = dollar + 1;
        if matched(content.get(dollar..)?) < b"$Id".len() {
            continue;
        }
        let after = dollar + b"$Id".len();
        match content.get(after)? {
            b'$' => return Some(dollar..after + 1),
            b':' => {
                let end = find(b'$', content, after + 1)?;
                let value = content.get(after + 1..end)?;
                // The value's first byte may be a space, and so may its last.
                let space = find(b' ', value, 1).filter(|space| space + 1 < value.len());
                if memchr(b'\n', value).is_none() && space.is_none() {
                    return Some(dollar..end + 1);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both expansions of `content`, with `{}` for the id.
    fn both(content: &str) -> [String; 2] {
        let id = gix_hash::ObjectId::null(gix_hash::Kind::Sha1);
        [expand_streamed, expand_whole].map(|expand| {
            let mut expanded = Vec::new();
            let is_changed = expand(content.as_bytes(), &id, &mut expanded);
            assert_eq!(is_changed, expanded != content.as_bytes(), "{content:?}");
            String::from_utf8(expanded).unwrap().replace(&id.to_string(), "{}")
        })
    }

    #[track_caller]
    fn expands(content: &str, expected: &str) {
        assert_eq!(both(content), [expected, expected], "{content:?}");
    }

    #[test]
    fn keywords_become_the_id_between_spaces() {
        expands("$Id$", "$Id: {} $");
        expands("a $Id$ b $Id$\n$Id$", "a $Id: {} $ b $Id: {} $\n$Id: {} $");
        expands("no keyword, $ID$, $Id, Id$", "no keyword, $ID$, $Id, Id$");
    }

    #[test]
    fn earlier_expansions_are_replaced() {
        expands("$Id: 0123abc $", "$Id: {} $");
        expands("$Id:$", "$Id: {} $");
        expands("$Id: $", "$Id: {} $");
        expands("$Id:0123abc$", "$Id: {} $");
    }

    #[test]
    fn keywords_of_other_systems_stay() {
        expands(
            "$Id: file.c,v 1.2 2001/02/03 someone Exp $ and on",
            "$Id: file.c,v 1.2 2001/02/03 someone Exp $ and on",
        );
        expands("$Id: broken\nline $", "$Id: broken\nline $");
        expands("$Id: without an end", "$Id: without an end");
    }

    /// git 2.47.3 wrote each pair.
    #[test]
    fn expansions_differ_where_those_of_git_do() {
        assert_eq!(both("$$Id$"), ["$$Id$", "$$Id: {} $"]);
        assert_eq!(both("$I$Id$"), ["$I$Id$", "$I$Id: {} $"]);
        assert_eq!(both("$Id: a b $Id$"), ["$Id: a b $Id$", "$Id: a b $Id: {} $"]);
        assert_eq!(both("$Idx$Id: 0 $"), ["$Id: {} $", "$Idx$Id: {} $"]);
        assert_eq!(both("$Idx$Idy$Id:q$"), ["$Id: {} $", "$Idx$Idy$Id: {} $"]);
        assert_eq!(both("$Id\0$Id$"), ["$Id\0$Id$", "$Id\0$Id: {} $"]);
        assert_eq!(both("$Id:a b$"), ["$Id: {} $", "$Id:a b$"]);
        assert_eq!(both("$Id: a\tb $"), ["$Id: a\tb $", "$Id: {} $"]);
    }
}
