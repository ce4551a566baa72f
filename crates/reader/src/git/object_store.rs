//! Random access to every object of a repository, in packs, a B-tree or loose files.

mod by_number;
mod chain_kinds;
mod every;
mod pack_filter;
mod streamed;
mod unpacked;

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
};

use gix_hash::{ObjectId, oid};
use repackbench_codec::{BLOCK_LEN, DecodeMemo, Decoders};

pub use self::every::ObjectPlace;
use self::{chain_kinds::ChainKinds, pack_filter::PackFilter, unpacked::Unpacked};
use super::{
    btree::BtreeFile,
    chunk::decode_delta_to_vec,
    pack::PackFile,
    packed_objects::PackedObjects,
    repository::{GitRepository, LooseObjects},
};
use crate::{
    AccessTrace, CacheLookups, ChunkInMemory, ObjectKind, Place, ReaderError, Recording, Result, access::AccessLog,
};

/// Every object of a repository by id. It belongs to one thread: it owns its decoder, cache and buffers.
pub struct ObjectStore {
    packs: Vec<PackFile>,
    btree: Option<BtreeFile>,
    loose: LooseObjects,
    object_dir: PathBuf,
    packed: PackedObjects,
    last_pack: usize,
    filter: PackFilter,
    may_lack_objects: bool,
    missing: BTreeSet<ObjectId>,
    replacements: HashMap<ObjectId, ObjectId>,
    loose_stored: Vec<u8>,
    /// Buffer for a value of the B-tree.
    btree_value: Vec<u8>,
    /// The access log while accesses are recorded. Packs have it too.
    log: Option<Arc<AccessLog>>,
    /// Buffer for an object of which only the length is needed.
    scratch: Vec<u8>,
    kinds: ChainKinds,
}

/// The place of a packed object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackPlace {
    /// The pack's number in [`ObjectStore::packs`].
    pub pack: usize,
    /// The position in the pack's index.
    pub position: u32,
}

/// The place of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Location {
    Pack { pack: usize, offset: u64 },
    Unpacked(Unpacked),
}

impl std::fmt::Debug for ObjectStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ObjectStore").field("packs", &self.packs).finish_non_exhaustive()
    }
}

impl ObjectStore {
    /// Opens every pack of `repository` and lists its loose objects. `decoders` names the implementations that decode
    /// chunks.
    pub fn open(repository: &GitRepository, decoders: impl Into<Decoders>) -> Result<Self> {
        let decoder = repository.decoder(decoders)?;
        let mut packs = repository
            .packs()
            .iter()
            .map(|files| PackFile::open(files, repository.object_hash()))
            .collect::<Result<Vec<_>>>()?;
        packs.sort_by(every::by_content);
        let btree = repository.btree().map(|path| BtreeFile::open(path, repository.object_hash())).transpose()?;
        Ok(ObjectStore {
            packs,
            btree,
            loose: repository.loose_objects()?,
            object_dir: repository.object_dirs().first().cloned().unwrap_or_default(),
            packed: PackedObjects::new(decoder),
            last_pack: 0,
            filter: PackFilter::default(),
            may_lack_objects: repository.is_partial_clone(),
            missing: BTreeSet::new(),
            replacements: HashMap::default(),
            loose_stored: Vec::new(),
            btree_value: Vec::new(),
            log: None,
            scratch: Vec::new(),
            kinds: ChainKinds::default(),
        })
    }

    /// The repository's own object directory, for messages about objects.
    pub fn object_dir(&self) -> &Path {
        &self.object_dir
    }

    /// Sets the objects whose content is replaced by that of others, as in `refs/replace/`.
    pub fn set_replacements(&mut self, replacements: HashMap<ObjectId, ObjectId>) {
        self.replacements = replacements;
    }

    /// Whether the content of any object is replaced by that of another.
    pub fn has_replacements(&self) -> bool {
        !self.replacements.is_empty()
    }

    /// Clears the caches and the list of missing objects, so that the next run starts like the first.
    pub fn clear_caches(&mut self) {
        self.packed.clear_caches();
        self.btree.iter().for_each(BtreeFile::clear_caches);
        self.kinds.clear();
        self.last_pack = 0;
        self.filter = PackFilter::default();
        self.missing.clear();
    }

    /// Clears the cache of decoded objects and sets its limit; `None` for as much as the memory ceiling allows.
    pub fn set_cache_limit(&mut self, limit_bytes: Option<u64>) {
        self.packed.set_cache_limit(limit_bytes);
    }

    /// The look-ups in that cache since it was last cleared.
    pub fn cache_lookups(&self) -> CacheLookups {
        self.packed.cache_lookups()
    }

    /// Starts recording what is read: see [`History::record_accesses`](crate::History::record_accesses).
    pub fn record_accesses(&mut self, recording: Recording) {
        let log = AccessLog::new(recording);
        self.packs.iter_mut().for_each(|pack| pack.set_log(Some(&log)));
        self.btree.iter_mut().for_each(|btree| btree.set_log(Some(&log)));
        self.log = Some(log);
    }

