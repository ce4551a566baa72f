//! Names of revisions: references, ids, abbreviated ids, and their ancestors (gitrevisions(7)).

use gix_hash::ObjectId;

use super::{
    GitHistory,
    commit::parse_commit,
    expect::{damaged, tag_target},
};
use crate::{ObjectKind, ReaderError, Result, git::repository::Target};

/// Tags of tags are rare. A longer sequence is a cycle, which is possible in content that was never hashed.
const MAX_TAGS: usize = 1000;

impl GitHistory {
    /// The commit `name`: a reference, an id or an abbreviated id, followed by any number of `~N` and `^N`.
    pub(super) fn revision_by_name(&self, name: &str) -> Result<ObjectId> {
        let (base, suffixes) = name.split_at(name.find(['~', '^']).unwrap_or(name.len()));
        let mut id = self.commit_at(self.look_up_name(base)?)?;
        let mut rest = suffixes;
        while let Some(mark) = rest.chars().next() {
            let digits = rest.get(mark.len_utf8()..).unwrap_or_default();
            let (number, tail) = digits.split_at(digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len()));
            let number = if number.is_empty() { Ok(1) } else { number.parse::<usize>() };
            id = match (mark, number) {
                ('~', Ok(count)) => self.nth_ancestor(id, count, name)?,
                ('^', Ok(0)) => id,
                ('^', Ok(nth)) => self.nth_parent(id, nth, name)?,
                _ => return Err(self.no_such_revision(name)),
            };
            rest = tail;
        }
        Ok(id)
    }

    /// The object that the reference or abbreviated id `name` refers to, with the precedence of gitrevisions(7).
    fn look_up_name(&self, name: &str) -> Result<ObjectId> {
        let prefixes = ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];
        let candidates = prefixes.iter().map(|prefix| format!("{prefix}{name}"));
        for candidate in candidates.chain([format!("refs/remotes/{name}/HEAD")]) {
            if let Some(id) = self.follow(candidate.as_bytes()) {
                return Ok(id);
            }
        }
        if let Ok(id) = ObjectId::from_hex(name.as_bytes()) {
            return Ok(id);
        }
        self.store.lock().find_abbreviated(name)
    }

    fn follow(&self, name: &[u8]) -> Option<ObjectId> {
        // git follows at most this many symbolic references.
        const MAX_STEPS: usize = 5;
        let mut target = self.references.get(name)?;
        for _ in 0..MAX_STEPS {
            match target {
                Target::Object(id) => return Some(*id),
                Target::Symbolic(next) => target = self.references.get(&**next)?,
            }
        }
        None
    }

    /// The commit `id`, or the commit that the tag `id` finally leads to.
    fn commit_at(&self, mut id: ObjectId) -> Result<ObjectId> {
        let mut content = Vec::new();
        let mut store = self.store.lock();
        let first = id;
        for _ in 0..MAX_TAGS {
            match store.read(&id, &mut content)? {
                Some(ObjectKind::Commit) => return Ok(id),
                Some(ObjectKind::Tag) => id = tag_target(&store, id, &content)?,
                Some(other) => return Err(damaged(&store, id, "a commit", &format!("a {other}"))),
                None => return Err(store.missing(&id)),
            }
        }
        Err(damaged(
            &store,
            first,
            "a tag that leads to a commit",
            &format!("more than {MAX_TAGS} tags, each naming the next"),
        ))
    }

    /// The ancestor of `id` after `count` first parents.
    fn nth_ancestor(&self, mut id: ObjectId, count: usize, name: &str) -> Result<ObjectId> {
        for _ in 0..count {
            id = self.nth_parent(id, 1, name)?;
        }
        Ok(id)
    }

    /// The parent number `nth` of the commit `id`, counted from 1.
    fn nth_parent(&self, id: ObjectId, nth: usize, name: &str) -> Result<ObjectId> {
        let mut content = Vec::new();
        let mut parents = Vec::new();
        self.store.lock().read_expected(&id, ObjectKind::Commit, &mut content)?;
        parse_commit(&content, self.hash, &mut parents);
        let parents = self.overrides.get(&id).unwrap_or(&parents);
        nth.checked_sub(1).and_then(|at| parents.get(at)).copied().ok_or_else(|| self.no_such_revision(name))
    }

    fn no_such_revision(&self, name: &str) -> ReaderError {
        let path = self.store.lock().object_dir().to_owned();
        ReaderError::NoSuchRevision { path, name: name.to_owned(), why: "there is no such ancestor" }
    }
}
