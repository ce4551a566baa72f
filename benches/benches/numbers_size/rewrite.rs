//! Writes commits, trees and tags in all forms, and checks that each leads back to the object.

use std::collections::BTreeMap;

use repackbench_benches::{
    BenchError, Result, cores,
    varint::{VarintReader, put, signed, zigzag},
};
use repackbench_codec::{ChunkDecoder, Decoders, Dictionaries};
use repackbench_reader::{
    ChunkKind, ObjectKind,
    git::{GitRepository, delta, hash::object_id, numbered},
    threads,
};
use repackbench_writer::git::numbers::{
    LookUp, ParsedObject, Piece,
    delta::{Step, find_steps, write_delta},
    object::WrittenObject,
};

use crate::{
    chunks::{Arm, Chunks, Layout},
    pack::{NumberedPack, Visited},
    reference::Form,
};

/// Payloads by what they are and how they are written.
pub(crate) type Payloads = BTreeMap<Arm, Chunks>;

/// An object on the way along a chain, in each form.
#[derive(Debug, Clone, Default)]
struct Rewritten {
    object: ParsedObject,
    written: Vec<WrittenObject>,
}

/// Writes the objects of one pack.
#[derive(Debug)]
struct Rewriter<'a> {
    pack: &'a NumberedPack,
    ids: LookUp,
    /// The number of the pack's first object among those of all packs.
    first: u32,
    arms: Vec<Arm>,
    forms: Vec<Form>,
    checks: bool,
    /// The objects between the whole one of the chain and the last one.
    chain: Vec<Rewritten>,
    payload: Vec<u8>,
    content: Vec<u8>,
    escapes: [u64; 2],
}

impl<'a> Rewriter<'a> {
    /// Writes what is in `arms`. `checks` expands every chunk again.
    fn new(pack: &'a NumberedPack, first: u32, arms: &[Arm], checks: bool) -> Self {
        let mut forms: Vec<Form> = arms.iter().map(|arm| arm.form).collect();
        forms.sort_unstable();
        forms.dedup();
        Rewriter {
            pack,
            ids: LookUp::new(&pack.file),
            first,
            arms: arms.to_vec(),
            forms,
            checks,
            chain: Vec::new(),
            payload: Vec::new(),
            content: Vec::new(),
            escapes: [0; 2],
        }
    }

    /// Writes the objects whose chains begin at `origins`. Returns their chunks, and the number of references to
    /// objects outside of the pack and of all.
    ///
    /// # Errors
    /// An object is damaged, or a chunk does not lead back to its object.
    fn run(mut self, dictionaries: &Dictionaries, origins: impl Iterator<Item = u32>) -> Result<(Payloads, [u64; 2])> {
        let mut decoder = ChunkDecoder::new(Decoders::default()).with_dictionaries(dictionaries);
        let (pack, mut payloads) = (self.pack, Payloads::new());
        let mut decode = |place, payload: &mut Vec<u8>| pack.payload(place, &mut decoder, payload);
        pack.walk(origins, &mut decode, &mut |visited| self.visit(visited, &mut payloads))?;
        Ok((payloads, self.escapes))
    }

    fn visit(&mut self, visited: Visited<'_>, payloads: &mut Payloads) -> Result<()> {
        let Some(kind) = self.pack.kind(visited.place) else { return Ok(()) };
        self.parse(kind.object, visited);
        let changes = self.chain[..=visited.depth].last_chunk().map(|[base, result]| {
            let entry = if kind.object == ObjectKind::Tree { 2 } else { 1 };
            [1, entry].map(|unit| {
                let mut steps = Vec::new();
                find_steps(&base.object, &result.object, unit, &mut steps);
                steps
            })
        });
        for at in 0..self.arms.len() {
            let arm = self.arms[at];
            if arm.kind != kind {
                continue;
            }
            let is_right = match &changes {
                Some([by_piece, by_entry]) => {
                    let steps = if arm.layout == Layout::ByEntry { by_entry } else { by_piece };
                    self.write_delta(arm, visited.depth, steps)
                }
                None => self.write_whole(arm),
            };
            if !is_right {
                return Err(BenchError::Setup(format!("{}: {arm:?} differs", self.pack.name(visited.place))));
            }
            payloads.entry(arm).or_default().push(self.first + visited.place, &self.payload);
        }
        if self.checks { self.check(kind.object, visited) } else { Ok(()) }
    }

