//! Tests of conversions of Mercurial repositories. Their revlogs are built here byte by byte from the format, not by
//! the writer of this project.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
};

use repackbench_codec::{CodecSpec, RevlogDecoder, RevlogEncoder, ZlibReader};
use repackbench_reader::{ReaderError, hg::HgRepository, memory::Ceiling};
use repackbench_writer::{ConvertJob, Encoding, JobControl, Progress, ProgressUnit, WriterError, hg::convert};

const INLINE: u32 = 1 << 16;
const GENERAL_DELTA: u32 = 1 << 17;
const FILELOG_META: u32 = 1 << 18;

fn plain(spec: &str) -> Encoding {
    Encoding::plain(&spec.parse().unwrap())
}

/// A revision to build: its payload, and its base if the payload is a delta.
struct Revision {
    payload: Vec<u8>,
    base: Option<usize>,
}

/// Index and data of a revlog under `spec`. The text length is the payload length of a full text, and 500 for a delta,
/// which nothing here applies. Flags, links and the bytes after the node have values that a conversion must not change.
fn revlog(revisions: &[Revision], header: u32, spec: &str, gap: u64) -> (Vec<u8>, Vec<u8>) {
    let mut encoder = RevlogEncoder::new(&spec.parse().unwrap()).unwrap();
    let (mut index, mut data) = (Vec::new(), Vec::new());
    let mut offset = 0_u64;
    for (number, revision) in revisions.iter().enumerate() {
        let mut chunk = Vec::new();
        encoder.encode(&revision.payload, &mut chunk).unwrap();
        let mut entry = (offset << 16 | 0x0800).to_be_bytes().to_vec();
        if number == 0 {
            entry[..4].copy_from_slice(&header.to_be_bytes());
        }
        let text_len = if revision.base.is_some() { 500 } else { revision.payload.len() };
        for field in [chunk.len(), text_len, revision.base.unwrap_or(number), 7] {
            entry.extend((field as u32).to_be_bytes());
        }
        entry.extend([0xff; 8]);
        entry.extend([number as u8; 20]);
        entry.extend(b"kept padding");
        assert_eq!(entry.len(), 64);
        index.extend(entry);
        offset += chunk.len() as u64 + gap;
        if header & INLINE != 0 { &mut index } else { &mut data }.extend(chunk);
        if header & INLINE == 0 {
            data.resize(offset as usize, 0);
        }
    }
    (index, data)
}

/// Payloads of several kinds: short, long, empty, with the start of a chunk header, incompressible.
fn revisions(count: usize) -> Vec<Revision> {
    let mut noise = 1_u32;
    let mut byte = move || {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (noise >> 24) as u8
    };
    (0..count)
        .map(|number| Revision {
            payload: match number % 7 {
                0 => format!("a text that repeats itself {number} ").repeat(40).into_bytes(),
                1 => Vec::new(),
                2 => b"\0starts with NUL".to_vec(),
                3 => b"x".repeat(70),
                4 => (0..300).map(|_| byte()).collect(),
                5 => b"(short".to_vec(),
                _ => format!("4 {number} ").repeat(30).into_bytes(),
            },
            base: (number % 7 != 0).then(|| number - number % 7),
        })
        .collect()
}

struct Repository {
    folder: tempfile::TempDir,
}

impl Repository {
    fn new(requires: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("repo/.hg/store/data")).unwrap();
        fs::write(folder.path().join("repo/.hg/requires"), requires).unwrap();
        Repository { folder }
    }

    fn with_revlog(self, name: &str, (index, data): (Vec<u8>, Vec<u8>)) -> Self {
        let store = self.path().join(".hg/store");
        if !data.is_empty() {
            fs::write(store.join(format!("{name}.d")), data).unwrap();
        }
        fs::write(store.join(format!("{name}.i")), index).unwrap();
        self
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    fn convert(&self, from: &Path, spec: &str, threads: usize) -> Result<PathBuf, WriterError> {
        let target = self.folder.path().join(format!("{}-{threads}", spec.parse::<CodecSpec>().unwrap().file_stem()));
        let source = HgRepository::open(from)?;
        let job = ConvertJob { force: true, ..ConvertJob::new(&target, JobControl::quiet(threads)) };
        convert(&source, &plain(spec), &job).map(|(_, path)| path)
    }
}

const REQUIRES: &str = "store\nrevlogv1\ngeneraldelta\n";

