//! Refs in tables that git wrote, compared with the output of git; tables that git never writes; damaged tables.

use std::{collections::BTreeMap, fmt::Write as _, fs, io::Write as _, os::unix::fs::symlink, process::Stdio};

use gix_hash::ObjectId;

use super::{
    super::{
        RefStorage, Target,
        reftable::{ReferenceTable, ReferenceValue},
    },
    references::{head, ours, stock},
    *,
};

const REFTABLE: &str = "--ref-format=reftable";

/// Whether git merges tables by itself after an update.
const KEEPS_TABLES: (&str, &str) = ("GIT_TEST_REFTABLE_AUTOCOMPACTION", "false");

/// Runs `git update-ref --stdin` on `commands`, with a configuration, and leaves the tables that it finds.
fn update_refs(path: &Path, configuration: &[&str], commands: &str) {
    let mut command = Command::new("git");
    for setting in configuration {
        command.args(["-c", setting]);
    }
    command.arg("-C").arg(path).args(["update-ref", "--stdin"]).env(KEEPS_TABLES.0, KEEPS_TABLES.1);
    for (name, value) in [("GIT_COMMITTER_NAME", "C"), ("GIT_COMMITTER_EMAIL", "c@example.com")] {
        command.env(name, value);
    }
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(commands.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{commands:.100}");
}

fn tables(path: &Path) -> Vec<ReferenceTable> {
    GitRepository::open(path).unwrap().reference_tables().unwrap()
}

/// The offset of each ref index, 0 for a table without one.
fn ref_indexes(path: &Path) -> Vec<u64> {
    let index = |table: &ReferenceTable| {
        let content = table.content();
        let positions = if content[4] == 1 { 24 } else { 28 };
        let footer = &content[content.len() - positions - 44..];
        u64::from_be_bytes(footer[positions..positions + 8].try_into().unwrap())
    };
    tables(path).iter().map(index).collect()
}

/// Checks that refs and `HEAD` are those that git reads.
fn assert_as_in_git(path: &Path) {
    assert_eq!(ours(path), stock(path));
    let expected = Command::new("git").arg("-C").arg(path).args(["symbolic-ref", "-q", "HEAD"]).output().unwrap();
    let name = String::from_utf8(expected.stdout).unwrap();
    let expected = match name.trim_end() {
        "" => Target::Object(ObjectId::from_hex(git(path, &["rev-parse", "HEAD"]).as_bytes()).unwrap()),
        name => Target::Symbolic(name.into()),
    };
    assert_eq!(head(path), expected);
}

#[test]
fn refs_of_every_kind_match_git() {
    for hash in ["--object-format=sha1", "--object-format=sha256"] {
        let scratch = Scratch::new();
        let path = scratch.repository("r", &[REFTABLE, hash]);
        assert_eq!(GitRepository::open(&path).unwrap().format().ref_storage, RefStorage::Reftable);
        assert_as_in_git(&path);
        git(&path, &["tag", "-a", "-m", "annotated", "v2"]);
        git(&path, &["notes", "add", "-m", "a note"]);
        git(&path, &["branch", "moved", "v1"]);
        git(&path, &["branch", "deleted", "v1"]);
        assert_as_in_git(&path);
        git(&path, &["branch", "-q", "-D", "deleted"]);
        git(&path, &["branch", "-f", "moved", "main"]);
        git(&path, &["symbolic-ref", "refs/remotes/origin/HEAD", "refs/heads/main"]);
        git(&path, &["replace", "main", "v1"]);
        git(&path, &["update-ref", "ORIG_HEAD", "v1"]);
        assert_as_in_git(&path);
        let replaced = GitRepository::open(&path).unwrap().replacements().unwrap();
        assert_eq!(replaced.len(), 1);
        git(&path, &["checkout", "-q", "--detach", "v1"]);
        assert_as_in_git(&path);
        git(&path, &["pack-refs", "--all"]);
        assert_eq!(tables(&path).len(), 1);
        assert_as_in_git(&path);
    }
}

#[test]
fn deletions_and_updates_in_newer_tables_win() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[REFTABLE]);
    git(&path, &["pack-refs", "--all"]);
    let [first, second] = ["v1", "main"].map(|name| git(&path, &["rev-parse", name]));
    let steps = [
        format!("create refs/tags/a {first}\ncreate refs/tags/b {first}\ncreate refs/tags/c {first}\n"),
        format!("delete refs/tags/b\nupdate refs/tags/c {second}\n"),
        format!("create refs/tags/b {second}\ndelete refs/tags/a\n"),
        "delete refs/tags/c\n".to_owned(),
        "symref-create refs/tags/s refs/tags/b\n".to_owned(),
    ];
    for (number, step) in steps.iter().enumerate() {
        update_refs(&path, &[], step);
        assert_eq!(tables(&path).len(), number + 2, "each update is a table of its own");
        assert_as_in_git(&path);
    }
    assert_eq!(ours(&path).iter().filter(|line| line.contains("refs/tags/")).count(), 3, "b, s and v1");
}