    /// Replaces the payload by the delta of the object at `depth` of the chain. Returns whether it leads back to that.
    fn write_delta(&mut self, arm: Arm, depth: usize, steps: &[Step]) -> bool {
        let form = self.forms.iter().position(|form| *form == arm.form).unwrap_or_default();
        let [base, written] = [depth - 1, depth].map(|depth| &self.chain[depth].written[form]);
        write_delta(steps, base, written, &mut self.payload);
        !self.checks
            || delta::apply(&base.bytes, &self.payload, &mut self.content).is_ok() && self.content == written.bytes
    }

    /// Replaces the payload by the whole object of the chain. Returns whether it leads back to that.
    fn write_whole(&mut self, arm: Arm) -> bool {
        let form = self.forms.iter().position(|form| *form == arm.form).unwrap_or_default();
        let Rewritten { object, written } = &self.chain[0];
        write_whole(arm.layout, &written[form], object, &mut self.payload);
        if self.checks {
            read_whole(arm.layout, arm.form, (self.pack, &self.payload), &mut self.content);
        }
        !self.checks || self.content == written[form].bytes
    }

    /// Puts the object that was come to on the chain, in all forms.
    fn parse(&mut self, kind: ObjectKind, visited: Visited<'_>) {
        let (file, numbers) = (&self.pack.file, &self.pack.numbers);
        self.chain.resize_with(self.chain.len().max(visited.depth + 1), Rewritten::default);
        let rewritten = &mut self.chain[visited.depth];
        rewritten.object.parse(kind, visited.content, numbers.id_len(), |id| self.ids.reference(file, id));
        rewritten.written.resize_with(self.forms.len(), WrittenObject::default);
        for (form, written) in self.forms.iter().zip(&mut rewritten.written) {
            rewritten.object.write(written, |reference, bytes| numbers.put(*form, visited.origin, reference, bytes));
        }
        for piece in rewritten.object.pieces() {
            if let Piece::Reference(reference) = piece {
                self.escapes[0] += u64::from(reference.position.is_none());
                self.escapes[1] += 1;
            }
        }
    }

    /// Expands the object that was come to from each form, and compares it with the object, and that with its id.
    fn check(&mut self, kind: ObjectKind, visited: Visited<'_>) -> Result<()> {
        let file = &self.pack.file;
        let wrong = |what: &str| BenchError::Setup(format!("{}: {what}", self.pack.name(visited.place)));
        let id = object_id(file.hash_kind(), kind, visited.content);
        if self.pack.id(visited.place) != Some(&id) {
            return Err(wrong("its content has another id"));
        }
        for (form, written) in self.forms.iter().zip(&self.chain[visited.depth].written) {
            let take = |bytes: &mut _| self.pack.numbers.take(*form, visited.origin, file, bytes);
            let expanded = numbered::expand(kind, &written.bytes, &mut self.content, take);
            if expanded.is_err() || self.content != visited.content {
                return Err(wrong(&format!("its form with {} is another object", form.name())));
            }
        }
        Ok(())
    }
}

/// Replaces `payload` by a whole object in `layout`.
fn write_whole(layout: Layout, written: &WrittenObject, object: &ParsedObject, payload: &mut Vec<u8>) {
    payload.clear();
    let is_in_columns = matches!(layout, Layout::Columns | Layout::Differences);
    if !is_in_columns || !matches!(object.pieces().first(), Some(Piece::Text(_))) {
        payload.extend_from_slice(&written.bytes);
        return;
    }
    let mut references = Vec::new();
    let (mut start, mut before) = (0, 0);
    for (piece, end) in object.pieces().iter().zip(&written.ends) {
        let bytes = &written.bytes[start..*end];
        start = *end;
        match piece {
            Piece::Reference(_) if layout == Layout::Differences => {
                let mut reader = VarintReader(bytes);
                match reader.take() {
                    0 => references.push(0),
                    number => {
                        let value = signed(number - 1);
                        put(&mut references, zigzag(value - before) + 1);
                        before = value;
                    }
                }
                references.extend_from_slice(reader.0);
            }
            Piece::Reference(_) => references.extend_from_slice(bytes),
            _ => payload.extend_from_slice(bytes),
        }
    }
    payload.push(0);
    payload.append(&mut references);
}

