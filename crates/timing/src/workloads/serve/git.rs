//! The server of packs.

use std::path::Path;

use gix_hash::{Kind, ObjectId};
use repackbench_codec::{
    BaseUse, ChunkDecoder, ChunkEncoder, ChunkKind, Decoders, SharedFormat, StoredForm, ZlibReader,
};
use repackbench_reader::{
    History, ObjectKind, Recording, Repository,
    git::{
        GitRepository, ObjectStore,
        btree::ValueHead,
        pack::{PackFile, write_offset_distance, write_type_and_size},
    },
};
use repackbench_writer::{
    PayloadEncoders,
    git::numbers::{PayloadRewriter, ReferenceForm},
};

use super::{
    Client, Encode, Recoding, Scope, Served,
    plan::{Base, Plan, PlannedEntry},
    sink::PackSink,
};
use crate::workloads::{
    HistoryRange, Observer, VariantPlace, WorkloadError,
    encode::{self, spec_of},
    floor::Program,
};

/// Serves packs from one repository, or from two that hold the same deltas.
pub(crate) struct PackServer {
    stores: Vec<ObjectStore>,
    hash: Kind,
    plan: Plan,
    /// The objects that it sends, sorted by id.
    told: Vec<(ObjectKind, ObjectId)>,
    is_clone: bool,
    dictionary_bytes: u64,
    own: PayloadEncoders,
    plain: ChunkEncoder,
    verifier: ChunkDecoder,
    /// Writes payloads of the pack with this number, of the store with this number, without numbers.
    rewriter: Option<((usize, usize), PayloadRewriter)>,
    buffers: Buffers,
    /// The start of each entry of the pack.
    offsets: Vec<u64>,
}

#[derive(Default)]
struct Buffers {
    header: Vec<u8>,
    /// The value of the current entry, if it is in a B-tree; its head, and the length of the chunk at its end.
    value: Vec<u8>,
    value_head: Option<(ValueHead, usize)>,
    payload: Vec<u8>,
    /// A numbered object as git has it, and the base of its delta.
    object: Vec<u8>,
    base: Vec<u8>,
    chunk: Vec<u8>,
    again: Vec<u8>,
}

impl Buffers {
    /// Head and chunk of the last loaded value, if the entry has one.
    fn loaded(&self) -> Option<(&ValueHead, &[u8])> {
        let (head, len) = self.value_head.as_ref()?;
        Some((head, self.value.get(self.value.len().checked_sub(*len)?..)?))
    }
}

/// How the chunk of an entry is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sending {
    /// Its stored bytes are sent unchanged.
    Verbatim,
    /// Its payload is compressed again: a delta stays a delta.
    Payload,
    /// The same for an entry of a numbered pack, whose payload is made anew first. Numbers have no meaning elsewhere.
    WithoutNumbers,
    /// The object is compressed, instead of its delta.
    Whole,
}

impl PackServer {
    /// The codec for all other clients: stock zlib at git's default level.
    pub(crate) const PLAIN: &str = encode::PLAIN;

    /// Opens the Git repository at `place`, and plans a fetch of the last commits of `range`, or a clone if the range
    /// has no limit. None of this is timed.
    pub(crate) fn at(place: &VariantPlace, range: &HistoryRange) -> Result<Self, WorkloadError> {
        let (repository, scope) = (Repository::open(&place.folder)?, Scope::of(range));
        let git = git_of(&repository)?;
        let spec = spec_of(place, &repository)?;
        let mut history = repository.history(Decoders::from(ZlibReader::Libdeflate))?;
        let mut store = ObjectStore::open(git, place.decoders)?;
        store.set_cache_limit(place.delta_cache);
        let plan = Plan::new(history.as_mut(), &store, &scope)?;
        let mut told: Vec<_> = plan.entries.iter().map(|entry| (entry.kind, entry.place.id)).collect();
        told.sort_unstable_by_key(|(_, id)| *id);
        Ok(PackServer {
            told,
            offsets: Vec::with_capacity(plan.entries.len()),
            plan,
            hash: git.object_hash(),
            is_clone: matches!(scope, Scope::Clone),
            dictionary_bytes: dictionary_bytes(git),
            own: PayloadEncoders::of_variant(&repository, &spec)?,
            plain: ChunkEncoder::new(&Self::PLAIN.parse().map_err(refused)?).map_err(refused)?,
            verifier: ChunkDecoder::new(ZlibReader::Libdeflate),
            rewriter: None,
            buffers: Buffers::default(),
            stores: vec![store],
        })
    }

