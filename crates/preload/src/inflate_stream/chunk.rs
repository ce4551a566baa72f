//! Decodes chunks of ours with the codecs' library.

use std::ptr;

use libc::{c_int, c_void};
use repackbench_preload_abi::{BUF_ERROR, Codecs, DATA_ERROR, FINISH, MEM_ERROR, OK, STREAM_END, ZStream};

use super::{
    InflateStream, Phase, advance,
    first_bytes::{ZSTD_MAGIC, needs_dictionary},
};
use crate::{
    codecs::codecs,
    objects::{self, DictionarySet},
    start,
};

/// A decoder of the codecs' library. Its contexts are expensive to make, so it is kept as long as the state that it
/// belongs to.
#[derive(Clone, Copy)]
pub(super) struct Decoder {
    codecs: &'static Codecs,
    decoder: *mut c_void,
    /// The dictionaries that it was opened with.
    dictionaries: Option<DictionarySet>,
}

impl Decoder {
    /// Opens a decoder; `None` if there is not enough memory.
    fn open(codecs: &'static Codecs, dictionaries: Option<DictionarySet>) -> Option<Self> {
        // SAFETY: null, or a handle from the codecs.
        let decoder = unsafe { (codecs.open)(dictionaries.map_or(ptr::null(), |dictionaries| dictionaries.0)) };
        (!decoder.is_null()).then_some(Decoder { codecs, decoder, dictionaries })
    }

    pub(super) fn close(self) {
        // SAFETY: open, and its owner no longer refers to it.
        unsafe { (self.codecs.close)(self.decoder) }
    }
}

impl InflateStream {
    /// Begins to read a chunk of ours.
    ///
    /// # Safety
    /// As for [`inflate`](Self::inflate).
    pub(super) unsafe fn begin_chunk(&mut self, caller: &mut ZStream, flush: c_int) -> c_int {
        let Some(codecs) = codecs() else {
            caller.msg = c"repackbench: the library with the codecs cannot be loaded".as_ptr();
            self.phase = Phase::Failed;
            return DATA_ERROR;
        };
        if start::accepts_only_zlib() {
            caller.msg =
                c"repackbench: not a zlib stream, and the repository that receives it is not a variant".as_ptr();
            self.phase = Phase::Failed;
            return DATA_ERROR;
        }
        let begins = matches!(self.phase, Phase::New) && caller.avail_in != 0;
        // SAFETY: there is at least one byte, the first of the stream.
        let needs_dictionary = begins && needs_dictionary(unsafe { *caller.next_in });
        let dictionaries = if needs_dictionary { objects::dictionaries_for(caller.next_in) } else { None };
        // If the right dictionaries are not known, those of the previous chunk must not be used either.
        if needs_dictionary && let Some(other) = self.decoder.take_if(|decoder| decoder.dictionaries != dictionaries) {
            other.close();
        }
        let Some(decoder) = self.decoder.or_else(|| Decoder::open(codecs, dictionaries)) else { return MEM_ERROR };
        self.decoder = Some(decoder);
        if let Phase::FirstByteOfMagic = self.phase {
            // SAFETY: a new decoder, one byte of input, and no output room.
            unsafe { (codecs.step)(decoder.decoder, ZSTD_MAGIC.as_ptr(), 1, ptr::null_mut(), 0) };
        }
        self.phase = Phase::Ours;
        // SAFETY: the caller guarantees it.
        unsafe { self.inflate_chunk(caller, flush) }
    }

    /// Goes on with a chunk of ours.
    ///
    /// # Safety
    /// As for [`inflate`](Self::inflate).
    pub(super) unsafe fn inflate_chunk(&mut self, caller: &mut ZStream, flush: c_int) -> c_int {
        let Some(decoder) = self.decoder else { return DATA_ERROR };
        let (bytes, room) = (caller.avail_in as usize, caller.avail_out as usize);
        // SAFETY: the decoder is open; the caller guarantees input and output room.
        let step = unsafe { (decoder.codecs.step)(decoder.decoder, caller.next_in, bytes, caller.next_out, room) };
        advance(caller, &step);
        match step.code {
            OK if flush == FINISH || step.consumed == 0 && step.produced == 0 => BUF_ERROR,
            OK => OK,
            code => {
                self.reset_decoder();
                self.phase = if code == STREAM_END { Phase::Ended } else { Phase::Failed };
                caller.msg = step.message;
                code
            }
        }
    }

    /// Resets the decoder if a chunk is under way; it then gives back large buffers.
    pub(super) fn reset_decoder(&mut self) {
        if let (Phase::Ours, Some(Decoder { codecs, decoder, .. })) = (self.phase, self.decoder) {
            // SAFETY: open.
            unsafe { (codecs.restart)(decoder) };
            self.phase = Phase::New;
        }
    }
}
