//! Visiting contents, large ones in pieces so that they are never held as a whole.

use std::{io::BufRead, path::Path};

use repackbench_codec::{BLOCK_LEN, CodecError, PayloadSink};

use super::{ObjectPlace, ObjectStore, Unpacked};
use crate::{
    ChunkKind, Content, ObjectKind, Result,
    git::{
        btree::BtreePlace,
        loose::{LargeLoose, LooseHeader},
        pack::{DecodedChunk, EntryKind},
    },
};

/// Receives the kind and the content of one object.
type VisitContent<'a> = dyn FnMut(ObjectKind, Content<'_>) + 'a;

impl ObjectStore {
    /// Hands the content of the object at `place` to `visit`: in pieces if it is above [`BLOCK_LEN`] and no delta,
    /// otherwise as a whole. `content` is a buffer.
    ///
    /// # Errors
    /// The object, or one that it is based on, is damaged or too large to be held.
    pub fn visit_content(
        &mut self,
        place: &ObjectPlace,
        content: &mut Vec<u8>,
        visit: &mut VisitContent<'_>,
    ) -> Result<()> {
        let held = if place.is_in_btree() {
            let place = self.expect_in_btree(&place.id)?;
            self.visit_value(&place, content, visit)?
        } else {
            match (place.in_pack(), place.loose_position()) {
                (Some((number, offset)), _) if self.stream_entry(number, offset, visit)? => None,
                (None, Some(at)) => self.visit_loose(at, content, visit)?,
                _ => Some(self.read_place(place, content)?),
            }
        };
        if let Some(kind) = held {
            visit(kind, Content::Whole(content));
        }
        Ok(())
    }

    /// Hands a large whole entry to `visit` in pieces; `false` for any other entry, which `visit` does not receive.
    fn stream_entry(&mut self, number: usize, offset: u64, visit: &mut VisitContent<'_>) -> Result<bool> {
        let Some(pack) = self.packs.get(number) else { return Err(self.no_pack()) };
        let (header, mut stored) = pack.entry(offset)?;
        let payload_len = header.payload_len;
        let EntryKind::Whole(kind) = header.kind else { return Ok(false) };
        if payload_len <= BLOCK_LEN as u64 || pack.is_numbered(kind) {
            return Ok(false);
        }
        let decoder = self.packed.decoder();
        let mut pieces = Pieces { kind, skipped: 0, visit };
        let decoded = pieces.stream(payload_len, |sink| decoder.decode_stream_from(&mut stored, payload_len, sink));
        let consumed = decoded.map_err(|error| {
            pack.corrupt(offset, format!("a chunk of {payload_len} payload bytes"), error.to_string())
        })?;
        if let Some(log) = pack.log() {
            let chunk = offset.saturating_add(header.header_len as u64);
            let kind = ChunkKind { object: kind, is_delta: false };
            log.chunk(&DecodedChunk { start: offset, chunk, consumed, payload_len, kind, base: None });
        }
        Ok(true)
    }

    /// Reads the value at `place` of the B-tree into `content` and returns its kind. Hands a large value to `visit`
    /// instead.
    fn visit_value(
        &mut self,
        place: &BtreePlace,
        content: &mut Vec<u8>,
        visit: &mut VisitContent<'_>,
    ) -> Result<Option<ObjectKind>> {
        let key = Unpacked::Btree(*place).key();
        if let Some(kind) = self.packed.copy_cached(key, content) {
            return Ok(Some(kind));
        }
        let Some(btree) = &self.btree else { return Err(self.no_pack()) };
        let decoder = self.packed.decoder();
        let is_long = place.len > BLOCK_LEN as u64;
        let (head, mut chunk) = match is_long {
            true => (btree.head(place)?, &[][..]),
            false => btree.load(place, &mut self.btree_value)?,
        };
        if head.payload_len <= BLOCK_LEN as u64 {
            let kind = self.decode_btree(place, content)?;
            self.packed.cache_copy(key, kind, content);
            return Ok(Some(kind));
        }
        let mut reader;
        let stored: &mut dyn BufRead = if is_long {
            reader = btree.chunk_reader(place, &head)?;
            &mut reader
        } else {
            &mut chunk
        };
        let mut pieces = Pieces { kind: head.kind, skipped: 0, visit };
        let decoded =
            pieces.stream(head.payload_len, |sink| decoder.decode_stream_from(stored, head.payload_len, sink));
        btree.check_consumed(place, &head, decoded)?;
        btree.log_decoded(place, &head);
        Ok(None)
    }

    /// Reads the loose object number `at` into `content` and returns its kind. Hands a large one to `visit` instead.
    fn visit_loose(
        &mut self,
        at: usize,
        content: &mut Vec<u8>,
        visit: &mut VisitContent<'_>,
    ) -> Result<Option<ObjectKind>> {
        let key = Unpacked::Loose(at).key();
        if let Some(kind) = self.packed.copy_cached(key, content) {
            return Ok(Some(kind));
        }
        let (path, mut file) = self.load_loose(at)?;
        if let Some(large) = &mut file.large {
            self.stream_loose(&path, &file.header, large, visit)?;
            self.log_loose(&path, &file);
            return Ok(None);
        }
        let kind = self.decode_loaded(&path, file, content)?;
        self.packed.cache_copy(key, kind, content);
        Ok(Some(kind))
    }

    fn stream_loose(
        &mut self,
        path: &Path,
        header: &LooseHeader,
        large: &mut LargeLoose,
        visit: &mut VisitContent<'_>,
    ) -> Result<()> {
        let (decoder, payload_len) = (self.packed.decoder(), large.payload_len());
        let stored = large.stored();
        let mut pieces = Pieces { kind: header.kind, skipped: header.len, visit };
        let decoded = pieces.stream(header.content_len, |sink| decoder.decode_stream_from(stored, payload_len, sink));
        large.check_consumed(path, decoded)
    }
}

/// Hands a content to `visit` in the pieces that a decoder makes.
struct Pieces<'a, 'v> {
    kind: ObjectKind,
    /// Number of bytes at the start of the payload that do not belong to the content.
    skipped: usize,
    visit: &'a mut VisitContent<'v>,
}

impl Pieces<'_, '_> {
    /// Hands over a content of `len` bytes, which `decode` produces.
    fn stream(
        &mut self,
        len: u64,
        decode: impl FnOnce(&mut PayloadSink<'_>) -> std::result::Result<u64, CodecError>,
    ) -> std::result::Result<u64, CodecError> {
        (self.visit)(self.kind, Content::Start(len));
        let consumed = decode(&mut |bytes| {
            let skipped = self.skipped.min(bytes.len());
            self.skipped -= skipped;
            (self.visit)(self.kind, Content::Piece(bytes.get(skipped..).unwrap_or_default()));
            Ok(())
        })?;
        (self.visit)(self.kind, Content::End);
        Ok(consumed)
    }
}
