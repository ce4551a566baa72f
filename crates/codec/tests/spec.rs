//! Codec specs: what is valid, what it means, and the messages for what is not.

mod common;

use common::{SPECS, spec};
use proptest::prelude::*;
use repackbench_codec::{
    Algorithm, ChunkKind, CodecSpec, CodecSpecs, Dictionary, ObjectKind, SpecErrorKind, catalogue, named_specs,
};

fn refusal(typed: &str) -> String {
    typed.parse::<CodecSpec>().unwrap_err().kind().to_string()
}

/// The typed text from the character on that the message points at.
fn pointed_at(typed: &str) -> String {
    let error = typed.parse::<CodecSpecs>().unwrap_err();
    let message = error.to_string();
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(lines[1], format!("  {typed}"));
    let column = lines[2].find('^').unwrap();
    lines[1].chars().skip(column).collect()
}

fn listed(typed: &str) -> Vec<String> {
    typed.parse::<CodecSpecs>().unwrap().specs().iter().map(CodecSpec::to_string).collect()
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
    expect("lz4,checksum=yes", Algorithm::Lz4, Some(1), "lz4:1", "lz4-1");
    expect("lz4:65537", Algorithm::Lz4, Some(65_537), "lz4:65537", "lz4-65537");
    expect("lz4_flex", Algorithm::Lz4Flex, None, "lz4_flex", "lz4-flex");
    expect("snappy", Algorithm::Snappy, None, "snappy", "snappy");
    expect("lzo", Algorithm::Lzo, Some(3), "lzo:3", "lzo-3");
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
fn only_the_baseline_has_gits_level_for_loose_objects() {
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

fn choice_of(typed: &str, object: ObjectKind, is_delta: bool) -> String {
    let spec = spec(typed);
    let choice = spec.choice(ChunkKind { object, is_delta });
    format!("{}:{}", choice.algorithm().name(), choice.level().unwrap_or_default())
}

#[test]
fn kinds_use_their_own_part_or_the_default() {
    let typed = "commit=zstd:19,dict=64k,tree=store,blob=zstd:5,delta=lz4hc:3";
    assert_eq!(choice_of(typed, ObjectKind::Commit, false), "zstd:19");
    assert_eq!(choice_of(typed, ObjectKind::Tree, false), "store:0");
    assert_eq!(choice_of(typed, ObjectKind::Blob, false), "zstd:5");
    assert_eq!(choice_of(typed, ObjectKind::Blob, true), "lz4hc:3");
    assert_eq!(choice_of(typed, ObjectKind::Tag, false), "zlib:6", "the default is the baseline");
    assert_eq!(spec(typed).canonical(), "zlib:6,commit=zstd:19,dict=64k,tree=store,blob=zstd:5,delta=lz4hc:3");
    assert_eq!(choice_of("zstd:7,tree=store", ObjectKind::Blob, true), "zstd:7");
    assert_eq!(choice_of("zstd:7,manifest=zstd:19", ObjectKind::Manifest, true), "zstd:19");
    assert_eq!(spec("zstd:5,tree=zstd:5"), spec("zstd:5"), "a part that equals the default has no effect");
    assert_eq!(spec("zstd:5,delta=zstd:5"), spec("zstd:5"));
    assert_ne!(spec("zstd:5,tree=store,delta=zstd:5"), spec("zstd:5,tree=store"), "tree deltas differ");
    assert_eq!(spec("zstd:5,tree=store,blob=lz4hc"), spec("zstd:5,blob=lz4hc,tree=store"));
}

#[test]
fn options_for_bases_and_dictionaries_are_parsed() {
    let both = spec("zstd:19,prefix,patch,dict=112k,window=22,max-chain=10");
    assert_eq!((both.uses_bases(), both.uses_dictionaries(), both.max_chain()), (true, true, Some(10)));
    assert_eq!(both.canonical(), "zstd:19,dict=112k,patch,prefix,window=22,max-chain=10");
    let only_deltas = spec("delta=zstd:9,prefix,max-chain=3");
    assert_eq!(only_deltas.canonical(), "zlib:6,delta=zstd:9,prefix,max-chain=3");
    assert_eq!(spec(&only_deltas.canonical()), only_deltas);
    assert_eq!(spec("zstd,dict=114688"), spec("zstd,dict=112K"));
    assert_eq!(spec("zstd,dict=1000").canonical(), "zstd:3,dict=1000");
    assert!(
        !both.is_read_by_git()
            && !spec("zstd,tree=zlib").is_read_by_git()
            && spec("zlib,tree=zlib-rs").is_read_by_git()
    );
    assert_eq!(both.for_loose_objects().canonical(), "zstd:19,dict=112k,window=22");
    assert_eq!(both.for_revlogs(), both);
    assert_eq!(both.with_max_chain(3).max_chain(), Some(3));
    assert_eq!(spec("zstd:3").with_max_chain(3), spec("zstd:3"), "nothing to limit");
    let own = spec("zstd:3,tree=store").with_own_dictionary(Dictionary::new(*b"own"), "12ab");
    assert_eq!(own.canonical(), "zstd:3,dict=file-12ab,tree=store");
    assert_eq!(spec(&own.canonical()), own);
}

#[test]
fn numbers_apply_to_all_parts() {
    let numbered = spec("zstd:9,dict=112k,ids=number");
    assert_eq!(numbered.canonical(), "zstd:9,dict=112k,ids=number");
    assert_eq!((numbered.uses_numbers(), numbered.format_version()), (true, 2));
    assert_eq!((spec("zstd:9").uses_numbers(), spec("zstd:9").format_version()), (false, 1));
    let by_kind = spec("zlib:6,tree=store,ids=number");
    assert_eq!(by_kind.canonical(), "zlib:6,ids=number,tree=store");
    assert_eq!((spec(&by_kind.canonical()), by_kind.file_stem()), (by_kind, "zlib-6-ids-number-tree-store".to_owned()));
    assert_ne!(spec("zlib:6,ids=number"), spec("zlib:6"));
    assert!(!spec("zlib:6,ids=number").is_read_by_git() && !spec("zlib:6,ids=number").is_uniform());
    assert_eq!(numbered.for_loose_objects().canonical(), "zstd:9,dict=112k");
    assert_eq!(listed("zlib:1..3,ids=number"), ["zlib:1,ids=number", "zlib:2,ids=number", "zlib:3,ids=number"]);
    for (typed, message) in [
        ("zlib:6,ids", "option ids: expected number"),
        ("zlib:6,ids=id", "option ids: expected number"),
        ("zlib:6,ids=number,ids=number", "option ids: expected it once"),
        ("zlib:6,ids=number,tree=store,ids=number", "option ids: expected it once"),
        ("zstd:9,patch,ids=number", "patch cannot be combined with ids=number"),
        ("zstd:9,ids=number,delta=zstd:3,prefix", "prefix cannot be combined with ids=number"),
        ("balanced,ids=number", "write zstd:9,dict=112k instead"),
    ] {
        assert!(refusal(typed).contains(message), "{typed}: {}", refusal(typed));
    }
}

#[test]
fn names_stand_for_specs() {
    for (name, meaning) in named_specs() {
        assert_eq!(spec(name), spec(meaning));
        assert_eq!(spec(name).to_string(), *name);
        assert_eq!(spec(name).canonical(), *meaning, "a variant records the canonical spelling");
    }
}

#[test]
fn lists_and_ranges_of_levels_expand_to_specs() {
    assert_eq!(listed("zstd:5"), ["zstd:5"]);
    assert_eq!(listed("zlib:1..3"), ["zlib:1", "zlib:2", "zlib:3"]);
    assert_eq!(listed("zstd:1,3,5,checksum=no"), ["zstd:1,checksum=no", "zstd:3,checksum=no", "zstd:5,checksum=no"]);
    assert_eq!(listed("zstd:-1..1"), ["zstd:-1", "zstd:1"], "there is no level 0");
    assert_eq!(listed("zstd:3..1,19"), ["zstd:3", "zstd:2", "zstd:1", "zstd:19"]);
    assert_eq!(
        listed("zstd:1,2,tree=zlib:6,9"),
        ["zstd:1,tree=zlib:6", "zstd:1,tree=zlib:9", "zstd:2,tree=zlib:6", "zstd:2,tree=zlib:9"]
    );
    assert_eq!(listed("best-size"), ["best-size"]);
    assert_eq!(pointed_at("zstd:1,30"), "30");
    assert_eq!(pointed_at("zlib:1..10"), "zlib:1..10");
    assert_eq!(pointed_at("zlib:10"), "10");
    assert_eq!(pointed_at("zstd:5,tree=zlib:10"), "10");
    assert_eq!(pointed_at("store:1"), "1");
    assert_eq!(
        refusal("best-read:3"),
        "best-read cannot have a level, options or kinds: write lz4hc:12,dict=64k instead and change that"
    );
    assert_eq!(refusal("zstd,tree=best-size"), refusal("best-size:1"));
    assert_eq!(
        pointed_at("zstd:1..3,tree=zlib:1..9,blob=zlib:0..9,commit=zstd:1..9"),
        "zstd:1..3,tree=zlib:1..9,blob=zlib:0..9,commit=zstd:1..9"
    );
    assert_eq!(
        refusal("zlib:1..3"),
        "expected one level, found several: only bench and estimate take lists and ranges of levels"
    );
    assert_eq!(refusal("zlib:1,3"), refusal("zlib:1..3"));
}

#[test]
fn messages_point_at_the_wrong_character() {
    assert_eq!(pointed_at("zstdd:5"), "zstdd:5");
    assert_eq!(pointed_at("zstd:5,chksum=no"), "chksum=no");
    assert_eq!(pointed_at("zstd:5,tree=zlob:3,blob=lz4hc"), "zlob:3,blob=lz4hc");
    assert_eq!(pointed_at("zstd:1,3,tree=zlib,chksum=no"), "chksum=no");
    assert_eq!(pointed_at("zstd:5,checksum=no,checksum=no"), "checksum=no");
    assert_eq!(pointed_at("zstd:5,zstd:9"), "zstd:9");
}

#[test]
fn messages_say_what_is_valid() {
    let levels = |algorithm: &Algorithm| match algorithm.levels() {
        Some(levels) => format!("{}:{levels}", algorithm.name()),
        None => algorithm.name().to_owned(),
    };
    let mut codecs: Vec<String> = Algorithm::ALL.iter().map(levels).collect();
    codecs.extend(named_specs().iter().map(|(name, _)| (*name).to_owned()));
    let codecs = codecs.join(", ");
    assert!(codecs.starts_with("store, zlib:0..9, "), "{codecs}");
    assert_eq!(refusal("zstdd:5"), "unknown codec \"zstdd\" (did you mean zstd?); `repackbench codecs` lists all");
    assert_eq!(refusal("ZSTD"), "unknown codec \"ZSTD\" (did you mean zstd?); `repackbench codecs` lists all");
    assert_eq!(refusal("defalte"), "unknown codec \"defalte\" (did you mean deflate?); `repackbench codecs` lists all");
    assert_eq!(refusal("gzip:9"), "unknown codec \"gzip\" (did you mean zlib:9?); `repackbench codecs` lists all");
    assert_eq!(
        refusal("blob=zstd-5"),
        "unknown codec \"zstd-5\" (did you mean zstd:5?); `repackbench codecs` lists all"
    );
    assert_eq!(
        refusal("zstd:5,prefix,balanced,lz4:2"),
        "expected options after the codec, found another codec; \
         bench and estimate take several as --codec zstd:5,prefix --codec balanced --codec lz4:2"
    );
    assert_eq!(refusal("qqq"), format!("unknown codec \"qqq\"; expected one of {codecs}"));
    assert_eq!(refusal(""), format!("unknown codec \"\"; expected one of {codecs}"));
    assert_eq!(refusal("zstd:23"), "zstd: expected a level from -131072..22 without 0, found \"23\"");
    assert_eq!(refusal("zstd:0"), "zstd: expected a level from -131072..22 without 0, found \"0\"");
    let range = "zstd: expected a level from -131072..22 without 0, found \"1-3\" (did you mean zstd:1..3?)";
    assert_eq!(refusal("zstd:1-3"), range);
    assert_eq!(refusal("zlib:"), "zlib: expected a level from 0..9, found \"\"");
    assert_eq!(refusal("zlib:+6"), "zlib: expected a level from 0..9, found \"+6\"");
    assert_eq!(refusal("libdeflate:0"), "libdeflate: expected a level from 1..12, found \"0\"");
    assert_eq!(refusal("zopfli:0"), "zopfli: expected a level from 1..99, found \"0\"");
    let not_built_in = "codec zlib-ng is not built in: build with --features zlib-ng, which needs cmake";
    assert_eq!(SpecErrorKind::NotBuiltIn { codec: "zlib-ng", feature: "zlib-ng" }.to_string(), not_built_in);
    if cfg!(not(feature = "zlib-ng")) {
        assert_eq!(refusal("zlib-ng:6"), not_built_in);
    }
    assert_eq!(refusal("lz4hc:13"), "lz4hc: expected a level from 1..12, found \"13\"");
    assert_eq!(refusal("lz4:0"), "lz4: expected a level from 1..65537, found \"0\"");
    assert_eq!(refusal("lz4:65538"), "lz4: expected a level from 1..65537, found \"65538\"");
    assert_eq!(refusal("lzo:10"), "lzo: expected a level from 1..9, found \"10\"");
    assert_eq!(refusal("snappy:1"), "snappy has no levels: expected snappy, found snappy:1");
    assert_eq!(
        refusal("lz4flex"),
        "unknown codec \"lz4flex\" (did you mean lz4_flex?); `repackbench codecs` lists all"
    );
    assert_eq!(
        refusal("zstd:5,chksum=no"),
        "unknown option \"chksum\" (did you mean checksum?); \
         zstd takes checksum= (yes or no), dict= (a size such as 112k, or file), frame= (magicless or standard), \
         ids= (number), loose= (a level), max-chain= (a number of deltas), patch, prefix, store-if-larger= (yes or no), \
         window= (a binary logarithm from 10 to 27)"
    );
    assert_eq!(
        refusal("zstd,dict=1"),
        "option dict: expected a size from 512 to 16384k for zstd, or file, found \"1\""
    );
    assert_eq!(refusal("zstd,prefix=yes"), "option prefix: expected no value, found \"yes\"");
    assert_eq!(refusal("zstd,frame=standard,dict=1k"), "dict= cannot be combined with frame=standard");
    assert_eq!(refusal("zstd,tree=store,tree=zstd"), "kind tree: expected it once, found it twice");
    assert_eq!(refusal("zstd,window=30"), "option window: expected a binary logarithm from 10 to 27, found \"30\"");
    assert_eq!(
        refusal("store,dict=1k"),
        "store does not take option dict; it takes checksum= (yes or no), ids= (number)"
    );
    assert_eq!(
        refusal("zlib,"),
        "unknown option \"\"; zlib takes dict= (a size such as 112k, or file), ids= (number), loose= (a level)"
    );
    assert_eq!(
        refusal("zlib,checksum=no"),
        "zlib does not take option checksum; it takes dict= (a size such as 112k, or file), ids= (number), loose= (a level)"
    );
    assert_eq!(
        refusal("lz4,frame=standard"),
        "lz4 does not take option frame; it takes checksum= (yes or no), dict= (a size such as 112k, or file), \
         ids= (number), loose= (a level), store-if-larger= (yes or no)"
    );
    assert_eq!(refusal("zstd,checksum=maybe"), "option checksum: expected yes or no, found \"maybe\"");
    assert_eq!(refusal("zstd,checksum"), "option checksum: expected yes or no, found \"\"");
    assert_eq!(refusal("zstd,loose=40"), "zstd: expected a level from -131072..22 without 0, found \"40\"");
    assert_eq!(refusal("zstd,checksum=no,checksum=no"), "option checksum: expected it once, found it twice");
}

#[test]
fn catalogue_lists_valid_specs() {
    for codec in catalogue() {
        assert_eq!(spec(codec.name), CodecSpec::of(codec.algorithm));
        assert_eq!(spec(codec.name).level(), codec.levels.as_ref().map(|levels| levels.default));
        for level in codec.levels.iter().flat_map(|levels| levels.range.clone().take(100)) {
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
    let options = prop::sample::subsequence(vec!["checksum=no", "frame=standard", "ids=number", "loose=-2"], 0..=4)
        .prop_filter("numbers need checksums", |options| {
            !["checksum=no", "ids=number"].iter().all(|option| options.contains(option))
        })
        .prop_shuffle();
    let zstd =
        (-7..=22, options).prop_filter("zstd has no level 0", |(level, _)| *level != 0).prop_map(|(level, options)| {
            std::iter::once(format!("zstd:{level}"))
                .chain(options.iter().map(|option| (*option).to_owned()))
                .collect::<Vec<_>>()
                .join(",")
        });
    let based =
        prop::sample::subsequence(vec!["dict=64k", "prefix", "patch", "max-chain=3", "tree=zstd:-7,loose=-1"], 0..=5)
            .prop_map(|options| std::iter::once("zstd:5").chain(options).collect::<Vec<_>>().join(","))
            .prop_filter("max-chain limits something", |typed| {
                !typed.contains("max-chain") || typed.contains("prefix") || typed.contains("patch")
            });
    prop_oneof![zlib_family, zstd, based, prop::sample::select(SPECS.to_vec()).prop_map(str::to_owned)]
}

proptest! {
    #[test]
    fn display_and_canonical_round_trip(typed in valid_spec()) {
        let parsed = spec(&typed);
        prop_assert_eq!(parsed.to_string(), typed);
        let canonical = parsed.canonical();
        prop_assert_eq!(&spec(&canonical), &parsed);
        prop_assert_eq!(spec(&canonical).canonical(), canonical);
    }

    #[test]
    fn file_stems_are_safe_and_unique(one in valid_spec(), other in valid_spec()) {
        let (one, other) = (spec(&one), spec(&other));
        let safe = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        prop_assert!(one.file_stem().bytes().all(safe), "{}", one.file_stem());
        prop_assert_eq!(one.file_stem() == other.file_stem(), one == other);
    }

    #[test]
    fn for_revlogs_removes_container_options(typed in valid_spec()) {
        let plain = spec(typed.split(',').next().unwrap());
        if !["prefix", "patch", "dict", "tree", "ids"].iter().any(|option| typed.contains(option)) {
            prop_assert_eq!(&spec(&typed).for_revlogs(), &plain);
        }
        prop_assert_eq!(plain.for_revlogs().to_string(), plain.to_string());
    }

    #[test]
    fn arbitrary_text_does_not_panic(typed in "[a-z0-9:,=+-]{0,24}") {
        if let Ok(parsed) = typed.parse::<CodecSpec>() {
            prop_assert_eq!(parsed.to_string(), typed);
        }
    }
}
