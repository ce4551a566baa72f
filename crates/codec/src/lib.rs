//! Bytes to bytes: encodes payloads into chunks with a codec, and decodes chunks back into payloads.
//!
//! A *payload* is what a version-control store compresses on its own: the content of a pack entry, a loose object, a
//! revlog delta. A *chunk* is its stored bytes. This crate knows nothing of repositories.
//!
//! - [`CodecSpec`] is what the user types, such as `zstd:5,checksum=no`, parsed and checked.
//! - [`ChunkEncoder`] and [`ChunkDecoder`] write and read chunks in the format of `docs/format.md`: an RFC 1950 stream for
//!   the zlib family, a tag byte and a body for all other codecs.
//! - [`RevlogEncoder`] and [`RevlogDecoder`] do the same for the chunks of a Mercurial revlog.
//! - [`FileEncoder`] and [`FileDecoder`] do it for whole files, in formats that other programs read.
//! - [`Codec`] is the layer below: one algorithm in one implementation, without the container.
//!
//! ```
//! use repackbench_codec::{ChunkDecoder, ChunkEncoder, CodecSpec, Decoders};
//!
//! let spec: CodecSpec = "zstd:5".parse()?;
//! let payload = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n";
//! let mut stored = Vec::new();
//! ChunkEncoder::new(&spec)?.encode(payload, &mut stored)?;
//!
//! let mut decoded = vec![0; payload.len()];
//! let consumed = ChunkDecoder::new(Decoders::for_spec(&spec)).decode(&stored, &mut decoded)?;
//! assert_eq!((consumed, decoded.as_slice()), (stored.len(), &payload[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Contexts are expensive: for payloads as small as a pack's, a new context for each one costs ten times the decoding
//! itself. Make one encoder and one decoder per thread and keep them. The caller owns the buffers.
//!
//! Stored bytes are hostile input: every length is checked against the available bytes before memory is allocated for
//! it, every decode checks the exact payload length and the checksum, and nothing panics.
//!
//! The modules are layers, each of which uses only those before it:
//!
//! | modules | what they know |
//! |---|---|
//! | `error`, `leb128`, `checksum`, `stored`, `source`, `growing` | bytes and lengths |
//! | `dictionary`, `kind`, `tag`, `training` | plain facts |
//! | `heap` | memory, for those who measure |
//! | `codec`, `codecs` | the trait, and one implementation of it per codec with its descriptor |
//! | `algorithm`, `catalogue` | the registry of the descriptors |
//! | `spec` | what the user types |
//! | `opening`, `form` | what the first bytes of a chunk say |
//! | `memo`, `decoders`, `decoder`, `base_encoder`, `encoder`, `push_decoder` | chunks of packs and loose objects |
//! | `revlog`, `kind_encoders`, `file` | the other containers |

#![deny(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::cast_possible_truncation
    )
)]

mod algorithm;
mod base_encoder;
mod catalogue;
mod checksum;
mod codec;
mod codecs;
mod decoder;
mod decoders;
mod dictionary;
mod encoder;
mod error;
mod file;
mod form;
mod growing;
mod heap;
mod kind;
mod kind_encoders;
mod leb128;
mod memo;
mod opening;
mod push_decoder;
mod revlog;
mod source;
mod spec;
mod stored;
mod tag;
mod training;

pub use algorithm::Algorithm;
pub use base_encoder::DeltaBase;
pub use catalogue::{CodecInfo, catalogue};
pub use codec::{Capabilities, Codec, PayloadSink};
pub use codecs::descriptor::Levels;
pub use decoder::ChunkDecoder;
pub use decoders::{DecoderChoice, DecoderChoices, DecoderError, Decoders, DeflateReader, Lz4Reader, ZlibReader};
pub use dictionary::{AssignedDictionaries, Dictionaries, Dictionary};
pub use encoder::ChunkEncoder;
pub use error::{CodecError, FoundLength};
pub use file::{FileDecoder, FileEncoder, FileForm};
pub use form::{SharedFormat, StoredForm};
pub use heap::{HeapMark, give_back_freed};
pub use kind::{ChunkKind, ObjectKind};
pub use kind_encoders::{ChoiceEncoder, KindEncoders};
pub use memo::{DecodeMemo, StandInChunks, StandIns};
pub use push_decoder::{PushDecoder, PushStep};
pub use revlog::{BASE_REQUIREMENT, DICTIONARY_REQUIREMENT, RevlogDecoder, RevlogEncoder, RevlogEngine};
pub use spec::{
    CodecChoice, CodecSpec, CodecSpecs, DictionarySource, SpecError, SpecErrorKind, SpecKind, named_specs,
    nearest_name, parse_size,
};
pub use tag::BaseUse;
pub use training::{MAX_SAMPLE_LEN, MIN_DICTIONARY_LEN, TrainingSamples, dictionary_content};

/// The version of the container that this crate reads and writes.
pub const FORMAT_VERSION: u32 = 1;

/// The version of the format of Git variants whose objects name others by number. It is the newest.
pub const NUMBERS_FORMAT_VERSION: u32 = 2;

/// The longest payload that is encoded in one call, in bytes. Longer payloads are streamed or cut into blocks of this
/// length.
pub const BLOCK_LEN: usize = 64 << 20;
