//! The names of objects in payloads, whose bytes no codec shrinks: ids, or numbers in their place.

use std::{collections::BTreeMap, ops::Range};

use memchr::memchr;
use repackbench_codec::{Decoders, ZlibReader};
use repackbench_reader::{
    BaseReader, Chunk, ChunkKind, ChunkPlace, LeftOut, ObjectKind, ReaderError, Repository, Result,
    git::{
        delta,
        numbered::{OBJECT_WORD, PARENT_WORD, PackNumbers, TREE_WORD, VERBATIM},
    },
};
use repackbench_records::IdBytes;

/// The names in each kind of chunk.
#[derive(Debug, Default)]
pub struct StoredIds {
    by_kind: BTreeMap<ChunkKind, IdBytes>,
    /// The objects that were too large to read.
    pub left_out: LeftOut,
}

impl StoredIds {
    /// Those in the chunks of one kind.
    pub fn get(&self, kind: ChunkKind) -> IdBytes {
        self.by_kind.get(&kind).copied().unwrap_or_default()
    }

    /// Those in all chunks.
    pub fn sum(&self) -> IdBytes {
        let mut sum = IdBytes::default();
        self.by_kind.values().for_each(|ids| sum.merge(*ids));
        sum
    }
}

/// Counts the names of objects in the payloads of `repository`. Decodes all commits, trees and tags. Objects above
/// 64 MiB are left out. `None` for Mercurial, and for a variant whose deltas are compressed with their bases.
///
/// # Errors
/// An object is damaged.
pub fn count(repository: &Repository) -> Result<Option<StoredIds>> {
    let Repository::Git(git) = repository else { return Ok(None) };
    if repository.recorded_spec().is_some_and(|spec| spec.uses_bases()) {
        return Ok(None);
    }
    // Nothing is timed here, so the fastest decoder reads zlib streams.
    let decoders = Decoders::from(ZlibReader::Libdeflate);
    let mut names = NameReader {
        id_len: git.object_hash().len_in_bytes(),
        reader: BaseReader::new(repository, decoders)?,
        base: Vec::new(),
        object: Vec::new(),
        names: Vec::new(),
    };
    let mut by_kind = BTreeMap::<ChunkKind, IdBytes>::default();
    let mut wanted = |chunk: &Chunk<'_>| chunk.kind.object != ObjectKind::Blob;
    let left_out =
        repository.for_each_payload_in_place::<ReaderError>(decoders, &mut wanted, &mut |chunk, place, payload| {
            let ids = names.count(chunk, place, payload)?;
            by_kind.entry(chunk.kind).or_default().merge(ids);
            Ok(())
        })?;
    Ok(Some(StoredIds { by_kind, left_out }))
}

/// The name of an object in another one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct StoredName {
    range: Range<usize>,
    /// Whether it is a full id among numbers.
    is_escaped: bool,
}

/// Finds the names in payloads.
struct NameReader {
    id_len: usize,
    reader: BaseReader,
    base: Vec<u8>,
    object: Vec<u8>,
    names: Vec<StoredName>,
}

impl NameReader {
    fn count(&mut self, chunk: &Chunk<'_>, place: ChunkPlace<'_>, payload: &[u8]) -> Result<IdBytes> {
        let Chunk { kind, .. } = *chunk;
        let entry = place.in_pack();
        let form = NameForm { id_len: self.id_len, numbers: entry.and_then(|entry| entry.pack.numbers().copied()) };
        if let Some(entry) = entry.filter(|_| kind.is_delta) {
            self.reader.read_base(place, &mut self.base)?;
            self.reader.read_object(place, &self.base, payload, &mut self.object)?;
            form.find(kind.object, &self.object, &mut self.names);
            return inserted(&self.base, payload, &self.names)
                .map_err(|error| entry.pack.corrupt(chunk.offset, "a delta that fits its base", error.to_string()));
        }
        // Of all chunks, loose objects alone have no header before them, but one in their payload.
        let is_loose = chunk.header_len == 0;
        let header_len = memchr(0, payload).filter(|_| is_loose).map_or(0, |nul| nul + 1);
        form.find(kind.object, payload.get(header_len..).unwrap_or_default(), &mut self.names);
        Ok(self.names.iter().fold(IdBytes::default(), |mut sum, name| {
            sum.merge(name.bytes(name.range.len()));
            sum
        }))
    }
}