fn store_file(repository: &Path, name: &str) -> Vec<u8> {
    fs::read(repository.join(".hg/store").join(name)).unwrap()
}

#[test]
fn every_revlog_layout_converts_to_the_expected_bytes() {
    for header in [1 | GENERAL_DELTA | INLINE, 1 | GENERAL_DELTA | FILELOG_META, 1 | GENERAL_DELTA] {
        // A few revisions, in one batch, and enough for a revlog that is cut into batches.
        for count in [1, 9, 12_000] {
            let revisions = revisions(count);
            let source = Repository::new(REQUIRES)
                .with_revlog("00changelog", revlog(&revisions[..1], header, "zstd:1", 0))
                .with_revlog("data/f", revlog(&revisions, header, "zstd:1", 0));
            for spec in ["zlib:6", "store", "lz4hc:9", "zstd:1"] {
                let (index, data) = revlog(&revisions, header, spec, 0);
                assert!(count < 12_000 || spec != "store" || index.len() + data.len() > 2 << 20);
                for threads in [1, 4] {
                    let made = source.convert(&source.path(), spec, threads).unwrap();
                    assert!(store_file(&made, "data/f.i") == index, "{spec} {count} {header:x} {threads}");
                    let made_data = made.join(".hg/store/data/f.d");
                    assert_eq!(made_data.exists(), !data.is_empty());
                    assert!(data.is_empty() || fs::read(made_data).unwrap() == data, "{spec} {count} {header:x}");
                }
            }
        }
    }
}

#[test]
fn gaps_between_chunks_are_removed() {
    let revisions = revisions(30);
    for gap in [1, 300 << 10] {
        let source =
            Repository::new(REQUIRES).with_revlog("data/f", revlog(&revisions, 1 | GENERAL_DELTA, "zlib:6", gap));
        let made = source.convert(&source.path(), "zlib:6", 2).unwrap();
        let (index, data) = revlog(&revisions, 1 | GENERAL_DELTA, "zlib:6", 0);
        assert!(store_file(&made, "data/f.i") == index && store_file(&made, "data/f.d") == data, "{gap}");
    }
}

#[test]
fn trailing_bytes_are_dropped_with_a_note() {
    let revisions = revisions(30);
    let (index, data) = revlog(&revisions, 1 | GENERAL_DELTA, "zlib:6", 0);
    let longer = [data.as_slice(), b"a torso"].concat();
    let source = Repository::new(REQUIRES).with_revlog("data/f", (index, longer));
    let opened = HgRepository::open(&source.path()).unwrap();
    let target = source.folder.path().join("made");
    let (conversion, made) =
        convert(&opened, &plain("zlib:6"), &ConvertJob::new(&target, JobControl::quiet(2))).unwrap();
    let expected = format!("data/f.d: ignored: 7 bytes after the last chunk, at offset {}", data.len());
    assert!(conversion.notes.iter().any(|note| note.ends_with(&expected)), "{:?}", conversion.notes);
    assert!(store_file(&made, "data/f.d") == data);
}

#[test]
fn empty_revlog_stays_empty() {
    let source = Repository::new(REQUIRES).with_revlog("00changelog", (Vec::new(), Vec::new()));
    let made = source.convert(&source.path(), "zstd:3", 2).unwrap();
    assert_eq!(store_file(&made, "00changelog.i"), b"");
    assert!(!made.join(".hg/store/00changelog.d").exists());
}

#[test]
fn requirements_change_only_if_the_compression_does() {
    // Not in hg's order, which a conversion without changes keeps.
    let source = Repository::new("store\nrevlogv1\nfncache\n").with_revlog("00changelog", (Vec::new(), Vec::new()));
    let requires = |spec: &str| {
        let made = source.convert(&source.path(), spec, 1).unwrap();
        fs::read_to_string(made.join(".hg/requires")).unwrap()
    };
    assert_eq!(requires("zlib:9"), "store\nrevlogv1\nfncache\n");
    assert_eq!(requires("zstd:3"), "fncache\nrevlog-compression-zstd\nrevlogv1\nstore\n");
    assert_eq!(requires("lz4"), "exp-compression-lz4\nfncache\nrevlogv1\nstore\n");

    let safe = Repository::new("share-safe\n").with_revlog("00changelog", (Vec::new(), Vec::new()));
    fs::write(safe.path().join(".hg/store/requires"), "exp-compression-lz4\nrevlogv1\nstore\n").unwrap();
    let made = safe.convert(&safe.path(), "store", 1).unwrap();
    assert_eq!(fs::read_to_string(made.join(".hg/requires")).unwrap(), "share-safe\n");
    assert_eq!(store_file(&made, "requires"), b"exp-compression-none\nrevlogv1\nstore\n");
}

