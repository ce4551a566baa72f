//! Property tests of pack conversions: each entry keeps its payload and its base, whatever the shape of the pack.

use std::{fs, path::Path};

use gix_hash::{Kind, ObjectId};
use proptest::prelude::*;
use repackbench_codec::{ChunkDecoder, ChunkEncoder, CodecSpec, Dictionaries, ZlibReader};
use repackbench_reader::{
    git::{
        pack::{DeltaForest, EntryKind, EntryTable, PackFile, write_offset_distance},
        repository::PackFiles,
    },
    hash::IdHasher,
};
use repackbench_writer::{
    Encoding, JobControl,
    git::{
        order::EntryOrder,
        pack::{PackJob, convert_pack},
    },
};

/// A pack entry to build: its payload, and for a delta an earlier entry as its base, named by distance or by id.
#[derive(Debug, Clone)]
struct Entry {
    payload: Vec<u8>,
    base: Option<(prop::sample::Index, bool)>,
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    // Noise and runs, so that stored lengths, and with them distances, have various widths.
    let payload = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300),
        (any::<u8>(), 0usize..20_000).prop_map(|(byte, len)| vec![byte; len]),
        prop::collection::vec(any::<u8>(), 9_000..20_000),
    ];
    let base = prop::option::of((any::<prop::sample::Index>(), any::<bool>()));
    let entry = (payload, base).prop_map(|(payload, base)| Entry { payload, base });
    prop::collection::vec(entry, 1..40)
}

fn id_of(position: usize) -> ObjectId {
    let mut hasher = IdHasher::new(Kind::Sha1);
    hasher.update(&position.to_le_bytes());
    hasher.finish()
}

fn entry_header(type_bits: u8, mut size: usize, out: &mut Vec<u8>) {
    let mut byte = type_bits << 4 | (size & 0x0f) as u8;
    size >>= 4;
    while size > 0 {
        out.push(byte | 0x80);
        byte = (size & 0x7f) as u8;
        size >>= 7;
    }
    out.push(byte);
}

fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let mut hasher = IdHasher::new(Kind::Sha1);
    hasher.update(&bytes);
    bytes.extend_from_slice(hasher.finish().as_bytes());
    bytes
}

/// Writes the pack and an index of version 1 into `folder`, and returns the position of each entry's base.
fn write_pack(entries: &[Entry], folder: &Path) -> (PackFiles, Vec<Option<usize>>) {
    let mut pack = b"PACK\0\0\0\x02".to_vec();
    pack.extend_from_slice(&(entries.len() as u32).to_be_bytes());
    let mut encoder = ChunkEncoder::new(&"zlib:1".parse().unwrap()).unwrap();
    let (mut offsets, mut bases): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    for (position, entry) in entries.iter().enumerate() {
        let offset = pack.len();
        let base = entry.base.as_ref().filter(|_| position > 0).map(|(index, by_id)| (index.index(position), *by_id));
        match base {
            None => entry_header(3, entry.payload.len(), &mut pack),
            Some((base, true)) => {
                entry_header(7, entry.payload.len(), &mut pack);
                pack.extend_from_slice(id_of(base).as_bytes());
            }
            Some((base, false)) => {
                entry_header(6, entry.payload.len(), &mut pack);
                write_offset_distance((offset - offsets[base]) as u64, &mut pack);
            }
        }
        encoder.encode(&entry.payload, &mut pack).unwrap();
        offsets.push(offset);
        bases.push(base.map(|(base, _)| base));
    }
    let pack = with_checksum(pack);

    let mut ids: Vec<(ObjectId, usize)> = offsets.iter().enumerate().map(|(at, offset)| (id_of(at), *offset)).collect();
    ids.sort_unstable();
    let mut index = Vec::new();
    for byte in 0..=255u8 {
        let count = ids.iter().filter(|(id, _)| id.first_byte() <= byte).count() as u32;
        index.extend_from_slice(&count.to_be_bytes());
    }
    for (id, offset) in &ids {
        index.extend_from_slice(&(*offset as u32).to_be_bytes());
        index.extend_from_slice(id.as_bytes());
    }
    index.extend_from_slice(&pack[pack.len() - 20..]);
    let paths = (folder.join("source.pack"), folder.join("source.idx"));
    fs::write(&paths.0, pack).unwrap();
    fs::write(&paths.1, with_checksum(index)).unwrap();
    (files(&paths.0), bases)
}

