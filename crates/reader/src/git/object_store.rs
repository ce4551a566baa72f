//! Random access to every object of a repository, over packs and loose files.

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
};

use gix_hash::{ObjectId, oid};
use repackbench_codec::ChunkDecoder;

use super::{
    chunk::decode_to_vec,
    delta, loose,
    pack::{EntryKind, PackFile},
    repository::{GitRepository, LooseObjects},
};
use crate::{
    ObjectKind, Place, ReaderError, Result,
    delta_base_cache::{DEFAULT_LIMIT, DeltaBaseCache, Key},
};

/// A whole object that is larger than this is not kept after it was read: it would sweep the cache for one reader.
const KEEP_LIMIT: usize = 4 << 20;

/// Every object of a repository by id. One thread's: it owns its decoder, its cache and its buffers.
pub struct ObjectStore {
    packs: Vec<PackFile>,
    loose: LooseObjects,
    object_dir: PathBuf,
    decoder: ChunkDecoder,
    cache: DeltaBaseCache<ObjectKind>,
    last_pack: usize,
    may_lack_objects: bool,
    missing: BTreeSet<ObjectId>,
    replacements: HashMap<ObjectId, ObjectId>,
    chain: Vec<Link>,
    delta_payload: Vec<u8>,
    loose_stored: Vec<u8>,
}

/// A delta on the way from an object to its base.
#[derive(Debug, Clone, Copy)]
struct Link {
    offset: u64,
    chunk: u64,
    payload_len: u64,
}

/// What the deltas of a chain start from.
struct Base {
    offset: u64,
    kind: ObjectKind,
    /// Its content; `None` while it lies in the cache.
    decoded: Option<Vec<u8>>,
}

/// Where an object lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Location {
    Pack { pack: usize, offset: u64 },
    Loose { at: usize },
}

impl std::fmt::Debug for ObjectStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ObjectStore").field("packs", &self.packs).finish_non_exhaustive()
    }
}

impl ObjectStore {
    /// Opens every pack of `repository` and lists its loose objects. Chunks are decoded by `decoder`.
    pub fn open(repository: &GitRepository, decoder: ChunkDecoder) -> Result<Self> {
        let packs = repository
            .packs()
            .iter()
            .map(|files| PackFile::open(files, repository.object_hash()))
            .collect::<Result<Vec<_>>>()?;
        Ok(ObjectStore {
            packs,
            loose: repository.loose_objects()?,
            object_dir: repository.object_dirs().first().cloned().unwrap_or_default(),
            decoder,
            cache: DeltaBaseCache::new(DEFAULT_LIMIT),
            last_pack: 0,
            may_lack_objects: repository.is_partial_clone(),
            missing: BTreeSet::new(),
            replacements: HashMap::default(),
            chain: Vec::new(),
            delta_payload: Vec::new(),
            loose_stored: Vec::new(),
        })
    }

    /// The repository's own object directory, for messages about objects as such.
    pub fn object_dir(&self) -> &Path {
        &self.object_dir
    }

    /// Puts other objects' content in the place of some: what `refs/replace/` asks for.
    pub fn set_replacements(&mut self, replacements: HashMap<ObjectId, ObjectId>) {
        self.replacements = replacements;
    }

    /// Empties the cache and the list of missing objects, so that the next run starts as the first did.
    pub fn forget(&mut self) {
        self.cache.clear();
        self.last_pack = 0;
        self.missing.clear();
    }

    /// How many entries and loose objects there are; one stored twice counts twice.
    pub fn len(&self) -> usize {
        self.packs.iter().map(|pack| pack.entry_count() as usize).sum::<usize>() + self.loose.len()
    }

    /// Whether there is no object at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the object `id` is here.
    pub fn contains(&mut self, id: &oid) -> bool {
        self.locate(id).is_some()
    }

    /// Reads the object `id` into `content`, replacing what is there; `None` if it is not here.
    pub fn read(&mut self, id: &oid, content: &mut Vec<u8>) -> Result<Option<ObjectKind>> {
        let replacement = self.replacement(id)?;
        match self.locate(replacement.as_deref().unwrap_or(id)) {
            None => Ok(None),
            Some(Location::Pack { pack, offset }) => self.read_packed(pack, offset, content).map(Some),
            Some(Location::Loose { at }) => self.read_loose(at, content).map(Some),
        }
    }

    /// Reads the object `id`, which has to be here and of `kind`.
    pub fn read_expected(&mut self, id: &oid, kind: ObjectKind, content: &mut Vec<u8>) -> Result<()> {
        match self.read(id, content)? {
            Some(found) if found == kind => Ok(()),
            Some(found) => Err(ReaderError::corrupt(
                &self.object_dir,
                Place::Object(id.to_owned()),
                format!("a {kind}"),
                format!("a {found}"),
            )),
            None => Err(self.missing(id)),
        }
    }