#[test]
fn store_files_keep_their_modes_and_checkout_files_are_dropped() {
    let source = Repository::new(REQUIRES).with_revlog("data/f", revlog(&revisions(3), 1 | INLINE, "zlib:6", 0));
    let hg_dir = source.path().join(".hg");
    fs::create_dir_all(hg_dir.join("largefiles")).unwrap();
    fs::create_dir_all(hg_dir.join("cache")).unwrap();
    let copied = ["bookmarks", "00changelog.i", "largefiles/1234", "store/phaseroots", "store/00changelog.n"];
    let dropped = ["dirstate", "branch", "cache/tags2", "undo.desc", "store/undo", "last-message.txt"];
    let content = |name: &str| match name {
        "store/phaseroots" => format!("1 {}\n", "5a".repeat(20)),
        name => format!("content of {name}"),
    };
    for (at, name) in copied.into_iter().chain(dropped).enumerate() {
        fs::write(hg_dir.join(name), content(name)).unwrap();
        fs::set_permissions(hg_dir.join(name), PermissionsExt::from_mode([0o664, 0o600][at % 2])).unwrap();
    }
    fs::set_permissions(hg_dir.join("store/data/f.i"), PermissionsExt::from_mode(0o664)).unwrap();
    fs::set_permissions(hg_dir.join("store/data"), PermissionsExt::from_mode(0o2775)).unwrap();
    let made = source.convert(&source.path(), "zstd:3", 2).unwrap().join(".hg");
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode();
    for name in copied {
        assert_eq!(fs::read_to_string(made.join(name)).unwrap(), content(name));
    }
    for name in copied.into_iter().chain(["store/data/f.i", "store/data"]) {
        assert_eq!(mode(made.join(name)), mode(hg_dir.join(name)), "{name}");
    }
    for name in dropped {
        assert!(!made.join(name).exists(), "{name}");
    }
}

#[test]
fn damaged_chunk_is_named_and_nothing_is_left() {
    for count in [9, 12_000] {
        let (index, mut data) = revlog(&revisions(count), 1 | GENERAL_DELTA, "zlib:6", 0);
        // A byte of the last chunk that is a full text, and so a zlib stream.
        let revision = (count - 1) / 7 * 7;
        let entry = &index[revision * 64..];
        let offset = u64::from_be_bytes(entry[..8].try_into().unwrap()) >> 16;
        let damaged = offset as usize + 20;
        data[damaged] ^= 0x55;
        let source = Repository::new(REQUIRES).with_revlog("data/f", (index, data));
        let error = source.convert(&source.path(), "zstd:3", 3).unwrap_err();
        assert!(matches!(error, WriterError::Reader(ReaderError::Corrupt { .. })), "{error:?}");
        let expected = format!("data/f.d at offset {offset}, revision {revision}: ");
        assert!(error.to_string().contains(&expected), "{error}");
        assert_eq!(fs::read_dir(source.folder.path()).unwrap().count(), 1);
    }
}

#[test]
fn full_text_with_another_length_than_its_entry_is_an_error() {
    let (mut index, data) = revlog(&revisions(1), 1 | GENERAL_DELTA, "zlib:6", 0);
    index[15] += 1;
    let source = Repository::new(REQUIRES).with_revlog("data/f", (index, data));
    let error = source.convert(&source.path(), "zstd:3", 1).unwrap_err().to_string();
    assert!(error.contains("revision 0: expected a full text of"), "{error}");
}

/// A zstd frame of `blocks` blocks of 128 KiB each. Every block repeats one byte.
fn bomb(blocks: usize) -> Vec<u8> {
    // RFC 8878: magic number, no content size, a window of 128 KiB.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
    for number in 1..=blocks {
        let is_last = u32::from(number == blocks);
        frame.extend(&(128 << 10 << 3 | 1 << 1 | is_last).to_le_bytes()[..3]);
        frame.push(b'a');
    }
    frame
}

/// Set in the child process of this test, which has little memory.
const CHILD: &str = "REPACKBENCH_TEST_LITTLE_MEMORY";

