//! Bytes in and out of Python without a needless copy.
//!
//! Mercurial hands over `bytes`, or a `memoryview` of a larger read; the latter would have to be copied to become `bytes`, for
//! every chunk of a delta chain. The buffer protocol lends the memory itself, as it does to Python's own zlib. PyO3 offers
//! that protocol to modules for Python 3.11 and later only, where it joined the stable ABI, so the few declarations are here.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// `Py_buffer` of CPython's `Include/pybuffer.h`: the same members in the same order from 3.0 on, and frozen since 3.11, when
/// it became part of the stable ABI.
#[repr(C)]
struct RawBuffer {
    buf: *mut c_void,
    obj: *mut ffi::PyObject,
    len: ffi::Py_ssize_t,
    itemsize: ffi::Py_ssize_t,
    readonly: c_int,
    ndim: c_int,
    format: *mut c_char,
    shape: *mut ffi::Py_ssize_t,
    strides: *mut ffi::Py_ssize_t,
    suboffsets: *mut ffi::Py_ssize_t,
    internal: *mut c_void,
}

/// `PyBUF_SIMPLE`: contiguous bytes, not to be written to.
const CONTIGUOUS_BYTES: c_int = 0;

// SAFETY: both functions are exported by every CPython 3 with these signatures (`Include/abstract.h`, `Include/pybuffer.h`).
unsafe extern "C" {
    fn PyObject_GetBuffer(object: *mut ffi::PyObject, view: *mut RawBuffer, flags: c_int) -> c_int;
    fn PyBuffer_Release(view: *mut RawBuffer);
}

/// Memory that an object lends; given back when this is dropped.
struct Lent(RawBuffer);

impl Lent {
    fn by(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut raw = RawBuffer {
            buf: ptr::null_mut(),
            obj: ptr::null_mut(),
            len: 0,
            itemsize: 0,
            readonly: 0,
            ndim: 0,
            format: ptr::null_mut(),
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            suboffsets: ptr::null_mut(),
            internal: ptr::null_mut(),
        };
        // SAFETY: `object` is alive and the thread holds the interpreter, which `Bound` witnesses; `raw` is writable.
        match unsafe { PyObject_GetBuffer(object.as_ptr(), &raw mut raw, CONTIGUOUS_BYTES) } {
            0 => Ok(Lent(raw)),
            _ => Err(PyErr::fetch(object.py())),
        }
    }

    fn bytes(&self) -> &[u8] {
        match usize::try_from(self.0.len) {
            // SAFETY: a successful `PyObject_GetBuffer` with `PyBUF_SIMPLE` promises `len` contiguous readable bytes at `buf`
            // until the release. Nobody writes to them meanwhile: no Python code runs while the slice lives (see
            // `with_bytes`), and the interpreter lock keeps other threads out.
            Ok(len) if len > 0 && !self.0.buf.is_null() => unsafe {
                std::slice::from_raw_parts(self.0.buf.cast_const().cast(), len)
            },
            _ => &[],
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // SAFETY: filled by a successful `PyObject_GetBuffer` and released once, here. The thread still holds the interpreter:
        // a `Lent` never leaves `with_bytes`, whose argument witnesses it.
        unsafe { PyBuffer_Release(&raw mut self.0) };
    }
}

/// Calls `work` with the bytes of a `bytes` object, or of any object that lends contiguous memory. `work` gets no handle to the
/// interpreter, so it runs no Python code. TypeError for other objects.
pub(crate) fn with_bytes<T>(object: &Bound<'_, PyAny>, work: impl FnOnce(&[u8]) -> T) -> PyResult<T> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(work(bytes.as_bytes()));
    }
    let lent = Lent::by(object)?;
    Ok(work(lent.bytes()))
}

/// A new `bytes` object; MemoryError where PyO3's own constructor would panic.
pub(crate) fn new_bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let len = ffi::Py_ssize_t::try_from(bytes.len())?;
    // SAFETY: `bytes` is readable for `len` bytes; the result is a new reference to a `bytes` object, or null with an
    // exception set.
    unsafe {
        let object = ffi::PyBytes_FromStringAndSize(bytes.as_ptr().cast(), len);
        Ok(Bound::from_owned_ptr_or_err(py, object)?.cast_into_unchecked())
    }
}
