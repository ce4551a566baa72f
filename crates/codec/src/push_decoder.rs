//! Chunk to payload for a caller that has the stored bytes in pieces and room for the payload in pieces, and wants control back in
//! between: as zlib's `inflate` works.
//!
//! Zlib streams are left to zlib. All memory that is taken is for what arrived, or for a window within the codec's limit.

use crate::BLOCK_LEN;
use crate::checksum::{self, RunningChecksum};
use crate::codec::Codec;
use crate::codecs::brotli::Brotli;
use crate::codecs::bzip2::Bzip2;
use crate::codecs::deflate::RawDeflate;
use crate::codecs::lzma::{Lzma, Xz};
use crate::codecs::steps::Inflater;
use crate::codecs::zstd::Zstd;
use crate::decoder::{ChunkDecoder, UNUSED_LEVEL};
use crate::decoders::Decoders;
use crate::dictionary::Dictionaries;
use crate::error::{CodecError, FoundLength};
use crate::leb128;
use crate::stored::StoredBytes;
use crate::tag::{Body, Opening, Tag};

/// How messages name what is read here, where it has no other name.
const CHUNK: &str = "chunk";

/// As many bytes as every opening fits into: tag, dictionary and two lengths, or tag, dictionary and the header of a zstd frame.
const LONGEST_OPENING: usize = 32;

/// The most payload bytes that one byte of a block stands for, in any format.
const MOST_EXPANSION: u64 = 255;

/// Room for longer blocks is given back when the chunk is done, in bytes.
const MOST_KEPT: usize = 1 << 20;

/// The most that a block may be longer than its payload, as a divisor of the payload's length; every block format stays below.
const MOST_GROWTH: u64 = 4;

/// What one step did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PushStep {
    /// Stored bytes taken.
    pub consumed: usize,
    /// Payload bytes written.
    pub produced: usize,
    /// The chunk is complete, its length and checksum were right, and all of its payload was written.
    pub ended: bool,
}

/// Decodes one chunk after the other, each in as many steps as the caller likes.
///
/// The last byte of a chunk is never taken before all of its payload was written, so a caller that stops when its stored bytes
/// are used up has missed nothing.
pub struct PushDecoder {
    dictionaries: Dictionaries,
    /// For chunks that are there at once, and for blocks.
    whole: ChunkDecoder,
    machines: Vec<(MachineOf, Box<dyn Inflater>)>,
    phase: Phase,
    /// Around the chunk that is being read: it is a block.
    outer: Option<Outer>,
    /// The bytes taken of an opening that is not complete, or of a block.
    taken: Vec<u8>,
    /// A block's payload.
    payload: Vec<u8>,
    hash: RunningChecksum,
    /// The last byte that was taken is not yet reported.
    holds_back: bool,
}

/// What a machine is made for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MachineOf {
    StandardFrame,
    Tagged(Body, Option<u8>),
}

/// A blocked chunk.
#[derive(Clone, Copy)]
struct Outer {
    tag: Tag,
    remaining: u64,
}

#[derive(Clone, Copy)]
enum Phase {
    /// Nothing was seen yet.
    Start,
    /// Within the bytes that say what follows.
    Opening,
    /// Within a store body.
    Copy {
        tag: Tag,
        remaining: u64,
    },
    /// Within a stream; `replayed` bytes of it were taken with the opening and are now in the machine.
    Inflate {
        machine: usize,
        codec: &'static str,
        checksum: bool,
        claimed: Option<u64>,
        delivered: u64,
        replayed: usize,
    },
    /// Within a block.
    Block {
        chunk_len: usize,
        payload_len: usize,
    },
    /// A block's payload is on its way out.
    Deliver {
        position: usize,
    },
    /// Within the checksum behind a body.
    Checksum {
        codec: &'static str,
        taken: usize,
    },
    Done,
    Failed,
}

