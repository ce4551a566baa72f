//! The native half of the Mercurial extension: revlog chunks under this project's codecs, as a Python module.
//!
//! Mercurial asks a *compressor* object for chunks and payloads, one call each; `Compressor` is that object for any
//! codec spec, so that every codec is timed through the same binding. It is a thin layer over `repackbench_codec`: the
//! argument's bytes are read where they lie, and the result is copied once, into the `bytes` object that Python gets.
//!
//! The module is `_native`, beside `repackbench/__init__.py`, which knows Mercurial. Nothing of Mercurial is linked or
//! named here.

#![deny(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod buffer;
mod compressor;

use pyo3::prelude::*;
use repackbench_codec::{Algorithm, CodecSpec, RevlogEngine};

/// The name under which Mercurial knows an engine.
fn engine_name(engine: RevlogEngine) -> &'static str {
    match engine {
        RevlogEngine::Zlib => "zlib",
        RevlogEngine::Zstd => "zstd",
        RevlogEngine::None => "none",
        RevlogEngine::Lz4 => "lz4",
        RevlogEngine::Tagged(algorithm) => algorithm.name(),
    }
}

/// Revlog chunks under repackbench's codecs.
#[pymodule(name = "_native")]
mod native {
    use pyo3::exceptions::PyValueError;

    use super::*;

    #[pymodule_export]
    use super::compressor::Compressor;

    /// The version of repackbench.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// The name of the Mercurial compression engine that a codec spec is written with. ValueError, with what would be
    /// valid, for anything that is not a codec spec.
    #[pyfunction]
    fn engine_of(spec: &str) -> PyResult<&'static str> {
        let spec: CodecSpec = spec.parse().map_err(|error| PyValueError::new_err(format!("{error}")))?;
        Ok(engine_name(spec.revlog_engine()))
    }

    /// Every codec: its name, its levels in words, the library that serves it, and Mercurial's name of its engine.
    #[pyfunction]
    fn codecs() -> Vec<(&'static str, String, String, &'static str)> {
        repackbench_codec::catalogue()
            .into_iter()
            .map(|codec| {
                let levels = codec.levels.map_or("none".to_owned(), |levels| levels.to_string());
                let engine = engine_name(CodecSpec::of(codec.algorithm).revlog_engine());
                (codec.name, levels, implementation(codec.algorithm), engine)
            })
            .collect()
    }
}

/// The library that serves a codec, with its version.
fn implementation(algorithm: Algorithm) -> String {
    let mut codecs = repackbench_codec::catalogue().into_iter();
    let codec = codecs.find(|codec| codec.algorithm == algorithm);
    codec.map_or_else(String::new, |codec| format!("{} {}", codec.implementation, codec.version))
}
