//! Chunks of ours, which the library with the codecs decodes.

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

/// A decoder of the codecs' library. Its contexts are dear: it is kept as long as the state that it belongs to.
#[derive(Clone, Copy)]
pub(super) struct Decoder {
    codecs: &'static Codecs,
    decoder: *mut c_void,
    /// The dictionaries that it knows.
    tables: Option<DictionarySet>,
}

impl Decoder {
    /// None where there is no memory for it.
    fn open(codecs: &'static Codecs, tables: Option<DictionarySet>) -> Option<Self> {
        // SAFETY: null, or what the codecs gave.
        let decoder = unsafe { (codecs.open)(tables.map_or(ptr::null(), |tables| tables.0)) };
        (!decoder.is_null()).then_some(Decoder { codecs, decoder, tables })
    }

    pub(super) fn close(self) {
        // SAFETY: open, and its owner has forgotten it.
        unsafe { (self.codecs.close)(self.decoder) }
    }
}

impl InflateStream {
    /// # Safety
    /// As for [`inflate`](Self::inflate).
    pub(super) unsafe fn begin_chunk(&mut self, caller: &mut ZStream, flush: c_int) -> c_int {
        let Some(codecs) = codecs() else {
            caller.msg = c"repackbench: the library with the codecs cannot be loaded".as_ptr();
            self.phase = Phase::Failed;
            return DATA_ERROR;
        };
        if start::accepts_only_zlib() {
            caller.msg = c"repackbench: not zlib, and the repository that it is for is no variant".as_ptr();
            self.phase = Phase::Failed;
            return DATA_ERROR;
        }
        let begins = matches!(self.phase, Phase::New) && caller.avail_in != 0;
        // SAFETY: a stream that begins here has its first byte here.
        let needs_tables = begins && needs_dictionary(unsafe { *caller.next_in });
        let tables = if needs_tables { objects::tables_for(caller.next_in) } else { None };
        // Where it cannot be told whose they are, those of the chunk before are as wrong as any.
        if needs_tables && let Some(other) = self.decoder.take_if(|decoder| decoder.tables != tables) {
            other.close();
        }
        let Some(decoder) = self.decoder.or_else(|| Decoder::open(codecs, tables)) else { return MEM_ERROR };
        self.decoder = Some(decoder);
        if let Phase::FirstByteOfMagic = self.phase {
            // SAFETY: a new decoder, one byte, and no room.
            unsafe { (codecs.step)(decoder.decoder, ZSTD_MAGIC.as_ptr(), 1, ptr::null_mut(), 0) };
        }
        self.phase = Phase::Ours;
        // SAFETY: as the caller vouches.
        unsafe { self.inflate_chunk(caller, flush) }
    }

    /// # Safety
    /// As for [`inflate`](Self::inflate).
    pub(super) unsafe fn inflate_chunk(&mut self, caller: &mut ZStream, flush: c_int) -> c_int {
        let Some(decoder) = self.decoder else { return DATA_ERROR };
        let (bytes, room) = (caller.avail_in as usize, caller.avail_out as usize);
        // SAFETY: the decoder is open, and the caller vouches for bytes and room.
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

    /// Lets the decoder forget what it was about, and what it took much memory for.
    pub(super) fn reset_decoder(&mut self) {
        if let (Phase::Ours, Some(Decoder { codecs, decoder, .. })) = (self.phase, self.decoder) {
            // SAFETY: open.
            unsafe { (codecs.restart)(decoder) };
            self.phase = Phase::New;
        }
    }
}