/// What an opening says.
struct Parsed {
    /// Bytes that belong to the opening alone.
    len: usize,
    /// Bytes of a frame's header behind them.
    header_len: usize,
    what: What,
}

enum What {
    Blocks {
        tag: Tag,
        payload_len: u64,
    },
    Store {
        tag: Tag,
        payload_len: u64,
    },
    Block {
        payload_len: u64,
        block_len: u64,
        checksum: bool,
    },
    Stream {
        tag: Tag,
        payload_len: u64,
    },
    /// The frame's header is looked at, and not part of the opening.
    Frame {
        tag: Option<Tag>,
        payload_len: Option<u64>,
    },
}

impl Parsed {
    /// Reads the opening that `stored` begins with; [`CodecError::Truncated`] when it goes on behind it.
    fn of(stored: &[u8]) -> Result<Self, CodecError> {
        const MAGIC: [u8; 4] = crate::codecs::zstd_frame::MAGIC;
        if stored.len() < MAGIC.len() && MAGIC.starts_with(stored) {
            return Err(truncated(stored));
        }
        let tag = match Opening::of(stored)? {
            Opening::Tagged(tag) if tag.needs_base => return Err(CodecError::BaseNeeded { codec: tag.body.name() }),
            Opening::Tagged(tag) => tag,
            Opening::StandardZstdFrame => return Parsed::frame(None, stored),
            Opening::ZlibStream { .. } => {
                let found = "a zlib stream".to_owned();
                return Err(CodecError::Corrupt { codec: CHUNK, expected: "a tag byte or a zstd frame", found });
            }
        };
        if tag.body == Body::Zstd {
            return Parsed::frame(Some(tag), stored.get(tag.len()..).unwrap_or_default());
        }
        let mut rest = stored.get(tag.len()..).unwrap_or_default();
        let mut fields = StoredBytes::new(&mut rest, tag.body.name());
        let payload_len = leb128::read(&mut fields)?;
        let what = match tag.body {
            _ if tag.blocked => What::Blocks { tag, payload_len },
            Body::Store => What::Store { tag, payload_len },
            Body::Lz4 | Body::Snappy | Body::Lzo => {
                What::Block { payload_len, block_len: leb128::read(&mut fields)?, checksum: tag.checksum }
            }
            _ => What::Stream { tag, payload_len },
        };
        Ok(Parsed { len: stored.len() - rest.len(), header_len: 0, what })
    }

    fn frame(tag: Option<Tag>, frame: &[u8]) -> Result<Self, CodecError> {
        let mut zstd = Zstd::new(UNUSED_LEVEL, tag.is_none());
        zstd.set_checksum(tag.is_none_or(|tag| tag.checksum));
        let (header_len, payload_len) = zstd.frame_header(frame)?;
        Ok(Parsed { len: tag.map_or(0, Tag::len), header_len, what: What::Frame { tag, payload_len } })
    }

    fn payload_len(&self) -> Option<u64> {
        match self.what {
            What::Blocks { payload_len, .. }
            | What::Store { payload_len, .. }
            | What::Block { payload_len, .. }
            | What::Stream { payload_len, .. } => Some(payload_len),
            What::Frame { payload_len, .. } => payload_len,
        }
    }
}

impl PushDecoder {
    /// A decoder for chunks of a repository that has these dictionaries. Contexts are made when first needed, and kept.
    pub fn new(dictionaries: &Dictionaries) -> Self {
        PushDecoder {
            dictionaries: dictionaries.clone(),
            whole: ChunkDecoder::new(Decoders::default()).with_dictionaries(dictionaries),
            machines: Vec::new(),
            phase: Phase::Start,
            outer: None,
            taken: Vec::new(),
            payload: Vec::new(),
            hash: RunningChecksum::new(),
            holds_back: false,
        }
    }

    /// Prepares for a new chunk, whatever became of the last.
    pub fn restart(&mut self) {
        self.phase = Phase::Start;
        self.outer = None;
        self.taken.clear();
        self.holds_back = false;
        for room in [&mut self.taken, &mut self.payload] {
            if room.capacity() > MOST_KEPT {
                *room = Vec::new();
            }
        }
    }

