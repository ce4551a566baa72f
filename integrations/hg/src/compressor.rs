//! The object that Mercurial's revlogs call for each chunk.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use repackbench_codec::{CodecError, CodecSpec, RevlogDecoder, RevlogEncoder};

use crate::buffer::{new_bytes, with_bytes};

/// The longest payload of a revlog chunk, in bytes: revlog entries store the length as a signed 32-bit number.
const LONGEST_PAYLOAD: usize = i32::MAX as usize;

/// A scratch buffer of more than this many bytes is freed at the next call.
const KEPT_SCRATCH: usize = 16 << 20;

/// The first bytes of uncompressed chunks, which Mercurial writes itself.
const RAW_HEADERS: [u8; 2] = [b'u', 0];

/// Encodes and decodes revlog chunks under one codec spec.
///
/// `Compressor(spec, error)` takes a codec spec such as "zstd:5", and the exception type for chunks that cannot be
/// decoded, which gets one `bytes` message. Contexts and buffers are reused from call to call. Calls keep the
/// interpreter lock.
#[pyclass(module = "repackbench._native")]
pub(crate) struct Compressor {
    spec: CodecSpec,
    error: Py<PyType>,
    /// The mutex is never locked, because calls have exclusive access to the object. It only makes the contexts, which
    /// are `Send`, also `Sync`, as Python objects must be. Boxed, because contexts may need more alignment than
    /// Python's allocator gives.
    contexts: Mutex<Box<Contexts>>,
    /// The number of successful calls of `decompress`.
    #[pyo3(get)]
    decoded: u64,
    /// The number of calls of `compress` that returned a chunk; payloads that stay raw do not count.
    #[pyo3(get)]
    encoded: u64,
}

// Python allocates its objects with the alignment of C's largest scalar type.
const _: () = assert!(align_of::<Compressor>() <= 16);

/// The contexts and the buffer that are reused from call to call.
struct Contexts {
    encoder: RevlogEncoder,
    decoder: RevlogDecoder,
    scratch: Vec<u8>,
}

#[pymethods]
impl Compressor {
    #[new]
    fn new(spec: &str, error: Py<PyType>) -> PyResult<Self> {
        let spec: CodecSpec = spec.parse().map_err(|error| PyValueError::new_err(format!("{error}")))?;
        crate::check_spec(&spec).map_err(PyValueError::new_err)?;
        let fails = |error: CodecError| PyValueError::new_err(format!("{error}"));
        let contexts = Contexts {
            encoder: RevlogEncoder::new(&spec).map_err(fails)?,
            decoder: RevlogDecoder::for_spec(&spec),
            scratch: Vec::new(),
        };
        Ok(Compressor { spec, error, contexts: Mutex::new(Box::new(contexts)), decoded: 0, encoded: 0 })
    }

    /// The codec spec as given.
    #[getter]
    fn spec(&self) -> String {
        self.spec.to_string()
    }

    /// The library that `compress` calls, with its version.
    #[getter]
    fn writer(&self) -> String {
        crate::implementation(self.spec.algorithm())
    }

    /// The library that `decompress` calls for the spec's own chunks, with its version.
    #[getter]
    fn reader(&self) -> String {
        crate::implementation(self.spec.algorithm())
    }

    /// Encodes a payload into a chunk, including its header. None if the payload is better stored raw.
    #[pyo3(signature = (payload, /))]
    fn compress<'py>(&mut self, payload: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let Contexts { encoder, scratch, .. } = self.fresh_contexts();
        let encoded = with_bytes(payload, |payload| encoder.encode(payload, scratch))?;
        encoded.map_err(|error| self.failure(payload.py(), "compress", &error))?;
        let chunk = &self.contexts().scratch;
        let compressed = chunk.first().is_some_and(|header| !RAW_HEADERS.contains(header));
        let result = if compressed { Some(new_bytes(payload.py(), chunk)?) } else { None };
        self.encoded += u64::from(compressed);
        Ok(result)
    }

    /// Decodes a chunk into its payload.
    #[pyo3(signature = (stored, /))]
    fn decompress<'py>(&mut self, stored: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let Contexts { decoder, scratch, .. } = self.fresh_contexts();
        let decoded = with_bytes(stored, |stored| decoder.decode(stored, LONGEST_PAYLOAD, scratch))?;
        decoded.map_err(|error| self.failure(stored.py(), "decompress", &error))?;
        let payload = new_bytes(stored.py(), &self.contexts().scratch)?;
        self.decoded += 1;
        Ok(payload)
    }
}

impl Compressor {
    /// The exception for a failed call, with the wording of Mercurial's own engines.
    fn failure(&self, py: Python<'_>, action: &str, error: &CodecError) -> PyErr {
        let message = format!("revlog {action} error: {error}");
        match self.error.bind(py).call1((PyBytes::new(py, message.as_bytes()),)) {
            Ok(exception) => PyErr::from_value(exception),
            Err(error) => error,
        }
    }

    fn contexts(&mut self) -> &mut Contexts {
        self.contexts.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// The contexts, with an empty scratch buffer.
    fn fresh_contexts(&mut self) -> &mut Contexts {
        let contexts = self.contexts();
        contexts.scratch.clear();
        // The memory for one huge payload must not be kept as long as the repository is open.
        if contexts.scratch.capacity() > KEPT_SCRATCH {
            contexts.scratch = Vec::new();
        }
        contexts
    }
}
