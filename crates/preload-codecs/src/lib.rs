//! The codecs of the stand-in for zlib, in a library of their own.
//!
//! The library contains several zlibs, whose functions have the names that the stand-in exports, and hides them. It
//! exports one function, [`repackbench_preload_codecs`], which returns a table of the others. No panic leaves them.

#![deny(unsafe_op_in_unsafe_fn)]

mod decoder;
mod dictionaries;
mod encoder;
mod libdeflate;
#[cfg(feature = "zlib-ng")]
mod zlib_ng;
mod zlibs;

use std::{io::Write, sync::OnceLock};

use repackbench_preload_abi::{ABI_VERSION, Codecs};

/// The table of functions, made on first use.
static CODECS: OnceLock<Option<Codecs>> = OnceLock::new();

fn codecs() -> Option<Codecs> {
    Some(Codecs {
        abi_version: ABI_VERSION,
        dictionaries: dictionaries::read,
        open: decoder::open,
        restart: decoder::restart,
        step: decoder::step,
        close: decoder::close,
        libdeflate: libdeflate::decode,
        dictionary: dictionaries::with_adler32,
        #[cfg(feature = "zlib-ng")]
        zlib_ng: Some(zlib_ng::functions()?),
        #[cfg(not(feature = "zlib-ng"))]
        zlib_ng: None,
        stock: zlibs::stock()?,
        zlib_rs: zlibs::zlib_rs()?,
        writer: encoder::writer,
        open_payload: encoder::open,
        restart_payload: encoder::restart,
        append: encoder::append,
        collected: encoder::collected,
        encode: encoder::encode,
        close_payload: encoder::close,
    })
}

/// Prints to stderr what no return code can express. A failure to print is ignored, since it cannot be reported.
fn complain(message: &str) {
    let _ = writeln!(std::io::stderr(), "repackbench: {message}");
}

/// Returns the table of functions, which is never freed. Null if it cannot be made.
#[unsafe(no_mangle)]
pub extern "C" fn repackbench_preload_codecs() -> *const Codecs {
    CODECS.get_or_init(codecs).as_ref().map_or(std::ptr::null(), std::ptr::from_ref)
}
