//! Decodes zlib streams with libdeflate, which needs the whole stream at once.

use std::{cell::RefCell, ptr};

use libdeflate_sys::{
    libdeflate_alloc_decompressor, libdeflate_decompressor, libdeflate_free_decompressor,
    libdeflate_result_LIBDEFLATE_SUCCESS, libdeflate_zlib_decompress_ex,
};
use repackbench_preload_abi::{BUF_ERROR, Progress, STREAM_END};

/// A context of libdeflate, freed when its thread ends.
struct Context(*mut libdeflate_decompressor);

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the pointer is null, which is allowed, or from libdeflate_alloc_decompressor and freed nowhere else.
        unsafe { libdeflate_free_decompressor(self.0) }
    }
}

thread_local! {
    static CONTEXT: RefCell<Option<Context>> = const { RefCell::new(None) };
}

/// See [`Codecs::libdeflate`](repackbench_preload_abi::Codecs). After any failure, another zlib decodes the stream and
/// reports the error.
///
/// # Safety
/// The input and the output room must be as long as the lengths say.
pub(crate) unsafe extern "C" fn decode(
    input: *const u8,
    input_len: usize,
    output: *mut u8,
    output_len: usize,
) -> Progress {
    let not_whole = Progress { consumed: 0, produced: 0, code: BUF_ERROR, message: ptr::null() };
    let decoded = CONTEXT.try_with(|context| {
        let mut context = context.borrow_mut();
        // SAFETY: the function takes no arguments and returns a context or null.
        let context = context.get_or_insert_with(|| Context(unsafe { libdeflate_alloc_decompressor() }));
        if context.0.is_null() {
            return not_whole;
        }
        let (mut consumed, mut produced) = (0, 0);
        // SAFETY: the context is valid and belongs to this thread; the caller guarantees input and output room; the
        // counters are ours.
        let code = unsafe {
            libdeflate_zlib_decompress_ex(
                context.0,
                input.cast(),
                input_len,
                output.cast(),
                output_len,
                &mut consumed,
                &mut produced,
            )
        };
        match code == libdeflate_result_LIBDEFLATE_SUCCESS {
            true => Progress { consumed, produced, code: STREAM_END, message: ptr::null() },
            false => not_whole,
        }
    });
    decoded.unwrap_or(not_whole)
}
