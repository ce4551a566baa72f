//! How objects are named: by their ids, or by numbers that mean something in one pack alone.
//!
//! | form | bytes of a reference |
//! |---|---|
//! | [`Form::Id`] | the id |
//! | [`Form::Sorted`] | one more than the place in the pack's index, in as many bytes as the number of objects needs |
//! | [`Form::PackPlace`] | one more than the place in the pack, in as many bytes |
//! | [`Form::PackDistance`] | a varint: one more than the zigzag of the place in the pack less that of the origin |
//!
//! The origin is the whole object at the end of the chain of deltas, so that a number stays the same along the chain
//! and deltas can copy it. In all forms but the first, zero is an escape: the id of an object outside of the pack
//! follows.

use gix_hash::{ObjectId, oid};
use repackbench_benches::varint::{VarintReader, put, signed, zigzag};
use repackbench_reader::git::pack::{EntryTable, PackFile};

/// The form of references.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    /// The payloads as found, which are not rewritten.
    Found,
    /// Ids. Only deltas differ from those found: it shows what the other forms gain by new deltas alone.
    Id,
    /// Places in the index.
    Sorted,
    /// Places in the pack.
    PackPlace,
    /// Places in the pack, relative to the whole object of the chain.
    PackDistance,
}

impl Form {
    /// The name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Form::Found => "as found",
            Form::Id => "ids",
            Form::Sorted => "sorted",
            Form::PackPlace => "pack order",
            Form::PackDistance => "pack order, differences",
        }
    }
}

/// A reference to an object: its id, and its places in index and pack if it is in the pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) id: ObjectId,
    pub(crate) places: Option<(u32, u32)>,
}

/// Numbers for the objects of one pack.
#[derive(Debug)]
pub(crate) struct PackNumbers {
    /// The place in the pack of each object of the index.
    pack_places: Vec<u32>,
    /// The place in the index of each object of the pack: what a reverse index holds.
    index_places: Vec<u32>,
    /// The width of places, in bytes.
    width: usize,
    id_len: usize,
}

/// How many references are remembered: more than most chains of deltas have different ones.
const REMEMBERED: usize = 1 << 16;

/// Looks up ids in the index of a pack. Along a chain most are the same, and are looked up once.
#[derive(Debug)]
pub(crate) struct LookUp<'a> {
    file: &'a PackFile,
    numbers: &'a PackNumbers,
    /// The last reference of each two first bytes.
    remembered: Vec<Option<Reference>>,
}

impl<'a> LookUp<'a> {
    pub(crate) fn new(file: &'a PackFile, numbers: &'a PackNumbers) -> Self {
        LookUp { file, numbers, remembered: vec![None; REMEMBERED] }
    }

    /// The length of an id in bytes.
    pub(crate) fn id_len(&self) -> usize {
        self.numbers.id_len
    }

    /// The reference to the object `id`.
    pub(crate) fn reference(&mut self, id: &oid) -> Reference {
        let bytes = id.as_bytes();
        let slot = bytes.iter().take(2).fold(0, |slot, byte| slot << 8 | usize::from(*byte));
        if let Some(Some(reference)) =
            self.remembered.get(slot).filter(|slot| slot.is_some_and(|known| *known.id == *id))
        {
            return *reference;
        }
        let pack_place = |at: u32| self.numbers.pack_places.get(at as usize).copied();
        let places = self.file.position(id).and_then(|at| Some((at, pack_place(at)?)));
        let reference = Reference { id: id.to_owned(), places };
        self.remembered[slot] = Some(reference);
        reference
    }
}

impl PackNumbers {
    pub(crate) fn new(file: &PackFile, table: &EntryTable) -> Self {
        let index_places = table.index_positions().to_vec();
        let mut pack_places = vec![0; index_places.len()];
        for (place, at) in (0u32..).zip(&index_places) {
            if let Some(slot) = pack_places.get_mut(*at as usize) {
                *slot = place;
            }
        }
        let bits = u64::BITS - (index_places.len() as u64).leading_zeros();
        let width = bits.div_ceil(8).max(1) as usize;
        PackNumbers { pack_places, index_places, width, id_len: file.hash_kind().len_in_bytes() }
    }

    /// The length of an id in bytes.
    pub(crate) fn id_len(&self) -> usize {
        self.id_len
    }

    /// Appends `reference` in `form`. The chain begins at place `origin` of the pack.
    pub(crate) fn put(&self, form: Form, origin: u32, reference: &Reference, bytes: &mut Vec<u8>) {
        let number = |(in_index, in_pack): (u32, u32)| match form {
            Form::Sorted => u64::from(in_index) + 1,
            Form::PackPlace => u64::from(in_pack) + 1,
            _ => zigzag(i64::from(in_pack) - i64::from(origin)) + 1,
        };
        match form {
            Form::Found | Form::Id => {}
            Form::PackDistance => put(bytes, reference.places.map_or(0, number)),
            Form::Sorted | Form::PackPlace => {
                let number = reference.places.map_or(0, number).to_be_bytes();
                bytes.extend_from_slice(number.get(number.len() - self.width..).unwrap_or_default());
            }
        }
        if reference.places.is_none() || matches!(form, Form::Found | Form::Id) {
            bytes.extend_from_slice(reference.id.as_slice());
        }
    }

    /// Takes a reference in `form` from the start of `bytes` and returns the id. `None` if there is no object of that
    /// number.
    pub(crate) fn take<'a>(
        &self,
        form: Form,
        origin: u32,
        file: &'a PackFile,
        bytes: &mut &'a [u8],
    ) -> Option<&'a [u8]> {
        let number = match form {
            Form::Found | Form::Id => 0,
            Form::PackDistance => {
                let mut reader = VarintReader(bytes);
                let number = reader.take();
                *bytes = reader.0;
                number
            }
            Form::Sorted | Form::PackPlace => {
                let (number, rest) = bytes.split_at_checked(self.width)?;
                *bytes = rest;
                number.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
            }
        };
        let Some(place) = number.checked_sub(1) else {
            let (id, rest) = bytes.split_at_checked(self.id_len)?;
            *bytes = rest;
            return Some(id);
        };
        let in_pack = |place: u64| self.index_places.get(usize::try_from(place).ok()?).copied();
        let in_index = match form {
            Form::Sorted => u32::try_from(place).ok().filter(|place| *place < file.entry_count())?,
            Form::PackPlace => in_pack(place)?,
            _ => in_pack(u64::try_from(signed(place).checked_add(i64::from(origin))?).ok()?)?,
        };
        Some(file.index().oid_at_index(in_index).as_bytes())
    }

    /// The length of the reference in `form` at the start of `bytes`, and whether it is an id. `None` if the bytes end
    /// before it does.
    pub(crate) fn skip(&self, form: Form, bytes: &[u8]) -> Option<(usize, bool)> {
        let (len, is_escape) = match form {
            Form::Found | Form::Id => (0, true),
            Form::PackDistance => (bytes.iter().position(|byte| byte & 0x80 == 0)? + 1, bytes.first() == Some(&0)),
            Form::Sorted | Form::PackPlace => (self.width, bytes.get(..self.width)?.iter().all(|byte| *byte == 0)),
        };
        let len = if is_escape { len + self.id_len } else { len };
        (len <= bytes.len()).then_some((len, is_escape))
    }
}
