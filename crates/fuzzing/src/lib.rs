//! What the fuzz targets do with their input: read it as hostile data, and check what must hold for every result.
//!
//! The package `fuzz` at the root of the checkout has one program for each of [`TARGETS`], which libFuzzer gives inputs
//! that it makes up. The test `replay` gives the targets the committed inputs on any toolchain: a corpus for each, and
//! every input that has crashed one.
//!
//! | module | targets |
//! |---|---|
//! | [`git`] | packs, indexes, deltas, loose objects, B-trees, tables of refs |
//! | [`hg`] | revlogs, their deltas, requirements, names in a store |
//! | [`codecs`] | chunks, bodies, files, specs |
//! | [`records`] | lines of results |
//! | [`preload`] | the stand-in for zlib |

#![deny(unsafe_code)]

pub mod codecs;
pub mod git;
pub mod hg;
pub mod input;
pub mod preload;
pub mod records;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of its program and of its corpus.
    pub name: &'static str,
    /// Reads an input. It panics if something does not hold that must.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: [Target; 15] = [
    Target { name: "pack", run: git::pack },
    Target { name: "delta", run: delta },
    Target { name: "revlog", run: hg::revlog },
    Target { name: "container", run: codecs::container },
    Target { name: "preload", run: preload::calls },
    Target { name: "index", run: git::index },
    Target { name: "loose", run: git::loose },
    Target { name: "btree", run: git::btree },
    Target { name: "reftable", run: git::reftable },
    Target { name: "requires", run: hg::requires },
    Target { name: "visibility", run: hg::visibility },
    Target { name: "fncache", run: hg::fncache },
    Target { name: "codec", run: codecs::codec },
    Target { name: "spec", run: codecs::spec },
    Target { name: "records", run: records::lines },
];

/// Deltas of Git and of Mercurial, which the first byte tells apart.
pub fn delta(data: &[u8]) {
    match data.split_first() {
        Some((first, rest)) if first & 1 == 0 => git::delta(rest),
        Some((_, rest)) => hg::delta(rest),
        None => {}
    }
}
