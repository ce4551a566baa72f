//! Reads and writes configuration files by system calls, to bypass the functions that replace the C library's.

use std::{
    ffi::{CStr, CString},
    io,
};

use libc::{c_int, c_void};

/// The longest configuration that is read, in bytes.
const LONGEST: usize = 1 << 20;

/// An open file, which is closed on drop.
pub(super) struct File(c_int);

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: the descriptor is open and owned by this value.
        unsafe { libc::close(self.0) };
    }
}

/// A file's content, permissions and identity.
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    pub(super) mode: libc::mode_t,
    pub(super) identity: Identity,
}

/// What identifies a file whatever its name: device and inode.
pub(super) type Identity = (libc::dev_t, libc::ino_t);

fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

impl File {
    /// Opens `path`, which starts from `folder` if it is relative.
    pub(super) fn open(folder: c_int, path: &CStr, flags: c_int) -> io::Result<Self> {
        let flags = flags | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
        // SAFETY: a C string, and numbers.
        let opened = checked(unsafe { libc::syscall(libc::SYS_openat, folder, path.as_ptr(), flags, 0) })?;
        Ok(File(c_int::try_from(opened).map_err(io::Error::other)?))
    }

    /// Makes a new file in memory.
    fn in_memory(name: &CStr) -> io::Result<Self> {
        // SAFETY: a C string, and a number.
        let made = checked(unsafe { libc::syscall(libc::SYS_memfd_create, name.as_ptr(), libc::MFD_CLOEXEC) })?;
        Ok(File(c_int::try_from(made).map_err(io::Error::other)?))
    }

    /// Reads the content of a regular file of at most [`LONGEST`] bytes.
    pub(super) fn content(&self) -> io::Result<Content> {
        // SAFETY: an open file, and room for the answer.
        let stat = stat_by(|stat| unsafe { libc::fstat(self.0, stat) })?;
        let len = usize::try_from(stat.st_size).map_err(io::Error::other)?;
        if stat.st_mode & libc::S_IFMT != libc::S_IFREG || len > LONGEST {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut bytes = vec![0; len];
        let mut filled = 0;
        while filled < len {
            let rest = &mut bytes[filled..];
            // SAFETY: an open file, and room for that many bytes.
            let count = unsafe { libc::syscall(libc::SYS_read, self.0, rest.as_mut_ptr(), rest.len()) };
            match usize::try_from(checked(count)?) {
                Ok(0) | Err(_) => break,
                Ok(count) => filled += count,
            }
        }
        bytes.truncate(filled);
        Ok(Content { bytes, mode: stat.st_mode & 0o7777, identity: (stat.st_dev, stat.st_ino) })
    }

    /// Writes all of `bytes`.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            // SAFETY: an open file, and that many bytes.
            let count = unsafe { libc::syscall(libc::SYS_write, self.0, rest.as_ptr().cast::<c_void>(), rest.len()) };
            let count = usize::try_from(checked(count)?).map_err(io::Error::other)?;
            rest = rest.get(count..).unwrap_or_default();
        }
        Ok(())
    }

    /// Gives up ownership of the descriptor.
    pub(super) fn into_descriptor(self) -> c_int {
        let descriptor = self.0;
        std::mem::forget(self);
        descriptor
    }
}

/// The result of `call`, one of the `stat` functions.
fn stat_by(call: impl FnOnce(&mut libc::stat) -> c_int) -> io::Result<libc::stat> {
    // SAFETY: the fields are integers, for which zero is valid.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    checked(call(&mut stat).into())?;
    Ok(stat)
}

/// Replaces the content of the file at `path` with `bytes`. The path starts from `folder` if it is relative; `mode` is
/// the file's mode.
pub(super) fn replace(folder: c_int, path: &CStr, mode: libc::mode_t, bytes: &[u8]) -> io::Result<()> {
    let open = || File::open(folder, path, libc::O_WRONLY | libc::O_TRUNC);
    let change = |mode| {
        // SAFETY: a C string, and numbers.
        checked(unsafe { libc::fchmodat(folder, path.as_ptr(), mode, 0) }.into()).map(drop)
    };
    match open() {
        // git gives the new configuration the permissions of the old one before it renames it.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            change(mode | libc::S_IWUSR)?;
            open()?.write(bytes)?;
            change(mode)
        }
        opened => opened?.write(bytes),
    }
}

/// The identity of the file at `path`, which starts from `folder` if it is relative.
pub(super) fn identity(folder: c_int, path: &CStr) -> Option<Identity> {
    // SAFETY: a C string, numbers, and room for the answer.
    let stat = stat_by(|stat| unsafe { libc::fstatat(folder, path.as_ptr(), stat, 0) });
    stat.ok().map(|stat| (stat.st_dev, stat.st_ino))
}

/// Whether `path`, which starts from `folder` if it is relative, exists. A dangling link counts.
pub(super) fn exists(folder: c_int, path: &[u8]) -> bool {
    let Ok(path) = CString::new(path) else { return false };
    // SAFETY: a C string, numbers, and room for the answer.
    stat_by(|stat| unsafe { libc::fstatat(folder, path.as_ptr(), stat, libc::AT_SYMLINK_NOFOLLOW) }).is_ok()
}

/// Makes a file in memory with this content, positioned at its start.
pub(super) fn in_memory(name: &CStr, content: &Content) -> io::Result<File> {
    let file = File::in_memory(name)?;
    file.write(&content.bytes)?;
    // SAFETY: an open file, and numbers.
    unsafe {
        checked(libc::lseek64(file.0, 0, libc::SEEK_SET))?;
        checked(libc::fchmod(file.0, content.mode).into())?;
    }
    Ok(file)
}
