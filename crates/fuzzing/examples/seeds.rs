//! Makes the seeds of the corpora: small valid inputs of every target, from which the fuzzer makes others.
//!
//! ```sh
//! cargo run --package repackbench-fuzzing --example seeds -- fuzz/corpus
//! ```

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use gix_hash::{Kind, ObjectId};
use repackbench_codec::{
    Algorithm, ChunkEncoder, CodecSpec, DeltaBase, Dictionary, FileEncoder, RevlogEncoder, SpecKind, catalogue,
};
use repackbench_fuzzing::git::{btree_seed, entry_id, index_seed, reftable_seed};
use repackbench_fuzzing::input::Output;
use repackbench_reader::ObjectKind;
use repackbench_reader::git::GitRepository;
use repackbench_reader::git::hash::object_id;
use repackbench_reader::git::pack::{EntryKind, write_offset_distance, write_type_and_size};
use repackbench_reader::hg::revlog::node_of;
use repackbench_writer::{Encoding, JobControl, Layout, StoreKind, git};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: seeds FOLDER")?);
    let seeds = Seeds { folder };
    packs(&seeds)?;
    deltas(&seeds)?;
    revlogs(&seeds)?;
    chunks(&seeds)?;
    loose_objects(&seeds)?;
    btrees(&seeds)?;
    reftables(&seeds)?;
    mercurial_files(&seeds)?;
    specs(&seeds)?;
    records(&seeds)?;
    preload(&seeds)
}

struct Seeds {
    folder: PathBuf,
}

impl Seeds {
    fn write(&self, target: &str, name: &str, seed: &[u8]) -> Result<()> {
        let folder = self.folder.join(target);
        fs::create_dir_all(&folder)?;
        Ok(fs::write(folder.join(format!("seed-{name}")), seed)?)
    }
}

/// Text that compresses, of `length` bytes.
fn text(length: usize) -> Vec<u8> {
    b"tree 4b825dc642cb\nauthor A U Thor <author@example.org>\n\nhandle src/lib.rs\n"
        .iter()
        .copied()
        .cycle()
        .take(length)
        .collect()
}

fn chunk(typed: &str, payload: &[u8]) -> Result<Vec<u8>> {
    let mut stored = Vec::new();
    ChunkEncoder::new(&typed.parse()?)?.encode(payload, &mut stored)?;
    Ok(stored)
}

/// A delta against a base of `base_len` bytes: a copy of its first `copied` bytes, and an insertion.
fn git_delta(base_len: u8, copied: u8, inserted: &[u8]) -> Vec<u8> {
    let inserted_len = inserted.len() as u8;
    [&[base_len, copied + inserted_len, 0x90, copied, inserted_len], inserted].concat()
}

fn packs(seeds: &Seeds) -> Result<()> {
    for (name, typed, hash) in [
        ("zlib", "zlib", Kind::Sha1),
        ("zstd", "zstd:3", Kind::Sha1),
        ("lz4", "lz4", Kind::Sha1),
        ("store", "store", Kind::Sha256),
        ("lzo", "lzo", Kind::Sha1),
        ("brotli", "brotli", Kind::Sha1),
    ] {
        let base = text(100);
        let delta = git_delta(100, 60, b"other");
        let whole = |kind| EntryKind::Whole(kind);
        let mut entries = vec![entry(whole(ObjectKind::Blob), typed, &base)?];
        let distance = entries[0].len() as u64;
        entries.push(entry(EntryKind::OffsetDelta { distance }, typed, &delta)?);
        entries.push(entry(EntryKind::RefDelta { base: entry_id(hash, 0) }, typed, &delta)?);
        entries.push(entry(whole(ObjectKind::Tree), typed, b"")?);
        let lengths: Vec<usize> = entries.iter().map(Vec::len).collect();
        let mut seed = Output::default().bytes([u8::from(hash == Kind::Sha256), lengths.len() as u8]);
        for length in &lengths {
            seed = seed.number(*length);
        }
        seeds.write("pack", name, &seed.bytes(entries.concat()).done())?;
        if hash == Kind::Sha1 {
            seeds.write("index", name, &index_seed(&lengths, &entries.concat()))?;
        }
    }
    // The header is followed by 200 bytes and the checksum.
    seeds.write("index", "empty", &index_seed(&[], &[]))?;
    let lengths = [20; 10];
    let index = index_seed(&lengths, &[0x30; 200]);
    seeds.write("index", "ten", &index)?;
    // Version 1: offset and id of each entry after the table.
    let mut first = index[8..8 + 1024].to_vec();
    for position in 0..10 {
        first.extend((12 + 20 * position as u32).to_be_bytes());
        first.extend_from_slice(entry_id(Kind::Sha1, position).as_bytes());
    }
    first.extend_from_slice(&index[index.len() - 40..]);
    seeds.write("index", "version-1", &first)
}