    /// Takes every second entry from the repository at `place` instead, which holds the same deltas.
    pub(crate) fn mix(&mut self, place: &VariantPlace) -> Result<(), WorkloadError> {
        let repository = Repository::open(&place.folder)?;
        let mut store = ObjectStore::open(git_of(&repository)?, place.decoders)?;
        store.set_cache_limit(place.delta_cache);
        self.plan.mix(&store, self.stores.len())?;
        self.stores.push(store);
        Ok(())
    }

    /// Clears caches of decoded objects, so that the next pack is made like the first one.
    pub(crate) fn forget(&mut self) {
        self.stores.iter_mut().for_each(ObjectStore::clear_caches);
    }

    /// Reports every object that is sent, by id: places of objects differ between stores and orders.
    pub(super) fn tell(&self, observer: &mut dyn Observer) {
        for (kind, id) in &self.told {
            observer.object(*kind, id);
        }
        observer.missing(self.plan.missing);
    }

    /// Makes the pack for a client that speaks the variant's codec, or for another one.
    pub(crate) fn serve_to(&mut self, is_upgraded: bool, is_checked: bool) -> Result<Served, WorkloadError> {
        self.serve(if is_upgraded { Client::Same } else { Client::Zlib }, None, is_checked)
    }

    /// Makes the pack for `client`, and writes it to `file` if there is one. If `is_checked`, encoded chunks are
    /// decoded again.
    pub(super) fn serve(
        &mut self,
        client: Client,
        file: Option<&Path>,
        is_checked: bool,
    ) -> Result<Served, WorkloadError> {
        let entries = u32::try_from(self.plan.entries.len()).map_err(refused)?;
        let mut sink = PackSink::new(self.hash, entries, file)?;
        let mut served = Served { entries: u64::from(entries), ..Served::default() };
        let mut names_dictionary = false;
        self.offsets.clear();
        for number in 0..self.plan.entries.len() {
            let Some(mut entry) = self.plan.entries.get(number).copied() else { break };
            self.offsets.push(sink.written());
            self.load_value(&mut entry)?;
            let (sending, uses_dictionary) = self.sending(&entry, client)?;
            match sending {
                Sending::Verbatim => {
                    served.reused += 1;
                    names_dictionary |= uses_dictionary;
                    self.put_verbatim(&entry, &mut sink)?;
                }
                Sending::Payload | Sending::WithoutNumbers | Sending::Whole => {
                    served.encoded += 1;
                    self.put_encoded(&entry, client, sending, is_checked, &mut sink)?;
                }
            }
        }
        served.wire_bytes = sink.finish()?;
        if names_dictionary && self.is_clone {
            served.dictionary_bytes = self.dictionary_bytes;
            served.wire_bytes += self.dictionary_bytes;
        }
        Ok(served)
    }

    /// How `entry` is sent to `client`, and whether its chunk refers to a dictionary.
    fn sending(&self, entry: &PlannedEntry, client: Client) -> Result<(Sending, bool), WorkloadError> {
        let Some(chunk) = self.chunk(entry)? else { return Ok((Sending::Whole, false)) };
        if entry.base == Base::Lacking {
            return Ok((Sending::Whole, false));
        }
        if self.pack(entry).is_some_and(|(pack, _)| pack.is_numbered(entry.kind)) {
            return Ok((Sending::WithoutNumbers, false));
        }
        if client == Client::Same {
            return Ok((Sending::Verbatim, StoredForm::of_chunk(chunk) == Some(StoredForm::Dictionary)));
        }
        let sending = match (SharedFormat::of_chunk(chunk), ChunkDecoder::base_use(chunk)) {
            (Some(SharedFormat::Zlib), _) => Sending::Verbatim,
            (_, BaseUse::Patch) => Sending::Whole,
            _ => Sending::Payload,
        };
        Ok((sending, false))
    }

    fn pack(&self, entry: &PlannedEntry) -> Option<(&PackFile, u64)> {
        let (pack, offset) = entry.place.in_pack()?;
        Some((self.stores.get(entry.store)?.packs().get(pack)?, offset))
    }

    /// Reads the value of `entry` and the length of its payload, if it is in a B-tree.
    fn load_value(&mut self, entry: &mut PlannedEntry) -> Result<(), WorkloadError> {
        self.buffers.value_head = None;
        if let (Some(store), Some(place)) = (self.stores.get(entry.store), &entry.btree) {
            let (head, chunk_len) = store.load_btree_value(place, &mut self.buffers.value)?;
            entry.payload_len = head.payload_len;
            self.buffers.value_head = Some((head, chunk_len));
        }
        Ok(())
    }

    /// The stored bytes of `entry`, which was loaded; `None` for a loose object.
    fn chunk(&self, entry: &PlannedEntry) -> Result<Option<&[u8]>, WorkloadError> {
        if let Some((_, chunk)) = self.buffers.loaded() {
            return Ok(Some(chunk));
        }
        let Some((pack, offset)) = self.pack(entry) else { return Ok(None) };
        let start = offset.saturating_add(entry.header_len);
        Ok(Some(pack.bytes(start, start.saturating_add(entry.chunk_len))?))
    }

