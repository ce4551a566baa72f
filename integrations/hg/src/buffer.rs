//! Passes bytes from and to Python without needless copies.
//!
//! Mercurial passes `bytes`, or a `memoryview` of a larger read, which would have to be copied into `bytes` for every
//! chunk of a delta chain. The buffer protocol gives access to the memory itself, as for Python's own zlib. PyO3
//! supports that protocol only for Python 3.11 and later, since when it is part of the stable ABI, so the few
//! declarations are here.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// `Py_buffer` of CPython's `Include/pybuffer.h`. The members and their order are the same since 3.0, and frozen since
/// 3.11, when the type became part of the stable ABI.
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

/// `PyBUF_SIMPLE`: contiguous read-only bytes.
const CONTIGUOUS_BYTES: c_int = 0;

// SAFETY: both functions are exported by every CPython 3 with these signatures (`Include/abstract.h`,
// `Include/pybuffer.h`).
unsafe extern "C" {
    fn PyObject_GetBuffer(object: *mut ffi::PyObject, view: *mut RawBuffer, flags: c_int) -> c_int;
    fn PyBuffer_Release(view: *mut RawBuffer);
}

/// Memory borrowed from a Python object, and released on drop.
struct BorrowedBuffer(RawBuffer);

impl BorrowedBuffer {
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
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
        // SAFETY: `Bound` guarantees that `object` is alive and that the thread holds the interpreter lock; `raw` is
        // writable.
        match unsafe { PyObject_GetBuffer(object.as_ptr(), &raw mut raw, CONTIGUOUS_BYTES) } {
            0 => Ok(BorrowedBuffer(raw)),
            _ => Err(PyErr::fetch(object.py())),
        }
    }

    fn bytes(&self) -> &[u8] {
        match usize::try_from(self.0.len) {
            // SAFETY: a successful `PyObject_GetBuffer` with `PyBUF_SIMPLE` promises `len` contiguous readable bytes at
            // `buf` until the release. They do not change meanwhile: no Python code runs while the slice exists (see
            // `with_bytes`), and the interpreter lock keeps out other threads.
            Ok(len) if len > 0 && !self.0.buf.is_null() => unsafe {
                std::slice::from_raw_parts(self.0.buf.cast_const().cast(), len)
            },
            _ => &[],
        }
    }
}

impl Drop for BorrowedBuffer {
    fn drop(&mut self) {
        // SAFETY: a successful `PyObject_GetBuffer` filled the buffer, and it is released only here. The thread still
        // holds the interpreter lock, because the value never leaves `with_bytes`, whose argument guarantees it.
        unsafe { PyBuffer_Release(&raw mut self.0) };
    }
}

/// Calls `work` with the bytes of a `bytes` object or of any object with contiguous memory. Other objects are a
/// TypeError.
///
/// `work` gets no handle to the interpreter, so it runs no Python code.
pub(crate) fn with_bytes<T>(object: &Bound<'_, PyAny>, work: impl FnOnce(&[u8]) -> T) -> PyResult<T> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(work(bytes.as_bytes()));
    }
    let borrowed = BorrowedBuffer::of(object)?;
    Ok(work(borrowed.bytes()))
}

/// Makes a `bytes` object. Raises MemoryError where PyO3's own constructor would panic.
pub(crate) fn new_bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let len = ffi::Py_ssize_t::try_from(bytes.len())?;
    // SAFETY: `bytes` has `len` readable bytes. The result is a new reference to a `bytes` object, or null with an
    // exception set.
    unsafe {
        let object = ffi::PyBytes_FromStringAndSize(bytes.as_ptr().cast(), len);
        Ok(Bound::from_owned_ptr_or_err(py, object)?.cast_into_unchecked())
    }
}