    /// Takes from `input`, which begins where the last step left off, and writes to `output` as much as possible.
    ///
    /// # Errors
    /// When the chunk is damaged, or needs what this decoder does not have. Payload bytes that were written before were decoded
    /// without an error, but their checksum was not yet known.
    pub fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<PushStep, CodecError> {
        let held_back = usize::from(self.holds_back).min(input.len());
        let fresh = input.get(held_back..).unwrap_or_default();
        let step = self.run(fresh, output).inspect_err(|_| self.phase = Phase::Failed)?;
        if self.holds_back && held_back == 0 {
            // Nothing is left to take it from.
            return Ok(PushStep { ended: false, ..step });
        }
        let consumed = held_back + step.consumed;
        self.holds_back = !step.ended
            && consumed > 0
            && consumed == input.len()
            && step.produced == output.len()
            && self.may_hold_payload();
        Ok(PushStep { consumed: consumed - usize::from(self.holds_back), ..step })
    }

    /// Whether payload may be decoded and not yet written.
    fn may_hold_payload(&self) -> bool {
        match self.phase {
            Phase::Inflate { claimed, delivered, .. } => claimed != Some(delivered),
            Phase::Deliver { .. } => true,
            _ => false,
        }
    }

    fn run(&mut self, input: &[u8], output: &mut [u8]) -> Result<PushStep, CodecError> {
        if matches!(self.phase, Phase::Start) && !input.is_empty() {
            if let Some(step) = self.decode_at_once(input, output) {
                self.phase = Phase::Done;
                return Ok(step);
            }
            self.phase = Phase::Opening;
        }
        let mut done = PushStep::default();
        loop {
            let (rest, room) =
                (input.get(done.consumed..).unwrap_or_default(), output.get_mut(done.produced..).unwrap_or_default());
            let (consumed, produced, goes_on) = self.advance(rest, room)?;
            done.consumed += consumed;
            done.produced += produced;
            if matches!(self.phase, Phase::Done) {
                match self.next_block() {
                    true => continue,
                    false => return Ok(PushStep { ended: true, ..done }),
                }
            }
            if !goes_on {
                return Ok(done);
            }
        }
    }

    /// The usual case: all of the chunk is there, and room for all of its payload.
    fn decode_at_once(&mut self, input: &[u8], output: &mut [u8]) -> Option<PushStep> {
        let claimed = Parsed::of(input).ok()?.payload_len()?;
        let room = output.get_mut(..usize::try_from(claimed).ok()?)?;
        let produced = room.len();
        // An error here may only say that the chunk goes on behind `input`: the slow way tells.
        let consumed = self.whole.decode(input, room).ok()?;
        Some(PushStep { consumed, produced, ended: true })
    }

    /// Prepares for the next block of a blocked chunk; false if there is none.
    fn next_block(&mut self) -> bool {
        match self.outer {
            Some(outer) if outer.remaining > 0 => {
                self.taken.clear();
                self.phase = Phase::Opening;
                true
            }
            _ => false,
        }
    }

    /// Goes on in the present phase: bytes taken, bytes written, and whether the next phase may go on with the rest.
    fn advance(&mut self, input: &[u8], output: &mut [u8]) -> Result<(usize, usize, bool), CodecError> {
        match self.phase {
            Phase::Start => Ok((0, 0, false)),
            Phase::Opening => self.open(input),
            Phase::Copy { tag, remaining } => Ok(self.copy(tag, remaining, input, output)),
            Phase::Inflate { .. } => self.inflate(input, output),
            Phase::Block { chunk_len, payload_len } => self.collect(chunk_len, payload_len, input),
            Phase::Deliver { position } => Ok(self.deliver(position, output)),
            Phase::Checksum { codec, taken } => self.check(codec, taken, input),
            Phase::Done => Ok((0, 0, false)),
            Phase::Failed => {
                let found = "a chunk that has failed".to_owned();
                Err(CodecError::Corrupt { codec: CHUNK, expected: "a new chunk", found })
            }
        }
    }