    fn put_verbatim(&mut self, entry: &PlannedEntry, sink: &mut PackSink) -> Result<(), WorkloadError> {
        self.make_header(entry, entry.payload_len, true, sink.written());
        sink.put(&self.buffers.header)?;
        match self.chunk(entry)? {
            Some(chunk) => sink.put(chunk),
            None => Ok(()),
        }
    }

    fn put_encoded(
        &mut self,
        entry: &PlannedEntry,
        client: Client,
        sending: Sending,
        is_checked: bool,
        sink: &mut PackSink,
    ) -> Result<(), WorkloadError> {
        let mut payload = std::mem::take(&mut self.buffers.payload);
        let is_delta = self.read_payload(entry, sending, is_checked, &mut payload)?;
        self.encode_payload(client, ChunkKind { object: entry.kind, is_delta }, &payload)?;
        if is_checked && !self.is_faithful(client, &payload) {
            let why = format!("{}: decodes to other bytes after encoding", entry.place.id);
            return Err(WorkloadError::Refused { why });
        }
        self.make_header(entry, payload.len() as u64, is_delta, sink.written());
        self.buffers.payload = payload;
        sink.put(&self.buffers.header)?;
        sink.put(&self.buffers.chunk)
    }

    /// Reads what is encoded of `entry` into `payload`: its delta, or the object. Returns whether it is the delta. If
    /// `is_checked`, a payload that was made anew has to lead to the object.
    fn read_payload(
        &mut self,
        entry: &PlannedEntry,
        sending: Sending,
        is_checked: bool,
        payload: &mut Vec<u8>,
    ) -> Result<bool, WorkloadError> {
        if sending == Sending::WithoutNumbers {
            return self.rewrite_payload(entry, is_checked, payload);
        }
        let Some(store) = self.stores.get_mut(entry.store) else { return Ok(false) };
        // Its value is loaded.
        if let (Some(place), Some((head, chunk))) = (&entry.btree, self.buffers.loaded()) {
            store.decode_btree_chunk(place, head, chunk, payload)?;
            return Ok(false);
        }
        Ok(match (sending, entry.place.in_pack()) {
            (Sending::Payload, Some((pack, offset))) => {
                store.entry_payload(pack, offset, payload)?;
                entry.base != Base::None
            }
            _ => {
                store.read_place(&entry.place, payload)?;
                false
            }
        })
    }

    /// Writes the payload of `entry`, whose pack is numbered, without numbers: a delta stays one against the same base.
    fn rewrite_payload(
        &mut self,
        entry: &PlannedEntry,
        is_checked: bool,
        payload: &mut Vec<u8>,
    ) -> Result<bool, WorkloadError> {
        let base = match entry.base {
            Base::Earlier(number) => self.plan.entries.get(number).map(|base| base.place.id),
            Base::Named(id) => Some(id),
            Base::None | Base::Lacking => None,
        };
        let (Some(store), Some((at, _))) = (self.stores.get_mut(entry.store), entry.place.in_pack()) else {
            return Ok(false);
        };
        let buffers = &mut self.buffers;
        store.read_place(&entry.place, &mut buffers.object)?;
        if let Some(base) = &base {
            store.read_expected(base, entry.kind, &mut buffers.base)?;
        }
        let Some(pack) = store.packs().get(at) else { return Ok(false) };
        let key = (entry.store, at);
        let rewriter = match &mut self.rewriter {
            Some((open, rewriter)) if *open == key => rewriter,
            other => &mut other.insert((key, PayloadRewriter::new(pack, ReferenceForm::Ids))).1,
        };
        let content = base.is_some().then_some(buffers.base.as_slice());
        rewriter.rewrite(pack, entry.kind, content, &buffers.object, payload);
        if is_checked && !rewriter.leads_back(pack, base.is_some(), payload) {
            return Err(refused(format_args!("{}: another object without numbers", entry.place.id)));
        }
        Ok(base.is_some())
    }

    /// Encodes `payload` to the buffer for chunks.
    fn encode_payload(&mut self, client: Client, kind: ChunkKind, payload: &[u8]) -> Result<(), WorkloadError> {
        let chunk = &mut self.buffers.chunk;
        chunk.clear();
        match client {
            Client::Same => drop(self.own.encode(kind, false, payload, None, chunk)?),
            Client::Zlib => drop(self.plain.encode(payload, chunk).map_err(refused)?),
        }
        Ok(())
    }

