//! `libdeflate`: a C library that encodes and decodes RFC 1950 streams only as whole buffers.
//!
//! Stock zlib does what the library cannot: payloads above [`BLOCK_LEN`](crate::BLOCK_LEN), payloads in pieces, and
//! prefixes.

#![allow(unsafe_code)]

use std::io::{BufRead, Read, Write};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use libdeflate_sys as sys;

use super::descriptor::CodecDescriptor;
use super::descriptor::Levels;
use super::wrapping::STREAM;
use super::wrapping::Wrapping;
use super::zlib::{Zlib, by_stock_zlib};
use crate::codec::{Capabilities, Codec, OpenEnded, PayloadSink, UNUSED_LEVEL};
use crate::dictionary::Dictionary;
use crate::error::{CodecError, FoundLength, expect_all_taken, reserve_chunk};
use crate::growing::{doubled_room, reserve, too_long};

/// The facts about `libdeflate`.
pub(crate) static DESCRIPTOR: CodecDescriptor = CodecDescriptor {
    name: "libdeflate",
    levels: Some(Levels { range: 1..=12, except: None, default: 6 }),
    longest_dictionary: None,
    body: None,
    is_read_by_hg: true,
    capabilities: CAPABILITIES,
    implementation: "libdeflate (C)",
    version: || env!("REPACKBENCH_LIBDEFLATE_VERSION").to_owned(),
    language: "C",
    licence: "MIT",
    new: |level| Box::new(Libdeflate::new(level)),
    new_open_ended: Some(|| Box::new(Libdeflate::new(UNUSED_LEVEL))),
    new_inflater: None,
};

/// The capabilities of libdeflate itself.
pub(crate) const CAPABILITIES: Capabilities =
    Capabilities { finds_own_end: true, streams: false, partial_decode: false, dictionaries: false };

/// An owned compression context of the C library.
struct Compressor(NonNull<sys::libdeflate_compressor>);

// SAFETY: the context is a plain heap allocation without thread-local state, and only this value owns it.
unsafe impl Send for Compressor {}

impl Compressor {
    fn new(level: i32) -> Result<Self, CodecError> {
        // SAFETY: the function takes any level and returns null for unknown levels and when memory is short.
        let context = unsafe { sys::libdeflate_alloc_compressor(level) };
        NonNull::new(context).map(Compressor).ok_or_else(no_context)
    }

    /// Appends the stream of `payload` to `out`.
    fn compress(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<usize, CodecError> {
        // SAFETY: the context is valid until dropped.
        let most = unsafe { sys::libdeflate_zlib_compress_bound(self.0.as_ptr(), payload.len()) };
        reserve_chunk(out, most)?;
        let room = out.spare_capacity_mut();
        // SAFETY: both pointers are valid for the lengths passed with them, one for reads and one for writes. The
        // slices cannot overlap, because one of them is borrowed mutably.
        let written = unsafe {
            sys::libdeflate_zlib_compress(
                self.0.as_ptr(),
                payload.as_ptr().cast(),
                payload.len(),
                room.as_mut_ptr().cast(),
                room.len(),
            )
        };
        if written == 0 {
            let message = "the bound on the stream's length was too low".to_owned();
            return Err(CodecError::Implementation { codec: STREAM, message });
        }
        // SAFETY: `written` is at most `room.len()`, and that many bytes after the old end are now initialised.
        unsafe { out.set_len(out.len() + written) };
        Ok(written)
    }
}

impl Drop for Compressor {
    fn drop(&mut self) {
        // SAFETY: the library allocated the context, and it is freed once.
        unsafe { sys::libdeflate_free_compressor(self.0.as_ptr()) };
    }
}

/// The outcome of decompressing a stream.
enum Decompressed {
    /// The stream had `consumed` stored bytes and its payload `produced` bytes.
    Whole { consumed: usize, produced: usize },
    /// The payload did not fit into the room.
    DoesNotFit,
}

/// An owned decompression context of the C library, for streams with one wrapping.
pub(super) struct Decompressor {
    context: NonNull<sys::libdeflate_decompressor>,
    wrapping: Wrapping,
}

// SAFETY: the context is a plain heap allocation without thread-local state, and only this value owns it.
unsafe impl Send for Decompressor {}

impl Decompressor {
    pub(super) fn new(wrapping: Wrapping) -> Result<Self, CodecError> {
        // SAFETY: the function takes nothing and returns null when memory is short.
        let context = unsafe { sys::libdeflate_alloc_decompressor() };
        NonNull::new(context).map(|context| Decompressor { context, wrapping }).ok_or_else(no_context)
    }

    /// Decodes the stream at the start of `stored` into `payload`, which it must fill, and returns the number of stored
    /// bytes that it took. Errors name `codec`.
    pub(super) fn decompress(
        &mut self,
        stored: &[u8],
        payload: &mut [u8],
        codec: &'static str,
    ) -> Result<usize, CodecError> {
        let expected = payload.len() as u64;
        let wrong_length = |found| Err(CodecError::PayloadLength { codec, expected, found });
        // SAFETY: the library writes only payload bytes, so all of `payload` stays initialised.
        let room = unsafe { &mut *(std::ptr::from_mut(payload) as *mut [MaybeUninit<u8>]) };
        match self.decompress_into(stored, room)? {
            Decompressed::Whole { consumed, produced } if produced as u64 == expected => Ok(consumed),
            Decompressed::Whole { produced, .. } => wrong_length(FoundLength::Exactly(produced as u64)),
            Decompressed::DoesNotFit => wrong_length(FoundLength::More),
        }
    }

