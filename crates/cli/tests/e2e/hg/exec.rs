//! Stock hg on variants, with the extension that `exec` puts in place.

use crate::support::fixture::Fixture;
use crate::support::hg::{self, Version};
use crate::support::hg_extension;
use crate::support::program::{self, Scratch, convert, exit};

#[test]
fn hg_reads_variants_and_is_told_what_it_lacks() {
    let scratch = Scratch::new();
    let source = Fixture::hg_copy("branches", &scratch).repo();
    let expected = hg::output(&source, ["log", "-p"]);
    let own = [("zlib:6", false), ("zstd:3", false), ("store", false), ("lz4hc:9", true), ("brotli:5", true)];
    for (codec, needs_extension) in own {
        let variant = scratch.join(&codec.replace(':', "-"));
        convert(&source, codec, &variant);
        let exec = |options: &[&str], words: &[&str]| {
            let mut command = program::command();
            command.env("LC_ALL", "C.UTF-8").env("HGRCPATH", "").env("HGPLAIN", "1");
            command.arg("exec").args(options).arg(&variant).arg("--").arg(Version::V72.program()).args(words);
            program::run(&mut command)
        };
        let extension = hg_extension::folder().to_str().unwrap();
        let with = exec(&["--hg-extension", extension], &["log", "-p"]).exits(exit::OK);
        assert!(with.stdout == expected, "{codec}");
        let without = exec(&[], &["log", "-p"]);
        if needs_extension {
            assert!(without.exits(exit::FAILURE).error_line().contains("exp-compression-"), "{codec}");
            continue;
        }
        assert!(without.exits(exit::OK).stdout == expected, "{codec}");
        assert_eq!(exec(&[], &["no-such-command"]).code, Some(255));
    }
}
