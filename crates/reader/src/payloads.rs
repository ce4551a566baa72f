//! The payloads of a repository in store order, for either version-control system.

use repackbench_codec::Decoders;

use crate::{Chunk, ChunkPlace, LeftOut, ReaderError, Repository, WantedPayloads, git, hg};

/// Receives a chunk and its payload.
pub type VisitPayload<'a, E> = dyn FnMut(&Chunk<'_>, &[u8]) -> Result<(), E> + 'a;

/// Receives a chunk, its place and its payload.
pub type VisitPayloadInPlace<'a, E> = dyn FnMut(&Chunk<'_>, ChunkPlace<'_>, &[u8]) -> Result<(), E> + 'a;

impl Repository {
    /// Decodes the payloads of the chunks that `wanted` accepts, in the order of
    /// [`Store::for_each_chunk`](crate::Store), and hands each to `visit`. Contexts and buffers are reused. `decoders`
    /// names the implementations that decode.
    ///
    /// Other chunks are not decoded, except Mercurial's deltas: their length is recorded nowhere else. Wanted payloads
    /// above [`BLOCK_LEN`](repackbench_codec::BLOCK_LEN) are left out and counted. Pack entries are checked against the
    /// CRC-32 in the index.
    ///
    /// # Errors
    /// Errors of `visit`, and any damage found in framing or payload.
    pub fn for_each_payload<'a, E: From<ReaderError>>(
        &self,
        decoders: impl Into<Decoders>,
        wanted: &'a mut WantedPayloads<'a>,
        visit: &'a mut VisitPayload<'a, E>,
    ) -> Result<LeftOut, E> {
        self.for_each_payload_in_place(decoders, wanted, &mut |chunk, _, payload| visit(chunk, payload))
    }

    /// The same with the place of each chunk, which a [`BaseReader`](crate::BaseReader) needs.
    ///
    /// # Errors
    /// As for [`for_each_payload`](Repository::for_each_payload).
    pub fn for_each_payload_in_place<'v, E: From<ReaderError>>(
        &self,
        decoders: impl Into<Decoders>,
        wanted: &'v mut WantedPayloads<'v>,
        visit: &'v mut VisitPayloadInPlace<'v, E>,
    ) -> Result<LeftOut, E> {
        let decoders = decoders.into();
        match self {
            Repository::Git(git) => {
                git::payloads::for_each_payload(git, decoders, wanted, &mut |chunk, entry, payload| {
                    visit(chunk, ChunkPlace::of_entry(entry), payload)
                })
            }
            Repository::Hg(hg) => {
                hg::store::for_each_payload(hg, decoders, wanted, &mut |chunk, revlog, revision, payload| {
                    visit(chunk, ChunkPlace::of_revision(revlog, revision), payload)
                })
            }
        }
    }
}