    /// Decodes the stream at the start of `stored` and appends its payload to `payload`, unless that has more than
    /// `room` bytes.
    fn append(&mut self, stored: &[u8], room: usize, payload: &mut Vec<u8>) -> Result<Decompressed, CodecError> {
        reserve(payload, room, STREAM)?;
        let spare = payload.spare_capacity_mut();
        let spare = spare.get_mut(..room).unwrap_or_default();
        let decompressed = self.decompress_into(stored, spare)?;
        if let Decompressed::Whole { produced, .. } = decompressed {
            // SAFETY: `produced` is at most `room`, and that many bytes past the old end are now initialised.
            unsafe { payload.set_len(payload.len() + produced) };
        }
        Ok(decompressed)
    }

    /// Decodes the stream at the start of `stored` into `room`, if its payload fits. The first `produced` bytes of
    /// `room` are then initialised.
    fn decompress_into(&mut self, stored: &[u8], room: &mut [MaybeUninit<u8>]) -> Result<Decompressed, CodecError> {
        let (mut consumed, mut produced) = (0, 0);
        let decompress = match self.wrapping {
            Wrapping::Zlib => sys::libdeflate_zlib_decompress_ex,
            Wrapping::None => sys::libdeflate_deflate_decompress_ex,
        };
        // SAFETY: both buffers are valid for the lengths passed with them, one for reads and one for writes, and
        // do not overlap. The two counters are valid for writes.
        let result = unsafe {
            decompress(
                self.context.as_ptr(),
                stored.as_ptr().cast(),
                stored.len(),
                room.as_mut_ptr().cast(),
                room.len(),
                &mut consumed,
                &mut produced,
            )
        };
        match result {
            sys::libdeflate_result_LIBDEFLATE_SUCCESS => Ok(Decompressed::Whole { consumed, produced }),
            sys::libdeflate_result_LIBDEFLATE_INSUFFICIENT_SPACE => Ok(Decompressed::DoesNotFit),
            _ => Err(CodecError::Corrupt {
                codec: self.wrapping.name(),
                expected: "a valid stream",
                found: "damaged or truncated data".to_owned(),
            }),
        }
    }
}

impl Drop for Decompressor {
    fn drop(&mut self) {
        // SAFETY: the library allocated the context, and it is freed once.
        unsafe { sys::libdeflate_free_decompressor(self.context.as_ptr()) };
    }
}

fn no_context() -> CodecError {
    CodecError::Implementation { codec: "libdeflate", message: "no context could be allocated".to_owned() }
}

/// libdeflate at one level, with stock zlib for what it cannot do.
pub(crate) struct Libdeflate {
    level: i32,
    compressor: Option<Compressor>,
    decompressor: Option<Decompressor>,
    zlib: Zlib,
}

impl Libdeflate {
    /// Creates a codec at `level`, which is 1 to 12. Contexts are made when first used.
    pub(crate) fn new(level: i32) -> Self {
        // The levels 1 to 9 are those of zlib, which has no higher ones.
        let zlib_level = level.clamp(1, 9).unsigned_abs();
        Libdeflate { level, compressor: None, decompressor: None, zlib: Zlib::new(zlib_level) }
    }

    fn decompressor(&mut self) -> Result<&mut Decompressor, CodecError> {
        Ok(match &mut self.decompressor {
            Some(decompressor) => decompressor,
            none => none.insert(Decompressor::new(Wrapping::Zlib)?),
        })
    }
}

/// The ratio of payload length to stored length for which room is made at once. No stream has a ratio above 1032, and
/// few have one above this.
const USUAL_EXPANSION: usize = 32;

/// The initial room for the payload of `stored_len` bytes, in a buffer that already has room for `spare` bytes. It is
/// at most the limit.
fn first_room(stored_len: usize, spare: usize, limit: usize) -> usize {
    stored_len.saturating_mul(USUAL_EXPANSION).max(spare).min(limit)
}

impl OpenEnded for Libdeflate {
    /// Starts again with twice the room while the payload does not fit. Room that the buffer already has costs nothing,
    /// so this is rare with a buffer that is reused.
    fn decode_to_end(&mut self, stored: &[u8], limit: usize, payload: &mut Vec<u8>) -> Result<usize, CodecError> {
        let decompressor = self.decompressor()?;
        let mut room = first_room(stored.len(), payload.capacity() - payload.len(), limit);
        loop {
            if let Decompressed::Whole { consumed, produced } = decompressor.append(stored, room, payload)? {
                expect_all_taken(STREAM, consumed as u64, stored.len() as u64)?;
                return Ok(produced);
            }
            room = doubled_room(room, limit).ok_or_else(|| too_long(STREAM, limit))?;
        }
    }
}

impl Codec for Libdeflate {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn encode(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<usize, CodecError> {
        let compressor = match &mut self.compressor {
            Some(compressor) => compressor,
            none => none.insert(Compressor::new(self.level)?),
        };
        compressor.compress(payload, out)
    }

    fn decode(&mut self, stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError> {
        self.decompressor()?.decompress(stored, payload, STREAM)
    }

    fn set_checksum(&mut self, _carried: bool) {}

    by_stock_zlib!("libdeflate", zlib);
}
