//! The price: the CPU time of writing numbers, and of expanding objects that have them.

use std::{collections::BTreeMap, time::Duration};

use repackbench_benches::{BenchError, Result, median_time, repetitions, spec};
use repackbench_codec::{ChunkDecoder, ChunkKind, Decoders};
use repackbench_reader::git::{GitRepository, hash::object_id, numbered};
use repackbench_timing::clock::{SystemClock, measure};

use crate::{
    chunks::{Arm, Encoded},
    pack::{NumberedPack, Visited},
    reference::Form,
    rewrite::{read_whole, rewritten_payloads},
    sizes::{BALANCED, CODECS, Numbering, Sizes},
};

/// The numberings that are timed.
pub(crate) const TIMED: [Numbering; 3] = [Numbering::Before, Numbering::Sorted, Numbering::PackOrder];

/// The CPU times of one thread, in the order of [`TIMED`].
#[derive(Debug)]
pub(crate) struct Times {
    /// Reading all commits, trees and tags of the packs as found, and writing them with the numbering.
    pub(crate) rewriting: Vec<Duration>,
    /// Decoding them from `balanced`, applying deltas, and expanding them.
    pub(crate) expanding: Vec<Duration>,
}

/// Objects under `balanced` with one numbering.
struct Encoding<'a> {
    kinds: BTreeMap<ChunkKind, (Arm, &'a Encoded, ChunkDecoder)>,
}

impl<'a> Encoding<'a> {
    fn new(sizes: &'a Sizes, numbering: Numbering) -> Result<Self> {
        let spec = spec(CODECS[BALANCED])?;
        let arms = sizes.best_arms(numbering).into_iter();
        let encoded = arms.filter_map(|arm| Some((arm, sizes.encoded.get(&arm)?.get(BALANCED)?)));
        let kinds = encoded.map(|(arm, encoded)| (arm.kind, (arm, encoded, encoded.decoder(&spec)))).collect();
        Ok(Encoding { kinds })
    }

    /// Decodes and expands all commits, trees and tags of `packs`, and hands them to `visit`.
    fn expand(
        &mut self,
        packs: &[NumberedPack],
        visit: &mut dyn FnMut(&NumberedPack, Visited<'_>) -> Result<()>,
    ) -> Result<()> {
        let forms: BTreeMap<ChunkKind, Form> = self.kinds.iter().map(|(kind, (arm, ..))| (*kind, arm.form)).collect();
        let (mut chunk, mut content, mut first) = (Vec::new(), Vec::new(), 0);
        for pack in packs {
            let damaged = |place: u32| BenchError::Setup(format!("{}: its chunk is damaged", pack.name(place)));
            let mut payload_of = |place: u32, payload: &mut Vec<u8>| {
                let kind = pack.kind(place).and_then(|kind| self.kinds.get_mut(&kind));
                let (arm, encoded, decoder) = kind.ok_or_else(|| damaged(place))?;
                if arm.kind.is_delta || arm.form == Form::Found {
                    return encoded.decode(first + place, decoder, payload);
                }
                encoded.decode(first + place, decoder, &mut chunk)?;
                read_whole(arm.layout, arm.form, (pack, &chunk), payload);
                Ok(())
            };
            pack.walk(pack.places(), &mut payload_of, &mut |visited| {
                // All of a chain has the form of its whole object.
                let kind = pack.kind(visited.origin).ok_or_else(|| damaged(visited.place))?;
                let form = forms.get(&kind).copied().unwrap_or(Form::Found);
                if form == Form::Found {
                    return visit(pack, visited);
                }
                let take = |bytes: &mut _| pack.numbers.take(form, visited.origin, &pack.file, bytes);
                numbered::expand(kind.object, visited.content, &mut content, take)
                    .map_err(|_| damaged(visited.place))?;
                visit(pack, Visited { content: &content, ..visited })
            })?;
            first += pack.len() as u32;
        }
        Ok(())
    }
}

impl Times {
    /// Measures `packs` of `repository`. Before, every object is expanded and compared with its id.
    ///
    /// # Errors
    /// An object is damaged.
    pub(crate) fn measure(repository: &GitRepository, packs: &[NumberedPack], sizes: &Sizes) -> Result<Self> {
        let (mut rewriting, mut expanding) = (vec![Vec::new(); TIMED.len()], vec![Vec::new(); TIMED.len()]);
        for numbering in TIMED {
            Encoding::new(sizes, numbering)?.expand(packs, &mut |pack, visited| {
                let kind = pack.kind(visited.place).map(|kind| kind.object);
                let id = kind.map(|kind| object_id(pack.file.hash_kind(), kind, visited.content));
                if id.as_deref() == pack.id(visited.place) {
                    return Ok(());
                }
                Err(BenchError::Setup(format!("{}: it has another id when expanded", pack.name(visited.place))))
            })?;
        }
        for _ in 0..repetitions()? {
            for (at, numbering) in TIMED.into_iter().enumerate() {
                let arms = sizes.best_arms(numbering);
                let rewrite = || match numbering {
                    Numbering::Before => read_only(repository, packs),
                    _ => rewritten_payloads(repository, packs, &arms, false).map(|_| ()),
                };
                let (result, sample) = measure(&SystemClock::new(), rewrite)?;
                result?;
                rewriting[at].push(sample.user + sample.sys);
                let mut encoding = Encoding::new(sizes, numbering)?;
                let (result, sample) = measure(&SystemClock::new(), || encoding.expand(packs, &mut |_, _| Ok(())))?;
                result?;
                expanding[at].push(sample.user + sample.sys);
            }
        }
        let medians = |times: Vec<Vec<Duration>>| times.into_iter().map(median_time).collect();
        Ok(Times { rewriting: medians(rewriting), expanding: medians(expanding) })
    }
}

/// Reads all commits, trees and tags of `packs` as found.
fn read_only(repository: &GitRepository, packs: &[NumberedPack]) -> Result<()> {
    let mut decoder = repository.decoder(Decoders::default())?;
    for pack in packs {
        let mut payload_of = |place, payload: &mut Vec<u8>| pack.payload(place, &mut decoder, payload);
        pack.walk(pack.places(), &mut payload_of, &mut |_| Ok(()))?;
    }
    Ok(())
}
