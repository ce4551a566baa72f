//! The dictionaries of a variant: a folder with a table and one file per dictionary.
//!
//! The table, `dictionaries`, is text with one line per dictionary:
//!
//! | field | |
//! |---|---|
//! | number | decimal, from 0 without gaps, at most 255; chunks refer to the dictionary by it |
//! | length | decimal, in bytes |
//! | hash | SHA-256 of the dictionary, 64 lower-case hexadecimal digits |
//! | kinds | the object kinds that it was made for, such as `blob-delta`; comma-separated, for people to read |
//!
//! The dictionary itself is the payload of the chunk in `<hash>.dict`. One of 112 KiB usually takes less than half of
//! that.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use repackbench_codec::{ChunkDecoder, Dictionaries, Dictionary, ZlibReader};
use sha2::{Digest, Sha256};

use crate::{Place, ReaderError, Result};

/// The folder's name, in `objects/info/` or `.hg/store/`.
pub const DICTIONARY_FOLDER: &str = "repackbench";

/// The name of the table.
pub const TABLE_FILE: &str = "dictionaries";

/// The longest dictionary that is read, in bytes. It is also the longest that a spec can ask for.
pub const LONGEST_DICTIONARY: usize = 16 << 20;

/// Largest number of dictionaries: they are numbered by one byte.
const MAX_DICTIONARIES: usize = 1 << 8;

/// Limit on the bytes of all dictionaries of a repository: one of the longest for each object kind, whole and delta,
/// and one that the user supplied.
const MAX_BYTES: usize = 9 * LONGEST_DICTIONARY;

/// A line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableLine {
    /// The dictionary's length in bytes.
    pub len: usize,
    /// Its SHA-256 in hexadecimal.
    pub hash: String,
    /// The object kinds that it was made for.
    pub kinds: String,
}

impl TableLine {
    /// The line for `dictionary`, which was made for `kinds`.
    pub fn of(dictionary: &[u8], kinds: String) -> Self {
        TableLine { len: dictionary.len(), hash: hash(dictionary), kinds }
    }

    /// The name of the dictionary's file.
    pub fn file_name(&self) -> String {
        format!("{}.dict", self.hash)
    }

    /// The line with its number and a newline.
    pub fn to_text(&self, number: usize) -> String {
        format!("{number} {} {} {}\n", self.len, self.hash, self.kinds)
    }

    fn parse(line: &str, number: usize) -> Option<Self> {
        let mut fields = line.splitn(4, ' ');
        let (typed, len, hash, kinds) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_hash = hash.len() == 64 && hash.bytes().all(is_digit);
        let len = len.parse().ok().filter(|len| *len <= LONGEST_DICTIONARY)?;
        (typed == number.to_string() && is_hash).then(|| TableLine {
            len,
            hash: hash.to_owned(),
            kinds: kinds.to_owned(),
        })
    }
}

/// The SHA-256 of a dictionary in hexadecimal.
pub fn hash(dictionary: &[u8]) -> String {
    Sha256::digest(dictionary).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads the dictionaries in `folder`; none if the folder does not exist.
///
/// # Errors
/// A file cannot be read, the table is malformed, or a dictionary does not have its hash.
pub fn read_dictionaries(folder: &Path) -> Result<Dictionaries> {
    let table = folder.join(TABLE_FILE);
    let text = match fs::read(&table) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Dictionaries::default()),
        Err(error) => return Err(ReaderError::io("read", table, error)),
    };
    let malformed = |found: String| {
        ReaderError::corrupt(&table, Place::Whole, "lines with number, length, SHA-256 and kinds", found)
    };
    let text = str::from_utf8(&text).map_err(|error| malformed(error.to_string()))?;
    let mut dictionaries: Vec<Dictionary> = Vec::new();
    let mut hashes: Vec<String> = Vec::new();
    let mut total = 0;
    for (number, line) in text.lines().enumerate() {
        if number >= MAX_DICTIONARIES {
            return Err(malformed(format!("more than {MAX_DICTIONARIES} lines")));
        }
        let parsed = TableLine::parse(line, number).ok_or_else(|| malformed(format!("{line:?}")))?;
        if hashes.contains(&parsed.hash) {
            return Err(malformed(format!("the SHA-256 {} twice", parsed.hash)));
        }
        total += parsed.len;
        if total > MAX_BYTES {
            return Err(malformed(format!("more than {MAX_BYTES} bytes of dictionaries")));
        }
        dictionaries.push(read_one(folder.join(parsed.file_name()), &parsed)?);
        hashes.push(parsed.hash);
    }
    Ok(Dictionaries::new(dictionaries))
}

