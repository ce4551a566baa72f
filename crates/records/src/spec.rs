//! Codec specs in canonical text, taken apart.

/// The parts of a spec: see [`SpecText::canonical`](crate::SpecText::canonical).
///
/// This is the one place that reads such text. Records hold specs as text, so that later programs can add to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpecParts<'a> {
    /// The codec's name.
    pub codec: &'a str,
    /// Its level; `None` for a codec without levels.
    pub level: Option<i64>,
    /// All that follows, each part with a comma before it: `,dict=112k,prefix` or `,tree=lz4`.
    pub options: &'a str,
}

/// What parts for kinds of objects begin with, as in `zlib:6,tree=lz4`.
const KINDS: [&str; 8] = ["commit=", "tree=", "blob=", "tag=", "changelog=", "manifest=", "filelog=", "delta="];

impl<'a> SpecParts<'a> {
    /// The parts of `spec`.
    pub fn of(spec: &'a str) -> Self {
        let (first, options) = spec.split_at(spec.find(',').unwrap_or(spec.len()));
        let (codec, level) = first.split_once(':').unwrap_or((first, ""));
        SpecParts { codec, level: level.parse().ok(), options }
    }

    /// Whether kinds of objects have codecs of their own.
    pub fn has_kinds(&self) -> bool {
        let mut parts = self.options.split(',').chain([self.codec]);
        parts.any(|part| KINDS.iter().any(|kind| part.starts_with(kind)))
    }

    /// Whether kinds of objects have levels of their own.
    pub fn has_levels_of_kinds(&self) -> bool {
        self.options.contains(':')
    }

    /// Whether the spec says that chunks carry no checksum.
    pub fn is_unchecked(&self) -> bool {
        self.options.split(',').any(|option| option == "checksum=no")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_is_split_into_codec_level_and_options() {
        let parts = |codec, level, options| SpecParts { codec, level, options };
        assert_eq!(SpecParts::of("zlib:6"), parts("zlib", Some(6), ""));
        assert_eq!(SpecParts::of("zstd:-5,checksum=no,dict=112k"), parts("zstd", Some(-5), ",checksum=no,dict=112k"));
        assert_eq!(SpecParts::of("store"), parts("store", None, ""));
        assert_eq!(SpecParts::of("best-read"), parts("best-read", None, ""));
    }

    #[test]
    fn options_say_what_kinds_have_of_their_own() {
        for (spec, has_kinds, has_levels) in [
            ("zstd:9,dict=112k,prefix", false, false),
            ("zlib:6,tree=lz4", true, false),
            ("zlib:6,tree=zstd:3", true, true),
            ("blob=zstd:3,tree=lz4", true, false),
        ] {
            let parts = SpecParts::of(spec);
            assert_eq!((parts.has_kinds(), parts.has_levels_of_kinds()), (has_kinds, has_levels), "{spec}");
        }
        assert!(SpecParts::of("lz4,checksum=no").is_unchecked());
        assert!(!SpecParts::of("lz4,dict=file").is_unchecked());
    }
}
