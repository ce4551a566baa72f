//! Counts the loose objects that a script left: they show whether its repositories were variants.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::files::failed;
use crate::process::Outcome;

/// The first byte of a loose object that zlib wrote.
const ZLIB: u8 = 0x78;

/// Numbers of loose objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LooseObjects {
    pub(super) all: usize,
    pub(super) not_zlib: usize,
}

impl LooseObjects {
    /// Counts the loose objects in all object stores below `folder`. Unreadable files and folders, which tests leave,
    /// are skipped.
    pub(super) fn below(folder: &Path) -> Outcome<Self> {
        let mut found = LooseObjects::default();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries {
                let entry = entry.map_err(|error| failed(&folder, &error))?;
                let kind = entry.file_type().map_err(|error| failed(&entry.path(), &error))?;
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if kind.is_file() && is_loose(&entry.path()) {
                    found.add(&entry.path());
                }
            }
        }
        Ok(found)
    }

    fn add(&mut self, object: &Path) {
        let mut first = [0];
        if File::open(object).and_then(|mut file| file.read_exact(&mut first)).is_ok() {
            self.all += 1;
            self.not_zlib += usize::from(first != [ZLIB]);
        }
    }
}

/// Whether a path ends like that of a loose object: a folder of two hexadecimal digits and a file of the others.
fn is_loose(path: &Path) -> bool {
    let hex = |name: Option<&std::ffi::OsStr>, lengths: &[usize]| {
        let name = name.and_then(|name| name.to_str()).unwrap_or_default();
        lengths.contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    hex(path.file_name(), &[38, 62]) && hex(path.parent().and_then(Path::file_name), &[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loose_objects_are_counted_by_first_byte() {
        let folder = tempfile::tempdir().unwrap();
        let objects = folder.path().join("a").join("objects").join("0f");
        fs::create_dir_all(&objects).unwrap();
        fs::write(objects.join("1".repeat(38)), [ZLIB, 1]).unwrap();
        fs::write(objects.join("2".repeat(62)), [0x28, 0xb5]).unwrap();
        fs::write(objects.join("3".repeat(38)), []).unwrap();
        fs::write(objects.join("tmp_obj_123456"), [0]).unwrap();
        assert_eq!(LooseObjects::below(folder.path()).unwrap(), LooseObjects { all: 2, not_zlib: 1 });
    }
}