#[test]
fn many_refs_with_indexes_of_several_levels_match_git() {
    for (hash, settings, expected) in [
        ("--object-format=sha1", &[][..], 1),
        ("--object-format=sha256", &["reftable.blockSize=1024", "reftable.restartInterval=3"], 1),
        ("--object-format=sha1", &["reftable.blockSize=512", "reftable.indexObjects=false"], 1),
        ("--object-format=sha1", &["reftable.blockSize=1000000"], 0),
    ] {
        let scratch = Scratch::new();
        let path = scratch.repository("r", &[REFTABLE, hash]);
        git(&path, &["tag", "-a", "-m", "annotated", "annotated"]);
        let ids = ["v1", "main", "annotated"].map(|name| git(&path, &["rev-parse", name]));
        let mut commands = String::new();
        for number in 0..6000 {
            let id = &ids[number % 3];
            let space = if number % 3 == 2 { "tags" } else { "heads/topic" };
            writeln!(commands, "create refs/{space}/of-some-length/{number:x} {id}").unwrap();
        }
        update_refs(&path, settings, &commands);
        assert_as_in_git(&path);
        let indexed = ref_indexes(&path).iter().filter(|position| **position > 0).count();
        assert_eq!(indexed, expected, "{settings:?}");
        assert_eq!(ours(&path).len(), 6003);
    }
}

#[test]
fn tables_know_the_objects_of_tags() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[REFTABLE]);
    git(&path, &["tag", "-a", "-m", "annotated", "v2"]);
    git(&path, &["tag", "-a", "-m", "of a tag", "v3", "v2"]);
    let mut peeled = BTreeMap::new();
    for table in tables(&path) {
        let mut visit = |name: &[u8], value| {
            if let ReferenceValue::Object { peeled: Some(id), .. } = value {
                peeled.insert(String::from_utf8(name.to_vec()).unwrap(), id.to_string());
            }
        };
        table.for_each_ref(&mut visit).unwrap();
    }
    let dereferenced = git(&path, &["show-ref", "-d"]);
    let expected = dereferenced.lines().filter_map(|line| {
        let (id, name) = line.split_once(' ')?;
        Some((name.strip_suffix("^{}")?.to_owned(), id.to_owned()))
    });
    assert_eq!(peeled, expected.collect());
    assert_eq!(peeled.len(), 2);
}

#[test]
fn migrated_repositories_match_git() {
    let scratch = Scratch::new();
    // git before 2.48 does not migrate reflogs.
    git(scratch.folder.path(), &["init", "-q", "-b", "main", "r"]);
    let path = scratch.path("r");
    git(&path, &["config", "core.logAllRefUpdates", "false"]);
    commit(&path, "first");
    git(&path, &["tag", "-a", "-m", "annotated", "v1"]);
    git(&path, &["symbolic-ref", "refs/remotes/origin/HEAD", "refs/heads/main"]);
    git(&path, &["branch", "nested/name"]);
    let before = ours(&path);
    for (format, storage) in [("reftable", RefStorage::Reftable), ("files", RefStorage::Files)] {
        git(&path, &["refs", "migrate", &format!("--ref-format={format}")]);
        assert_eq!(GitRepository::open(&path).unwrap().format().ref_storage, storage);
        assert_as_in_git(&path);
        assert_eq!(ours(&path), before, "{format}");
    }
}