    /// Whether the chunk in the buffer decodes to `payload`.
    fn is_faithful(&mut self, client: Client, payload: &[u8]) -> bool {
        let Buffers { chunk, again, .. } = &mut self.buffers;
        match client {
            Client::Same => self.own.is_faithful(chunk, payload, None, again),
            Client::Zlib => {
                again.resize(payload.len(), 0);
                self.verifier.decode(chunk, again).is_ok() && again == payload
            }
        }
    }

    /// Records what is decoded and encoded for `client`.
    pub(super) fn record(&mut self, client: Client) -> Result<Recoding, WorkloadError> {
        let mut encodes = Vec::new();
        let (mut payload, mut held) = (Vec::new(), 0);
        self.forget();
        self.stores.iter_mut().for_each(|store| store.record_accesses(Recording::WithBases));
        for number in 0..self.plan.entries.len() {
            let Some(mut entry) = self.plan.entries.get(number).copied() else { break };
            self.load_value(&mut entry)?;
            let (sending, _) = self.sending(&entry, client)?;
            if sending == Sending::Verbatim {
                continue;
            }
            let is_delta = self.read_payload(&entry, sending, true, &mut payload)?;
            let object = match sending {
                Sending::Whole | Sending::WithoutNumbers => Some(payload.clone()),
                Sending::Verbatim | Sending::Payload => None,
            };
            held += object.as_ref().map_or(0, Vec::len);
            if held > MOST_HELD {
                return Err(refused("the payloads that are made for sending take too much memory"));
            }
            let decodes = self.stores.first().map_or(0, ObjectStore::decodes_recorded);
            encodes.push(Encode { decodes, kind: ChunkKind { object: entry.kind, is_delta }, object });
        }
        let trace = self.stores.first_mut().map(ObjectStore::take_accesses).unwrap_or_default();
        self.forget();
        Ok(Recoding { program: Program::new(trace)?, encodes })
    }

    /// Repeats only the recorded decoding and encoding.
    pub(super) fn recode(
        &mut self,
        client: Client,
        recoding: &Recoding,
        history: &mut dyn History,
    ) -> Result<(), WorkloadError> {
        let mut payload = std::mem::take(&mut self.buffers.payload);
        let mut done = 0;
        for Encode { decodes, kind, object } in &recoding.encodes {
            recoding.program.run(done..*decodes, history, &mut payload)?;
            done = *decodes;
            self.encode_payload(client, *kind, object.as_deref().unwrap_or(&payload))?;
        }
        self.buffers.payload = payload;
        Ok(())
    }

    /// Writes the header of `entry` to the buffer, for a payload of `len` bytes at `offset` of the pack, which may be a
    /// delta.
    fn make_header(&mut self, entry: &PlannedEntry, len: u64, may_be_delta: bool, offset: u64) {
        let header = &mut self.buffers.header;
        header.clear();
        match entry.base {
            Base::Earlier(base) if may_be_delta => {
                write_type_and_size(OFFSET_DELTA << 4, len, header);
                let base = self.offsets.get(base).copied().unwrap_or_default();
                write_offset_distance(offset.saturating_sub(base), header);
            }
            Base::Named(base) if may_be_delta => {
                write_type_and_size(REF_DELTA << 4, len, header);
                header.extend_from_slice(base.as_bytes());
            }
            _ => write_type_and_size(type_number(entry.kind) << 4, len, header),
        }
    }
}

/// The limit of bytes of whole objects that a recording holds.
const MOST_HELD: usize = 1 << 30;

/// The numbers of entry types in gitformat-pack(5).
pub(super) const OFFSET_DELTA: u8 = 6;
pub(super) const REF_DELTA: u8 = 7;

pub(super) fn type_number(kind: ObjectKind) -> u8 {
    match kind {
        // A Git store holds no kinds of Mercurial.
        ObjectKind::Commit | ObjectKind::Changelog => 1,
        ObjectKind::Tree | ObjectKind::Manifest => 2,
        ObjectKind::Blob | ObjectKind::Filelog => 3,
        ObjectKind::Tag => 4,
    }
}

fn git_of(repository: &Repository) -> Result<&GitRepository, WorkloadError> {
    match repository {
        Repository::Git(git) => Ok(git),
        Repository::Hg(_) => Err(refused("packs are served from Git repositories")),
    }
}

fn refused(error: impl std::fmt::Display) -> WorkloadError {
    WorkloadError::Refused { why: error.to_string() }
}

/// The stored length of all dictionaries, which a client that clones needs in addition to the pack.
fn dictionary_bytes(git: &GitRepository) -> u64 {
    let folder = git
        .object_dirs()
        .first()
        .map(|objects| objects.join("info").join(repackbench_reader::dictionaries::DICTIONARY_FOLDER));
    let entries = folder.and_then(|folder| folder.read_dir().ok());
    let lengths = entries.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()));
    lengths.sum()
}

#[cfg(test)]
mod tests;