fn entry(kind: EntryKind, typed: &str, payload: &[u8]) -> Result<Vec<u8>> {
    let mut entry = Vec::new();
    let number = match kind {
        EntryKind::Whole(ObjectKind::Tree) => 2,
        EntryKind::Whole(_) => 3,
        EntryKind::OffsetDelta { .. } => 6,
        EntryKind::RefDelta { .. } => 7u8,
    };
    write_type_and_size(number << 4, payload.len() as u64, &mut entry);
    match kind {
        EntryKind::OffsetDelta { distance } => write_offset_distance(distance, &mut entry),
        EntryKind::RefDelta { base } => entry.extend_from_slice(base.as_bytes()),
        EntryKind::Whole(_) => {}
    }
    entry.extend(chunk(typed, payload)?);
    Ok(entry)
}

/// A hunk of a delta of Mercurial.
fn hunk(start: u32, end: u32, content: &[u8]) -> Vec<u8> {
    let numbers = [start, end, content.len() as u32].map(u32::to_be_bytes).concat();
    [&numbers, content].concat()
}

fn deltas(seeds: &Seeds) -> Result<()> {
    let base = text(100);
    let seed = |delta: &[u8]| Output::default().bytes([0]).part(&base).bytes(delta).done();
    seeds.write("delta", "git", &seed(&git_delta(100, 60, b"other")))?;
    seeds.write("delta", "git-long-copy", &seed(&[100, 200, 1, 0xb0, 0, 1]))?;
    seeds.write("delta", "git-all-bits", &seed(&[100, 0x80, 0x80, 0x04, 0xff, 1, 0, 0, 0, 1, 0, 0]))?;
    let seed = |deltas: &[Vec<u8>]| {
        let seed = Output::default().bytes([1]).part(&base);
        deltas.iter().fold(seed, |seed, delta| seed.part(delta)).done()
    };
    let first = [hunk(10, 20, b"new"), hunk(30, 30, b"inserted")].concat();
    let second = hunk(0, 40, b"");
    seeds.write("delta", "hg", &seed(std::slice::from_ref(&first)))?;
    seeds.write("delta", "hg-chain", &seed(&[first, second.clone(), Vec::new(), second]))
}

/// A revlog of three revisions, two of them deltas: its index and its data.
fn revlog(typed: &str, is_inline: bool, general_delta: bool) -> Result<(Vec<u8>, Vec<u8>)> {
    let mut encoder = RevlogEncoder::new(&typed.parse()?)?;
    let null = ObjectId::null(Kind::Sha1);
    let base = text(120);
    let deltas = [hunk(5, 15, b"changed"), hunk(0, 3, b"")];
    let first_text = [&base[..5], b"changed", &base[15..]].concat();
    let second_base = if general_delta { &base } else { &first_text };
    let second_text = second_base[3..].to_vec();
    let revisions = [(&base, &base, 0), (&deltas[0], &first_text, 0), (&deltas[1], &second_text, 0)];
    let flags = 1 | u32::from(is_inline) << 16 | u32::from(general_delta) << 17;
    let (mut index, mut data, mut parent, mut offset) = (Vec::new(), Vec::new(), null, 0u64);
    for (number, (payload, text, base)) in (0i32..).zip(revisions) {
        let mut stored = Vec::new();
        encoder.encode(payload, &mut stored)?;
        let place = if number == 0 { u64::from(flags) << 32 } else { offset << 16 };
        index.extend(place.to_be_bytes());
        for field in [stored.len() as i32, text.len() as i32, base, number, number - 1, -1] {
            index.extend(field.to_be_bytes());
        }
        parent = node_of(&parent, &null, text);
        index.extend_from_slice(parent.as_bytes());
        index.extend([0; 12]);
        offset += stored.len() as u64;
        if is_inline { &mut index } else { &mut data }.extend(stored);
    }
    Ok((index, data))
}