#[test]
fn linked_work_tree_has_tables_of_its_own() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[REFTABLE]);
    git(&path, &["worktree", "add", "-q", "-b", "side", "../linked", "v1"]);
    let linked = scratch.path("linked");
    commit(&linked, "on the side");
    git(&linked, &["update-ref", "refs/bisect/bad", "main"]);
    git(&path, &["update-ref", "refs/bisect/good", "v1"]);
    git(&path, &["update-ref", "refs/worktree/main-only", "v1"]);
    for path in [&path, &linked] {
        assert_as_in_git(path);
    }
    assert_eq!(head(&linked), Target::Symbolic("refs/heads/side".into()));
    assert!(GitRepository::open(&path).unwrap().private_records().unwrap().is_none());
    let records = GitRepository::open(&linked).unwrap().private_records().unwrap().unwrap();
    let value = |name: &str| records.refs.get(name.as_bytes());
    assert_eq!(value("HEAD"), Some(&ReferenceValue::Symbolic("refs/heads/side".into())));
    assert_eq!(value("refs/bisect/good"), Some(&ReferenceValue::Deletion));
    assert!(matches!(value("refs/bisect/bad"), Some(ReferenceValue::Object { .. })));
    assert_eq!(value("refs/heads/side"), None, "it is shared");
    let kept = records.logs.values().flatten().count();
    let reflog = git(&linked, &["reflog", "show", "HEAD"]);
    assert_eq!(kept, reflog.lines().count());
    assert!(records.logs.len() > kept, "the main work tree's log of HEAD is deleted");
}

#[test]
fn snapshot_detects_updates_of_either_stack() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[REFTABLE]);
    git(&path, &["worktree", "add", "-q", "-b", "side", "../linked", "v1"]);
    let linked = scratch.path("linked");
    for (folder, name) in [(&path, "refs/heads/new"), (&linked, "refs/bisect/bad")] {
        let snapshot = GitRepository::open(&linked).unwrap().snapshot().unwrap();
        snapshot.check().unwrap();
        git(folder, &["update-ref", name, "v1"]);
        assert!(matches!(snapshot.check(), Err(ReaderError::Changed { .. })), "{name}");
    }
}

/// A repository whose only table is one that the test writes.
struct HandMade {
    scratch: Scratch,
    path: PathBuf,
}

impl HandMade {
    fn new() -> Self {
        let scratch = Scratch::new();
        let path = scratch.repository("r", &[REFTABLE]);
        git(&path, &["pack-refs", "--all"]);
        HandMade { scratch, path }
    }

    fn folder(&self) -> PathBuf {
        self.path.join(".git/reftable")
    }

    fn table(&self) -> PathBuf {
        tables(&self.path)[0].path().to_owned()
    }

    fn id(&self) -> Vec<u8> {
        ObjectId::from_hex(git(&self.path, &["rev-parse", "main"]).as_bytes()).unwrap().as_slice().to_vec()
    }

    /// Puts `content` in place of the table. Returns the message on reading it.
    fn message(&self, content: &[u8]) -> String {
        let table = self.folder().join(fs::read_to_string(self.folder().join("tables.list")).unwrap().trim());
        fs::remove_file(&table).unwrap();
        fs::write(&table, content).unwrap();
        let read = GitRepository::open(&self.path).unwrap().references();
        let message = read.map_or_else(|error| error.to_string(), |refs| format!("{} refs", refs.len()));
        let table = table.display().to_string();
        message.strip_prefix(&table).map_or(message.clone(), str::to_owned)
    }
}

/// Appends a number of variable length.
fn varint(mut number: usize, out: &mut Vec<u8>) {
    let mut bytes = vec![(number & 0x7f) as u8];
    while number > 0x7f {
        number = (number >> 7) - 1;
        bytes.push(0x80 | (number & 0x7f) as u8);
    }
    out.extend(bytes.iter().rev());
}

/// A block of records: the key's prefix length, its suffix, its extra bits, and what follows.
fn block(kind: u8, skipped: usize, records: &[(usize, &[u8], usize, Vec<u8>)]) -> Vec<u8> {
    let mut block = vec![0; 4];
    let mut restarts = Vec::new();
    for (prefix_len, suffix, extra, value) in records {
        if *prefix_len == 0 {
            restarts.push(skipped + block.len());
        }
        varint(*prefix_len, &mut block);
        varint(suffix.len() << 3 | extra, &mut block);
        block.extend_from_slice(suffix);
        block.extend_from_slice(value);
    }
    for restart in &restarts {
        block.extend_from_slice(&restart.to_be_bytes()[5..]);
    }
    block.extend_from_slice(&restarts.len().to_be_bytes()[6..]);
    let len = (skipped + block.len()).to_be_bytes();
    block[0] = kind;
    block[1..4].copy_from_slice(&len[5..]);
    block
}

