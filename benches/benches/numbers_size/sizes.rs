//! The size of packs under each codec, with each numbering.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use repackbench_benches::{Result, cores, spec};
use repackbench_codec::{ChunkKind, ObjectKind};
use repackbench_reader::{
    git::pack::{write_offset_distance, write_type_and_size},
    threads,
};

use crate::{
    chunks::{Arm, Encoded, Layout},
    pack::NumberedPack,
    reference::Form,
    rewrite::{Payloads, rewritten_kinds},
};

/// The codecs, of which the last one has dictionaries. Its stored bytes are kept.
pub(crate) const CODECS: [&str; 3] = ["store", "zlib:6", "balanced"];

/// The place of `balanced` among [`CODECS`].
pub(crate) const BALANCED: usize = 2;

/// How objects are numbered. The best of several forms counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// The payloads as found.
    Before,
    /// Ids, with new deltas.
    Ids,
    /// By the place in the index.
    Sorted,
    /// By the place in the pack.
    PackOrder,
}

impl Numbering {
    pub(crate) const ALL: [Numbering; 4] = [Numbering::Before, Numbering::Ids, Numbering::Sorted, Numbering::PackOrder];

    /// The name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Numbering::Before => "before",
            Numbering::Ids => "ids, new deltas",
            Numbering::Sorted => "sorted",
            Numbering::PackOrder => "pack order",
        }
    }

    fn forms(self) -> &'static [Form] {
        match self {
            Numbering::Before => &[Form::Found],
            Numbering::Ids => &[Form::Id],
            Numbering::Sorted => &[Form::Sorted],
            Numbering::PackOrder => &[Form::PackPlace, Form::PackDistance],
        }
    }
}

/// Every way to write each kind of chunk that is rewritten.
pub(crate) fn all_arms() -> Vec<Arm> {
    let mut arms = Vec::new();
    for kind in rewritten_kinds() {
        for form in [Form::Id, Form::Sorted, Form::PackPlace, Form::PackDistance] {
            let layouts: &[Layout] = match (kind.object, kind.is_delta, form) {
                (ObjectKind::Tree, true, _) => &[Layout::Plain, Layout::ByEntry],
                (ObjectKind::Tree, false, Form::PackDistance) => &[Layout::Plain, Layout::Columns, Layout::Differences],
                (ObjectKind::Tree, false, _) => &[Layout::Plain, Layout::Columns],
                _ => &[Layout::Plain],
            };
            arms.extend(layouts.iter().map(|layout| Arm { kind, form, layout: *layout }));
        }
    }
    arms
}

/// All chunks under all codecs.
#[derive(Debug)]
pub(crate) struct Sizes {
    pub(crate) encoded: BTreeMap<Arm, Vec<Encoded>>,
}

/// The stored bytes of packs by what they are for.
#[derive(Debug, Clone, Default)]
pub(crate) struct PackSize {
    pub(crate) chunks: BTreeMap<ChunkKind, u64>,
    /// The heads of entries, and head and end of each pack.
    pub(crate) framing: u64,
    pub(crate) dictionaries: u64,
}

impl PackSize {
    pub(crate) fn total(&self) -> u64 {
        self.chunks.values().sum::<u64>() + self.framing + self.dictionaries
    }
}

