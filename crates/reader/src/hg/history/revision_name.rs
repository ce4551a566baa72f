//! From the name of a revision to its changeset.
//!
//! As hg does, in this order: `tip`, a revision number, a full node, a bookmark, a tag, a branch, the start of a node.
//! Revsets are not understood.

use gix_hash::{ObjectId, Prefix};

use super::HgHistory;
use crate::{
    Changes, History, ReaderError, Result,
    hg::{changeset, read_if_there},
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
        if let Some(id) = self.by_number(name) {
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
        if let Some(id) = self.tag(name)? {
            return Ok(id);
        }
        if let Some(id) = self.branch_tip(name)? {
            return Ok(id);
        }
        let Ok(prefix) = Prefix::from_hex_nonempty(name) else {
            return Err(unknown(self, "it is no number, node, bookmark, tag or branch"));
        };
        let mut found = self.nodes.with_prefix(&prefix);
        match (found.next(), found.next()) {
            (Some(revision), None) => Ok(self.changelog.entry(revision)?.node),
            (Some(_), Some(_)) => Err(unknown(self, "several nodes start so")),
            (None, _) => Err(unknown(self, "no node starts so")),
        }
    }

    /// `tip`, or a number, which counts from the end if it is negative.
    fn by_number(&self, name: &str) -> Option<ObjectId> {
        let revision = match name {
            "tip" => self.changelog.len().checked_sub(1)?,
            _ => {
                let number: i64 = name.parse().ok().filter(|number: &i64| number.to_string() == name)?;
                match usize::try_from(number) {
                    Ok(number) => number,
                    Err(_) => self.changelog.len().checked_sub(usize::try_from(-number).ok()?)?,
                }
            }
        };
        self.changelog.entries().get(revision).map(|entry| entry.node)
    }

    /// Source: `bookmarks`, lines of a node, a space and a name; in the store if `bookmarksinstore` is required.
    fn bookmark(&self, name: &str) -> Result<Option<ObjectId>> {
        for file in ["store/bookmarks", "bookmarks"] {
            let content = read_if_there(&self.hg_dir.join(file))?;
            if let Some(id) = all_named(&content, name).next_back() {
                return Ok(self.nodes.get(&id).map(|_| id));
            }
        }
        Ok(None)
    }

    /// The tag as the heads' `.hgtags`, oldest head first, and `localtags` say together.
    fn tag(&mut self, name: &str) -> Result<Option<ObjectId>> {
        let (mut tag, mut files, mut content) = (TagHistory::default(), Changes::default(), Vec::new());
        for head in self.heads() {
            let node = self.changelog.entry(head)?.node;
            self.manifest(&node, &mut files)?;
            let tags = files.iter().find(|(path, _)| *path == b".hgtags").and_then(|(_, change)| change.new);
            if let Some(tags) = tags
                && self.content(b".hgtags", &tags, &mut content)?
            {
                tag.merge(all_named(&content, name).collect());
            }
        }
        tag.merge(all_named(&read_if_there(&self.hg_dir.join("localtags"))?, name).collect());
        // A tag that was removed names the null node.
        Ok(tag.0.last().copied().filter(|id| self.nodes.get(id).is_some()))
    }

    /// Changesets without children, oldest first.
    fn heads(&self) -> Vec<usize> {
        let mut is_head = vec![true; self.changelog.len()];
        for entry in self.changelog.entries() {
            for parent in entry.parents.into_iter().filter_map(|parent| usize::try_from(parent).ok()) {
                if let Some(is_head) = is_head.get_mut(parent) {
                    *is_head = false;
                }
            }
        }
        is_head.iter().enumerate().filter(|(_, is_head)| **is_head).map(|(at, _)| at).collect()
    }

    /// The last head of the branch `name` that does not close it, or the last one.
    fn branch_tip(&mut self, name: &str) -> Result<Option<ObjectId>> {
        // Whether a changeset has descendants on the branch.
        let mut is_passed = vec![false; self.changelog.len()];
        let mut last = None;
        let mut text = Vec::new();
        for (revision, entry) in self.changelog.entries().iter().enumerate().rev() {
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

/// What a tag has named, one changeset after another; the last counts.
#[derive(Default)]
struct TagHistory(Vec<ObjectId>);

impl TagHistory {
    /// Takes in what one more list of tags says. It counts unless what is known comes later: it was the other before and the
    /// list does not know that, or knows less.
    ///
    /// Source: hg 7.2's `mercurial.tags`.
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

/// The nodes of all lines that say `name`.
fn all_named<'a>(lines: &'a [u8], name: &'a str) -> impl DoubleEndedIterator<Item = ObjectId> + 'a {
    let named = |line: &[u8]| {
        let (node, rest) = line.split_at_checked(40)?;
        (rest.strip_prefix(b" ")? == name.as_bytes()).then(|| ObjectId::from_hex(node).ok()).flatten()
    };
    lines.split(|byte| *byte == b'\n').filter_map(named)
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

    /// What `hg log -r TAG` of hg 7.2 says where one head's `.hgtags` after another names these changesets.
    #[test]
    fn the_list_that_knows_of_the_others_counts() {
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
