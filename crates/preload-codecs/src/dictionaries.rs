//! The repository's dictionaries, which whoever preloads the stand-in has put into a folder, uncompressed and checked.

use std::{env, fs::File, io::Read, path::Path, sync::OnceLock};

use repackbench_codec::{Dictionaries, Dictionary};
use repackbench_preload_abi::{Bytes, DICTIONARIES_VARIABLE};

/// The most dictionaries that one byte can number.
const MOST: usize = 1 << 8;

/// The longest dictionary that is read, in bytes.
const LONGEST: u64 = 16 << 20;

/// Those that the environment names, read once.
pub(crate) fn all() -> &'static Dictionaries {
    static ALL: OnceLock<Dictionaries> = OnceLock::new();
    ALL.get_or_init(|| env::var_os(DICTIONARIES_VARIABLE).map(|folder| read(Path::new(&folder))).unwrap_or_default())
}

/// The files `0`, `1` and so on, up to the first that cannot be read: a chunk that needs it is an error that names it.
fn read(folder: &Path) -> Dictionaries {
    Dictionaries::new((0..MOST).map_while(|number| read_one(&folder.join(number.to_string()))))
}

fn read_one(path: &Path) -> Option<Dictionary> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LONGEST + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= LONGEST).then(|| Dictionary::new(bytes))
}

/// See [`Codecs::dictionary`](repackbench_preload_abi::Codecs).
pub(crate) unsafe extern "C" fn with_adler32(adler32: u32) -> Bytes {
    let found = std::panic::catch_unwind(|| all().by_adler32(adler32).map(|(_, dictionary)| dictionary.bytes()));
    match found {
        Ok(Some(bytes)) => Bytes { start: bytes.as_ptr(), len: bytes.len() },
        _ => Bytes { start: std::ptr::null(), len: 0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_in_order_until_one_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in [("0", "one"), ("1", "two"), ("3", "four")] {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        let read = read(folder.path());
        let bytes: Vec<&[u8]> = read.iter().map(Dictionary::bytes).collect();
        assert_eq!(bytes, [b"one", b"two"]);
    }
}