    /// Number of chunks that were decoded since then.
    pub fn decodes_recorded(&self) -> usize {
        self.log.as_ref().map_or(0, |log| log.decodes())
    }

    /// Ends the recording and returns what was read.
    pub fn take_accesses(&mut self) -> AccessTrace {
        self.packs.iter_mut().for_each(|pack| pack.set_log(None));
        self.btree.iter_mut().for_each(|btree| btree.set_log(None));
        self.log.take().map(|log| log.take()).unwrap_or_default()
    }

    /// Decodes a chunk again: see [`History::decode_again`](crate::History::decode_again).
    ///
    /// # Errors
    /// It does not decode as it did before.
    pub fn decode_again(&mut self, chunk: &ChunkInMemory<'_>, payload: &mut Vec<u8>) -> Result<()> {
        let ChunkInMemory { file, decode, stored, base } = *chunk;
        let decoder = self.packed.decoder();
        let decoded = match base {
            // It was streamed before.
            None if decode.payload_limit > BLOCK_LEN as u64 => {
                decoder.decode_stream(stored, decode.payload_limit, &mut |_| Ok(()))
            }
            base => decode_delta_to_vec(decoder, stored, base, decode.payload_limit, payload),
        };
        let found = match decoded {
            Ok(consumed) if consumed == decode.stored_len => return Ok(()),
            Ok(consumed) => format!("one of {consumed}"),
            Err(error) => error.to_string(),
        };
        let expected = format!("a chunk of {} stored bytes, as before", decode.stored_len);
        Err(ReaderError::corrupt(file, Place::Offset(decode.offset), expected, found))
    }

    /// Sets the memo of decoded payloads: see [`History::set_memo`](crate::History::set_memo).
    pub fn set_memo(&mut self, memo: Option<Box<DecodeMemo>>) -> Option<Box<DecodeMemo>> {
        self.packed.decoder().set_memo(memo)
    }

    /// The packs, in the order in which they are searched.
    pub fn packs(&self) -> &[PackFile] {
        &self.packs
    }

    /// The B-tree that replaces packs and loose objects, if there is one.
    pub fn btree(&self) -> Option<&BtreeFile> {
        self.btree.as_ref()
    }

    /// Number of entries, values and loose objects. An object that is stored twice counts twice.
    pub fn len(&self) -> usize {
        let values = self.btree.as_ref().map_or(0, |btree| usize::try_from(btree.len()).unwrap_or(usize::MAX));
        let entries = self.packs.iter().map(|pack| pack.entry_count() as usize).sum::<usize>();
        (entries + self.loose.len()).saturating_add(values)
    }

    /// Whether there is no object at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the object `id` is here.
    ///
    /// # Errors
    /// The B-tree is damaged.
    pub fn contains(&mut self, id: &oid) -> Result<bool> {
        let is_packed = self.find_packed(|pack| pack.position(id), id).is_some();
        if is_packed || self.loose.position(id).is_some() || is_empty_tree(id) {
            return Ok(true);
        }
        Ok(self.find_in_btree(id)?.is_some())
    }

    /// Replaces `content` by that of the object `id`; `None` if the object is not here.
    pub fn read(&mut self, id: &oid, content: &mut Vec<u8>) -> Result<Option<ObjectKind>> {
        let replacement = self.replacement(id)?;
        match self.locate(replacement.as_deref().unwrap_or(id))? {
            None if is_empty_tree(replacement.as_deref().unwrap_or(id)) => {
                content.clear();
                Ok(Some(ObjectKind::Tree))
            }
            None => Ok(None),
            Some(Location::Pack { pack, offset }) => self.read_packed(pack, offset, content).map(Some),
            Some(Location::Unpacked(place)) => self.read_unpacked(place, content).map(Some),
        }
    }

    /// The object `id`, for a caller that does not change its content; `None` if it is not here. With a `place` it is
    /// not searched for.
    pub fn read_shared(&mut self, id: &oid, place: Option<PackPlace>) -> Result<Option<(ObjectKind, Arc<Vec<u8>>)>> {
        if self.replacements.is_empty() {
            let location = match place {
                Some(PackPlace { pack, position }) => {
                    let offset = self.packs.get(pack).and_then(|file| file.offset_at(position));
                    offset.map(|offset| Location::Pack { pack, offset })
                }
                None => self.locate(id)?,
            };
            match location {
                Some(Location::Pack { pack: pack_at, offset }) => {
                    if let Some(pack) = self.packs.get(pack_at) {
                        return self.packed.read_shared(pack, pack_at, offset).map(Some);
                    }
                }
                Some(Location::Unpacked(place)) => return self.read_unpacked_shared(place).map(Some),
                None => {}
            }
        }
        let mut content = Vec::new();
        Ok(self.read(id, &mut content)?.map(|kind| (kind, Arc::new(content))))
    }

    /// Replaces `content` by that of the object `id`, which has to be here and of `kind`.
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