    /// The kind of the object `id`, with no more decoded than that takes; `None` if it is not here.
    pub fn kind(&mut self, id: &oid) -> Result<Option<ObjectKind>> {
        match self.locate(id) {
            None => Ok(None),
            Some(Location::Loose { at }) => {
                let path = self.load_loose(at)?;
                loose::read_header(&path, &self.loose_stored, &mut self.decoder).map(|header| Some(header.kind))
            }
            Some(Location::Pack { pack, mut offset }) => {
                let Some(pack) = self.packs.get(pack) else { return Ok(None) };
                let mut links = 0;
                loop {
                    let (header, _) = pack.entry(offset)?;
                    offset = match header.kind {
                        EntryKind::Whole(kind) => return Ok(Some(kind)),
                        EntryKind::OffsetDelta { distance } => pack.base_offset(offset, distance)?,
                        EntryKind::RefDelta { base } => pack.base_offset_of_id(offset, &base)?,
                    };
                    links += 1;
                    check_chain(pack, offset, links)?;
                }
            }
        }
    }

    /// The one object whose id starts with the hexadecimal digits `prefix`, four at least, as in git.
    pub fn find_abbreviated(&self, prefix: &str) -> Result<ObjectId> {
        let refuse = |why| ReaderError::NoSuchRevision { path: self.object_dir.clone(), name: prefix.to_owned(), why };
        let none = "neither a reference nor the beginning of an object's id";
        let parsed = gix_hash::Prefix::from_hex(prefix).map_err(|_| refuse(none))?;
        let mut found: Vec<ObjectId> = Vec::new();
        for pack in &self.packs {
            let mut matches = 0..0;
            pack.index().lookup_prefix(parsed, Some(&mut matches));
            found.extend(matches.map(|at| pack.index().oid_at_index(at).to_owned()));
        }
        let loose = self.loose.as_slice().iter().map(|object| object.id);
        found.extend(loose.filter(|id| parsed.cmp_oid(id).is_eq()));
        found.sort_unstable();
        found.dedup();
        match found.as_slice() {
            [id] => Ok(*id),
            [] => Err(refuse(none)),
            _ => Err(refuse("several objects' ids begin so")),
        }
    }

    /// Remembers that `id` was wanted and is not here, which only a partial clone may say of an object.
    pub fn note_missing(&mut self, id: &oid) -> Result<()> {
        if !self.may_lack_objects {
            return Err(self.missing(id));
        }
        self.missing.insert(id.to_owned());
        Ok(())
    }

    /// The objects that were wanted and are not here, since the store was opened or made to forget.
    pub fn missing_objects(&self) -> &BTreeSet<ObjectId> {
        &self.missing
    }

    /// The error for an object that has to be here and is not.
    pub fn missing(&self, id: &oid) -> ReaderError {
        ReaderError::Missing { path: self.object_dir.clone(), id: id.to_owned() }
    }

    /// What stands in the place of `id`, if anything. git follows as many steps and no more.
    fn replacement(&self, id: &oid) -> Result<Option<ObjectId>> {
        const MAX_STEPS: usize = 5;
        let mut current = None;
        if self.replacements.is_empty() {
            return Ok(current);
        }
        for _ in 0..=MAX_STEPS {
            match self.replacements.get(current.as_deref().unwrap_or(id)) {
                Some(next) => current = Some(*next),
                None => return Ok(current),
            }
        }
        Err(ReaderError::corrupt(
            &self.object_dir,
            Place::Object(id.to_owned()),
            format!("at most {MAX_STEPS} replacements in a row"),
            "more",
        ))
    }

    fn locate(&mut self, id: &oid) -> Option<Location> {
        // Neighbours in history mostly lie in the same pack, so the last hit is asked first, as git does.
        let count = self.packs.len();
        for step in 0..count {
            let at = (self.last_pack + step) % count;
            if let Some(offset) = self.packs.get(at).and_then(|pack| pack.find(id)) {
                self.last_pack = at;
                return Some(Location::Pack { pack: at, offset });
            }
        }
        self.loose.position(id).map(|at| Location::Loose { at })
    }

    fn read_packed(&mut self, pack_at: usize, offset: u64, content: &mut Vec<u8>) -> Result<ObjectKind> {
        if let Some((kind, data)) = self.cache.get((pack_at, offset)) {
            content.clear();
            content.extend_from_slice(data);
            return Ok(kind);
        }
        let Some(pack) = self.packs.get(pack_at) else { return Err(self.no_pack()) };
        let (header, chunk) = pack.entry(offset)?;
        let kind = match header.kind {
            EntryKind::Whole(kind) => {
                decode_chunk(&mut self.decoder, pack, offset, chunk, header.payload_len, content)?;
                kind
            }
            _ => {
                let base = self.descend(pack_at, offset)?;
                self.ascend(pack_at, base, content)?
            }
        };
        keep(&mut self.cache, (pack_at, offset), kind, content);
        Ok(kind)
    }

