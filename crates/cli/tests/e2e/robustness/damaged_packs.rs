//! Damaged packs and indices: one error that names the file and the place, exit code 65, and no output.
//!
//! There are two sorts of damage. Raw damage breaks a checksum. Resealed damage has every checksum corrected, as a
//! hostile or faulty writer would leave it, so that only the check of the damaged field itself can find it.

use std::fs;
use std::path::Path;

use crate::support::open_pack::OpenPack;
use crate::support::program::{self, Outcome, command, exit};
use crate::support::{Fixture, Scratch, crafted, git};

/// Converts, and fails the test unless that is refused with one line that names a file of this pack, the same in every
/// order. Returns the line.
#[track_caller]
fn refuses(repo: &Path, pack: &Path, what: &str) -> String {
    let scratch = Scratch::new();
    let refused = |options: &[&str]| {
        let mut convert = command();
        convert.args(["convert", "--quiet", "--codec", "zstd:5"]).args(options);
        let outcome = program::run(convert.arg(repo).arg("-o").arg(scratch.join("variant")));
        assert_refused(&outcome, pack, what);
        assert_eq!(scratch.names(), [""; 0], "{what}: no files remain");
        outcome.error_line()
    };
    let line = refused(&[]);
    assert_eq!(refused(&["--order", "checkout"]), line, "{what}");
    line
}

#[track_caller]
fn assert_refused(outcome: &Outcome, pack: &Path, what: &str) {
    assert_eq!(outcome.code, Some(exit::BAD_INPUT), "{what}: {}{}", outcome.text(), outcome.stderr);
    let stem = pack.file_stem().expect("a pack's name").to_string_lossy();
    assert!(outcome.error_line().contains(&*stem), "{what}: {} is not named: {}", stem, outcome.stderr);
}

/// Damages the only pack of a copy of a fixture. The error must say what was expected and found.
#[track_caller]
fn damaged(fixture: &str, what: &str, damage: impl FnOnce(&mut OpenPack)) -> String {
    let scratch = Scratch::new();
    let repo = Fixture::copy(fixture, &scratch).repo();
    let mut pack = OpenPack::open(&repo);
    damage(&mut pack);
    let line = refuses(&repo, &pack.path, what);
    assert!(line.contains("expected") && line.contains("found"), "{what}: {line}");
    line
}

/// The same with corrected checksums. The error must name the offset of the entry.
#[track_caller]
fn resealed(fixture: &str, what: &str, damage: impl FnOnce(&mut OpenPack) -> usize) {
    let mut offset = 0;
    let line = damaged(fixture, what, |pack| {
        offset = damage(pack);
        pack.reseal_and_write();
    });
    assert!(line.contains(&format!("offset {offset}")), "{what}: offset {offset} is not named: {line}");
}

#[test]
fn truncated_packs() {
    for keep in [0, 3, 11, 12, 31, 1000] {
        damaged("bare", &format!("{keep} bytes of the pack"), |pack| {
            pack.pack.truncate(keep);
            pack.write();
        });
    }
    for lost in [1, 20, 21, 500] {
        damaged("bare", &format!("{lost} bytes short"), |pack| {
            pack.pack.truncate(pack.pack.len() - lost);
            pack.write();
        });
    }
}

#[test]
fn damaged_pack_headers() {
    for (at, what) in [(0, "signature"), (7, "version"), (11, "count")] {
        damaged("bare", what, |pack| {
            pack.pack[at] ^= 0x10;
            pack.write();
        });
        damaged("bare", &format!("{what}, resealed"), |pack| {
            pack.pack[at] ^= 0x10;
            pack.reseal_and_write();
        });
    }
}

#[test]
fn every_byte_of_a_small_pack_is_checked() {
    let length = OpenPack::open(&Fixture::get("pack-v3").repo()).pack.len();
    for at in 0..length {
        damaged("pack-v3", &format!("byte {at} of the pack"), |pack| {
            pack.pack[at] ^= 1 << (at % 8);
            pack.write();
        });
    }
}

#[test]
fn every_part_of_an_index_is_checked() {
    let length = OpenPack::open(&Fixture::get("pack-v3").repo()).index.len();
    for at in (0..8).chain((8..1032).step_by(61)).chain(1032..length) {
        damaged("pack-v3", &format!("byte {at} of the index"), |pack| {
            pack.index[at] ^= 1 << (at % 8);
            pack.write();
        });
    }
}

#[test]
fn truncated_indices() {
    for keep in [0, 7, 8, 1031, 1032, 1100] {
        damaged("bare", &format!("{keep} bytes of the index"), |pack| {
            pack.index.truncate(keep);
            pack.write();
        });
    }
}

/// A change to a pack's index.
type Change = fn(&mut OpenPack);

