//! The fields of a commit that walks need, parsed as leniently as in git.
//!
//! git accepts any commit whose tree and parent lines are well-formed, and reads a malformed date as 0. A stricter
//! parser would reject histories that git lists.

use gix_hash::{Kind, ObjectId};

/// The tree and the date of a commit.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommitFields<N = ObjectId> {
    pub(super) tree: N,
    /// The committer's date in seconds since 1970; 0 if malformed. Unsigned as in git, so that dates have the same
    /// order.
    pub(super) date: u64,
}

/// Parses `commit` and replaces `parents` by the ids of its parents; `None` if it has no tree line or a malformed
/// parent line.
pub(super) fn parse_commit(commit: &[u8], hash: Kind, parents: &mut Vec<ObjectId>) -> Option<CommitFields> {
    parents.clear();
    let (tree, mut rest) = id_line(commit, b"tree ", hash)?;
    while rest.starts_with(b"parent ") {
        let (parent, tail) = id_line(rest, b"parent ", hash)?;
        parents.push(parent);
        rest = tail;
    }
    Some(CommitFields { tree, date: committer_date(rest) })
}

fn id_line<'a>(bytes: &'a [u8], name: &[u8], hash: Kind) -> Option<(ObjectId, &'a [u8])> {
    let (hex, rest) = bytes.strip_prefix(name)?.split_at_checked(hash.len_in_hex())?;
    let rest = rest.strip_prefix(b"\n")?;
    Some((ObjectId::from_hex(hex).ok()?, rest))
}

/// The date in what follows the ids of a commit; 0 if malformed.
pub(super) fn committer_date(bytes: &[u8]) -> u64 {
    parse_committer_date(bytes).unwrap_or(0)
}

/// Follows `parse_commit_date()` in git's commit.c.
fn parse_committer_date(bytes: &[u8]) -> Option<u64> {
    let bytes = bytes.strip_prefix(b"author")?;
    let committer = bytes.get(memchr::memchr(b'\n', bytes)? + 1..)?.strip_prefix(b"committer")?;
    let line = committer.get(..memchr::memchr(b'\n', committer)?)?;
    let date = line.get(memchr::memrchr(b'>', line)? + 1..)?.trim_ascii_start();
    match date.strip_prefix(b"-") {
        // strtoumax() negates the unsigned number.
        Some(digits) => leading_number(digits).map(u64::wrapping_neg),
        None => leading_number(date),
    }
}

fn leading_number(bytes: &[u8]) -> Option<u64> {
    let mut number = None;
    for byte in bytes.iter().take_while(|b| b.is_ascii_digit()) {
        number = Some(number.unwrap_or(0u64).saturating_mul(10).saturating_add(u64::from(byte - b'0')));
    }
    number
}

/// The object that an annotated tag names in its `object` line.
pub(super) fn parse_tag_target(tag: &[u8], hash: Kind) -> Option<ObjectId> {
    id_line(tag, b"object ", hash).map(|(target, _)| target)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

    fn date(people: &str) -> u64 {
        let commit = format!("tree {TREE}\nparent {TREE}\n{people}\nmessage\n");
        let mut parents = Vec::new();
        let fields = parse_commit(commit.as_bytes(), Kind::Sha1, &mut parents).unwrap();
        assert_eq!((fields.tree.to_string().as_str(), parents.len()), (TREE, 1));
        fields.date
    }

    #[test]
    fn dates_are_parsed_as_in_git() {
        assert_eq!(date("author A <a> 1 +0000\ncommitter B <b> 1700000000 +0100\n"), 1_700_000_000);
        assert_eq!(date("author A <a> 1 +0000\ncommitter B <b>>   17\n"), 17);
        assert_eq!(date("author A <a> 1 +0000\ncommitter B <b> nonsense\n"), 0);
        assert_eq!(date("author A <a> 1 +0000\ncommitter B 17 +0000\n"), 0);
        assert_eq!(date("committer B <b> 17 +0000\n"), 0);
        assert_eq!(date("author A <a> 1 +0000\ncommitter B <b> -1 +0000\n"), u64::MAX);
    }

    #[test]
    fn rejects_malformed_commits() {
        let mut parents = Vec::new();
        for bad in ["", "tree 12\n", &format!("tree {TREE}"), &format!("tree {TREE}\nparent 12\n")] {
            assert!(parse_commit(bad.as_bytes(), Kind::Sha1, &mut parents).is_none(), "{bad}");
        }
    }
}
