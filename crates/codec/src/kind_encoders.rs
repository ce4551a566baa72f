//! One encoder for each kind of payload.

use crate::dictionary::{AssignedDictionaries, Dictionary};
use crate::encoder::ChunkEncoder;
use crate::error::CodecError;
use crate::kind::ChunkKind;
use crate::revlog::RevlogEncoder;
use crate::spec::{CodecChoice, CodecSpec};

/// An encoder for one codec choice.
pub trait ChoiceEncoder: Sized {
    /// Creates an encoder for `choice`, with a numbered dictionary.
    ///
    /// # Errors
    /// When the codec cannot be set up, or does not take the dictionary.
    fn for_choice(choice: &CodecChoice, dictionary: Option<(u8, &Dictionary)>) -> Result<Self, CodecError>;
}

impl ChoiceEncoder for ChunkEncoder {
    fn for_choice(choice: &CodecChoice, dictionary: Option<(u8, &Dictionary)>) -> Result<Self, CodecError> {
        ChunkEncoder::for_choice(choice, dictionary)
    }
}

impl ChoiceEncoder for RevlogEncoder {
    fn for_choice(choice: &CodecChoice, dictionary: Option<(u8, &Dictionary)>) -> Result<Self, CodecError> {
        RevlogEncoder::for_choice(choice, dictionary)
    }
}

/// The encoders of one spec: one for each kind of payload, made when the first payload of that kind arrives. They write
/// Git's container unless `E` is another encoder.
pub struct KindEncoders<E = ChunkEncoder> {
    spec: CodecSpec,
    assigned: AssignedDictionaries,
    /// Kinds that share codec and dictionary share an encoder.
    encoders: Vec<E>,
    by_kind: Vec<(ChunkKind, usize)>,
}

impl<E: ChoiceEncoder> KindEncoders<E> {
    /// Creates the encoders for `spec` with the dictionaries of `assigned`.
    pub fn new(spec: &CodecSpec, assigned: &AssignedDictionaries) -> Self {
        KindEncoders { spec: spec.clone(), assigned: assigned.clone(), encoders: Vec::new(), by_kind: Vec::new() }
    }

    /// The encoder for payloads of `kind`.
    ///
    /// # Errors
    /// When the codec cannot be set up.
    pub fn for_kind(&mut self, kind: ChunkKind) -> Result<&mut E, CodecError> {
        let known = self.by_kind.iter().find(|(known, _)| *known == kind).map(|(_, at)| *at);
        let at = match known {
            Some(at) => at,
            None => self.add(kind)?,
        };
        let missing = || CodecError::Implementation { codec: "encoder", message: "none for this kind".to_owned() };
        self.encoders.get_mut(at).ok_or_else(missing)
    }

    fn add(&mut self, kind: ChunkKind) -> Result<usize, CodecError> {
        let choice = self.spec.choice(kind);
        let number = self.assigned.by_kind.get(&kind).copied().filter(|_| choice.dictionary().is_some());
        let twin = self.by_kind.iter().find(|(other, _)| {
            let others = self.assigned.by_kind.get(other).copied();
            self.spec.choice(*other) == choice && others.filter(|_| choice.dictionary().is_some()) == number
        });
        let at = match twin {
            Some((_, at)) => *at,
            None => {
                let dictionary = number.and_then(|number| Some((number, self.assigned.dictionaries.get(number)?)));
                self.encoders.push(E::for_choice(choice, dictionary)?);
                self.encoders.len() - 1
            }
        };
        self.by_kind.push((kind, at));
        Ok(at)
    }
}