    /// Collects the deltas from the entry at `offset` down to a base that is whole or cached. A whole one is decoded.
    fn descend(&mut self, pack_at: usize, offset: u64) -> Result<Base> {
        let Some(pack) = self.packs.get(pack_at) else { return Err(self.no_pack()) };
        self.chain.clear();
        let mut at = offset;
        loop {
            if !self.chain.is_empty()
                && let Some((kind, _)) = self.cache.get((pack_at, at))
            {
                return Ok(Base { offset: at, kind, decoded: None });
            }
            let (header, chunk) = pack.entry(at)?;
            let next = match header.kind {
                EntryKind::Whole(kind) => {
                    let len = usize::try_from(header.payload_len).map_or(KEEP_LIMIT, |len| len.min(KEEP_LIMIT));
                    let mut content = self.cache.buffer(len);
                    decode_chunk(&mut self.decoder, pack, at, chunk, header.payload_len, &mut content)?;
                    return Ok(Base { offset: at, kind, decoded: Some(content) });
                }
                EntryKind::OffsetDelta { distance } => pack.base_offset(at, distance)?,
                EntryKind::RefDelta { base } => pack.base_offset_of_id(at, &base)?,
            };
            let chunk = at + header.header_len as u64;
            self.chain.push(Link { offset: at, chunk, payload_len: header.payload_len });
            check_chain(pack, at, self.chain.len())?;
            at = next;
        }
    }

    /// Applies the collected deltas to `base`, the last one into `content`. Every base that is made on the way is kept.
    fn ascend(&mut self, pack_at: usize, mut base: Base, content: &mut Vec<u8>) -> Result<ObjectKind> {
        let Some(pack) = self.packs.get(pack_at) else { return Err(self.no_pack()) };
        while let Some(link) = self.chain.pop() {
            let stored = pack.bytes(link.chunk, pack.end())?;
            decode_chunk(&mut self.decoder, pack, link.offset, stored, link.payload_len, &mut self.delta_payload)?;
            let mut result = match self.chain.is_empty() {
                true => std::mem::take(content),
                false => self.cache.buffer(0),
            };
            let base_bytes = match &base.decoded {
                Some(bytes) => bytes.as_slice(),
                None => self.cache.get((pack_at, base.offset)).map(|(_, bytes)| bytes).unwrap_or_default(),
            };
            delta::apply(base_bytes, &self.delta_payload, &mut result)
                .map_err(|e| pack.corrupt(link.offset, "a delta that fits its base", e.to_string()))?;
            if let Some(bytes) = base.decoded.replace(result) {
                self.cache.put((pack_at, base.offset), base.kind, bytes);
            }
            base.offset = link.offset;
        }
        *content = base.decoded.unwrap_or_default();
        Ok(base.kind)
    }

    fn no_pack(&self) -> ReaderError {
        ReaderError::corrupt(&self.object_dir, Place::Whole, "a pack", "none")
    }

    fn load_loose(&mut self, at: usize) -> Result<PathBuf> {
        let path = self.loose.path(at).unwrap_or_default();
        read_file(&path, &mut self.loose_stored)?;
        Ok(path)
    }

    fn read_loose(&mut self, at: usize, content: &mut Vec<u8>) -> Result<ObjectKind> {
        let path = self.load_loose(at)?;
        let header = loose::decode(&path, &self.loose_stored, &mut self.decoder, content)?;
        content.drain(..header.len);
        Ok(header.kind)
    }
}

/// Reads all of `path` into `bytes`, replacing what is there.
pub fn read_file(path: &Path, bytes: &mut Vec<u8>) -> Result<()> {
    use std::io::Read;
    bytes.clear();
    let mut file = std::fs::File::open(path).map_err(|e| ReaderError::io("open", path, e))?;
    file.read_to_end(bytes).map_err(|e| ReaderError::io("read", path, e))?;
    Ok(())
}

/// Decodes the chunk of the entry at `offset`, at the start of `stored`, into `payload`.
fn decode_chunk(
    decoder: &mut ChunkDecoder,
    pack: &PackFile,
    offset: u64,
    stored: &[u8],
    payload_len: u64,
    payload: &mut Vec<u8>,
) -> Result<u64> {
    decode_to_vec(decoder, stored, payload_len, payload)
        .map_err(|e| pack.corrupt(offset, format!("a chunk of {payload_len} payload bytes"), e.to_string()))
}

/// Keeps a copy of a tree or blob that was just read. Commits and tags are read once in any walk.
fn keep(cache: &mut DeltaBaseCache<ObjectKind>, key: Key, kind: ObjectKind, content: &[u8]) {
    if matches!(kind, ObjectKind::Tree | ObjectKind::Blob) && content.len() <= KEEP_LIMIT {
        let mut copy = cache.buffer(content.len());
        copy.extend_from_slice(content);
        cache.put(key, kind, copy);
    }
}

/// Offset deltas only reach back, but ref deltas can form a circle.
fn check_chain(pack: &PackFile, offset: u64, links: usize) -> Result<()> {
    if links > pack.entry_count() as usize {
        return Err(pack.corrupt(offset, "a delta chain that ends in a whole object", "one that leads back to itself"));
    }
    Ok(())
}