#[test]
fn inconsistent_indices() {
    let lies: [(&str, Change); 6] = [
        ("a fan-out that falls", |pack| pack.index[8 + 4 * 7..][..4].copy_from_slice(&[0, 0, 0xff, 0xff])),
        ("a count of four thousand million", |pack| pack.index[8 + 4 * 255..][..4].copy_from_slice(&[0xff; 4])),
        ("an offset past the end", |pack| {
            let field = pack.offset_field_of(pack.entries[5].0);
            pack.index[field..][..4].copy_from_slice(&[0x7f, 0xff, 0xff, 0xf0]);
        }),
        ("an offset into the middle of an entry", |pack| {
            let field = pack.offset_field_of(pack.entries[5].0);
            pack.index[field + 3] ^= 1;
        }),
        ("an offset in a table of 64-bit offsets that is not there", |pack| {
            let field = pack.offset_field_of(pack.entries[5].0);
            pack.index[field..][..4].copy_from_slice(&[0x80, 0, 0, 9]);
        }),
        ("two ids out of order", |pack| {
            let (first, second) = (pack.index[1032..1052].to_vec(), pack.index[1052..1072].to_vec());
            pack.index[1032..1052].copy_from_slice(&second);
            pack.index[1052..1072].copy_from_slice(&first);
        }),
    ];
    for (what, lie) in lies {
        damaged("bare", what, |pack| {
            lie(pack);
            pack.reseal_index();
            pack.write();
        });
    }
}

#[test]
fn wrong_crc_of_an_entry() {
    let line = damaged("bare", "CRC-32", |pack| {
        let field = pack.offset_field_of(pack.entries[7].0) - 4 * pack.entries.len();
        pack.index[field] ^= 0x40;
        pack.reseal_index();
        pack.write();
    });
    assert!(line.contains("offset "), "{line}");
}

#[test]
fn damaged_chunks_are_found_by_their_codec() {
    for (kind, nth) in [(1, 0), (2, 0), (3, 0), (6, 3), (6, 20)] {
        resealed("bare", &format!("a stored byte of type {kind}"), |pack| {
            let (start, stored) = pack.entry_of_type(kind, nth);
            // Past the header of the zlib stream and, for a delta, past the distance.
            pack.pack[stored + 12] ^= 0x04;
            start
        });
    }
}

#[test]
fn unknown_entry_types() {
    for wrong in [0, 5] {
        resealed("bare", &format!("type {wrong}"), |pack| {
            let (start, _) = pack.entry_of_type(3, 0);
            pack.pack[start] = pack.pack[start] & 0x8f | wrong << 4;
            start
        });
    }
}

#[test]
fn wrong_payload_sizes() {
    for kind in [1, 2, 3, 6] {
        for lie in [0x01, 0x08] {
            resealed("bare", &format!("the size of type {kind} changed by {lie}"), |pack| {
                let (start, _) = pack.entry_of_type(kind, 0);
                pack.pack[start] ^= lie;
                start
            });
        }
    }
}

#[test]
fn delta_that_is_its_own_base() {
    resealed("bare", "distance 0", |pack| {
        let entries = pack.entries.iter().map(|(offset, _)| *offset);
        let with_short_distance = |start: &usize| {
            let distance = start + if pack.pack[*start] & 0x80 == 0 { 1 } else { 2 };
            pack.pack[*start] >> 4 & 7 == 6 && pack.pack[distance - 1] & 0x80 == 0 && pack.pack[distance] & 0x80 == 0
        };
        let start = entries.into_iter().find(with_short_distance).expect("a delta close to its base");
        let distance = start + if pack.pack[start] & 0x80 == 0 { 1 } else { 2 };
        pack.pack[distance] = 0;
        start
    });
    resealed("ref-delta", "its own id", |pack| {
        let (start, base) = pack.entry_of_type(7, 0);
        let own = id_at(pack, start);
        pack.pack[base..base + 20].copy_from_slice(&own);
        start
    });
}

#[test]
fn base_before_the_first_entry() {
    resealed("padded-sizes", "the longest distance of three bytes", |pack| {
        let (start, base) = pack.entry_of_type(6, 0);
        assert!(pack.pack[base] & pack.pack[base + 1] & 0x80 != 0, "the fixture's distance takes three bytes");
        pack.pack[base..base + 3].copy_from_slice(&[0xff, 0xff, 0x7f]);
        start
    });
}

#[test]
fn base_inside_an_entry() {
    resealed("padded-sizes", "a distance one too short", |pack| {
        let (start, base) = pack.entry_of_type(6, 0);
        pack.pack[base + 2] ^= 1;
        start
    });
}