fn read_one(path: PathBuf, line: &TableLine) -> Result<Dictionary> {
    let expected = || format!("a dictionary of {} bytes", line.len);
    let stored = fs::read(&path).map_err(|error| match error.kind() {
        // The table is damaged, or the file was lost.
        io::ErrorKind::NotFound => ReaderError::corrupt(&path, Place::Whole, expected(), "no file"),
        _ => ReaderError::io("read", &path, error),
    })?;
    let mut bytes = Vec::new();
    let no_memory = |_| ReaderError::corrupt(&path, Place::Whole, expected(), "too little memory");
    bytes.try_reserve_exact(line.len).map_err(no_memory)?;
    bytes.resize(line.len, 0);
    let consumed = ChunkDecoder::new(ZlibReader::Stock)
        .decode(&stored, &mut bytes)
        .map_err(|error| ReaderError::corrupt(&path, Place::Whole, expected(), error.to_string()))?;
    if consumed != stored.len() {
        let found = format!("{} trailing bytes", stored.len() - consumed);
        return Err(ReaderError::corrupt(&path, Place::Whole, expected(), found));
    }
    let found = hash(&bytes);
    if found != line.hash {
        let expected = format!("a dictionary with the SHA-256 {}", line.hash);
        return Err(ReaderError::corrupt(&path, Place::Whole, expected, found));
    }
    Ok(Dictionary::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_lines_round_trip_and_bad_ones_are_rejected() {
        let line = TableLine::of(b"content", "blob-delta,tree".to_owned());
        let text = line.to_text(3);
        assert_eq!(TableLine::parse(text.trim_end(), 3), Some(line.clone()));
        assert_eq!(TableLine::parse(text.trim_end(), 2), None, "numbers are in order");
        assert_eq!(TableLine::parse(&text.trim_end().replace(&line.hash, &line.hash.to_uppercase()), 3), None);
        assert_eq!(TableLine::parse(&text.replace(" 7 ", " 16777217 "), 3), None, "a length is a claim");
        assert_eq!(TableLine::parse("3 7", 3), None);
    }

    #[test]
    fn missing_folder_is_empty_and_damage_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read_dictionaries(&folder.path().join("none")).unwrap().is_empty());
        let line = TableLine::of(b"content", "blob".to_owned());
        fs::write(folder.path().join(TABLE_FILE), line.to_text(0)).unwrap();
        let missing = read_dictionaries(folder.path()).unwrap_err();
        assert!(matches!(missing, ReaderError::Corrupt { .. }), "{missing}");
        assert!(missing.to_string().contains(&line.hash), "{missing}");

        let mut stored = Vec::new();
        let spec: repackbench_codec::CodecSpec = "zstd:19".parse().unwrap();
        repackbench_codec::ChunkEncoder::new(&spec).unwrap().encode(b"content", &mut stored).unwrap();
        fs::write(folder.path().join(line.file_name()), &stored).unwrap();
        assert_eq!(read_dictionaries(folder.path()).unwrap().get(0).unwrap().bytes(), b"content");

        fs::write(folder.path().join(TABLE_FILE), line.to_text(0) + &line.to_text(1)).unwrap();
        assert!(read_dictionaries(folder.path()).unwrap_err().to_string().contains("twice"));
        let long = |number: usize| TableLine { len: LONGEST_DICTIONARY, hash: format!("{number:064}"), ..line.clone() };
        let table: String = (0..MAX_DICTIONARIES).map(|number| long(number).to_text(number)).collect();
        fs::write(folder.path().join(TABLE_FILE), table).unwrap();
        let message = read_dictionaries(folder.path()).unwrap_err().to_string();
        assert!(message.contains(&long(0).hash), "the first is not there: {message}");

        let other = TableLine { hash: hash(b"other"), ..line };
        fs::write(folder.path().join(TABLE_FILE), other.to_text(0)).unwrap();
        fs::write(folder.path().join(other.file_name()), &stored).unwrap();
        let message = read_dictionaries(folder.path()).unwrap_err().to_string();
        assert!(message.contains(&other.hash), "{message}");
    }
}