/// A table of version 1 with unaligned blocks. The first has to leave room for the header.
fn table(blocks: &[Vec<u8>], ref_index: usize) -> Vec<u8> {
    let header = [&b"REFT\x01\0\0\0"[..], &1_u64.to_be_bytes(), &1_u64.to_be_bytes()].concat();
    let mut footer = header.clone();
    for position in [ref_index, 0, 0, 0, 0] {
        footer.extend_from_slice(&position.to_be_bytes());
    }
    footer.extend_from_slice(&crc32fast::hash(&footer).to_be_bytes());
    [header, blocks.concat(), footer].concat()
}

/// The value of a ref without a tag: an update index, and the id.
fn value(id: &[u8]) -> Vec<u8> {
    [&[0], id].concat()
}

#[test]
fn unaligned_blocks_with_an_index_match_git() {
    let made = HandMade::new();
    let id = made.id();
    let symbolic = [&b"\0\x0frefs/heads/main"[..]].concat();
    let first = block(b'r', 24, &[(0, b"HEAD", 3, symbolic), (0, b"refs/heads/a", 1, value(&id))]);
    let second = block(b'r', 0, &[(0, b"refs/heads/b", 1, value(&id)), (11, b"bb", 1, value(&id))]);
    let third = block(b'r', 0, &[(0, b"refs/heads/main", 1, value(&id)), (5, b"tags/x", 1, value(&id))]);
    let starts = [0, 24 + first.len(), 24 + first.len() + second.len()];
    let offset = |number: usize| {
        let mut bytes = Vec::new();
        varint(starts[number], &mut bytes);
        bytes
    };
    let entries: [(usize, &[u8], usize, Vec<u8>); 3] =
        [(0, b"refs/heads/a", 0, offset(0)), (11, b"bb", 0, offset(1)), (5, b"tags/x", 0, offset(2))];
    let position = starts[2] + third.len();
    let content = |entries: &[(usize, &[u8], usize, Vec<u8>)], position| {
        table(&[first.clone(), second.clone(), third.clone(), block(b'i', 0, entries)], position)
    };
    assert_eq!(made.message(&content(&entries, position)), "6 refs");
    assert_as_in_git(&made.path);
    assert_eq!(ours(&made.path).len(), 5);
    for name in ["refs/heads/a", "refs/heads/bb", "refs/tags/x"] {
        git(&made.path, &["rev-parse", "--verify", name]);
    }
    // git would not find these by the index.
    let missing = content(&entries[..2], position);
    let offset_of_third = starts[2];
    assert_eq!(
        made.message(&missing),
        format!(" at offset {position}: expected an index of the block at {offset_of_third}, found none")
    );
    let swapped = [entries[0].clone(), (11, b"bb", 0, offset(2)), (5, b"tags/x", 0, offset(1))];
    assert!(made.message(&content(&swapped, position)).contains("expected the block at"), "swapped");
    let renamed = [entries[0].clone(), (11, b"bc", 0, offset(1)), entries[2].clone()];
    let message = made.message(&content(&renamed, position));
    let expected = "expected a block that ends with 'refs/heads/bc', found one that ends with 'refs/heads/bb'";
    assert!(message.ends_with(expected), "{message}");
    // Blocks that the footer does not expect.
    let message = made.message(&content(&entries, 0));
    assert!(message.starts_with(&format!(" at offset {position}: expected ref blocks up to offset ")), "{message}");
}

