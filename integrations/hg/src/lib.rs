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
use repackbench_codec::{Algorithm, CodecSpec};

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
        check_spec(&spec).map_err(PyValueError::new_err)?;
        Ok(spec.revlog_engine().name())
    }

    /// The compression engines that Mercurial does not have: name, and first byte of the chunks. Each is listed once,
    /// however many codecs write with it.
    #[pyfunction]
    fn engines() -> Vec<(&'static str, u8)> {
        let mut engines: Vec<(&'static str, u8)> = Vec::new();
        for codec in repackbench_codec::catalogue() {
            let engine = CodecSpec::of(codec.algorithm).revlog_engine();
            if let Some(header) = engine.header().filter(|_| !engine.is_hgs_own())
                && !engines.contains(&(engine.name(), header))
            {
                engines.push((engine.name(), header));
            }
        }
        engines
    }

    /// Every codec: its name, its levels in words, the library that serves it, and Mercurial's name of its engine.
    #[pyfunction]
    fn codecs() -> Vec<(&'static str, String, String, &'static str)> {
        repackbench_codec::catalogue()
            .into_iter()
            .map(|codec| {
                let levels = codec.levels.map_or("none".to_owned(), |levels| levels.to_string());
                let engine = CodecSpec::of(codec.algorithm).revlog_engine().name();
                (codec.name, levels, implementation(codec.algorithm), engine)
            })
            .collect()
    }
}

/// Why Mercurial cannot write under a spec; an engine is asked for chunks, and not told whose they are.
fn check_spec(spec: &CodecSpec) -> Result<(), String> {
    let cannot = if spec.kinds().next().is_some() {
        "a codec for each kind of payload"
    } else if spec.uses_dictionaries() {
        "dictionaries"
    } else if spec.uses_bases() {
        "prefix and patch"
    } else {
        return Ok(());
    };
    Err(format!("{spec}: {cannot}: `repackbench convert` writes that, Mercurial does not"))
}

/// The library that serves a codec, with its version.
fn implementation(algorithm: Algorithm) -> String {
    let mut codecs = repackbench_codec::catalogue().into_iter();
    let codec = codecs.find(|codec| codec.algorithm == algorithm);
    codec.map_or_else(String::new, |codec| format!("{} {}", codec.implementation, codec.version))
}
