//! Values of a B-tree: type and size as in an entry of a pack, then the chunk.

use std::{fs::File, io::BufReader};

use repackbench_codec::ChunkDecoder;

use super::{BtreeFile, BtreePlace, layout::PAGE_HEADER_LEN};
use crate::{
    ChunkKind, FileSection, ObjectKind, Place, ReaderError, Result,
    access::{Access, AccessPart, TracedDecode},
    git::{
        chunk::decode_to_vec,
        pack::{EntryHeaderError, EntryKind, PackEntryHeader, write_type_and_size},
    },
    memory::{self, TooLarge},
};

/// The longest head of a value in bytes: type and size take at most ten.
const LONGEST_HEAD: usize = 10;

/// Number of bytes of a large value that are read at once.
const BUFFER: usize = 128 << 10;

/// The head of a value: its type and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueHead {
    /// The object's kind.
    pub kind: ObjectKind,
    /// Length of its content in bytes, as claimed.
    pub payload_len: u64,
    /// Length of the head itself. The chunk follows it.
    pub len: usize,
}

impl BtreeFile {
    /// The head of the value at `place`.
    ///
    /// # Errors
    /// It cannot be read, or is not valid.
    pub fn head(&self, place: &BtreePlace) -> Result<ValueHead> {
        let len = LONGEST_HEAD.min(usize::try_from(place.len).unwrap_or(LONGEST_HEAD));
        if place.is_in_page {
            let mut bytes = Vec::with_capacity(LONGEST_HEAD);
            self.copy_from_page(place.offset, len, &mut bytes)?;
            return self.parse_head(place, &bytes);
        }
        let mut bytes = [0; PAGE_HEADER_LEN + LONGEST_HEAD];
        let bytes = bytes.get_mut(..PAGE_HEADER_LEN + len).unwrap_or_default();
        let start = place.offset.saturating_sub(PAGE_HEADER_LEN as u64);
        self.read_at(bytes, start)?;
        self.check_overflow_head(place, bytes)?;
        if let Some((log, file)) = &self.log {
            let part = AccessPart::EntryHeader;
            log.access(Access { file: *file, part, kind: None, offset: start, len: bytes.len() as u64 });
        }
        self.parse_head(place, bytes.get(PAGE_HEADER_LEN..).unwrap_or_default())
    }

    fn parse_head(&self, place: &BtreePlace, bytes: &[u8]) -> Result<ValueHead> {
        let corrupt = |found: String| {
            ReaderError::corrupt(self.path(), Place::Offset(place.offset), "kind and size of a whole object", found)
        };
        // The base of a delta may be longer than the part that was read, so deltas are rejected before it is parsed.
        if bytes.first().is_some_and(|byte| matches!(byte >> 4 & 7, 6 | 7)) {
            return Err(corrupt("a delta".to_owned()));
        }
        let header = PackEntryHeader::parse(bytes, self.hash_kind()).map_err(|error| match error {
            EntryHeaderError::Truncated => corrupt("the end of the value".to_owned()),
            error => corrupt(error.to_string()),
        })?;
        match header.kind {
            EntryKind::Whole(kind) => Ok(ValueHead { kind, payload_len: header.payload_len, len: header.header_len }),
            EntryKind::OffsetDelta { .. } | EntryKind::RefDelta { .. } => Err(corrupt("a delta".to_owned())),
        }
    }

