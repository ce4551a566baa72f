//! Damaged loose objects, refs and settings: one error that names the file, exit code 65, and no output.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::open_pack::replace;
use crate::support::program::{self, command, exit};
use crate::support::{Fixture, Scratch, git};

#[track_caller]
fn refuses(repo: &Path, file: &Path, what: &str) {
    let scratch = Scratch::new();
    let outcome = program::run(
        command().args(["convert", "--quiet", "--codec", "zstd:5"]).arg(repo).arg("-o").arg(scratch.join("variant")),
    );
    assert_eq!(outcome.code, Some(exit::BAD_INPUT), "{what}: {}{}", outcome.text(), outcome.stderr);
    let name = file.file_name().expect("a name").to_string_lossy();
    assert!(outcome.error_line().contains(&*name), "{what}: {name} is not named: {}", outcome.stderr);
    assert_eq!(scratch.names(), [""; 0], "{what}: no files remain");
}

/// Damages the loose object of `HEAD:loose.txt` in a copy of the fixture `work-tree`.
#[track_caller]
fn damaged_object(what: &str, damage: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    let scratch = Scratch::new();
    let repo = Fixture::copy("work-tree", &scratch).repo();
    let file = loose_object(&repo, "HEAD:loose.txt");
    let content = damage(fs::read(&file).expect("a loose object"));
    replace(&file, &content);
    refuses(&repo, &file, what);
}

fn loose_object(repo: &Path, name: &str) -> PathBuf {
    let id = git::output(repo, ["rev-parse", name]);
    let (folder, file) = id.trim_end().split_at(2);
    git::path(repo, "objects").join(folder).join(file)
}

/// A zlib stream of one stored block. Its checksum is right, as a faulty writer could leave it.
fn stored_stream(payload: &[u8]) -> Vec<u8> {
    let (mut low, mut high) = (1_u32, 0_u32);
    for byte in payload {
        low = (low + u32::from(*byte)) % 65521;
        high = (high + low) % 65521;
    }
    let length = u16::try_from(payload.len()).expect("one stored block");
    let mut stream = vec![0x78, 0x01, 0x01];
    stream.extend(length.to_le_bytes());
    stream.extend((!length).to_le_bytes());
    stream.extend(payload);
    stream.extend((high << 16 | low).to_be_bytes());
    stream
}

#[test]
fn truncated_loose_objects() {
    for keep in [0, 1, 2, 20, 500] {
        damaged_object(&format!("{keep} bytes"), |content| content[..keep].to_vec());
    }
    damaged_object("one byte short", |content| content[..content.len() - 1].to_vec());
}

#[test]
fn changed_bytes_in_loose_objects() {
    for part in 0..8 {
        damaged_object(&format!("a byte in eighth {part}"), |mut content| {
            let at = content.len() * part / 8 + 1;
            content[at] ^= 0x20;
            content
        });
    }
}

#[test]
fn trailing_bytes_after_a_loose_object() {
    damaged_object("garbage after the stream", |mut content| {
        content.extend(b"garbage");
        content
    });
}

#[test]
fn wrong_headers_of_loose_objects() {
    for header in [
        "blob 6\0hello",
        "blob 4\0hello",
        "blob 99999999999999999999999\0hello",
        "blob 1152921504606846976\0hello",
        "blob -5\0hello",
        "blob 05\0hello",
        "blob\0hello",
        "blob 5hello",
        "bulb 5\0hello",
        "",
    ] {
        damaged_object(&header.escape_debug().to_string(), |_| stored_stream(header.as_bytes()));
    }
}

/// As git does.
#[test]
fn files_that_are_not_objects_are_ignored() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("work-tree", &scratch).repo();
    let objects = git::path(&repo, "objects");
    fs::create_dir_all(objects.join("ab")).expect("a folder");
    fs::write(objects.join("ab").join("tmp_obj_left"), "left by a crash").expect("a file");
    fs::write(objects.join("stray"), "unknown").expect("a file");
    let out = scratch.join("variant");
    program::run(command().args(["convert", "--quiet", "--codec", "zlib:9"]).arg(&repo).arg("-o").arg(&out))
        .exits(exit::OK);
    assert_eq!(git::objects(&repo), git::objects(&out));
}

#[test]
fn damaged_refs() {
    for (file, content) in [
        ("refs/heads/topic", "not an object id\n"),
        ("refs/heads/topic", "1234\n"),
        ("refs/heads/topic", ""),
        ("packed-refs", "# pack-refs with: peeled fully-peeled sorted \nnonsense\n"),
        ("HEAD", "nonsense\n"),
        ("HEAD", ""),
    ] {
        let scratch = Scratch::new();
        let repo = Fixture::copy("refs", &scratch).repo();
        let path = repo.join(".git").join(file);
        replace(&path, content.as_bytes());
        refuses(&repo, &path, &format!("{file} = {content:?}"));
    }
}

#[test]
fn damaged_settings() {
    for content in ["[core\n", "[core]\n\trepositoryformatversion = many\n", "[core]\n\trepositoryformatversion = 2\n"]
    {
        let scratch = Scratch::new();
        let repo = Fixture::copy("work-tree", &scratch).repo();
        let path = repo.join(".git").join("config");
        replace(&path, content.as_bytes());
        refuses(&repo, &path, content);
    }
}

#[test]
fn damaged_list_of_shallow_commits() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("shallow", &scratch).repo();
    let path = repo.join("shallow");
    replace(&path, b"nonsense\n");
    refuses(&repo, &path, "shallow");
}
