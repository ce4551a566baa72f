//! The phases of the bodies: copied, decoded in steps, or collected and decoded as one block.
//!
//! Each function goes as far as the bytes and the room allow. It returns the number of bytes taken, the number of bytes
//! written, and whether the next phase may start.

use super::{Phase, PushDecoder};
use crate::checksum;
use crate::error::{CodecError, FoundLength};
use crate::tag::Tag;

impl PushDecoder {
    pub(super) fn copy(&mut self, tag: Tag, remaining: u64, input: &[u8], output: &mut [u8]) -> (usize, usize, bool) {
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

    pub(super) fn inflate(&mut self, input: &[u8], output: &mut [u8]) -> Result<(usize, usize, bool), CodecError> {
        let Phase::Inflate { machine, codec, checksum, claimed, delivered, replayed } = self.phase else {
            return Ok((0, 0, false));
        };
        let Some((_, machine_itself)) = self.machines.get_mut(machine) else { return Ok((0, 0, false)) };
        // The bytes that came with the opening go first.
        let replay = self.taken.get(replayed..).unwrap_or_default();
        let source = if replay.is_empty() { input } else { replay };
        let left = claimed.map_or(u64::MAX, |claimed| claimed - delivered);
        let mut beyond = [0; 1];
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(output.len());
        // After the whole payload, the stream must end without another byte.
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

    /// Takes the bytes of a block, and decodes the block when it is complete.
    pub(super) fn collect(
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

    pub(super) fn deliver(&mut self, position: usize, output: &mut [u8]) -> (usize, usize, bool) {
        let rest = self.payload.get(position..).unwrap_or_default();
        let most = rest.len().min(output.len());
        if let (Some(from), Some(to)) = (rest.get(..most), output.get_mut(..most)) {
            to.copy_from_slice(from);
        }
        let all = most == rest.len();
        self.phase = if all { Phase::Done } else { Phase::Deliver { position: position + most } };
        (0, most, all)
    }

    pub(super) fn check(
        &mut self,
        codec: &'static str,
        taken: usize,
        input: &[u8],
    ) -> Result<(usize, usize, bool), CodecError> {
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
