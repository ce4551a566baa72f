//! Conversion of a blob's content for a file, by the attributes of the revision.
//!
//! The order is git's (`convert_to_working_tree_ca()` in its convert.c): keywords, line endings, encoding. Filters
//! would need drivers in git's configuration, and none is configured.

use gix_filter::eol::{self, AttributesDigest};
use gix_hash::oid;
use gix_worktree::{
    Stack,
    attributes::{StateRef, search::Outcome},
    stack::Platform,
};
use repackbench_reader::{ObjectKind, git::hash::object_id};

use super::{encoding::TextEncoding, ident};

/// The attributes that convert, in the order of [`Conversion::asked_for`].
const ATTRIBUTES: [&str; 5] = ["text", "crlf", "eol", "ident", "working-tree-encoding"];

/// Why content cannot be converted.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConversionError {
    /// git refuses this as well.
    #[error("the attribute working-tree-encoding names no encoding")]
    NamelessEncoding,
    #[error("its line endings cannot be converted: {0}")]
    LineEndings(String),
}

/// The conversion of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Conversion {
    line_endings: AttributesDigest,
    expands_ident: bool,
    encoding: Option<TextEncoding>,
}

impl Conversion {
    /// The conversion that `attributes` of one path ask for.
    fn asked_for(attributes: &Outcome) -> Result<Self, ConversionError> {
        let mut states = attributes.iter_selected().map(|found| found.assignment.state);
        let [text, crlf, eol, ident, encoding] = ATTRIBUTES.map(|_| states.next().unwrap_or(StateRef::Unspecified));
        let encoding = match encoding {
            StateRef::Unspecified => None,
            StateRef::Value(name) => TextEncoding::from_name(name.as_bstr()),
            StateRef::Set | StateRef::Unset => return Err(ConversionError::NamelessEncoding),
        };
        let line_endings = line_endings(text_digest(text).or_else(|| text_digest(crlf)), eol);
        Ok(Conversion { line_endings, expands_ident: ident == StateRef::Set, encoding })
    }

    /// Whether git converts the content in pieces instead of as a whole (`classify_conv_attrs()` in convert.c).
    fn is_streamed(&self) -> bool {
        let needs_statistics = matches!(self.line_endings, AttributesDigest::TextAuto | AttributesDigest::TextAutoCrlf);
        self.encoding.is_none() && !needs_statistics
    }
}

/// The value of the attribute `text`, or its old name `crlf` (`git_path_check_crlf()` in convert.c).
fn text_digest(state: StateRef<'_>) -> Option<AttributesDigest> {
    match state {
        StateRef::Set => Some(AttributesDigest::Text),
        StateRef::Unset => Some(AttributesDigest::Binary),
        StateRef::Value(value) if value.as_bstr() == "input" => Some(AttributesDigest::TextInput),
        StateRef::Value(value) if value.as_bstr() == "auto" => Some(AttributesDigest::TextAuto),
        StateRef::Value(_) | StateRef::Unspecified => None,
    }
}

/// The meaning of `text` together with the attribute `eol` (`convert_attrs()` in convert.c). Without attributes nothing
/// is converted, since `core.autocrlf` is not set.
fn line_endings(text: Option<AttributesDigest>, eol: StateRef<'_>) -> AttributesDigest {
    use AttributesDigest::{Binary, TextAuto, TextAutoCrlf, TextAutoInput, TextCrlf, TextInput};
    let is_crlf = match eol {
        StateRef::Value(value) if value.as_bstr() == "crlf" => Some(true),
        StateRef::Value(value) if value.as_bstr() == "lf" => Some(false),
        _ => None,
    };
    match (text, is_crlf) {
        (Some(Binary), _) | (None, None) => Binary,
        (Some(TextAuto), Some(true)) => TextAutoCrlf,
        (Some(TextAuto), Some(false)) => TextAutoInput,
        (_, Some(true)) => TextCrlf,
        (_, Some(false)) => TextInput,
        (Some(digest), None) => digest,
    }
}

/// Converts files, reusing its buffers.
#[derive(Default)]
pub(super) struct Converter {
    attributes: Outcome,
    converted: Vec<u8>,
    next: Vec<u8>,
}

impl Converter {
    /// Has to be called when another `stack` is used than for the previous files.
    pub(super) fn start(&mut self, stack: &Stack) {
        self.attributes = stack.selected_attribute_matches(ATTRIBUTES);
    }

    /// The content of the file at `place`: `content` of the blob `id`, converted as the attributes there ask.
    pub(super) fn convert<'a>(
        &'a mut self,
        place: &Platform<'_>,
        id: &oid,
        content: &'a [u8],
    ) -> Result<&'a [u8], ConversionError> {
        if !place.matching_attributes(&mut self.attributes) {
            return Ok(content);
        }
        let conversion = Conversion::asked_for(&self.attributes)?;
        self.apply(conversion, id, content)
    }

    fn apply<'a>(
        &'a mut self,
        conversion: Conversion,
        id: &oid,
        content: &'a [u8],
    ) -> Result<&'a [u8], ConversionError> {
        let Converter { converted, next, .. } = self;
        let mut is_converted = false;
        if conversion.expands_ident {
            is_converted = if conversion.is_streamed() {
                ident::expand_streamed(content, id, converted)
            } else {
                // The id of the content that was read, which differs if a replacement object stands for the blob.
                ident::expand_whole(content, &object_id(id.kind(), ObjectKind::Blob, content), converted)
            };
        }
        let source = if is_converted { converted.as_slice() } else { content };
        let has_endings = eol::convert_to_worktree(source, conversion.line_endings, next, Default::default())
            .map_err(|e| ConversionError::LineEndings(e.to_string()))?;
        if has_endings {
            std::mem::swap(converted, next);
            is_converted = true;
        }
        let source = if is_converted { converted.as_slice() } else { content };
        if let Some(encoding) = conversion.encoding
            && !source.is_empty()
            && encoding.encode(source, next)
        {
            std::mem::swap(converted, next);
            is_converted = true;
        }
        Ok(if is_converted { converted } else { content })
    }
}

impl std::fmt::Debug for Converter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Converter").finish_non_exhaustive()
    }
}
