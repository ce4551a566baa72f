//! Whether the new files find room beside the old ones.

use std::{io, path::Path};

use nix::sys::statvfs::statvfs;

use crate::{Result, WriterError};

/// Fails unless the file system of `folder` has room for `bytes`. The new files may take more than that under a worse
/// codec: then the conversion stops before it replaces anything.
pub(super) fn check(folder: &Path, bytes: u64) -> Result<()> {
    let found = statvfs(folder).map_err(|e| WriterError::io("inspect", folder, e.into()))?;
    #[allow(clippy::useless_conversion, reason = "the width of the numbers differs between systems")]
    let free = u64::from(found.blocks_available()).saturating_mul(u64::from(found.fragment_size()));
    if free >= bytes {
        return Ok(());
    }
    let why = format!("the old and the new files need about {bytes} more bytes, but only {free} are free");
    Err(WriterError::io("convert in place in", folder, io::Error::new(io::ErrorKind::StorageFull, why)))
}