#[test]
fn bases_that_form_a_cycle() {
    damaged("ref-delta", "two deltas that are each other's base", |pack| {
        let (first, first_base) = pack.entry_of_type(7, 0);
        let after = pack.entries.iter().position(|(offset, _)| *offset > first).expect("a later entry");
        let (second, second_base) = pack.entry_of_type(7, after);
        let (first_id, second_id) = (id_at(pack, first), id_at(pack, second));
        pack.pack[first_base..first_base + 20].copy_from_slice(&second_id);
        pack.pack[second_base..second_base + 20].copy_from_slice(&first_id);
        pack.reseal_and_write();
    });
}

#[test]
fn missing_base() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("ref-delta", &scratch).repo();
    let mut pack = OpenPack::open(&repo);
    let (_, base) = pack.entry_of_type(7, 0);
    pack.pack[base..base + 20].copy_from_slice(&[0x5a; 20]);
    pack.reseal_and_write();
    let line = refuses(&repo, &pack.path, "an absent base");
    assert!(line.contains(&"5a".repeat(20)), "{line}");
}

/// Sizes far beyond the file are rejected, not allocated. The address space is limited, so that an allocation would
/// fail.
#[test]
fn huge_sizes_are_rejected_without_allocation() {
    for claim in ["(1 << 35) - 1", "(1 << 60) - 1", "(1 << 70) - 1"] {
        let scratch = Scratch::new();
        let repo = crafted::repository(
            &scratch,
            &format!(
                "size = {claim}\n\
                 header = [3 << 4 | size & 15]\n\
                 size >>= 4\n\
                 while size:\n    header[-1] |= 128\n    header.append(size & 127)\n    size >>= 7\n\
                 pack._add(object_id('blob', b'tiny'), 'blob', bytes(header), b'tiny')\n"
            ),
        );
        let out = scratch.join("variant");
        let limited = "ulimit -v 4000000 && exec \"$@\"";
        let outcome = program::run(
            std::process::Command::new("bash")
                .args(["-c", limited, "bash", env!("CARGO_BIN_EXE_repackbench")])
                .args(["convert", "--quiet", "--threads", "1", "--codec", "zstd:5"])
                .arg(&repo)
                .arg("-o")
                .arg(&out),
        );
        assert_refused(&outcome, &git::pack_files(&repo, "pack")[0], claim);
        assert!(!out.exists());
    }
}

/// This damage shows only when a delta is applied. `verify` reads every object, so it must find it.
#[test]
fn verify_finds_invalid_deltas() {
    for (what, delta) in [
        ("base size", "delta_varint(len(base) + 1) + append_delta(base, b'x')[2:]"),
        ("result size", "delta_varint(len(base)) + delta_varint(len(base) + 9) + append_delta(base, b'x')[4:]"),
        ("copy past the end", "delta_varint(len(base)) + delta_varint(300) + bytes([0x91, 200, 100])"),
        ("reserved instruction", "delta_varint(len(base)) + delta_varint(1) + bytes([0])"),
        ("insert past the end", "delta_varint(len(base)) + delta_varint(90) + bytes([90]) + b'short'"),
        ("nothing", "b''"),
    ] {
        let scratch = Scratch::new();
        let repo = crafted::repository(
            &scratch,
            &format!(
                "base = b'0123456789' * 20\n\
                 first = pack.whole('blob', base)\n\
                 pack.offset_delta('blob', first, {delta}, base + b'x')\n"
            ),
        );
        let outcome = program::run(command().arg("verify").arg(&repo).arg(&repo));
        assert!(matches!(outcome.code, Some(exit::FAILURE | exit::BAD_INPUT)), "{what}: {outcome:?}");
        let said = format!("{}{}", outcome.text(), outcome.stderr);
        assert!(!said.contains("panicked"), "{what}: {said}");
    }
}

fn id_at(pack: &OpenPack, offset: usize) -> Vec<u8> {
    let (_, id) = pack.entries.iter().find(|(start, _)| *start == offset).expect("an entry at that offset");
    (0..id.len()).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).expect("a hexadecimal id")).collect()
}

/// git ignores a pack without its index, and an index without its pack.
#[test]
fn pack_without_index_and_index_without_pack_are_ignored() {
    for lost in ["idx", "pack"] {
        let scratch = Scratch::new();
        let repo = Fixture::copy("keep", &scratch).repo();
        fs::remove_file(git::pack_files(&repo, lost).remove(0)).expect("the file");
        let out = scratch.join("variant");
        program::run(command().args(["convert", "--quiet", "--codec", "zlib:9"]).arg(&repo).arg("-o").arg(&out))
            .exits(exit::OK);
        assert_eq!(git::objects(&repo), git::objects(&out), "without the .{lost}");
    }
}
