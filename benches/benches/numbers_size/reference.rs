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

use repackbench_benches::varint::{VarintReader, put, signed, zigzag};
use repackbench_reader::git::{
    numbered::{NumberError, PackNumbers},
    pack::{EntryTable, PackFile},
};
use repackbench_writer::git::numbers::Reference;

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

/// Numbers for the objects of one pack.
#[derive(Debug)]
pub(crate) struct NumbersInForms {
    /// The numbers of the program: those of the index. Other numbers with a fixed width have the same width.
    sorted: PackNumbers,
    /// The place in the pack of each object of the index.
    pack_places: Vec<u32>,
    /// The place in the index of each object of the pack: what a reverse index holds.
    index_places: Vec<u32>,
}

impl NumbersInForms {
    pub(crate) fn new(file: &PackFile, table: &EntryTable) -> Self {
        let index_places = table.index_positions().to_vec();
        let mut pack_places = vec![0; index_places.len()];
        for (place, at) in (0u32..).zip(&index_places) {
            if let Some(slot) = pack_places.get_mut(*at as usize) {
                *slot = place;
            }
        }
        let sorted = PackNumbers::new(file.entry_count(), file.hash_kind());
        NumbersInForms { sorted, pack_places, index_places }
    }

    /// The length of an id in bytes.
    pub(crate) fn id_len(&self) -> usize {
        self.sorted.id_len()
    }

    /// Appends `reference` in `form`. The chain begins at place `origin` of the pack.
    pub(crate) fn put(&self, form: Form, origin: u32, reference: &Reference, bytes: &mut Vec<u8>) {
        let Reference { id, position } = reference;
        let pack_place = position.and_then(|at| self.pack_places.get(at as usize)).copied();
        match form {
            Form::Found | Form::Id => bytes.extend_from_slice(id.as_slice()),
            Form::Sorted => self.sorted.put(*position, id, bytes),
            Form::PackPlace => self.sorted.put(pack_place, id, bytes),
            Form::PackDistance => match pack_place {
                Some(place) => put(bytes, zigzag(i64::from(place) - i64::from(origin)) + 1),
                None => {
                    put(bytes, 0);
                    bytes.extend_from_slice(id.as_slice());
                }
            },
        }
    }

    /// Takes a reference in `form` from the start of `bytes` and returns the id.
    ///
    /// # Errors
    /// There is no object of that number.
    pub(crate) fn take<'a>(
        &self,
        form: Form,
        origin: u32,
        file: &'a PackFile,
        bytes: &mut &'a [u8],
    ) -> Result<&'a [u8], NumberError> {
        let id_of = |place: u32| file.index().oid_at_index(self.index_places[place as usize]);
        match form {
            Form::Found | Form::Id => self.take_id(bytes),
            Form::Sorted => self.sorted.take_id(bytes, |position| file.index().oid_at_index(position)),
            Form::PackPlace => self.sorted.take_id(bytes, id_of),
            Form::PackDistance => {
                let mut reader = VarintReader(bytes);
                let number = reader.take();
                *bytes = reader.0;
                let Some(distance) = number.checked_sub(1) else { return self.take_id(bytes) };
                let place = signed(distance).checked_add(i64::from(origin)).and_then(|place| u32::try_from(place).ok());
                let place = place.filter(|place| *place < file.entry_count());
                let past_end = NumberError::PastEnd { number, count: file.entry_count() };
                place.map(|place| id_of(place).as_bytes()).ok_or(past_end)
            }
        }
    }

    fn take_id<'a>(&self, bytes: &mut &'a [u8]) -> Result<&'a [u8], NumberError> {
        let (id, rest) = bytes.split_at_checked(self.id_len()).ok_or(NumberError::Truncated)?;
        *bytes = rest;
        Ok(id)
    }

    /// The length of the reference in `form` at the start of `bytes`, and whether it is an id. `None` if the bytes end
    /// before it does.
    pub(crate) fn skip(&self, form: Form, bytes: &[u8]) -> Option<(usize, bool)> {
        let (len, is_escape) = match form {
            Form::Found | Form::Id => (0, true),
            Form::PackDistance => (bytes.iter().position(|byte| byte & 0x80 == 0)? + 1, bytes.first() == Some(&0)),
            Form::Sorted | Form::PackPlace => {
                (self.sorted.width(), bytes.get(..self.sorted.width())?.iter().all(|byte| *byte == 0))
            }
        };
        let len = if is_escape { len + self.id_len() } else { len };
        (len <= bytes.len()).then_some((len, is_escape))
    }
}
