//! From the name of a revision to its changeset.
//!
//! As hg does, in this order: `tip`, a revision number, a full node, a bookmark, a tag, a branch, the start of a node.
//! Revsets are not understood.

use std::{fs, io};

use gix_hash::{ObjectId, Prefix};

use super::HgHistory;
use crate::{Changes, History, ReaderError, Result, hg::changeset};

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
        let Ok(prefix) = Prefix::from_hex(name) else {
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
            let path = self.hg_dir.join(file);
            let content = match fs::read(&path) {
                Ok(content) => content,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(ReaderError::io("read", path, error)),
            };
            if let Some(id) = last_named(&content, name) {
                return Ok(self.nodes.get(&id).map(|_| id));
            }
        }
        Ok(None)
    }

    /// The tag as the `.hgtags` of the last head that has it says.
    fn tag(&mut self, name: &str) -> Result<Option<ObjectId>> {
        let mut is_head = vec![true; self.changelog.len()];
        for entry in self.changelog.entries() {
            for parent in entry.parents.into_iter().filter_map(|parent| usize::try_from(parent).ok()) {
                if let Some(is_head) = is_head.get_mut(parent) {
                    *is_head = false;
                }
            }
        }
        let heads = is_head.iter().enumerate().rev().filter(|(_, is_head)| **is_head).map(|(at, _)| at);
        let (mut files, mut content) = (Changes::default(), Vec::new());
        for head in heads.collect::<Vec<_>>() {
            let node = self.changelog.entry(head)?.node;
            self.manifest(&node, &mut files)?;
            let tags = files.iter().find(|(path, _)| *path == b".hgtags").and_then(|(_, change)| change.new);
            if let Some(tags) = tags
                && self.content(b".hgtags", &tags, &mut content)?
                && let Some(id) = last_named(&content, name)
            {
                return Ok(self.nodes.get(&id).map(|_| id));
            }
        }
        Ok(None)
    }

    /// The last changeset of the branch `name`.
    fn branch_tip(&mut self, name: &str) -> Result<Option<ObjectId>> {
        for revision in (0..self.changelog.len()).rev() {
            let mut text = std::mem::take(&mut self.text);
            let read = self.texts.read(&self.changelog, super::CHANGELOG, revision, &mut text);
            let is_on_branch = changeset::branch(&text).unwrap_or(b"default") == name.as_bytes();
            self.text = text;
            read?;
            if is_on_branch {
                return Ok(self.changelog.entries().get(revision).map(|entry| entry.node));
            }
        }
        Ok(None)
    }
}

/// The node of the last line that says `name`.
fn last_named(lines: &[u8], name: &str) -> Option<ObjectId> {
    let named = |line: &[u8]| {
        let (node, rest) = line.split_at_checked(40)?;
        (rest.strip_prefix(b" ")? == name.as_bytes()).then(|| ObjectId::from_hex(node).ok()).flatten()
    };
    lines.split(|byte| *byte == b'\n').rev().find_map(named)
}
