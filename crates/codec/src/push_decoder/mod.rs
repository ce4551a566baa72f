//! Decodes a chunk for a caller that has the stored bytes and the room for the payload in pieces, and wants control
//! back between them, as with zlib's `inflate`.
//!
//! Zlib streams are left to zlib. Memory is allocated only for bytes that have arrived, and for a window within the
//! codec's limit.

mod bodies;
mod machine;

use self::machine::{MachineOf, new_machine};
use crate::BLOCK_LEN;
use crate::checksum::{self, RunningChecksum};
use crate::codecs::block::BlockLengths;
use crate::codecs::steps::Inflater;
use crate::codecs::zstd::frame;
use crate::decoder::ChunkDecoder;
use crate::decoders::Decoders;
use crate::dictionary::Dictionaries;
use crate::error::CodecError;
use crate::opening::{self, BodyHead, Opening};
use crate::stored::StoredBytes;
use crate::tag::{Body, Tag};

/// The name in messages of a chunk without another name.
const CHUNK: &str = "chunk";

/// The maximum number of payload bytes that one byte of a block stands for, in any format.
const MAX_EXPANSION: u64 = 255;

/// The length of the longest block of any format, in bytes: a block may be longer than its payload of up to
/// [`BLOCK_LEN`] bytes.
const LONGEST_BLOCK: usize = BLOCK_LEN + BLOCK_LEN / 4;

/// The longest buffer that is kept between chunks, in bytes.
const MAX_KEPT: usize = 1 << 20;

/// What one step did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PushStep {
    /// The number of stored bytes taken.
    pub consumed: usize,
    /// The number of payload bytes written.
    pub produced: usize,
    /// The chunk is complete, its length and checksum were right, and its whole payload has been written.
    pub ended: bool,
}

/// Decodes one chunk after another, each in as many steps as the caller likes.
///
/// The last byte of a chunk is never taken before its whole payload has been written, so a caller that stops when it
/// runs out of stored bytes misses nothing.
pub struct PushDecoder {
    dictionaries: Dictionaries,
    /// Decodes chunks that arrive as a whole, and blocks.
    whole: ChunkDecoder,
    machines: Vec<(MachineOf, Box<dyn Inflater>)>,
    phase: Phase,
    /// The blocked chunk, if the current chunk is a block.
    outer: Option<Outer>,
    /// The bytes taken of an incomplete opening, or of a block.
    taken: Vec<u8>,
    /// The payload of a block.
    payload: Vec<u8>,
    hash: RunningChecksum,
    /// The last byte taken has not been reported yet.
    holds_back: bool,
}

/// A blocked chunk.
#[derive(Clone, Copy)]
struct Outer {
    tag: Tag,
    remaining: u64,
}

#[derive(Clone, Copy)]
enum Phase {
    /// Before the first byte.
    Start,
    /// Within the opening or the head of the body.
    Opening,
    /// Within a store body.
    Copy {
        tag: Tag,
        remaining: u64,
    },
    /// Within a stream. The bytes of `taken` up to `replayed` need not be given to the machine.
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
    /// Delivering the payload of a block.
    Deliver {
        position: usize,
    },
    /// Within the checksum after a body.
    Checksum {
        codec: &'static str,
        taken: usize,
    },
    Done,
    Failed,
}

impl PushDecoder {
    /// Creates a decoder for chunks of a repository with these dictionaries. Contexts are made when first needed, and
    /// kept.
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

    /// Prepares for a new chunk, whatever the outcome of the last.
    pub fn restart(&mut self) {
        self.phase = Phase::Start;
        self.outer = None;
        self.taken.clear();
        self.holds_back = false;
        for room in [&mut self.taken, &mut self.payload] {
            if room.capacity() > MAX_KEPT {
                *room = Vec::new();
            }
        }
    }

