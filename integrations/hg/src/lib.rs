//! The native half of the Mercurial extension: a Python module that encodes and decodes revlog chunks with this
//! project's codecs.
//!
//! Mercurial calls a *compressor* object once for each chunk or payload. `Compressor` is that object for any codec
//! spec, so that every codec is timed through the same binding. It is a thin layer over `repackbench_codec`: it reads
//! the argument's bytes in place and copies the result once, into Python's `bytes` object.
//!
//! The module `_native` is beside `repackbench/__init__.py`, which contains everything about Mercurial. This half
//! neither links nor mentions any part of Mercurial.

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

    /// The name of the Mercurial compression engine of a codec spec. An invalid spec is a ValueError that says what
    /// would be valid.
    #[pyfunction]
    fn engine_of(spec: &str) -> PyResult<&'static str> {
        let spec: CodecSpec = spec.parse().map_err(|error| PyValueError::new_err(format!("{error}")))?;
        check_spec(&spec).map_err(PyValueError::new_err)?;
        Ok(spec.revlog_engine().name())
    }

    /// The compression engines that Mercurial lacks, each once, with the first byte of its chunks.
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

    /// Every codec: its name, a description of its levels, its library, and the name of its Mercurial engine.
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

/// Checks that Mercurial can write with a spec. An engine receives payloads without their kind, base or repository.
fn check_spec(spec: &CodecSpec) -> Result<(), String> {
    let cannot = if spec.kinds().next().is_some() {
        "a codec for each kind of payload"
    } else if spec.uses_dictionaries() {
        "dictionaries"
    } else if spec.uses_bases() {
        "prefix and patch"
    } else if spec.uses_numbers() {
        "numbers of objects"
    } else {
        return Ok(());
    };
    Err(format!("{spec}: {cannot}: `repackbench convert` can write that, Mercurial cannot"))
}

/// The library of a codec, with its version.
fn implementation(algorithm: Algorithm) -> String {
    let mut codecs = repackbench_codec::catalogue().into_iter();
    let codec = codecs.find(|codec| codec.algorithm == algorithm);
    codec.map_or_else(String::new, |codec| format!("{} {}", codec.implementation, codec.version))
}