impl StoredName {
    /// This name, of which a payload holds `len` bytes.
    fn bytes(&self, len: usize) -> IdBytes {
        IdBytes { references: 1, payload_bytes: len as u64, escaped: self.is_escaped.into() }
    }
}

/// The part of `names`, which are in the result of `delta`, that the delta inserts.
fn inserted(base: &[u8], delta: &[u8], names: &[StoredName]) -> std::result::Result<IdBytes, delta::DeltaError> {
    let mut lens = vec![0; names.len()];
    let mut first = 0;
    delta::for_each_insert(base, delta, |insert| {
        while names.get(first).is_some_and(|name| name.range.end <= insert.start) {
            first += 1;
        }
        for (name, len) in names.iter().zip(&mut lens).skip(first).take_while(|(name, _)| name.range.start < insert.end)
        {
            *len += name.range.end.min(insert.end).saturating_sub(name.range.start.max(insert.start));
        }
    })?;
    let mut sum = IdBytes::default();
    let is_inserted = names.iter().zip(lens).filter(|(_, len)| *len > 0);
    is_inserted.for_each(|(name, len)| sum.merge(name.bytes(len)));
    Ok(sum)
}

/// How commits, trees and tags name objects.
#[derive(Debug, Clone, Copy)]
struct NameForm {
    id_len: usize,
    /// The numbers of the pack, if it has some.
    numbers: Option<PackNumbers>,
}

impl NameForm {
    /// Replaces `names` by those in an object of `kind`, in their order, as far as the object has git's own form.
    fn find(self, kind: ObjectKind, object: &[u8], names: &mut Vec<StoredName>) {
        names.clear();
        match (object.split_first(), self.numbers) {
            (Some((&VERBATIM, _)), Some(_)) => NameForm { numbers: None, ..self }.find_from(1, kind, object, names),
            (Some((&count, _)), Some(numbers)) if kind != ObjectKind::Tree => {
                let mut at = 1;
                for _ in 0..count {
                    let Some(name) = name_at(object, at, &numbers) else { break };
                    at = name.range.end;
                    names.push(name);
                }
            }
            _ => self.find_from(0, kind, object, names),
        }
    }

    /// Adds the names in `object` from `at` on.
    fn find_from(self, at: usize, kind: ObjectKind, object: &[u8], names: &mut Vec<StoredName>) {
        match kind {
            ObjectKind::Tree => self.find_in_tree(at, object, names),
            ObjectKind::Commit => {
                let at = self.find_in_lines(at, TREE_WORD, 1, object, names);
                self.find_in_lines(at, PARENT_WORD, usize::MAX, object, names);
            }
            _ => {
                self.find_in_lines(at, OBJECT_WORD, 1, object, names);
            }
        }
    }

    fn find_in_tree(self, mut at: usize, object: &[u8], names: &mut Vec<StoredName>) {
        while let Some(text_len) = object.get(at..).and_then(|rest| memchr(0, rest)) {
            let start = at + text_len + 1;
            let end = start + self.id_len;
            let name = match &self.numbers {
                Some(numbers) => name_at(object, start, numbers),
                None => (end <= object.len()).then_some(StoredName { range: start..end, is_escaped: false }),
            };
            let Some(name) = name else { return };
            at = name.range.end;
            names.push(name);
        }
    }

