//! The loose objects that a script left, which say whether its repositories were variants.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::files::failed;
use crate::process::Outcome;

/// The first byte of a loose object as zlib writes it.
const ZLIB: u8 = 0x78;

/// How many loose objects there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LooseObjects {
    pub(super) all: usize,
    pub(super) not_zlib: usize,
}

impl LooseObjects {
    /// Those in all object stores below `folder`. Tests leave folders and files that nobody may read; they are left out.
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

/// Whether a path ends as those of loose objects do: a folder of two digits and a file of all others.
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
    fn loose_objects_are_told_apart_by_their_first_byte() {
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