/// Replaces `bytes` by the whole object that `payload` is in `layout`, with its references in `form`. What is no such
/// object gives other bytes than those wanted.
pub(crate) fn read_whole(layout: Layout, form: Form, (pack, payload): (&NumberedPack, &[u8]), bytes: &mut Vec<u8>) {
    bytes.clear();
    let is_in_columns = matches!(layout, Layout::Columns | Layout::Differences);
    if !is_in_columns || matches!(payload.first(), None | Some(0)) {
        bytes.extend_from_slice(payload);
        return;
    }
    // No name is empty, so the first empty one is the end of the column.
    let Some(end) = memchr::memmem::find(payload, &[0, 0]) else { return };
    let (mut texts, mut references) = (&payload[..=end], payload.get(end + 2..).unwrap_or_default());
    let mut before = 0;
    while let Some(len) = memchr::memchr(0, texts) {
        let (text, rest) = texts.split_at(len + 1);
        texts = rest;
        bytes.extend_from_slice(text);
        let Some((after, is_escape)) = pack.numbers.skip(form, references) else { return };
        let (reference, rest) = references.split_at(after);
        references = rest;
        if layout == Layout::Differences && !is_escape {
            before += signed(VarintReader(reference).take() - 1);
            put(bytes, zigzag(before) + 1);
        } else {
            bytes.extend_from_slice(reference);
        }
    }
}

/// The payloads of all chunks of `packs`, as found.
///
/// # Errors
/// A chunk is damaged.
pub(crate) fn found_payloads(repository: &GitRepository, packs: &[NumberedPack]) -> Result<Payloads> {
    let mut decoder: ChunkDecoder = repository.decoder(Decoders::default())?;
    let mut payloads = Payloads::new();
    let (mut payload, mut first) = (Vec::new(), 0);
    for pack in packs {
        for place in pack.places() {
            let Some(kind) = pack.kind(place) else { continue };
            pack.payload(place, &mut decoder, &mut payload)?;
            payloads.entry(Arm::found(kind)).or_default().push(first + place, &payload);
        }
        first += pack.len() as u32;
    }
    Ok(payloads)
}

/// The payloads of `packs` in all of `arms`, and the number of references out of their pack and of all. `checks`
/// expands every chunk again, on all cores. Otherwise this thread does the work, to be timed.
///
/// # Errors
/// An object is damaged, or a chunk does not lead back to its object.
pub(crate) fn rewritten_payloads(
    repository: &GitRepository,
    packs: &[NumberedPack],
    arms: &[Arm],
    checks: bool,
) -> Result<(Payloads, [u64; 2])> {
    let threads = if checks { cores() } else { 1 };
    let dictionaries = repository.dictionaries()?;
    let parts: Vec<usize> = (0..threads).collect();
    let (mut payloads, mut escapes, mut first) = (Payloads::new(), [0; 2], 0);
    for pack in packs {
        let rewrite = |part: &usize| {
            let rewriter = Rewriter::new(pack, first, arms, checks);
            rewriter.run(&dictionaries, pack.places().skip(*part).step_by(threads))
        };
        for (written, [out, all]) in threads::map(threads, &parts, rewrite)? {
            written.into_iter().for_each(|(arm, chunks)| payloads.entry(arm).or_default().append(chunks));
            escapes = [escapes[0] + out, escapes[1] + all];
        }
        first += pack.len() as u32;
    }
    payloads.values_mut().for_each(Chunks::sort);
    Ok((payloads, escapes))
}

/// The kinds of chunks that are rewritten.
pub(crate) fn rewritten_kinds() -> impl Iterator<Item = ChunkKind> {
    let objects = [ObjectKind::Commit, ObjectKind::Tree, ObjectKind::Tag];
    objects.into_iter().flat_map(|object| [false, true].map(|is_delta| ChunkKind { object, is_delta }))
}