    /// Replaces `value` by the value at `place`. Returns its head and its chunk.
    ///
    /// # Errors
    /// It cannot be read, or its head is not valid.
    pub fn load<'v>(&self, place: &BtreePlace, value: &'v mut Vec<u8>) -> Result<(ValueHead, &'v [u8])> {
        value.clear();
        memory::check(place.len).map_err(|excess| self.too_large(place, "a value", excess))?;
        let len = usize::try_from(place.len).unwrap_or(usize::MAX);
        let start = if place.is_in_page {
            self.copy_from_page(place.offset, len, value)?;
            0
        } else {
            // The place is within the file, so the value is no longer than the file.
            let whole = PAGE_HEADER_LEN.saturating_add(len);
            let no_room =
                |_| ReaderError::io("hold a value in memory", self.path(), std::io::ErrorKind::OutOfMemory.into());
            value.try_reserve(whole).map_err(no_room)?;
            value.resize(whole, 0);
            self.read_at(value, place.offset.saturating_sub(PAGE_HEADER_LEN as u64))?;
            self.check_overflow_head(place, value)?;
            PAGE_HEADER_LEN
        };
        let bytes = value.get(start..).unwrap_or_default();
        let head = self.parse_head(place, bytes)?;
        Ok((head, bytes.get(head.len..).unwrap_or_default()))
    }

    /// Replaces `content` by that of the object at `place`. `value` is a buffer for the stored bytes.
    ///
    /// # Errors
    /// The value cannot be read or is damaged.
    pub fn read(
        &self,
        place: &BtreePlace,
        decoder: &mut ChunkDecoder,
        value: &mut Vec<u8>,
        content: &mut Vec<u8>,
    ) -> Result<ObjectKind> {
        let (head, chunk) = self.load(place, value)?;
        self.decode(place, &head, chunk, decoder, content)?;
        Ok(head.kind)
    }

    /// Decodes `chunk`, which [`load`](BtreeFile::load) returned with `head` for `place`, and replaces `content`.
    ///
    /// # Errors
    /// The chunk is damaged.
    pub fn decode(
        &self,
        place: &BtreePlace,
        head: &ValueHead,
        chunk: &[u8],
        decoder: &mut ChunkDecoder,
        content: &mut Vec<u8>,
    ) -> Result<()> {
        memory::check(head.payload_len).map_err(|excess| self.too_large(place, "an object", excess))?;
        let consumed = decode_to_vec(decoder, chunk, head.payload_len, content);
        self.check_consumed(place, head, consumed)?;
        self.log_decoded(place, head);
        Ok(())
    }

    /// Records that the value at `place` was read and decoded, if accesses are recorded.
    pub(in crate::git) fn log_decoded(&self, place: &BtreePlace, head: &ValueHead) {
        if self.log.is_some() {
            self.log_chunk(place, head);
        }
    }

    fn too_large(&self, place: &BtreePlace, what: &'static str, excess: TooLarge) -> ReaderError {
        ReaderError::too_large(self.path(), Place::Offset(place.offset), what, excess)
    }

    #[cold]
    fn log_chunk(&self, place: &BtreePlace, head: &ValueHead) {
        let Some((log, file)) = &self.log else { return };
        let kind = ChunkKind { object: head.kind, is_delta: false };
        // A value in a leaf was read with its page. That access is recorded when the page comes from the file.
        if !place.is_in_page {
            let framed = PAGE_HEADER_LEN as u64;
            let (offset, len) = (place.offset.saturating_sub(framed), place.len.saturating_add(framed));
            log.access(Access { file: *file, part: AccessPart::Chunk, kind: Some(kind), offset, len });
        }
        log.decode(TracedDecode {
            file: *file,
            offset: place.offset.saturating_add(head.len as u64),
            stored_len: place.len.saturating_sub(head.len as u64),
            payload_limit: head.payload_len,
            kind,
            base: None,
        });
    }

    /// Checks `result`, which decoding the value at `place` returned: the chunk has to be valid and end with the value.
    ///
    /// # Errors
    /// The chunk is damaged, or ends before the value.
    pub fn check_consumed(
        &self,
        place: &BtreePlace,
        head: &ValueHead,
        result: std::result::Result<u64, repackbench_codec::CodecError>,
    ) -> Result<()> {
        let stored_len = place.len.saturating_sub(head.len as u64);
        let (expected, found) = match result {
            Ok(consumed) if consumed == stored_len => return Ok(()),
            Ok(consumed) => {
                (format!("a chunk of {stored_len} stored bytes"), format!("one that ends after {consumed}"))
            }
            Err(error) => (format!("a chunk of {} payload bytes", head.payload_len), error.to_string()),
        };
        Err(ReaderError::corrupt(self.path(), Place::Offset(place.offset), expected, found))
    }

    /// Reads the value at `place`, head and chunk, and hands it to `visit` in pieces. `piece` is a buffer for one.
    ///
    /// # Errors
    /// It cannot be read, or its first overflow page is damaged.
    pub fn read_in_pieces(&self, place: &BtreePlace, piece: &mut Vec<u8>, visit: &mut dyn FnMut(&[u8])) -> Result<()> {
        if place.is_in_page {
            piece.clear();
            self.copy_from_page(place.offset, usize::try_from(place.len).unwrap_or(usize::MAX), piece)?;
            visit(piece);
            return Ok(());
        }
        // The header of the first page precedes the value.
        let mut at = place.offset.saturating_sub(PAGE_HEADER_LEN as u64);
        let mut skipped = PAGE_HEADER_LEN;
        let end = place.offset.saturating_add(place.len);
        while at < end {
            let wanted = end.saturating_sub(at).min(BUFFER as u64);
            piece.resize(usize::try_from(wanted).unwrap_or(BUFFER), 0);
            self.read_at(piece, at)?;
            if skipped > 0 {
                self.check_overflow_head(place, piece)?;
            }
            visit(piece.get(std::mem::take(&mut skipped)..).unwrap_or_default());
            at = at.saturating_add(wanted);
        }
        Ok(())
    }

    /// A reader of the chunk of the value at `place`.
    ///
    /// # Errors
    /// The file cannot be opened a second time.
    pub fn chunk_reader(&self, place: &BtreePlace, head: &ValueHead) -> Result<BufReader<FileSection<File>>> {
        let file = self.file.try_clone().map_err(|e| ReaderError::io("open", self.path(), e))?;
        let (offset, len) = (place.offset.saturating_add(head.len as u64), place.len.saturating_sub(head.len as u64));
        Ok(BufReader::with_capacity(BUFFER, FileSection::new(file, offset, len)))
    }
}

/// Appends the head of a value to `out`, for an object of `kind` whose content has `payload_len` bytes.
pub fn write_head(kind: ObjectKind, payload_len: u64, out: &mut Vec<u8>) {
    // Entry types as gitformat-pack(5) numbers them. A Git store holds none of Mercurial's kinds.
    let number = match kind {
        ObjectKind::Commit | ObjectKind::Changelog => 1,
        ObjectKind::Tree | ObjectKind::Manifest => 2,
        ObjectKind::Blob | ObjectKind::Filelog => 3,
        ObjectKind::Tag => 4,
    };
    write_type_and_size(number << 4, payload_len, out);
}