fn revlogs(seeds: &Seeds) -> Result<()> {
    for (name, typed, is_inline, general_delta) in [
        ("zlib", "zlib", true, true),
        ("zlib-split", "zlib", false, true),
        ("zstd", "zstd:3", true, false),
        ("lz4-split", "lz4", false, false),
        ("store", "store", true, true),
    ] {
        let (index, data) = revlog(typed, is_inline, general_delta)?;
        let seed = Output::default().bytes([u8::from(!is_inline)]);
        let seed = if is_inline { seed.bytes(index) } else { seed.part(&index).bytes(data) };
        seeds.write("revlog", name, &seed.done())?;
    }
    Ok(())
}

fn chunks(seeds: &Seeds) -> Result<()> {
    let payload = text(300);
    let container = |dictionary: &[u8], base: &[u8], stored: &[u8], payload: &[u8]| {
        Output::default().bytes([9]).long(payload.len()).part(dictionary).part(base).bytes(stored).done()
    };
    for (number, codec) in (0u8..).zip(catalogue()) {
        let stored = chunk(codec.name, &payload)?;
        seeds.write("container", codec.name, &container(b"", b"", &stored, &payload))?;
        let mut revlog = Vec::new();
        RevlogEncoder::new(&codec.name.parse()?)?.encode(&payload, &mut revlog)?;
        seeds.write("container", &format!("{}-revlog", codec.name), &container(b"", b"", &revlog, &payload))?;
        let mut file = Vec::new();
        FileEncoder::new(CodecSpec::of(codec.algorithm).default_choice())?.encode(&payload, &mut file)?;
        seeds.write("container", &format!("{}-file", codec.name), &container(b"", b"", &file, &payload))?;
        body(seeds, number, codec.algorithm, &payload)?;
    }
    let base = text(200);
    for (name, typed) in [("zstd-prefix", "zstd:3,prefix"), ("zstd-patch", "zstd:3,patch")] {
        let spec: CodecSpec = typed.parse()?;
        let mut stored = Vec::new();
        ChunkEncoder::new(&spec)?.encode_delta(&payload, &DeltaBase { content: &base, object: None }, &mut stored)?;
        seeds.write("container", name, &container(b"", &base, &stored, &payload))?;
    }
    let dictionary = Dictionary::new(text(100));
    for typed in ["zstd:3", "lz4hc", "deflate", "zlib"] {
        let spec: CodecSpec = typed.parse()?;
        let mut stored = Vec::new();
        ChunkEncoder::for_choice(spec.default_choice(), Some((0, &dictionary)))?.encode(&payload, &mut stored)?;
        let name = format!("{}-dictionary", spec.algorithm().name());
        seeds.write("container", &name, &container(dictionary.bytes(), b"", &stored, &payload))?;
    }
    Ok(())
}

/// Seeds of bodies without and with a checksum and a dictionary.
fn body(seeds: &Seeds, number: u8, algorithm: Algorithm, payload: &[u8]) -> Result<()> {
    let dictionary = Dictionary::new(text(100));
    for options in 0..4u8 {
        let mut codec = CodecSpec::of(algorithm).new_codec()?;
        codec.set_checksum(options & 1 != 0);
        if options & 2 != 0 && codec.set_dictionary(Some(&dictionary)).is_err() {
            continue;
        }
        let mut stored = Vec::new();
        codec.encode(payload, &mut stored)?;
        let dictionary = if options & 2 == 0 { &[] } else { dictionary.bytes() };
        let seed = Output::default().bytes([number, options]).long(payload.len()).part(dictionary).bytes(stored);
        seeds.write("codec", &format!("{}-{options}", algorithm.name()), &seed.done())?;
    }
    Ok(())
}

fn loose_objects(seeds: &Seeds) -> Result<()> {
    let payload = [&b"blob 100\0"[..], &text(100)].concat();
    for typed in ["zlib", "zlib:0", "zstd:3", "lz4", "store", "xz"] {
        seeds.write("loose", &typed.replace(':', "-"), &chunk(typed, &payload)?)?;
    }
    Ok(())
}