    fn open(&mut self, input: &[u8]) -> Result<(usize, usize, bool), CodecError> {
        let before = self.taken.len();
        let more = input.get(..input.len().min(LONGEST_OPENING.saturating_sub(before))).unwrap_or_default();
        if more.is_empty() {
            return Ok((0, 0, false));
        }
        self.taken.extend_from_slice(more);
        let parsed = match Parsed::of(&self.taken) {
            Ok(parsed) => parsed,
            Err(CodecError::Truncated { .. }) if self.taken.len() < LONGEST_OPENING => {
                return Ok((more.len(), 0, false));
            }
            Err(error) => return Err(error),
        };
        // A frame's header goes to zstd in one step. What came with earlier pieces can no longer be taken from `input`.
        let kept = if before > parsed.len { before.max(parsed.len + parsed.header_len) } else { parsed.len };
        self.taken.truncate(kept);
        self.enter(&parsed)?;
        Ok((kept - before, 0, true))
    }

    /// Starts the phase that an opening leads to.
    fn enter(&mut self, parsed: &Parsed) -> Result<(), CodecError> {
        if let Some(outer) = self.outer {
            check_block(&outer, parsed)?;
            self.outer = Some(Outer { remaining: outer.remaining - outer.remaining.min(BLOCK_LEN as u64), ..outer });
        }
        self.hash = RunningChecksum::new();
        self.phase = match parsed.what {
            What::Blocks { tag, payload_len } => {
                if payload_len <= BLOCK_LEN as u64 {
                    let found = format!("{payload_len} payload bytes");
                    return Err(CodecError::Corrupt { codec: CHUNK, expected: "a payload above one block", found });
                }
                self.outer = Some(Outer { tag, remaining: payload_len });
                self.taken.clear();
                Phase::Opening
            }
            What::Store { tag, payload_len } => Phase::Copy { tag, remaining: payload_len },
            What::Block { payload_len, block_len, checksum } => {
                block_phase(parsed.len, payload_len, block_len, checksum)?
            }
            What::Stream { tag, payload_len } => {
                let machine = self.machine(MachineOf::Tagged(tag.body, tag.dictionary), payload_len)?;
                let (codec, claimed, replayed) = (tag.body.name(), Some(payload_len), self.taken.len());
                Phase::Inflate { machine, codec, checksum: tag.checksum, claimed, delivered: 0, replayed }
            }
            What::Frame { tag, payload_len: claimed } => {
                let of = tag.map_or(MachineOf::StandardFrame, |tag| MachineOf::Tagged(tag.body, tag.dictionary));
                let machine = self.machine(of, claimed.unwrap_or_default())?;
                // The frame has its own checksum.
                let (codec, replayed) = (Body::Zstd.name(), parsed.len);
                Phase::Inflate { machine, codec, checksum: false, claimed, delivered: 0, replayed }
            }
        };
        Ok(())
    }

    /// The number of the machine that reads this, ready for a new stream.
    fn machine(&mut self, of: MachineOf, payload_len: u64) -> Result<usize, CodecError> {
        let number = match self.machines.iter().position(|(other, _)| *other == of) {
            Some(number) => number,
            None => {
                let made = new_machine(of, &self.dictionaries)?;
                self.machines.push((of, made));
                self.machines.len() - 1
            }
        };
        if let Some((_, machine)) = self.machines.get_mut(number) {
            machine.restart(payload_len)?;
        }
        Ok(number)
    }

