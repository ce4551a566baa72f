//! Chunk to payload for a caller that has the stored bytes in pieces and room for the payload in pieces, and wants control back in
//! between: as zlib's `inflate` works.
//!
//! Zlib streams are left to zlib. All memory that is taken is for what arrived, or for a window within the codec's limit.

mod bodies;
mod machine;
mod opening;

use self::machine::{MachineOf, new_machine};
use self::opening::{Parsed, What, block_phase, check_block};
use crate::BLOCK_LEN;
use crate::checksum::RunningChecksum;
use crate::codecs::steps::Inflater;
use crate::decoder::ChunkDecoder;
use crate::decoders::Decoders;
use crate::dictionary::Dictionaries;
use crate::error::CodecError;
use crate::tag::{Body, Tag};

/// How messages name what is read here, where it has no other name.
const CHUNK: &str = "chunk";

/// As many bytes as every opening fits into: tag, dictionary and two lengths, or tag, dictionary and the header of a zstd frame.
const LONGEST_OPENING: usize = 32;

/// Room for longer blocks is given back when the chunk is done, in bytes.
const MOST_KEPT: usize = 1 << 20;

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
}
