//! Codec specs: what is accepted, what it means, and what a user reads who mistyped.

mod common;

use common::{SPECS, spec};
use proptest::prelude::*;
use repackbench_codec::{Algorithm, CodecSpec, catalogue};

fn refusal(typed: &str) -> String {
    typed.parse::<CodecSpec>().unwrap_err().to_string()
}

#[test]
fn defaults_are_filled_in() {
    let expect = |typed: &str, algorithm, level, canonical: &str, stem: &str| {
        let spec = spec(typed);
        assert_eq!((spec.algorithm(), spec.level()), (algorithm, level), "{typed}");
        assert_eq!((spec.canonical().as_str(), spec.file_stem().as_str()), (canonical, stem), "{typed}");
        assert_eq!(spec.to_string(), typed);
    };
    expect("store", Algorithm::Store, None, "store", "store");
    expect("zlib", Algorithm::Zlib, Some(6), "zlib:6", "zlib-6");
    expect("zlib:06", Algorithm::Zlib, Some(6), "zlib:6", "zlib-6");
    expect("zlib-rs:9", Algorithm::ZlibRs, Some(9), "zlib-rs:9", "zlib-rs-9");
    expect("libdeflate", Algorithm::Libdeflate, Some(6), "libdeflate:6", "libdeflate-6");
    expect("zstd", Algorithm::Zstd, Some(3), "zstd:3", "zstd-3");
    expect("zstd:-7", Algorithm::Zstd, Some(-7), "zstd:-7", "zstd-m7");
    expect("lz4,checksum=yes", Algorithm::Lz4, None, "lz4", "lz4");
    expect("lz4hc", Algorithm::Lz4hc, Some(9), "lz4hc:9", "lz4hc-9");
    expect("lz4hc:12,checksum=no", Algorithm::Lz4hc, Some(12), "lz4hc:12,checksum=no", "lz4hc-12-checksum-no");
    expect("deflate", Algorithm::Deflate, Some(6), "deflate:6", "deflate-6");
    expect("miniz:10", Algorithm::Miniz, Some(10), "miniz:10", "miniz-10");
    expect("sirocco", Algorithm::Sirocco, Some(6), "sirocco:6", "sirocco-6");
    expect("zopfli", Algorithm::Zopfli, Some(15), "zopfli:15", "zopfli-15");
    expect("brotli", Algorithm::Brotli, Some(5), "brotli:5", "brotli-5");
    expect("lzma", Algorithm::Lzma, Some(6), "lzma:6", "lzma-6");
    expect("xz:0,checksum=no", Algorithm::Xz, Some(0), "xz:0,checksum=no", "xz-0-checksum-no");
    expect("bzip2", Algorithm::Bzip2, Some(9), "bzip2:9", "bzip2-9");
    expect(
        "zstd:5,frame=standard,checksum=no",
        Algorithm::Zstd,
        Some(5),
        "zstd:5,checksum=no,frame=standard",
        "zstd-5-checksum-no-frame-standard",
    );
    expect("zstd:5,loose=-3", Algorithm::Zstd, Some(5), "zstd:5,loose=-3", "zstd-5-loose-m3");
    expect("zstd:5,loose=5", Algorithm::Zstd, Some(5), "zstd:5", "zstd-5");
}

#[test]
fn specs_are_equal_when_they_mean_the_same() {
    assert_eq!(spec("zlib"), spec("zlib:6"));
    assert_eq!(spec("zlib"), spec("zlib:6,loose=1"));
    assert_eq!(spec("zstd:5,checksum=no,frame=standard"), spec("zstd:5,frame=standard,checksum=no"));
    assert_ne!(spec("zstd:5"), spec("zstd:5,checksum=no"));
    assert_ne!(spec("zlib:6"), spec("zlib-rs:6"));
}

#[test]
fn loose_objects_follow_git_for_the_baseline_only() {
    let loose_level = |typed: &str| spec(typed).for_loose_objects().level();
    assert_eq!(loose_level("zlib"), Some(1));
    assert_eq!(loose_level("zlib:6"), Some(1));
    assert_eq!(loose_level("zlib:6,loose=6"), Some(6));
    assert_eq!(loose_level("zlib:9"), Some(9));
    assert_eq!(loose_level("zlib-rs:6"), Some(6));
    assert_eq!(loose_level("zstd:19,loose=3"), Some(3));
    assert_eq!(loose_level("store"), None);
    let loose = spec("zstd:19,checksum=no,loose=3").for_loose_objects();
    assert_eq!((loose.checksum(), loose.to_string().as_str()), (false, "zstd:3,checksum=no"));
    for typed in SPECS {
        let once = spec(typed).for_loose_objects();
        assert_eq!(once.for_loose_objects(), once, "{typed}");
    }
}