impl Sizes {
    /// Encodes `payloads` under all codecs.
    ///
    /// # Errors
    /// A codec fails.
    pub(crate) fn measure(payloads: &Payloads) -> Result<Self> {
        let specs = CODECS.iter().map(|codec| spec(codec)).collect::<Result<Vec<_>>>()?;
        let mut jobs: Vec<_> = payloads.iter().flat_map(|all| specs.iter().map(move |spec| (all, spec))).collect();
        jobs.sort_by_key(|((_, chunks), _)| std::cmp::Reverse(chunks.bytes()));
        let jobs = Mutex::new(jobs.into_iter());
        let done = Mutex::new(Vec::new());
        let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
        threads::share(cores(), || {
            while let Some(((arm, chunks), spec)) = next() {
                let encode = || -> Result<Encoded> {
                    let dictionary = chunks.dictionary(arm.kind, spec)?;
                    let mut encoded = chunks.encode(arm.kind, spec, dictionary)?;
                    if !spec.uses_dictionaries() || arm.kind.object == ObjectKind::Blob {
                        encoded.forget_bytes();
                    }
                    Ok(encoded)
                };
                let codec = specs.iter().position(|other| std::ptr::eq(other, spec));
                done.lock().unwrap_or_else(PoisonError::into_inner).push((*arm, codec, encode()));
            }
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(arm, codec, _)| (*arm, *codec));
        let mut encoded = BTreeMap::<Arm, Vec<Encoded>>::new();
        for (arm, _, result) in done {
            encoded.entry(arm).or_default().push(result?);
        }
        Ok(Sizes { encoded })
    }

    /// The arm of `kind` with `numbering` that takes the fewest bytes under `codec`. A chain of deltas has one form.
    pub(crate) fn best(&self, kind: ChunkKind, numbering: Numbering, codec: usize) -> Option<(Arm, &Encoded)> {
        if kind.object == ObjectKind::Blob {
            return self.best_layout(kind, Form::Found, codec);
        }
        let len_of = |form| {
            let kinds = [false, true].map(|is_delta| ChunkKind { is_delta, ..kind });
            let best = kinds.into_iter().filter_map(|kind| self.best_layout(kind, form, codec));
            best.map(|(_, encoded)| encoded.len_with_dictionary()).sum::<u64>()
        };
        let form = numbering.forms().iter().copied().min_by_key(|form| len_of(*form))?;
        self.best_layout(kind, form, codec)
    }

    fn best_layout(&self, kind: ChunkKind, form: Form, codec: usize) -> Option<(Arm, &Encoded)> {
        let arms = self.encoded.iter().filter(|(arm, _)| arm.kind == kind && arm.form == form);
        let sized = arms.filter_map(|(arm, encoded)| Some((*arm, encoded.get(codec)?)));
        sized.min_by_key(|(_, encoded)| encoded.len_with_dictionary())
    }

    /// The best arms of all kinds with `numbering` under `balanced`.
    pub(crate) fn best_arms(&self, numbering: Numbering) -> Vec<Arm> {
        rewritten_kinds().filter_map(|kind| Some(self.best(kind, numbering, BALANCED)?.0)).collect()
    }

    /// The size of `packs` under `codec`, each kind in its best arm with `numbering`.
    pub(crate) fn pack_size(&self, packs: &[NumberedPack], numbering: Numbering, codec: usize) -> PackSize {
        let kinds =
            ObjectKind::GIT.into_iter().flat_map(|object| [false, true].map(|is_delta| ChunkKind { object, is_delta }));
        let best: Vec<_> = kinds.filter_map(|kind| Some((kind, self.best(kind, numbering, codec)?.1))).collect();
        pack_size(packs, &best)
    }

    /// The CPU time of encoding all chunks as found under `balanced`, without that of training.
    pub(crate) fn encoding_time(&self) -> Duration {
        let found = self.encoded.iter().filter(|(arm, _)| arm.form == Form::Found);
        found.filter_map(|(_, encoded)| Some(encoded.get(BALANCED)?.time)).sum()
    }
}

/// The size of `packs` with the chunks `encoded`.
pub(crate) fn pack_size(packs: &[NumberedPack], encoded: &[(ChunkKind, &Encoded)]) -> PackSize {
    let objects = packs.iter().map(NumberedPack::len).sum();
    let mut lengths = vec![(0, 0); objects];
    let mut size = PackSize::default();
    for (kind, encoded) in encoded {
        *size.chunks.entry(*kind).or_default() += encoded.stored_len();
        size.dictionaries += encoded.dictionary_len;
        for chunk in &encoded.chunks {
            lengths[chunk.object as usize] = (chunk.payload_len, chunk.stored_len as u64);
        }
    }
    let mut lengths = lengths.as_slice();
    for pack in packs {
        let (of_pack, rest) = lengths.split_at(pack.len());
        lengths = rest;
        size.framing += framing(pack, of_pack);
    }
    size
}

/// The length of the heads of all entries, and of the pack's own head and end. Bases are named by their distance, or by
/// their id if they come later.
fn framing(pack: &NumberedPack, lengths: &[(u64, u64)]) -> u64 {
    const PACK_HEAD: u64 = 12;
    let id_len = pack.numbers.id_len() as u64;
    let (mut framing, mut offset) = (PACK_HEAD + id_len, PACK_HEAD);
    let mut offsets = Vec::with_capacity(lengths.len());
    let mut head = Vec::new();
    for (place, (payload_len, stored_len)) in lengths.iter().enumerate() {
        offsets.push(offset);
        head.clear();
        write_type_and_size(0, *payload_len, &mut head);
        let mut head_len = 0;
        match pack.base(place as u32).map(|base| offsets.get(base)) {
            Some(Some(base)) => write_offset_distance(offset - base, &mut head),
            Some(None) => head_len += id_len,
            None => {}
        }
        head_len += head.len() as u64;
        framing += head_len;
        offset += head_len + stored_len;
    }
    framing
}