fn btrees(seeds: &Seeds) -> Result<()> {
    for (name, count, longest) in [("empty", 0, 0), ("leaf", 4, 50), ("overflow", 3, 5_000), ("two-levels", 90, 20)] {
        let scratch = tempfile::tempdir()?;
        let source = scratch.path().join("source.git");
        for folder in ["objects", "refs"] {
            fs::create_dir_all(source.join(folder))?;
        }
        fs::write(source.join("HEAD"), "ref: refs/heads/main\n")?;
        for number in 0..count {
            let content = [format!("{number}\n").as_bytes(), &text(longest * number / count)].concat();
            write_loose(&source, &content)?;
        }
        let target = scratch.path().join("variant");
        let layout = Layout { store: StoreKind::Btree, ..Layout::default() };
        let job = repackbench_writer::ConvertJob::new(&target, JobControl::quiet(1));
        git::convert(&GitRepository::open(&source)?, &Encoding::plain(&"store,checksum=no".parse()?), layout, &job)?;
        let variant = GitRepository::open(&target)?;
        let file = fs::read(variant.btree().ok_or("no B-tree was written")?)?;
        seeds.write("btree", name, &btree_seed(&file))?;
    }
    Ok(())
}

/// Tables that git writes: with an index of refs, with objects, and with reflogs, which few blocks of that length hold.
fn reftables(seeds: &Seeds) -> Result<()> {
    const SCRIPT: &str = "
        git init -q --ref-format=reftable --object-format=$1 repo
        cd repo
        git config reftable.blockSize $2
        commit=$(git commit-tree -m first $(git mktree < /dev/null))
        git update-ref -m made refs/heads/main $commit
        git tag -m annotated tag $commit
        git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main
        for number in $(seq $3); do echo create refs/tags/$number $commit; done | git update-ref --stdin
        git worktree add -q -b linked ../linked $commit
        git -C ../linked update-ref refs/bisect/bad $commit
        git pack-refs --all
        git -C ../linked pack-refs --all
        cat .git/worktrees/linked/reftable/*.ref > ../own
        cat .git/reftable/*.ref > ../common";
    for (name, hash, block_len, count) in
        [("small", Kind::Sha1, "4096", "2"), ("indexed", Kind::Sha1, "256", "60"), ("sha256", Kind::Sha256, "512", "5")]
    {
        let scratch = tempfile::tempdir()?;
        let mut git = std::process::Command::new("bash");
        git.args(["-ec", SCRIPT, "bash", &hash.to_string(), block_len, count]).current_dir(scratch.path());
        for role in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{role}_NAME"), "A").env(format!("GIT_{role}_EMAIL"), "a@example.org");
            git.env(format!("GIT_{role}_DATE"), "1700000000 +0000");
        }
        if !git.status()?.success() {
            return Err("git made no tables".into());
        }
        let table = |name: &str| fs::read(scratch.path().join(name));
        seeds.write("reftable", name, &reftable_seed(hash, &table("own")?, &table("common")?))?;
    }
    Ok(())
}

fn write_loose(repository: &Path, content: &[u8]) -> Result<()> {
    let hex = object_id(Kind::Sha1, ObjectKind::Blob, content).to_string();
    let folder = repository.join("objects").join(&hex[..2]);
    fs::create_dir_all(&folder)?;
    let payload = [format!("blob {}\0", content.len()).as_bytes(), content].concat();
    Ok(fs::write(folder.join(&hex[2..]), chunk("zlib:1", &payload)?)?)
}

fn mercurial_files(seeds: &Seeds) -> Result<()> {
    let store = "dotencode\nfncache\ngeneraldelta\nrevlog-compression-zstd\nrevlogv1\nsparserevlog\nstore\n";
    let seed = |work_tree: &str, store: &str| Output::default().part(work_tree.as_bytes()).bytes(store).done();
    seeds.write("requires", "share-safe", &seed("share-safe\n", store))?;
    seeds.write("requires", "one-file", &seed(store, ""))?;
    seeds.write("requires", "largefiles", &seed(&format!("largefiles\ntreemanifest\nlfs\n{store}"), ""))?;
    seeds.write("requires", "unknown", &seed("exp-revlogv2.2\nstore\nrevlogv1\n", ""))?;
    let roots = format!("1 {}\n32 {}\n", "1".repeat(40), "2".repeat(40));
    let marker_v0 = [&[1, 0, 0, 0, 3, 0][..], &[1; 20], &[2; 20], b"k:v"].concat();
    let marker_v1 = [&[0, 0, 0, 59][..], &[0; 12], &[1, 3, 0], &[1; 20], &[2; 20]].concat();
    for (name, version, marker) in [("version-0", 0, marker_v0), ("version-1", 1, marker_v1)] {
        let markers = [&[version][..], &marker, &marker].concat();
        seeds.write("visibility", name, &Output::default().part(roots.as_bytes()).bytes(markers).done())?;
    }
    let long = format!("data/{}/File.name.i\n", "Directory.d/x".repeat(20));
    seeds.write(
        "fncache",
        "short",
        b"data/plain.txt.i\ndata/Dir/A_b.i\ndata/what?~\x7f.i\ndata/x.i.hg/y.d.hg/f.i\n",
    )?;
    seeds.write(
        "fncache",
        "reserved",
        b"data/aux.txt/com1/lpt0/auxi.i\ndata/.dot/ space/end./f.d\nmeta/a/00manifest.i\n",
    )?;
    seeds.write("fncache", "long", long.as_bytes())?;
    // hg's hashed names are above its limit if the extension is that long.
    let extension = [format!("data/{}/File.name", "Directory.d/x".repeat(20)).as_bytes(), b"\xffi\n"].concat();
    seeds.write("fncache", "long-extension", &extension)?;
    seeds.write("fncache", "encoded", b"data/_dir/_a__b.i\ndata/au~78.txt\ndata/~2edot\n")
}

fn specs(seeds: &Seeds) -> Result<()> {
    let kinds: Vec<String> = SpecKind::ALL.iter().map(|kind| format!("{}=store", kind.name())).collect();
    for (name, typed) in [
        ("level", "zstd:5,checksum=no"),
        ("window", "zstd:19,window=20,frame=standard"),
        ("dictionary", "zstd:3,dict=64k"),
        ("base", "zstd:3,prefix,patch"),
        ("kinds", &format!("zlib:6,{}", kinds.join(","))),
        ("range", "zlib:1..9"),
        ("list", "zstd:1,3,5,checksum=no"),
        ("named", "balanced"),
        ("larger", "lz4hc:9,store-if-larger"),
        ("chain", "zstd:9,max-chain=10"),
    ] {
        seeds.write("spec", name, typed.as_bytes())?;
    }
    Ok(())
}

/// The shortest line of each file of the golden inputs.
fn records(seeds: &Seeds) -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/golden/inputs");
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    for path in paths {
        let content = fs::read_to_string(&path)?;
        let Some(line) = content.lines().min_by_key(|line| line.len()).filter(|line| line.len() < 3_000) else {
            continue;
        };
        let name = path.file_stem().ok_or("a file has a name")?.to_string_lossy().into_owned();
        seeds.write("records", &name, line.as_bytes())?;
    }
    Ok(())
}

fn preload(seeds: &Seeds) -> Result<()> {
    let payload = text(400);
    // Kind, lengths of input and room, argument.
    let whole = [0, 255, 255, 0];
    let pieces = [[0, 20, 20, 0]; 30].concat();
    let others = [
        [0, 30, 30, 0],
        [9, 0, 0, 0],
        [0, 40, 60, 1],
        [13, 0, 0, 0],
        [15, 0, 0, 0],
        [8, 60, 0, 0],
        [11, 0, 0, 4],
        whole,
    ];
    for (name, stored) in [
        ("zlib", chunk("zlib", &payload)?),
        ("zstd", chunk("zstd:3", &payload)?),
        ("lz4", chunk("lz4", &payload)?),
        ("brotli", chunk("brotli", &payload)?),
        ("standard", chunk("zstd,frame=standard", &payload)?),
    ] {
        let twice = stored.repeat(2);
        for (way, calls) in [
            ("whole", whole.repeat(2)),
            ("pieces", pieces.clone()),
            ("others", others.concat()),
            ("reset", [whole, [10, 0, 0, 0], whole].concat()),
        ] {
            let seed = Output::default().bytes([0]).part(&calls).bytes(&twice);
            seeds.write("preload", &format!("{name}-{way}"), &seed.done())?;
        }
    }
    Ok(())
}