#[test]
fn empty_and_log_only_tables_have_no_refs() {
    let made = HandMade::new();
    assert_eq!(made.message(&table(&[], 0)), "0 refs");
    let scratch = &made.scratch;
    let path = scratch.repository("logs", &[REFTABLE]);
    git(&path, &["pack-refs", "--all"]);
    // An expired entry is deleted by a table with nothing but logs.
    let mut expire = Command::new("git");
    expire.arg("-C").arg(&path).args(["reflog", "expire", "--expire=now", "--all"]).env(KEEPS_TABLES.0, KEEPS_TABLES.1);
    assert!(expire.status().unwrap().success());
    let logs_only = tables(&path).iter().filter(|table| table.content()[24] == b'g').count();
    assert!(logs_only > 0);
    assert_as_in_git(&path);
    fs::remove_file(path.join(".git/reftable/tables.list")).unwrap();
    assert!(GitRepository::open(&path).unwrap().references().unwrap().is_empty());
}

#[test]
fn damage_is_named_with_its_offset() {
    let made = HandMade::new();
    let content = fs::read(made.table()).unwrap();
    let changed = |at: usize, bytes: &[u8]| {
        let mut changed = content.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        made.message(&changed)
    };
    assert_eq!(changed(0, b"TEFR"), " at offset 0: expected 'REFT', found 'TEFR'");
    assert_eq!(changed(4, &[3]), " at offset 4: expected version 1 or 2, found 3");
    let footer = content.len() - 68;
    assert_eq!(
        changed(8, &[1]),
        format!(" at offset {footer}: expected the header again in the footer, found another")
    );
    assert!(changed(content.len() - 1, &[0]).contains("expected the CRC-32 "));
    assert_eq!(changed(24, b"x"), " at offset 24: expected a block of kind r, i, o or g, found byte 0x78");
    assert_eq!(changed(25, &[0, 0, 3]), " at offset 24: expected a block with records, found a length of 3 bytes");
    let len = footer;
    assert_eq!(
        changed(25, &[0xff, 0xff, 0xff]),
        format!(" at offset 0: expected a block of 16777215 bytes, found {len} bytes")
    );
    assert_eq!(changed(28, &[1]), " at offset 28: expected a complete key, found a prefix of 1 bytes");
    assert!(made.message(&content[..80]).contains("expected a table of at least 92 bytes, found 80"));
    assert_eq!(made.message(&[]), " at offset 0: expected 'REFT' of 4 bytes, found 0 bytes");
    assert_eq!(made.message(&content), "3 refs", "as it was");
}

#[test]
fn invalid_records_are_rejected() {
    let made = HandMade::new();
    let id = made.id();
    let message = |records: &[(usize, &[u8], usize, Vec<u8>)]| made.message(&table(&[block(b'r', 24, records)], 0));
    let [a, b]: [&[u8]; 2] = [b"refs/heads/a", b"refs/heads/b"];
    assert_eq!(message(&[(0, a, 1, value(&id)), (0, b, 1, value(&id))]), "2 refs");
    assert!(
        message(&[(0, b, 1, value(&id)), (0, a, 1, value(&id))])
            .ends_with("expected a key after 'refs/heads/b', found 'refs/heads/a'")
    );
    assert!(message(&[(0, a, 1, value(&id)), (0, a, 1, value(&id))]).contains("expected a key after"), "twice");
    assert!(message(&[(0, b"", 1, value(&id))]).ends_with("expected a key, found an empty one"));
    assert!(
        message(&[(0, a, 1, value(&id)), (13, b"b", 1, value(&id))])
            .ends_with("expected a prefix of at most 12 bytes, found one of 13 bytes")
    );
    assert!(message(&[(0, a, 5, value(&id))]).ends_with("expected a ref of kind 0, 1, 2 or 3, found 5"));
    assert!(message(&[(0, a, 1, value(&id[1..]))]).ends_with("expected an object id of 20 bytes, found 19 bytes"));
    assert!(message(&[(0, a, 3, b"\0\x0frefs".to_vec())]).contains("expected the name of a ref of 15 bytes"));
    let mut endless = vec![0xff; 11];
    endless.push(0);
    assert!(message(&[(0, a, 3, endless)]).contains("the update index of a ref of at most 64 bits, found more bits"));
    // A restart point in the middle of a record.
    let mut misplaced = block(b'r', 24, &[(0, a, 1, value(&id))]);
    let at = misplaced.len() - 3;
    misplaced[at] += 1;
    assert!(made.message(&table(&[misplaced], 0)).contains("at restart point 29, found none"));
    let mut crowded = block(b'r', 24, &[(0, a, 1, value(&id))]);
    let at = crowded.len() - 2;
    crowded[at] = 1;
    assert!(
        made.message(&table(&[crowded], 0)).ends_with("restart points that fit into their block, found 257 of them")
    );
}