#[test]
fn payload_beyond_available_memory_is_an_error_with_its_place() {
    const BLOCKS: usize = 16_000;
    if std::env::var_os(CHILD).is_none() {
        let name = "hg_revlogs::payload_beyond_available_memory_is_an_error_with_its_place";
        let mut child = Command::new("bash");
        child.args(["-c", "ulimit -v 500000; exec \"$0\" --exact \"$1\""]).arg(std::env::current_exe().unwrap());
        let output = child.arg(name).env(CHILD, "1").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    // The text is below the ceiling, whatever memory the machine has, but memory runs out nevertheless.
    Ceiling::new(Some(64 << 30), 1).set();
    let chunk = bomb(BLOCKS);
    let (mut index, _) = revlog(&revisions(1), 1 | GENERAL_DELTA, "store", 0);
    index[8..12].copy_from_slice(&(chunk.len() as u32).to_be_bytes());
    index[12..16].copy_from_slice(&((BLOCKS * (128 << 10)) as u32).to_be_bytes());
    let source = Repository::new(REQUIRES).with_revlog("data/f", (index, chunk));
    let error = source.convert(&source.path(), "zlib:1", 1).unwrap_err().to_string();
    assert!(error.contains("data/f.d at offset 0, revision 0: ") && error.contains("no memory for"), "{error}");
    assert_eq!(fs::read_dir(source.folder.path()).unwrap().count(), 1);
}

/// Wants to stop the work after the first progress.
#[derive(Default)]
struct StopsEarly(AtomicBool);

impl Progress for StopsEarly {
    fn start(&self, _step: &str, _total: u64, _unit: ProgressUnit) {}

    fn advance(&self, _amount: u64) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn finish(&self) {}

    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn interrupted_conversion_leaves_nothing() {
    let source =
        Repository::new(REQUIRES).with_revlog("data/f", revlog(&revisions(12_000), 1 | GENERAL_DELTA, "store", 0));
    let opened = HgRepository::open(&source.path()).unwrap();
    let target = source.folder.path().join("made");
    let control = JobControl { threads: 2, progress: &StopsEarly::default() };
    let result = convert(&opened, &plain("zlib:9"), &ConvertJob::new(&target, control));
    assert!(matches!(result, Err(WriterError::Interrupted)), "{result:?}");
    assert_eq!(fs::read_dir(source.folder.path()).unwrap().count(), 1);
}

#[test]
fn force_replaces_only_repositories_without_a_checkout() {
    let source = Repository::new(REQUIRES).with_revlog("data/f", revlog(&revisions(3), 1 | INLINE, "zlib:6", 0));
    let opened = HgRepository::open(&source.path()).unwrap();
    let made = source.convert(&source.path(), "zstd:3", 1).unwrap();
    let again = |force| {
        let job = ConvertJob { force, ..ConvertJob::new(&made, JobControl::quiet(1)) };
        convert(&opened, &plain("zstd:3"), &job).map(drop)
    };
    assert!(matches!(again(false), Err(WriterError::Output { force_helps: true, .. })));
    again(true).unwrap();
    // hg leaves caches where it reads.
    fs::create_dir(made.join(".hg/wcache")).unwrap();
    again(true).unwrap();
    for work in ["somebody's work", ".hg/patches", ".hg/dirstate"] {
        fs::write(made.join(work), "").unwrap();
        let error = again(true).unwrap_err();
        assert!(matches!(error, WriterError::Output { force_helps: false, .. }), "{error:?}");
        assert!(!work.starts_with('.') || error.to_string().contains(work), "{error}");
        fs::remove_file(made.join(work)).unwrap();
    }
    again(true).unwrap();
    let inside = source.path().join(".hg/made");
    let job = ConvertJob { force: true, ..ConvertJob::new(&inside, JobControl::quiet(1)) };
    let result = convert(&opened, &plain("zstd:3"), &job);
    assert!(matches!(result, Err(WriterError::Output { .. })), "{result:?}");
}

#[test]
fn built_revlogs_decode() {
    // Otherwise the comparisons above could compare garbage with garbage.
    let (index, data) = revlog(&revisions(8), 1 | GENERAL_DELTA, "zlib:6", 0);
    let mut decoder = RevlogDecoder::new(ZlibReader::Stock);
    let mut start = 0;
    for (number, revision) in revisions(8).iter().enumerate() {
        let length = u32::from_be_bytes(index[number * 64 + 8..][..4].try_into().unwrap()) as usize;
        let mut payload = Vec::new();
        decoder.decode(&data[start..start + length], 1 << 20, &mut payload).unwrap();
        assert_eq!(payload, revision.payload);
        start += length;
    }
}