fn files(pack: &Path) -> PackFiles {
    let index = pack.with_extension("idx");
    PackFiles {
        pack: pack.to_owned(),
        index,
        reverse_index: None,
        keep: None,
        promisor: None,
        mtimes: None,
        numbers: None,
        object_dir: 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn bases_and_payloads_are_preserved(
        entries in entries(),
        spec in prop::sample::select(vec!["zlib:9", "store", "zstd:1", "lz4", "libdeflate:1"]),
        threads in 1usize..4,
        order in prop::option::of((prop::collection::vec(any::<u32>(), 40), any::<bool>())),
    ) {
        let scratch = tempfile::tempdir().unwrap();
        let (source, bases) = write_pack(&entries, scratch.path());
        let spec: CodecSpec = spec.parse().unwrap();
        let order = order.map(|(keys, reference_deltas)| Wanted::new(&keys, entries.len(), reference_deltas));
        let converted = convert_pack(&source, &PackJob {
            hash: Kind::Sha1,
            dictionaries: &Dictionaries::default(),
            encoding: &Encoding::plain(&spec),
            order: order.as_ref().map(|order| order as &dyn EntryOrder),
            control: JobControl::quiet(threads),
        }, scratch.path()).unwrap();

        let pack = PackFile::open(&files(&converted.path), Kind::Sha1).unwrap();
        pack.check_pack_checksum().unwrap();
        pack.check_index_checksum().unwrap();
        let table = EntryTable::new(&pack).unwrap();
        let forest = DeltaForest::new(&pack, &table).unwrap();
        prop_assert_eq!(table.len(), entries.len());
        let written: Vec<usize> = (0..entries.len()).map(|place| entry_at(&pack, &table, place, entries.len())).collect();
        let mut decoder = ChunkDecoder::new(ZlibReader::Stock);
        let mut payload = Vec::new();
        for (place, position) in written.iter().enumerate() {
            let base = forest.base(place).map(|base| written[base]);
            prop_assert_eq!(base, bases[*position]);
            let stored = table.entry(&pack, place).unwrap();
            stored.check_crc(&pack).unwrap();
            stored.decode(&pack, &mut decoder, &mut payload).unwrap();
            prop_assert_eq!(&payload, &entries[*position].payload);
        }
        check_order(order.as_ref(), &written, &bases)?;
        let by_id = |place: usize| matches!(table.entry(&pack, place).unwrap().header.kind, EntryKind::RefDelta { .. });
        let named = (0..entries.len()).filter(|place| by_id(*place)).count();
        let named_before = entries.iter().zip(&bases).filter(|(entry, base)| base.is_some() && entry.base.as_ref().is_some_and(|(_, by_id)| *by_id)).count();
        prop_assert_eq!(converted.reference_deltas.entries as usize, named - named_before);
    }
}

/// Packs of the same entries in different orders become the same pack. Object times make it a cruft pack, so it has
/// times only if both packs have.
#[test]
fn merged_pack_has_times_only_if_both_sources_have() {
    let payloads = [&b"one"[..], b"two"].map(|payload| Entry { payload: payload.to_vec(), base: None });
    let encoding = Encoding::plain(&"zlib:6".parse().unwrap());
    for (has_times, expected) in
        [([true, true], true), ([true, false], false), ([false, true], false), ([false, false], false)]
    {
        let scratch = tempfile::tempdir().unwrap();
        let (source, _) = write_pack(&payloads, scratch.path());
        let pack = fs::read(&source.pack).unwrap();
        let times = [b"MTME\0\0\0\x01\0\0\0\x01\x01\x02\x03\x04\x05\x06\x07\x08", &pack[pack.len() - 20..]].concat();
        let path = source.pack.with_extension("mtimes");
        fs::write(&path, with_checksum(times)).unwrap();
        let mut mtimes = None;
        for (has_times, is_repeated) in has_times.into_iter().zip([false, true]) {
            let files = PackFiles { mtimes: has_times.then(|| path.clone()), ..files(&source.pack) };
            let converted = convert_pack(
                &files,
                &PackJob {
                    hash: Kind::Sha1,
                    dictionaries: &Dictionaries::default(),
                    encoding: &encoding,
                    order: None,
                    control: JobControl::quiet(1),
                },
                scratch.path(),
            )
            .unwrap();
            assert_eq!(converted.is_repeated, is_repeated);
            mtimes = Some(converted.path.with_extension("mtimes"));
        }
        assert_eq!(mtimes.unwrap().exists(), expected, "{has_times:?}");
    }
}

/// An arbitrary order.
struct Wanted {
    positions: Vec<u32>,
    reference_deltas: bool,
}

impl Wanted {
    /// Positions sorted by their keys.
    fn new(keys: &[u32], len: usize, reference_deltas: bool) -> Self {
        let mut positions: Vec<u32> = (0..len as u32).collect();
        positions.sort_by_key(|position| keys[*position as usize]);
        Wanted { positions, reference_deltas }
    }
}

impl EntryOrder for Wanted {
    fn wanted(&self, _pack: &PackFile, _table: &EntryTable, _forest: &DeltaForest) -> Vec<u32> {
        self.positions.clone()
    }

    fn reference_deltas(&self) -> bool {
        self.reference_deltas
    }
}

/// The source position of the entry at `place` of `pack`.
fn entry_at(pack: &PackFile, table: &EntryTable, place: usize, len: usize) -> usize {
    let id = pack.index().oid_at_index(table.index_position(place).unwrap()).to_owned();
    (0..len).find(|position| id_of(*position) == id).unwrap()
}

/// Without an order, entries keep their places. If deltas may precede their bases, they are in the wanted order.
/// Otherwise they come after their bases.
fn check_order(order: Option<&Wanted>, written: &[usize], bases: &[Option<usize>]) -> Result<(), TestCaseError> {
    match order {
        None => prop_assert!(written.is_sorted(), "{:?}", written),
        Some(Wanted { positions, reference_deltas: true }) => {
            let wanted: Vec<usize> = positions.iter().map(|position| *position as usize).collect();
            prop_assert_eq!(written, wanted);
        }
        Some(_) => {
            for (place, position) in written.iter().enumerate() {
                let is_behind = bases[*position].is_none_or(|base| written[..place].contains(&base));
                prop_assert!(is_behind, "{} stands before its base in {:?}", position, written);
            }
        }
    }
    Ok(())
}
