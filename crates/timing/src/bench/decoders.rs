//! Rows that read the same files with another implementation.

use repackbench_codec::{Algorithm, CodecSpec, DecoderChoice, Decoders, SharedFormat, catalogue};
use repackbench_records::ChosenDecoder;

use crate::BenchError;

/// What decides which implementations can read a variant.
pub(super) struct Readable<'a> {
    /// The spec it was made under; `None` for a source that is no variant.
    pub(super) spec: Option<&'a CodecSpec>,
    /// Whether some of its chunks have a format.
    pub(super) has: &'a dyn Fn(SharedFormat) -> bool,
}

impl Readable<'_> {
    /// The implementations that read it if the user chooses none: those that wrote it, or git's own.
    pub(super) fn own_decoders(&self) -> Decoders {
        self.spec.map_or_else(Decoders::default, Decoders::for_spec)
    }

    /// The `choices` that make a row: those of an implementation that reads some of its chunks and is not its own.
    pub(super) fn rows<'c>(&self, choices: &'c [DecoderChoice]) -> impl Iterator<Item = DecoderChoice> + 'c {
        let own = self.own_decoders();
        let formats: Vec<SharedFormat> = SharedFormat::ALL.into_iter().filter(|format| (self.has)(*format)).collect();
        choices.iter().copied().filter(move |choice| formats.contains(&choice.format()) && choice.apply(own) != own)
    }
}

/// Checks that each of `choices` makes a row of at least one variant.
///
/// # Errors
/// [`BenchError::UselessDecoder`]: the user would miss a row.
pub(super) fn check(choices: &[DecoderChoice], variants: &[Readable<'_>]) -> Result<(), BenchError> {
    for choice in choices {
        if variants.iter().any(|variant| variant.rows(std::slice::from_ref(choice)).next().is_some()) {
            continue;
        }
        let (name, chunks) = (choice.algorithm().name(), choice.format().description());
        let why = match variants.iter().any(|variant| (variant.has)(choice.format())) {
            true => format!("every variant with {chunks} is read by {name} anyway"),
            false => format!("no variant has {chunks} without a dictionary"),
        };
        return Err(BenchError::UselessDecoder { choice: *choice, why });
    }
    Ok(())
}

/// The implementation that decodes chunks of `spec`, or the one that was `chosen`, with its version. The source as
/// found is read by stock zlib, unless it is itself a variant.
pub(super) fn name(spec: Option<&CodecSpec>, chosen: Option<DecoderChoice>) -> String {
    let algorithm = match (chosen, spec) {
        (Some(choice), _) => choice.algorithm(),
        (None, None) => Algorithm::Zlib,
        (None, Some(spec)) if spec.algorithm().is_zlib_family() => {
            DecoderChoice::Zlib(Decoders::for_spec(spec).zlib).algorithm()
        }
        (None, Some(spec)) => spec.algorithm(),
    };
    let codec = catalogue().into_iter().find(|codec| codec.algorithm == algorithm);
    codec.map_or_else(|| algorithm.name().to_owned(), |codec| format!("{} {}", codec.implementation, codec.version))
}

/// The choice in the form of records.
pub(super) fn record(choice: DecoderChoice) -> ChosenDecoder {
    ChosenDecoder { format: choice.format().name().to_owned(), implementation: choice.algorithm().name().to_owned() }
}

#[cfg(test)]
mod tests {
    use repackbench_codec::DecoderChoices;

    use super::*;

    /// The choices that make rows of a variant under `spec`, as they were typed.
    fn rows(spec: &str, choices: &str) -> Vec<String> {
        let (spec, choices): (CodecSpec, DecoderChoices) = (spec.parse().unwrap(), choices.parse().unwrap());
        let variant = Readable { spec: Some(&spec), has: &|format| format.is_written_by(&spec) };
        variant.rows(choices.choices()).map(|choice| choice.to_string()).collect()
    }

    #[test]
    fn choices_of_other_implementations_make_rows() {
        let choices = "zlib=zlib,libdeflate,lz4=lz4,lz4_flex";
        assert_eq!(rows("zlib:6", choices), ["zlib=libdeflate"]);
        assert_eq!(rows("zopfli", choices), ["zlib=libdeflate"], "zlib reads it anyway");
        assert_eq!(rows("libdeflate:6", choices), ["zlib=zlib"]);
        assert_eq!(rows("lz4hc:9", choices), ["lz4=lz4_flex"]);
        assert_eq!(rows("lz4_flex", choices), ["lz4=lz4"]);
        assert_eq!(rows("zstd,blob=lz4,tree=zlib", choices), ["zlib=libdeflate", "lz4=lz4_flex"]);
        assert!(rows("zstd:5", choices).is_empty());
        assert!(rows("zlib,dict=32k", choices).is_empty(), "stock zlib alone reads it");
    }

    #[test]
    fn choice_without_a_row_is_an_error() {
        let message = |spec: &str, choice: &str| {
            let spec: CodecSpec = spec.parse().unwrap();
            let variants = [Readable { spec: Some(&spec), has: &|format| format.is_written_by(&spec) }];
            check(&[choice.parse().unwrap()], &variants).map_err(|error| error.to_string())
        };
        assert_eq!(message("zlib:6", "zlib=libdeflate"), Ok(()));
        assert_eq!(
            message("zstd:5", "lz4=lz4_flex"),
            Err("lz4=lz4_flex: no variant has LZ4 blocks without a dictionary".to_owned())
        );
        assert_eq!(
            message("zlib:6", "zlib=zlib"),
            Err("zlib=zlib: every variant with zlib streams is read by zlib anyway".to_owned())
        );
    }

    #[test]
    fn decoders_have_names_with_versions() {
        let zopfli: CodecSpec = "zopfli".parse().unwrap();
        assert!(name(Some(&zopfli), None).starts_with("stock zlib"), "zopfli only encodes");
        assert!(name(None, "zlib=libdeflate".parse().ok()).starts_with("libdeflate"));
        assert!(name("lz4hc".parse().ok().as_ref(), None).starts_with("liblz4"));
    }
}
