//! Bytes to bytes: payloads to chunks under a codec, and chunks back to payloads.
//!
//! A *payload* is what a version-control store compresses on its own: a pack entry's content, a loose
//! object, a revlog delta. A *chunk* is what lies on disk in its place. This crate turns one into the
//! other and knows nothing of repositories.
//!
//! - [`CodecSpec`] is what the user types, such as `zstd:5,checksum=no`, parsed and checked.
//! - [`ChunkEncoder`] and [`ChunkDecoder`] read and write chunks as `FORMAT.md` fixes them: RFC 1950 streams for
//!   the zlib family, a tag byte and a body for all others.
//! - [`RevlogEncoder`] and [`RevlogDecoder`] do the same with the chunks of a Mercurial revlog.
//! - [`FileEncoder`] and [`FileDecoder`] do it with whole files, in formats that other programs read.
//! - [`Codec`] is the layer beneath: one algorithm in one implementation, without the container.
//!
//! Contexts are expensive: on payloads as small as a pack's, making a new one for each costs ten times the
//! decoding itself. So make one encoder and one decoder for each thread and keep them. Buffers are the
//! caller's.
//!
//! Stored bytes are treated as hostile: every length is checked against what is there before memory is
//! taken for it, every decode checks the exact payload length and the checksum, and nothing panics.

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
mod kind;
mod kind_encoders;
mod leb128;
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
pub use kind::{ChunkKind, ObjectKind};
pub use kind_encoders::{ChoiceEncoder, KindEncoders};
pub use push_decoder::{PushDecoder, PushStep};
pub use revlog::{BASE_REQUIREMENT, DICTIONARY_REQUIREMENT, RevlogDecoder, RevlogEncoder, RevlogEngine};
pub use spec::{
    CodecChoice, CodecSpec, CodecSpecs, DictionarySource, SpecError, SpecErrorKind, SpecKind, named_specs, parse_size,
};
pub use tag::BaseUse;
pub use training::{MAX_SAMPLE_LEN, MIN_DICTIONARY_LEN, TrainingSamples, dictionary_content};

/// The version of the container that this crate reads and writes.
pub const FORMAT_VERSION: u32 = 1;

/// The longest payload that is encoded in one call, in bytes; longer ones are streamed, or cut into blocks of this length.
pub const BLOCK_LEN: usize = 64 << 20;
