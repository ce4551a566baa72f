//! The codecs that decode a stream in steps: one machine per kind of stream.

use super::CHUNK;
use crate::algorithm::Algorithm;
use crate::codec::{Codec, UNUSED_LEVEL};
use crate::codecs::deflate::RawDeflate;
use crate::codecs::steps::Inflater;
use crate::codecs::zstd::Zstd;
use crate::dictionary::Dictionaries;
use crate::error::CodecError;
use crate::tag::Body;

/// The kind of stream that a machine decodes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MachineOf {
    StandardFrame,
    Tagged(Body, Option<u8>),
}

pub(super) fn new_machine(of: MachineOf, dictionaries: &Dictionaries) -> Result<Box<dyn Inflater>, CodecError> {
    let (body, number) = match of {
        MachineOf::StandardFrame => return Zstd::new(UNUSED_LEVEL, true).new_inflater(),
        MachineOf::Tagged(body, number) => (body, number),
    };
    let no_such = |number| CodecError::NoSuchDictionary { found: format!("number {number}") };
    let dictionary = match number {
        Some(number) => Some(dictionaries.get(number).ok_or_else(|| no_such(number))?),
        None => None,
    };
    match body {
        Body::Zstd => {
            let mut zstd = Zstd::new(UNUSED_LEVEL, false);
            zstd.set_dictionary(dictionary)?;
            zstd.new_inflater()
        }
        Body::Deflate => {
            let mut deflate = RawDeflate::new(UNUSED_LEVEL.unsigned_abs());
            deflate.set_dictionary(dictionary)?;
            deflate.new_inflater()
        }
        body => match Algorithm::reading(body).descriptor().new_inflater {
            Some(new) => new(),
            None => {
                let message = format!("{} is not read in steps", body.name());
                Err(CodecError::Implementation { codec: CHUNK, message })
            }
        },
    }
}
