//! The encoder of levels 7 to 9: chains of earlier positions, and a search at the next position before a match is
//! taken, as in LZO1X-999.

use super::MAX_DISTANCE;
use super::positions::{Positions, common_len};
use super::writer::{Match, NoRoom, Writer};

/// The length of the shortest match, in bytes. That many bytes are hashed.
const LEAST: usize = 3;

/// The number of bits of a hash.
const HASH_BITS: u32 = 15;

/// The number of positions in the chains: a power of two that is longer than the longest distance.
const REMEMBERED: usize = 1 << 16;

/// How thoroughly to search.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// The maximum number of earlier positions that are compared for one match.
    pub(crate) depth: usize,
    /// A match of this many bytes ends the search.
    pub(crate) enough: usize,
}

/// Encodes with chains of all positions whose first three bytes have the same hash, newest first.
pub(crate) struct ThoroughEncoder {
    effort: Effort,
    heads: Vec<u32>,
    chains: Vec<u32>,
    pub(super) positions: Positions,
}

impl ThoroughEncoder {
    pub(crate) fn new(effort: Effort) -> Self {
        let heads = vec![0; 1 << HASH_BITS];
        ThoroughEncoder { effort, heads, chains: vec![0; REMEMBERED], positions: Positions::new() }
    }

    /// Writes the stream of `payload` to the start of `room` and returns the stream's length.
    ///
    /// # Errors
    /// When the stream does not fit.
    pub(crate) fn compress(&mut self, payload: &[u8], room: &mut [u8]) -> Result<usize, NoRoom> {
        if !self.positions.begin(payload.len()).ok_or(NoRoom)? {
            self.heads.fill(0);
            self.chains.fill(0);
        }
        let mut writer = Writer::new(payload, room);
        let mut written = 0;
        let mut position = 0;
        let mut entered = 0;
        while position + LEAST <= payload.len() {
            let Some(mut best) = self.find(payload, position, position - written, &mut entered) else {
                position += 1;
                continue;
            };
            // Take one more literal if the match after it saves more.
            while best.found.length < self.effort.enough
                && let Some(later) = self.find(payload, position + 1, position + 1 - written, &mut entered)
                && later.saved > best.saved
            {
                position += 1;
                best = later;
            }
            writer.sequence(written..position, best.found);
            position += best.found.length;
            written = position;
        }
        writer.finish(written)
    }

    /// The match at `position`, after `literals` literals, that saves the most bytes. `entered` counts the positions in
    /// the chains.
    fn find(&mut self, payload: &[u8], position: usize, literals: usize, entered: &mut usize) -> Option<Candidate> {
        while *entered < position {
            self.enter(payload, *entered);
            *entered += 1;
        }
        let mut earlier = self.positions.position(*self.heads.get(hash(payload, position)?)?);
        let mut best: Option<Candidate> = None;
        let mut longest = LEAST - 1;
        for _ in 0..self.effort.depth {
            if earlier >= position || position - earlier > MAX_DISTANCE {
                break;
            }
            // It is farther away, so only a longer match than the longest so far is worth measuring.
            if payload.get(earlier + longest) == payload.get(position + longest) {
                let length = common_len(payload, earlier, position);
                if length > longest {
                    longest = length;
                    let found = Match { distance: position - earlier, length };
                    let saved = length.saturating_sub(found.cost(literals));
                    if saved > best.as_ref().map_or(0, |best| best.saved) {
                        best = Some(Candidate { found, saved });
                    }
                    if length >= self.effort.enough || position + length == payload.len() {
                        break;
                    }
                }
            }
            earlier = self.positions.position(self.chains.get(self.slot(earlier)).copied().unwrap_or_default());
        }
        best
    }

    fn enter(&mut self, payload: &[u8], position: usize) {
        let Some(head) = hash(payload, position).and_then(|hash| self.heads.get_mut(hash)) else { return };
        let before = std::mem::replace(head, self.positions.number(position));
        let slot = self.slot(position);
        if let Some(chain) = self.chains.get_mut(slot) {
            *chain = before;
        }
    }

    fn slot(&self, position: usize) -> usize {
        self.positions.number(position) as usize % REMEMBERED
    }
}

/// A match and the number of bytes that it saves.
struct Candidate {
    found: Match,
    saved: usize,
}

/// The hash of the three bytes at `position`, if the payload is long enough.
fn hash(payload: &[u8], position: usize) -> Option<usize> {
    let [a, b, c] = *payload.get(position..)?.first_chunk()?;
    // Knuth's multiplicative hash: the golden ratio in 32 bits.
    Some((u32::from_le_bytes([0, a, b, c]).wrapping_mul(0x9e37_79b1) >> (u32::BITS - HASH_BITS)) as usize)
}