    fn copy(&mut self, tag: Tag, remaining: u64, input: &[u8], output: &mut [u8]) -> (usize, usize, bool) {
        let most = usize::try_from(remaining).unwrap_or(usize::MAX).min(input.len()).min(output.len());
        let (from, to) = (input.get(..most).unwrap_or_default(), output.get_mut(..most).unwrap_or_default());
        to.copy_from_slice(from);
        self.hash.update(from);
        let remaining = remaining - most as u64;
        self.phase = match (remaining, tag.checksum) {
            (0, true) => Phase::Checksum { codec: tag.body.name(), taken: 0 },
            (0, false) => Phase::Done,
            _ => Phase::Copy { tag, remaining },
        };
        self.taken.clear();
        (most, most, remaining == 0)
    }

    fn inflate(&mut self, input: &[u8], output: &mut [u8]) -> Result<(usize, usize, bool), CodecError> {
        let Phase::Inflate { machine, codec, checksum, claimed, delivered, replayed } = self.phase else {
            return Ok((0, 0, false));
        };
        let Some((_, machine_itself)) = self.machines.get_mut(machine) else { return Ok((0, 0, false)) };
        // Those bytes first that came with the opening.
        let replay = self.taken.get(replayed..).unwrap_or_default();
        let source = if replay.is_empty() { input } else { replay };
        let left = claimed.map_or(u64::MAX, |claimed| claimed - delivered);
        let mut beyond = [0; 1];
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(output.len());
        // When all is there, the stream must end without another byte.
        let room = if left == 0 { &mut beyond[..] } else { output.get_mut(..most).unwrap_or_default() };
        let has_room = !room.is_empty();
        if !has_room && claimed.is_some() {
            return Ok((0, 0, false));
        }
        let step = machine_itself.step(source, room, false)?;
        let wrong_length = |found| CodecError::PayloadLength { codec, expected: claimed.unwrap_or_default(), found };
        if left == 0 && step.produced > 0 {
            return Err(wrong_length(FoundLength::More));
        }
        if checksum {
            self.hash.update(room.get(..step.produced).unwrap_or_default());
        }
        let delivered = delivered + step.produced as u64;
        let is_replay = !replay.is_empty();
        let replayed = if is_replay { replayed + step.consumed } else { replayed };
        let consumed = if is_replay { 0 } else { step.consumed };
        if step.ended {
            if claimed.is_some_and(|claimed| claimed != delivered) {
                return Err(wrong_length(FoundLength::Exactly(delivered)));
            }
            self.taken.clear();
            self.phase = if checksum { Phase::Checksum { codec, taken: 0 } } else { Phase::Done };
            return Ok((consumed, step.produced, true));
        }
        self.phase = Phase::Inflate { machine, codec, checksum, claimed, delivered, replayed };
        Ok((consumed, step.produced, step.consumed + step.produced > 0))
    }

    /// Takes the bytes of a block, and decodes it when it is complete.
    fn collect(
        &mut self,
        chunk_len: usize,
        payload_len: usize,
        input: &[u8],
    ) -> Result<(usize, usize, bool), CodecError> {
        let most = chunk_len.saturating_sub(self.taken.len()).min(input.len());
        self.taken.extend_from_slice(input.get(..most).unwrap_or_default());
        if self.taken.len() < chunk_len {
            return Ok((most, 0, false));
        }
        self.payload.clear();
        self.payload.resize(payload_len, 0);
        self.whole.decode(&self.taken, &mut self.payload)?;
        self.taken.clear();
        self.phase = Phase::Deliver { position: 0 };
        Ok((most, 0, true))
    }

    fn deliver(&mut self, position: usize, output: &mut [u8]) -> (usize, usize, bool) {
        let rest = self.payload.get(position..).unwrap_or_default();
        let most = rest.len().min(output.len());
        if let (Some(from), Some(to)) = (rest.get(..most), output.get_mut(..most)) {
            to.copy_from_slice(from);
        }
        let all = most == rest.len();
        self.phase = if all { Phase::Done } else { Phase::Deliver { position: position + most } };
        (0, most, all)
    }