#[test]
fn refusals_say_what_is_valid() {
    let zlib_ng = if cfg!(feature = "zlib-ng") { "zlib-ng:0..9, " } else { "" };
    let codecs = &format!(
        "store, zlib:0..9, deflate:0..9, {zlib_ng}zlib-rs:0..9, miniz:0..10, sirocco:0..9, libdeflate:1..12, \
         zopfli:1..99, zstd:-7..22 without 0, lz4, lz4hc:1..12, brotli:0..11, lzma:0..9, xz:0..9, bzip2:1..9"
    );
    assert_eq!(refusal("zstdd:5"), format!("unknown codec \"zstdd\" (did you mean zstd?); valid are {codecs}"));
    assert_eq!(refusal("ZSTD"), format!("unknown codec \"ZSTD\" (did you mean zstd?); valid are {codecs}"));
    assert_eq!(refusal("defalte"), format!("unknown codec \"defalte\" (did you mean deflate?); valid are {codecs}"));
    assert_eq!(refusal("qqq"), format!("unknown codec \"qqq\"; valid are {codecs}"));
    assert_eq!(refusal(""), format!("unknown codec \"\"; valid are {codecs}"));
    assert_eq!(refusal("zstd:23"), "zstd: expected a level from -7..22 without 0, found \"23\"");
    assert_eq!(refusal("zstd:0"), "zstd: expected a level from -7..22 without 0, found \"0\"");
    assert_eq!(refusal("zlib:"), "zlib: expected a level from 0..9, found \"\"");
    assert_eq!(refusal("zlib:+6"), "zlib: expected a level from 0..9, found \"+6\"");
    assert_eq!(refusal("libdeflate:0"), "libdeflate: expected a level from 1..12, found \"0\"");
    assert_eq!(refusal("zopfli:0"), "zopfli: expected a level from 1..99, found \"0\"");
    if cfg!(not(feature = "zlib-ng")) {
        let expected = "codec zlib-ng is not built in: build with --features zlib-ng, which needs cmake";
        assert_eq!(refusal("zlib-ng:6"), expected);
    }
    assert_eq!(refusal("lz4hc:13"), "lz4hc: expected a level from 1..12, found \"13\"");
    assert_eq!(refusal("lz4:1"), "lz4 has no levels: expected lz4, found lz4:1");
    assert_eq!(
        refusal("zstd:5,chksum=no"),
        "unknown option \"chksum\" (did you mean checksum?); \
         zstd takes checksum= (yes or no), frame= (magicless or standard), loose= (a level)"
    );
    assert_eq!(refusal("zlib,"), "unknown option \"\"; zlib takes loose= (a level)");
    assert_eq!(refusal("zlib,checksum=no"), "option checksum is not for zlib, which takes loose= (a level)");
    assert_eq!(refusal("lz4,frame=standard"), "option frame is not for lz4, which takes checksum= (yes or no)");
    assert_eq!(refusal("zstd,checksum=maybe"), "option checksum: expected yes or no, found \"maybe\"");
    assert_eq!(refusal("zstd,checksum"), "option checksum: expected yes or no, found \"\"");
    assert_eq!(refusal("zstd,loose=40"), "zstd: expected a level from -7..22 without 0, found \"40\"");
    assert_eq!(refusal("zstd,checksum=no,checksum=no"), "option checksum: expected it once, found it twice");
}

#[test]
fn the_catalogue_lists_specs_that_parse() {
    for codec in catalogue() {
        assert_eq!(spec(codec.name), CodecSpec::of(codec.algorithm));
        assert_eq!(spec(codec.name).level(), codec.levels.as_ref().map(|levels| levels.default));
        for level in codec.levels.iter().flat_map(|levels| levels.range.clone()) {
            let refused = codec.levels.as_ref().unwrap().except == Some(level);
            assert_eq!(format!("{}:{level}", codec.name).parse::<CodecSpec>().is_err(), refused);
        }
    }
}

fn valid_spec() -> impl Strategy<Value = String> {
    let zlib_family = (prop::sample::select(vec!["zlib", "zlib-rs", "libdeflate"]), 1..=9, prop::option::of(1..=9))
        .prop_map(|(codec, level, loose)| match loose {
            Some(loose) => format!("{codec}:{level},loose={loose}"),
            None => format!("{codec}:{level}"),
        });
    let options = prop::sample::subsequence(vec!["checksum=no", "frame=standard", "loose=-2"], 0..=3).prop_shuffle();
    let zstd =
        (-7..=22, options).prop_filter("zstd has no level 0", |(level, _)| *level != 0).prop_map(|(level, options)| {
            std::iter::once(format!("zstd:{level}"))
                .chain(options.iter().map(|option| (*option).to_owned()))
                .collect::<Vec<_>>()
                .join(",")
        });
    prop_oneof![zlib_family, zstd, prop::sample::select(SPECS.to_vec()).prop_map(str::to_owned)]
}

proptest! {
    #[test]
    fn display_gives_back_what_was_typed_and_canonical_its_meaning(typed in valid_spec()) {
        let parsed = spec(&typed);
        prop_assert_eq!(parsed.to_string(), typed);
        let canonical = parsed.canonical();
        prop_assert_eq!(&spec(&canonical), &parsed);
        prop_assert_eq!(spec(&canonical).canonical(), canonical);
    }

    #[test]
    fn file_stems_are_safe_and_tell_specs_apart(one in valid_spec(), other in valid_spec()) {
        let (one, other) = (spec(&one), spec(&other));
        let safe = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        prop_assert!(one.file_stem().bytes().all(safe), "{}", one.file_stem());
        prop_assert_eq!(one.file_stem() == other.file_stem(), one == other);
    }

    #[test]
    fn options_mean_nothing_in_revlogs(typed in valid_spec()) {
        let plain = spec(typed.split(',').next().unwrap());
        prop_assert_eq!(&spec(&typed).for_revlogs(), &plain);
        prop_assert_eq!(plain.for_revlogs().to_string(), plain.to_string());
    }

    #[test]
    fn nonsense_is_refused_without_a_panic(typed in "[a-z0-9:,=+-]{0,24}") {
        if let Ok(parsed) = typed.parse::<CodecSpec>() {
            prop_assert_eq!(parsed.to_string(), typed);
        }
    }
}