#[test]
fn names_have_no_zero_bytes() {
    let made = HandMade::new();
    let id = made.id();
    let record = [(0, &b"refs/heads/a\0b"[..], 1, value(&id))];
    let message = made.message(&table(&[block(b'r', 24, &record)], 0));
    assert!(message.ends_with(": expected names of refs, found one with a byte of zero"), "{message}");
}

#[test]
fn symbolic_refs_name_refs() {
    let made = HandMade::new();
    let target = b"refs?heads/a";
    let mut symbolic = vec![0, target.len() as u8];
    symbolic.extend_from_slice(target);
    let record = [(0, &b"refs/heads/alias"[..], 3, symbolic)];
    let message = made.message(&table(&[block(b'r', 24, &record)], 0));
    assert!(message.ends_with(": expected the name of a ref in a symbolic ref, found 'refs?heads/a'"), "{message}");
}

#[test]
fn long_common_prefixes_do_not_fill_the_memory() {
    let made = HandMade::new();
    let id = made.id();
    let long = [&b"refs/heads/"[..], &[b'x'; 8000]].concat();
    let mut records = vec![(0, long.as_slice(), 1, value(&id))];
    let suffixes: Vec<[u8; 2]> = (0..16).flat_map(|high| (0..250).map(move |low| [high + 1, low + 1])).collect();
    records.extend(suffixes.iter().map(|suffix| (long.len(), suffix.as_slice(), 0, vec![0])));
    let message = made.message(&table(&[block(b'r', 24, &records)], 0));
    assert_eq!(message, ": expected records of at most 64 times as many bytes as the file has, found more");
}

#[test]
fn every_changed_byte_is_an_error_or_another_value() {
    let made = HandMade::new();
    let content = fs::read(made.table()).unwrap();
    // The footer's checksum does not cover the blocks, so some changes give other refs. None may panic.
    for at in 0..content.len() {
        for mask in [0x01, 0x80, 0xff] {
            let mut changed = content.clone();
            changed[at] ^= mask;
            let parsed = ReferenceTable::parse(made.table(), changed, gix_hash::Kind::Sha1);
            let read = parsed.and_then(|table| {
                table.for_each_ref(&mut |_, _| {})?;
                table.for_each_log(&mut |_, _| 0)
            });
            let is_covered = at < 24 || at >= content.len() - 68;
            match read {
                Ok(()) => assert!(!is_covered, "offset {at}"),
                Err(error) => assert!(error.to_string().contains(" expected "), "{error}"),
            }
        }
    }
}

#[test]
fn tables_of_another_hash_are_rejected() {
    let made = HandMade::new();
    let other = made.scratch.repository("other", &[REFTABLE, "--object-format=sha256"]);
    git(&other, &["pack-refs", "--all"]);
    let content = tables(&other)[0].content().to_vec();
    assert_eq!(content[4], 2);
    assert_eq!(made.message(&content), " at offset 24: expected ids of the hash 'sha1', found ids of the hash 's256'");
}

#[test]
fn list_may_only_name_tables_beside_it() {
    let made = HandMade::new();
    let list = made.folder().join("tables.list");
    let read = |names: &str| {
        fs::write(&list, names).unwrap();
        GitRepository::open(&made.path).unwrap().references().unwrap_err().to_string()
    };
    for name in ["../x.ref", "a/b.ref", "..", ".", "a\0b.ref", &"a".repeat(256)] {
        let message = read(&format!("\n{name}\n"));
        let found = name.replace('\0', "\\x00");
        let expected = format!("tables.list, line 2: expected the name of a file beside the list, found '{found}'");
        assert!(message.ends_with(&expected), "{message}");
    }
    let message = read("0x1-0x1-2.ref\n");
    assert!(message.contains("0x1-0x1-2.ref that it lists, found no such file"), "{message}");
    // A link that leads outside is not followed.
    fs::write(made.scratch.path("outside"), "secret").unwrap();
    symlink(made.scratch.path("outside"), made.folder().join("linked.ref")).unwrap();
    let message = read("linked.ref\n");
    assert!(message.contains("outside the repository"), "{message}");
}