    /// The kind of the object `id`; `None` if it is not here. Decodes no more than needed.
    pub fn kind(&mut self, id: &oid) -> Result<Option<ObjectKind>> {
        match self.locate(id)? {
            None => Ok(is_empty_tree(id).then_some(ObjectKind::Tree)),
            Some(Location::Unpacked(Unpacked::Btree(place))) => {
                self.btree_kind_and_size(&place).map(|(kind, _)| Some(kind))
            }
            Some(Location::Unpacked(Unpacked::Loose(at))) => {
                self.load_loose(at).map(|(_, file)| Some(file.header.kind))
            }
            Some(Location::Pack { pack: number, offset }) => {
                let Some(pack) = self.packs.get(number) else { return Ok(None) };
                self.kinds.kind_of(pack, number, offset).map(Some)
            }
        }
    }

    /// The only object whose id starts with the hexadecimal digits `prefix`, at least four as in git.
    pub fn find_abbreviated(&self, prefix: &str) -> Result<ObjectId> {
        let refuse = |why| ReaderError::NoSuchRevision { path: self.object_dir.clone(), name: prefix.to_owned(), why };
        let none = "neither a reference nor an abbreviated object id";
        let parsed = gix_hash::Prefix::from_hex(prefix).map_err(|_| refuse(none))?;
        let mut found: Vec<ObjectId> = Vec::new();
        for pack in &self.packs {
            let mut matches = 0..0;
            pack.index().lookup_prefix(parsed, Some(&mut matches));
            found.extend(matches.map(|at| pack.index().oid_at_index(at).to_owned()));
        }
        self.find_abbreviated_in_btree(parsed, &mut found)?;
        let loose = self.loose.as_slice().iter().map(|object| object.id);
        found.extend(loose.filter(|id| parsed.cmp_oid(id).is_eq()));
        found.sort_unstable();
        found.dedup();
        match found.as_slice() {
            [id] => Ok(*id),
            [] => Err(refuse(none)),
            _ => Err(refuse("the abbreviated object id is ambiguous")),
        }
    }

    /// Notes that the wanted object `id` is missing. Only in a partial clone is that no error.
    pub fn note_missing(&mut self, id: &oid) -> Result<()> {
        if !self.may_lack_objects {
            return Err(self.missing(id));
        }
        self.missing.insert(id.to_owned());
        Ok(())
    }

    /// The wanted objects that were missing since the store was opened or its caches cleared.
    pub fn missing_objects(&self) -> &BTreeSet<ObjectId> {
        &self.missing
    }

    /// The error for a required object that is missing.
    pub fn missing(&self, id: &oid) -> ReaderError {
        ReaderError::Missing { path: self.object_dir.clone(), id: id.to_owned() }
    }

    /// The object that replaces `id`, if any. git follows the same number of steps.
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

    /// The position of `id` in the index of pack number `pack`; `None` if that pack does not hold it.
    pub fn position_in(&self, pack: usize, id: &oid) -> Option<u32> {
        let pack = self.packs.get(pack).filter(|_| self.candidates(id) & PackFilter::bit(pack) != 0)?;
        pack.position(id)
    }

    /// The packs that may hold `id`. A recording shows the searches of a reader without a filter.
    fn candidates(&self, id: &oid) -> u64 {
        if self.log.is_some() { u64::MAX } else { self.filter.packs_with(id) }
    }

    /// The number of the pack that holds `id`, with what `find` finds there.
    fn find_packed<T>(&mut self, find: impl Fn(&PackFile) -> Option<T>, id: &oid) -> Option<(usize, T)> {
        let candidates = self.candidates(id);
        let may_hold = |at: &usize| candidates & PackFilter::bit(*at) != 0;
        let mut in_vain = 0;
        let mut found = None;
        // Neighbours in history are mostly in the same pack, so the pack of the last hit is searched first, as in git.
        for at in (self.last_pack..self.packs.len()).chain(0..self.last_pack).filter(may_hold) {
            found = self.packs.get(at).and_then(&find).map(|place| (at, place));
            if found.is_some() {
                self.last_pack = at;
                break;
            }
            in_vain += u64::from(self.log.is_none());
        }
        self.filter.count_in_vain(in_vain, &self.packs);
        found
    }

    fn locate(&mut self, id: &oid) -> Result<Option<Location>> {
        if let Some((pack, offset)) = self.find_packed(|pack| pack.find(id), id) {
            return Ok(Some(Location::Pack { pack, offset }));
        }
        if let Some(place) = self.find_in_btree(id)? {
            return Ok(Some(Location::Unpacked(Unpacked::Btree(place))));
        }
        Ok(self.loose.position(id).map(|at| Location::Unpacked(Unpacked::Loose(at))))
    }

    fn read_packed(&mut self, pack_at: usize, offset: u64, content: &mut Vec<u8>) -> Result<ObjectKind> {
        let Some(pack) = self.packs.get(pack_at) else { return Err(self.no_pack()) };
        self.packed.read(pack, pack_at, offset, content)
    }

    fn no_pack(&self) -> ReaderError {
        ReaderError::corrupt(&self.object_dir, Place::Whole, "a pack", "none")
    }
}

/// Whether `id` is that of the tree without entries. As in git, that object exists everywhere without being stored.
fn is_empty_tree(id: &oid) -> bool {
    *id == *ObjectId::empty_tree(id.kind())
}