    /// Adds the names of at most `most` lines from `at` on that begin with `word`. Returns where these lines end.
    fn find_in_lines(
        self,
        mut at: usize,
        word: &str,
        most: usize,
        object: &[u8],
        names: &mut Vec<StoredName>,
    ) -> usize {
        for _ in 0..most {
            let start = at + word.len();
            let end = start + 2 * self.id_len;
            let is_line = object.get(at..start) == Some(word.as_bytes()) && object.get(end) == Some(&b'\n');
            if !is_line {
                break;
            }
            names.push(StoredName { range: start..end, is_escaped: false });
            at = end + 1;
        }
        at
    }
}

/// The number at `at`, or the escape with its id.
fn name_at(object: &[u8], at: usize, numbers: &PackNumbers) -> Option<StoredName> {
    let len = numbers.len_at(object.get(at..)?);
    let range = at..at + len;
    object.get(range.clone())?;
    Some(StoredName { range, is_escaped: len > numbers.width() })
}

#[cfg(test)]
mod tests {
    use gix_hash::Kind;

    use super::*;

    fn found(kind: ObjectKind, object: &[u8], numbers: Option<PackNumbers>) -> Vec<(Range<usize>, bool)> {
        let mut names = Vec::new();
        NameForm { id_len: 20, numbers }.find(kind, object, &mut names);
        names.into_iter().map(|name| (name.range, name.is_escaped)).collect()
    }

    #[test]
    fn names_are_found_in_git_objects() {
        let id = "1".repeat(40);
        let commit = format!("tree {id}\nparent {id}\nparent {id}\nauthor a\n\nparent {id}\n");
        let lines = [(5..45, false), (53..93, false), (101..141, false)];
        assert_eq!(found(ObjectKind::Commit, commit.as_bytes(), None), lines);
        assert_eq!(found(ObjectKind::Tag, format!("object {id}\ntag x\n").as_bytes(), None), [(7..47, false)]);
        let tree = [b"100644 a\0".as_slice(), &[0; 20], b"40000 b\0", &[7; 20], b"40000 c\0cut"].concat();
        assert_eq!(found(ObjectKind::Tree, &tree, None), [(9..29, false), (37..57, false)]);
        assert_eq!(found(ObjectKind::Commit, b"tree 12\n", None), []);
        assert_eq!(found(ObjectKind::Tree, b"", None), []);
    }

    #[test]
    fn names_are_found_in_numbered_objects() {
        let numbers = Some(PackNumbers::new(300, Kind::Sha1));
        let commit = [b"\x03\0\x05\0\0".as_slice(), &[9; 20], b"\0\x07author a\n"].concat();
        assert_eq!(found(ObjectKind::Commit, &commit, numbers), [(1..3, false), (3..25, true), (25..27, false)]);
        assert_eq!(found(ObjectKind::Tag, b"\x01\x01\0type commit\n", numbers), [(1..3, false)]);
        let tree = [b"100644 a\0\0\x01".as_slice(), b"160000 b\0\0\0", &[9; 20], b"40000 c\0\0"].concat();
        assert_eq!(found(ObjectKind::Tree, &tree, numbers), [(9..11, false), (20..42, true)]);
        let verbatim = format!("\0tree {}\n", "1".repeat(40));
        assert_eq!(found(ObjectKind::Commit, verbatim.as_bytes(), numbers), [(6..46, false)]);
    }

    #[test]
    fn deltas_count_what_they_insert() {
        let name = |range| StoredName { range, is_escaped: false };
        let base = [0; 50];
        // Copies 10 bytes, inserts 5, copies 10, inserts 3 and 2.
        let delta = [50, 30, 0x90, 10, 5, 1, 2, 3, 4, 5, 0x90, 10, 3, 1, 2, 3, 2, 1, 2];
        let counted = |names: &[StoredName]| {
            let ids = inserted(&base, &delta, names).unwrap();
            (ids.references, ids.payload_bytes)
        };
        assert_eq!(counted(&[name(0..10), name(15..25)]), (0, 0));
        assert_eq!(counted(&[name(8..12), name(12..16), name(26..30)]), (3, 2 + 3 + 4));
        assert_eq!(counted(&[name(0..30)]), (1, 10));
        assert!(inserted(&base, &[50, 9, 5, 1], &[]).is_err());
    }
}