    /// Takes from `input`, which starts where the last step stopped, and writes to `output` as much as possible.
    ///
    /// # Errors
    /// When the chunk is damaged, or needs a base or a dictionary that this decoder does not have. The checksum of the
    /// payload bytes that were written before is then unknown.
    pub fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<PushStep, CodecError> {
        let held_back = usize::from(self.holds_back).min(input.len());
        let fresh = input.get(held_back..).unwrap_or_default();
        let step = self.run(fresh, output).inspect_err(|_| self.phase = Phase::Failed)?;
        if self.holds_back && held_back == 0 {
            // There is no input to take the byte from.
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

    /// Whether there may be decoded payload that has not been written.
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

    /// Handles the usual case: the whole chunk has arrived, and there is room for the whole payload.
    fn decode_at_once(&mut self, input: &[u8], output: &mut [u8]) -> Option<PushStep> {
        let claimed = Start::parse(input).ok()?.head.payload_len()?;
        let room = output.get_mut(..usize::try_from(claimed).ok()?)?;
        let produced = room.len();
        // An error may only mean that the chunk continues after `input`. Decoding in steps finds out.
        let consumed = self.whole.decode(input, room).ok()?;
        Some(PushStep { consumed, produced, ended: true })
    }

    /// Prepares for the next block of a blocked chunk. Returns false if there is none.
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

    /// Continues the current phase. Returns the number of bytes taken, the number of bytes written, and whether the
    /// next phase may start.
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
        let more = input.get(..input.len().min(opening::MAX_LEN.saturating_sub(before))).unwrap_or_default();
        if more.is_empty() {
            return Ok((0, 0, false));
        }
        self.taken.extend_from_slice(more);
        let start = match Start::parse(&self.taken) {
            Ok(start) => start,
            Err(CodecError::Truncated { .. }) if self.taken.len() < opening::MAX_LEN => {
                return Ok((more.len(), 0, false));
            }
            Err(error) => return Err(error),
        };
        // zstd must get a frame's header in one step. Bytes from earlier pieces can no longer be taken from `input`.
        let (replayed_from, read) = start.lens();
        let kept = if before > replayed_from { before.max(read) } else { replayed_from };
        self.taken.truncate(kept);
        self.enter(&start)?;
        Ok((kept - before, 0, true))
    }

    /// Enters the phase that follows the start of a chunk.
    fn enter(&mut self, start: &Start) -> Result<(), CodecError> {
        if let Some(outer) = self.outer {
            start.expect_block_of(&outer)?;
            self.outer = Some(Outer { remaining: outer.remaining - outer.remaining.min(BLOCK_LEN as u64), ..outer });
        }
        self.hash = RunningChecksum::new();
        let tag = start.tag;
        let machine_of = tag.map_or(MachineOf::StandardFrame, |tag| MachineOf::Tagged(tag.body, tag.dictionary));
        let (codec, checksum) = tag.map_or((CHUNK, false), |tag| (tag.body.name(), tag.checksum));
        self.phase = match (start.head, tag) {
            (BodyHead::Blocks { payload_len }, Some(tag)) => {
                self.outer = Some(Outer { tag, remaining: payload_len });
                self.taken.clear();
                Phase::Opening
            }
            (BodyHead::Store { payload_len }, Some(tag)) => Phase::Copy { tag, remaining: payload_len },
            (BodyHead::Block(lengths), _) => start.block_phase(lengths, codec, checksum)?,
            (BodyHead::Stream { payload_len }, _) => {
                let machine = self.machine(machine_of, payload_len)?;
                let replayed = self.taken.len();
                Phase::Inflate { machine, codec, checksum, claimed: Some(payload_len), delivered: 0, replayed }
            }
            (BodyHead::Frame(header), _) => {
                let claimed = header.content_size;
                let machine = self.machine(machine_of, claimed.unwrap_or_default())?;
                let (codec, replayed) = (Body::Zstd.name(), start.body_start);
                // The frame has its own checksum.
                Phase::Inflate { machine, codec, checksum: false, claimed, delivered: 0, replayed }
            }
            (BodyHead::ZlibStream | BodyHead::Blocks { .. } | BodyHead::Store { .. }, _) => return Err(foreign()),
        };
        Ok(())
    }

    /// The index of the machine for this kind of stream, which is ready for a new stream.
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
}

/// The opening of a chunk and the head of its body.
struct Start {
    /// `None` for a standard zstd frame.
    tag: Option<Tag>,
    head: BodyHead,
    /// The length of the tag in bytes.
    body_start: usize,
    /// The length of the head in bytes.
    head_len: usize,
}

impl Start {
    /// Reads the start of the chunk at the start of `stored`.
    ///
    /// # Errors
    /// [`CodecError::Truncated`] when it continues after `stored`.
    fn parse(stored: &[u8]) -> Result<Self, CodecError> {
        if stored.len() < frame::MAGIC.len() && frame::MAGIC.starts_with(stored) {
            return Err(CodecError::Truncated { codec: CHUNK, available: stored.len() as u64 });
        }
        let opening = Opening::of(stored)?;
        let tag = match opening {
            Opening::Tagged(tag) if tag.needs_base => return Err(CodecError::BaseNeeded { codec: tag.body.name() }),
            Opening::Tagged(tag) => Some(tag),
            Opening::StandardZstdFrame => None,
            Opening::ZlibStream { .. } => return Err(foreign()),
        };
        let body = stored.get(opening.body_start()..).unwrap_or_default();
        let mut rest = body;
        let codec = tag.map_or(CHUNK, |tag| tag.body.name());
        let head = BodyHead::take(opening, &mut StoredBytes::new(&mut rest, codec))?;
        Ok(Start { tag, head, body_start: opening.body_start(), head_len: body.len() - rest.len() })
    }

    /// The number of bytes before those that a machine reads, and the number of bytes that were read here.
    fn lens(&self) -> (usize, usize) {
        let read = self.body_start + self.head_len;
        // The header of a frame is part of the frame.
        (if matches!(self.head, BodyHead::Frame(_)) { self.body_start } else { read }, read)
    }

    /// The phase that collects a block. Memory for the block is allocated only as it arrives.
    fn block_phase(&self, lengths: BlockLengths, codec: &'static str, checksum: bool) -> Result<Phase, CodecError> {
        let (payload_len, block_len) = lengths.check(codec, MAX_EXPANSION, LONGEST_BLOCK)?;
        let checksum_len = if checksum { checksum::LEN } else { 0 };
        let chunk_len = self.body_start + self.head_len + block_len + checksum_len;
        Ok(Phase::Block { chunk_len, payload_len })
    }

    /// Checks that the chunk can be the next block of `outer`.
    fn expect_block_of(&self, outer: &Outer) -> Result<(), CodecError> {
        let wanted = outer.remaining.min(BLOCK_LEN as u64);
        if self.tag.is_some_and(|tag| tag.is_block_of(outer.tag)) && self.head.payload_len() == Some(wanted) {
            return Ok(());
        }
        let found = "another chunk".to_owned();
        Err(CodecError::Corrupt { codec: CHUNK, expected: "a block of this chunk", found })
    }
}

/// The error for a chunk that zlib must decode.
fn foreign() -> CodecError {
    let found = "a zlib stream".to_owned();
    CodecError::Corrupt { codec: CHUNK, expected: "a tag byte or a zstd frame", found }
}
