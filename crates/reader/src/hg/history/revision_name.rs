//! Resolving the name of a revision.
//!
//! The precedence is that of hg: `tip`, a revision number, a full node, a bookmark, a tag, a branch, an abbreviated
//! node. What hg hides is found by number and node, as with `hg --hidden`, and otherwise left out. Revsets are not
//! supported.

use gix_hash::{ObjectId, Prefix};

use super::{HgHistory, visibility::Hidden};
use crate::{
    Changes, History, ReaderError, Result,
    hg::{changeset, read_or_empty},
};

impl HgHistory {
    pub(super) fn revision_named(&mut self, name: &str) -> Result<ObjectId> {
        let unknown = |history: &Self, why| ReaderError::NoSuchRevision {
            path: history.hg_dir.clone(),
            name: name.to_owned(),
            why,
        };
        if matches!(name, "tip" | ".") && self.changelog.is_empty() {
            return Err(unknown(self, "the repository has no changesets"));
        }
        let by_number = if name == "tip" { self.tip(&self.hidden()?) } else { self.by_number(name) };
        if let Some(id) = by_number {
            return Ok(id);
        }
        if let Ok(id) = ObjectId::from_hex(name.as_bytes())
            && self.nodes.get(&id).is_some()
        {
            return Ok(id);
        }
        if let Some(id) = self.bookmark(name)? {
            return Ok(id);
        }
        let hidden = self.hidden()?;
        if let Some(id) = self.tag(name, &hidden)? {
            return Ok(id);
        }
        if let Some(id) = self.branch_tip(name, &hidden)? {
            return Ok(id);
        }
        let Ok(prefix) = Prefix::from_hex_nonempty(name) else {
            return Err(unknown(self, "there is no such number, node, bookmark, tag or branch"));
        };
        let mut found = self.nodes.with_prefix(&prefix);
        match (found.next(), found.next()) {
            (Some(revision), None) => Ok(self.changelog.entry(revision)?.node),
            (Some(_), Some(_)) => Err(unknown(self, "the abbreviated node is ambiguous")),
            (None, _) => Err(unknown(self, "no node starts with it")),
        }
    }

    /// The last changeset that is not hidden.
    fn tip(&self, hidden: &Hidden) -> Option<ObjectId> {
        let last = (0..self.changelog.len()).rev().find(|revision| !hidden.has(*revision))?;
        self.changelog.entries().get(last).map(|entry| entry.node)
    }

    /// The changeset of a number. A negative number counts from the end.
    fn by_number(&self, name: &str) -> Option<ObjectId> {
        let number: i64 = name.parse().ok().filter(|number: &i64| number.to_string() == name)?;
        let revision = match usize::try_from(number) {
            Ok(number) => number,
            Err(_) => self.changelog.len().checked_sub(usize::try_from(-number).ok()?)?,
        };
        self.changelog.entries().get(revision).map(|entry| entry.node)
    }

    /// The changeset of a bookmark. The file `bookmarks` has lines of a node, a space and a name. It is in the store if
    /// `bookmarksinstore` is required.
    fn bookmark(&self, name: &str) -> Result<Option<ObjectId>> {
        for file in ["store/bookmarks", "bookmarks"] {
            let content = read_or_empty(&self.hg_dir.join(file))?;
            if let Some(id) = all_named(&content, name).next_back() {
                return Ok(self.nodes.get(&id).map(|_| id));
            }
        }
        Ok(None)
    }

    /// The changeset of a tag, according to the `.hgtags` of all visible heads, oldest head first, and `localtags`.
    fn tag(&mut self, name: &str, hidden: &Hidden) -> Result<Option<ObjectId>> {
        let (mut tag, mut files, mut content) = (TagHistory::default(), Changes::default(), Vec::new());
        for head in self.heads(hidden) {
            let node = self.changelog.entry(head)?.node;
            self.manifest(&node, &mut files)?;
            let tags = files.iter().find(|(path, _)| *path == b".hgtags").and_then(|(_, change)| change.new);
            if let Some(tags) = tags
                && self.content(b".hgtags", &tags, &mut content)?
            {
                tag.merge(all_named(&content, name).collect());
            }
        }
        tag.merge(all_named(&read_or_empty(&self.hg_dir.join("localtags"))?, name).collect());
        // A removed tag names the null node.
        Ok(tag.0.last().copied().filter(|id| self.nodes.get(id).is_some()))
    }