    fn check(&mut self, codec: &'static str, taken: usize, input: &[u8]) -> Result<(usize, usize, bool), CodecError> {
        let most = checksum::LEN.saturating_sub(taken).min(input.len());
        self.taken.extend_from_slice(input.get(..most).unwrap_or_default());
        match self.taken.first_chunk() {
            Some(stored) => {
                checksum::verify(*stored, self.hash.value(), codec)?;
                self.taken.clear();
                self.phase = Phase::Done;
            }
            None => self.phase = Phase::Checksum { codec, taken: taken + most },
        }
        Ok((most, 0, false))
    }
}

/// Checks the lengths of a block body, of which memory is taken only for what arrives.
fn block_phase(opening_len: usize, payload_len: u64, block_len: u64, checksum: bool) -> Result<Phase, CodecError> {
    let limit = BLOCK_LEN as u64;
    let impossible = || {
        let found = format!("{payload_len} payload bytes in a block of {block_len}");
        CodecError::Corrupt { codec: CHUNK, expected: "a payload of at most 64 MiB that the block can hold", found }
    };
    if payload_len > limit.min(block_len.saturating_mul(MOST_EXPANSION)) || block_len > limit + limit / MOST_GROWTH {
        return Err(impossible());
    }
    let behind = if checksum { checksum::LEN } else { 0 };
    match (usize::try_from(block_len), usize::try_from(payload_len)) {
        (Ok(block_len), Ok(payload_len)) => {
            Ok(Phase::Block { chunk_len: opening_len + block_len + behind, payload_len })
        }
        _ => Err(impossible()),
    }
}

/// Checks that a chunk can be the next block of another.
fn check_block(outer: &Outer, parsed: &Parsed) -> Result<(), CodecError> {
    let wanted = outer.remaining.min(BLOCK_LEN as u64);
    let suits = match parsed.what {
        What::Store { tag, .. } => tag.checksum == outer.tag.checksum,
        What::Block { checksum, .. } => checksum == outer.tag.checksum,
        _ => false,
    };
    if suits && parsed.payload_len() == Some(wanted) {
        return Ok(());
    }
    let found = "another chunk".to_owned();
    Err(CodecError::Corrupt { codec: CHUNK, expected: "a block that suits the first", found })
}

fn new_machine(of: MachineOf, dictionaries: &Dictionaries) -> Result<Box<dyn Inflater>, CodecError> {
    let (body, number) = match of {
        MachineOf::StandardFrame => return Zstd::new(UNUSED_LEVEL, true).new_inflater(),
        MachineOf::Tagged(body, number) => (body, number),
    };
    let no_such = |number| CodecError::NoSuchDictionary { found: format!("number {number}") };
    let dictionary = match number {
        Some(number) => Some(dictionaries.get(number).ok_or_else(|| no_such(number))?),
        None => None,
    };
    let level = UNUSED_LEVEL.unsigned_abs();
    match body {
        Body::Zstd => {
            let mut zstd = Zstd::new(UNUSED_LEVEL, false);
            zstd.set_dictionary(dictionary)?;
            zstd.new_inflater()
        }
        Body::Deflate => {
            let mut deflate = RawDeflate::new(level);
            deflate.set_dictionary(dictionary)?;
            deflate.new_inflater()
        }
        Body::Brotli => Brotli::new(level).new_inflater(),
        Body::Lzma => Lzma::new(level).new_inflater(),
        Body::Xz => Xz::new(level).new_inflater(),
        Body::Bzip2 => Bzip2::new(level).new_inflater(),
        Body::Store | Body::Lz4 | Body::Snappy | Body::Lzo | Body::ZstdPatch => {
            let message = format!("{} is not read in steps", body.name());
            Err(CodecError::Implementation { codec: CHUNK, message })
        }
    }
}

fn truncated(stored: &[u8]) -> CodecError {
    CodecError::Truncated { codec: CHUNK, available: stored.len() as u64 }
}