    /// Visible changesets without visible children, oldest first.
    fn heads(&self, hidden: &Hidden) -> Vec<usize> {
        let mut is_head: Vec<bool> = (0..self.changelog.len()).map(|revision| !hidden.has(revision)).collect();
        for (_, entry) in self.changelog.entries().iter().enumerate().filter(|(at, _)| !hidden.has(*at)) {
            for parent in entry.parents.into_iter().filter_map(|parent| usize::try_from(parent).ok()) {
                if let Some(is_head) = is_head.get_mut(parent) {
                    *is_head = false;
                }
            }
        }
        is_head.iter().enumerate().filter(|(_, is_head)| **is_head).map(|(at, _)| at).collect()
    }

    /// The last visible head of the branch `name` that does not close it; if there is none, the last head.
    fn branch_tip(&mut self, name: &str, hidden: &Hidden) -> Result<Option<ObjectId>> {
        // Whether a changeset has descendants on the branch.
        let mut is_passed = vec![false; self.changelog.len()];
        let mut last = None;
        let mut text = Vec::new();
        for (revision, entry) in self.changelog.entries().iter().enumerate().rev() {
            if hidden.has(revision) {
                continue;
            }
            let mut is_ancestor = is_passed.get(revision).copied().unwrap_or_default();
            self.texts.read(&self.changelog, super::CHANGELOG, revision, &mut text)?;
            if changeset::branch(&text).unwrap_or(b"default") == name.as_bytes() {
                if !is_ancestor && !changeset::closes_branch(&text) {
                    return Ok(Some(entry.node));
                }
                last = last.or(Some(entry.node));
                is_ancestor = true;
            }
            for parent in entry.parents.into_iter().filter_map(|parent| usize::try_from(parent).ok()) {
                if let Some(is_passed) = is_passed.get_mut(parent).filter(|_| is_ancestor) {
                    *is_passed = true;
                }
            }
        }
        Ok(last)
    }
}

/// The changesets that a tag has named, oldest first. The last one counts.
#[derive(Default)]
struct TagHistory(Vec<ObjectId>);

impl TagHistory {
    /// Merges another list of changesets of the tag. The last one of the list counts, unless the known one is newer:
    /// the known one replaced it before, and the list does not contain the known one or has a shorter history.
    ///
    /// Source: `mercurial.tags` of hg 7.2.
    fn merge(&mut self, listed: Vec<ObjectId>) {
        let Some((listed_now, listed_before)) = listed.split_last() else { return };
        let known = std::mem::take(&mut self.0);
        let is_newer = known.split_last().is_some_and(|(now, before)| {
            now != listed_now
                && before.contains(listed_now)
                && (!listed_before.contains(now) || before.len() > listed_before.len())
        });
        let last = if is_newer { known.last() } else { Some(listed_now) };
        self.0 = listed_before.to_vec();
        let older = known.split_last().map(|(_, before)| before).unwrap_or_default();
        self.0.extend(older.iter().filter(|node| !listed_before.contains(node)));
        self.0.extend(last);
    }
}

/// The nodes of all lines for `name`.
fn all_named<'a>(lines: &'a [u8], name: &'a str) -> impl DoubleEndedIterator<Item = ObjectId> + 'a {
    named(lines).filter_map(move |(node, found)| (found == name.as_bytes()).then_some(node))
}

/// The nodes that `lines` give a name.
pub(super) fn named_nodes(lines: &[u8]) -> impl Iterator<Item = ObjectId> {
    named(lines).map(|(node, _)| node)
}

/// Lines of a node, a space and a name, as bookmarks and tags have them.
fn named(lines: &[u8]) -> impl DoubleEndedIterator<Item = (ObjectId, &[u8])> {
    lines.split(|byte| *byte == b'\n').filter_map(|line| {
        let (node, rest) = line.split_at_checked(40)?;
        Some((ObjectId::from_hex(node).ok()?, rest.strip_prefix(b" ")?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(lists: &[&[u8]]) -> Option<u8> {
        let mut tag = TagHistory::default();
        for list in lists {
            tag.merge(list.iter().map(|byte| ObjectId::Sha1([*byte; 20])).collect());
        }
        tag.0.last().and_then(|node| node.as_bytes().first().copied())
    }

    /// The results of `hg log -r TAG` of hg 7.2 for heads whose `.hgtags` name these changesets, one head after
    /// another.
    #[test]
    fn tag_lists_are_merged_as_in_hg() {
        for (lists, expected) in [
            (&[&[1][..]][..], Some(1)),
            (&[&[1], &[2]], Some(2)),
            (&[&[1, 2], &[1]], Some(2)),
            (&[&[1], &[1, 2]], Some(2)),
            (&[&[1, 2], &[2, 1]], Some(1)),
            (&[&[2, 1, 2], &[2, 1]], Some(2)),
            (&[&[], &[3], &[]], Some(3)),
            (&[&[]], None),
        ] {
            assert_eq!(merged(lists), expected, "{lists:?}");
        }
    }
}
