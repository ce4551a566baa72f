//! Writes streams to the object store: they behave as zlib.h says, and the output is the codec's chunk.
//!
//! The stand-in looks at the process that it is in, so these tests run in a process that looks like git.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use repackbench_codec::{ChunkDecoder, ChunkEncoder, CodecSpec, ZlibReader};
use repackbench_preload_abi::{
    BUF_ERROR, COLLECT_LIMIT_VARIABLE, DATA_ERROR, FINISH, OK, STREAM_END, STREAM_ERROR, ZStream, ZlibFunctions,
};

use crate::calls::{Stream as ReadStream, outcome, read};
use crate::library::{make_file, ours, zlibs};
use crate::samples::{deflated, payload};

const NO_FLUSH: i32 = 0;
const SYNC_FLUSH: i32 = 2;

/// The variable with the codec, for the ignored tests.
const CODEC: &str = "REPACKBENCH_CODEC";

/// Runs the ignored test `name` in a process that looks like this git command, with the repository's pack folder as its
/// last argument.
fn run_as(git_command: &str, name: &str, codec: &str) {
    run_with(git_command, name, codec, &[]);
}

/// Like [`run_as`], with more environment variables.
fn run_with(git_command: &str, name: &str, codec: &str, environment: &[(&str, &str)]) {
    let repository = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(repository.path().join("objects/pack")).unwrap();
    std::fs::write(repository.path().join("config"), "[extensions]\n\trepackbench = \"1;store\"\n").unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg0(git_command).args(["--ignored", "--exact", name]).arg(repository.path().join("objects/pack/pack"));
    command.env(CODEC, codec);
    command.envs(environment.iter().copied());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{codec}: {said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn written_streams_behave_as_in_zlib() {
    for codec in ["store", "zstd:3", "lz4,store-if-larger=no", "xz:1,store-if-larger=no", "zlib:6", "libdeflate:9"] {
        run_as("git-pack-objects", "deflate_streams::output_is_the_chunk_of_the_codec", codec);
        run_as("git-pack-objects", "deflate_streams::random_calls_lose_nothing", codec);
    }
    run_with(
        "git-pack-objects",
        "deflate_streams::long_payloads_stay_zlib",
        "zstd:3",
        &[(COLLECT_LIMIT_VARIABLE, "1000")],
    );
    for name in [
        "deflate_streams::gzip_and_raw_streams_stay_zlib",
        "deflate_streams::settings_before_the_first_byte_make_it_zlib",
        "deflate_streams::flush_in_the_middle_makes_it_zlib",
        "deflate_streams::misuse_fails_as_in_zlib",
        "deflate_streams::pending_is_the_rest_of_the_chunk",
    ] {
        run_as("git-pack-objects", name, "zstd:3");
    }
    run_as("git-add", "deflate_streams::only_loose_objects_use_the_codec", "zstd:3");
}

/// A stream opened for writing.
struct Stream(Box<ZStream>, &'static ZlibFunctions);

impl Drop for Stream {
    fn drop(&mut self) {
        // Streams that are only looked at, or half-written, are not leaks.
        if !self.0.state.is_null() {
            // SAFETY: an open stream that is not used again.
            unsafe { (self.1.deflate_end)(&mut *self.0) };
        }
    }
}

impl Stream {
    fn open(functions: &'static ZlibFunctions, window_bits: i32) -> Self {
        let mut stream = Box::new(ZStream::zeroed());
        let version = c"1.2.11".as_ptr();
        // SAFETY: a stream of zeroes.
        let code = unsafe { (functions.deflate_init2)(&mut *stream, 6, 8, window_bits, 8, 0, version, ZStream::SIZE) };
        assert_eq!(code, OK);
        Stream(stream, functions)
    }

    /// Calls `deflate` once. Returns its code, the number of bytes consumed, and the output.
    fn deflate(&mut self, input: &[u8], room: usize, flush: i32) -> (i32, usize, Vec<u8>) {
        let mut output = vec![0xa5; room + 1];
        let before = (self.0.total_in, self.0.total_out);
        (self.0.next_in, self.0.avail_in) = (input.as_ptr(), input.len() as u32);
        (self.0.next_out, self.0.avail_out) = (output.as_mut_ptr(), room as u32);
        // SAFETY: the input and the room are as long as the stream says.
        let code = unsafe { (self.1.deflate)(&mut *self.0, flush) };
        assert_eq!(output[room], 0xa5, "written beyond the room");
        let (taken, written) = (input.len() - self.0.avail_in as usize, room - self.0.avail_out as usize);
        output.truncate(written);
        assert_eq!((self.0.total_in - before.0, self.0.total_out - before.1), (taken as u64, written as u64));
        (code, taken, output)
    }

    /// Writes to the end of the stream as git does, with `piece` bytes of input and `room` bytes of output at a time.
    fn all(&mut self, input: &[u8], piece: usize, room: usize) -> Vec<u8> {
        let (mut out, mut at) = (Vec::new(), 0);
        loop {
            let end = (at + piece).min(input.len());
            let flush = if end == input.len() { FINISH } else { NO_FLUSH };
            let (code, taken, written) = self.deflate(&input[at..end], room, flush);
            at += taken;
            out.extend(written);
            match code {
                STREAM_END => return out,
                OK => {}
                _ => panic!("{code} at byte {at}"),
            }
        }
    }

    fn bound(&mut self, length: usize) -> usize {
        // SAFETY: an open stream.
        unsafe { (self.1.deflate_bound)(&mut *self.0, length as u64) as usize }
    }

    fn reset(&mut self) -> i32 {
        // SAFETY: an open stream.
        unsafe { (self.1.deflate_reset)(&mut *self.0) }
    }

    fn end(mut self) -> i32 {
        // SAFETY: an open stream that is not used again.
        let code = unsafe { (self.1.deflate_end)(&mut *self.0) };
        assert!(self.0.state.is_null());
        code
    }
}

fn chunk(spec: &CodecSpec, payload: &[u8]) -> Vec<u8> {
    let mut stored = Vec::new();
    ChunkEncoder::new(spec).unwrap().encode(payload, &mut stored).unwrap();
    stored
}

#[test]
#[ignore = "run by written_streams_behave_as_in_zlib, in a process of its own"]
fn output_is_the_chunk_of_the_codec() {
    let spec: CodecSpec = std::env::var(CODEC).unwrap().parse().unwrap();
    for length in [0, 1, 7, 30, 500, 70_000] {
        let payload = payload(length);
        let expected = chunk(&spec, &payload);
        let bound = Stream::open(ours(), 15).bound(length);
        assert!(bound >= expected.len() && bound >= Stream::open(zlibs(), 15).bound(length));
        for (piece, room) in [(usize::MAX / 2, bound), (usize::MAX / 2, 1), (1, 1), (1 << 14, 4096)] {
            let mut stream = Stream::open(ours(), 15);
            if length < 1_000 || piece > 1 {
                assert!(stream.all(&payload, piece, room) == expected, "{spec}, {length} bytes, {piece} {room}");
                assert_eq!(stream.deflate(&[], 9, FINISH), (STREAM_END, 0, Vec::new()), "the end stays the end");
                // The same stream again.
                assert_eq!((stream.reset(), stream.0.total_in, stream.0.total_out), (OK, 0, 0));
                assert!(stream.all(&payload, piece, room) == expected);
            }
            assert_eq!(stream.end(), OK);
        }
    }
    // git writes a loose object like this: the header, then no input until nothing more comes out, then the rest.
    let content = payload(900);
    let header = b"blob 900\0";
    let mut stream = Stream::open(ours(), 15);
    assert_eq!(stream.deflate(header, 4096, NO_FLUSH), (OK, header.len(), Vec::new()));
    assert_eq!(stream.deflate(&[], 4096, NO_FLUSH), (BUF_ERROR, 0, Vec::new()));
    let expected = chunk(&spec.for_loose_objects(), &[header, &content[..]].concat());
    assert_eq!(stream.all(&content, 1_000, 4096), expected);
    assert_eq!(stream.end(), OK);
    // Several threads, each with half-written streams.
    std::thread::scope(|scope| {
        for number in 0..4 {
            let spec = &spec;
            scope.spawn(move || {
                for round in 0..50 {
                    let payload = payload(100 + 31 * round + number);
                    let mut other = Stream::open(ours(), 15);
                    other.deflate(&payload, 10, NO_FLUSH);
                    assert!(Stream::open(ours(), 15).all(&payload, 77, 50) == chunk(spec, &payload));
                    assert_eq!(other.end(), DATA_ERROR, "freed before its end");
                }
            });
        }
    });
}

/// Makes one sequence of calls, which `seed` determines. Returns the payload and the output.
fn random_calls(seed: u64) -> (Vec<u8>, Vec<u8>) {
    let mut random = SmallRng::seed_from_u64(seed);
    let longest = [1, 50, 3_000, 40_000][random.random_range(0..4)];
    let payload = payload(random.random_range(0..=longest));
    let (mut stream, mut out, mut at) = (Stream::open(ours(), 15), Vec::new(), 0);
    let looks_early = random.random_ratio(1, 5);
    loop {
        let end = random.random_range(at..=payload.len());
        let most = [2, 100, 9_000][random.random_range(0..3)];
        let room = random.random_range(0..most);
        let is_last = end == payload.len();
        let flush = match random.random_range(0..10) {
            0 if looks_early && out.is_empty() => [SYNC_FLUSH, 1, 3, 5][random.random_range(0..4)],
            0..5 if !is_last => NO_FLUSH,
            _ if is_last => FINISH,
            _ => NO_FLUSH,
        };
        let (code, taken, written) = stream.deflate(&payload[at..end], room, flush);
        at += taken;
        out.extend(written);
        match code {
            STREAM_END => break,
            OK | BUF_ERROR => {}
            _ => panic!("seed {seed}: {code} at byte {at}"),
        }
        match random.random_range(0..40) {
            0 => {
                assert_eq!(stream.reset(), OK);
                (at, out) = (0, Vec::new());
            }
            1 => {
                let bound = stream.bound(payload.len());
                assert!(bound >= payload.len(), "seed {seed}");
            }
            2 => {
                let (mut bytes, mut bits) = (0, 0);
                // SAFETY: an open stream, and room for the answers.
                let code = unsafe { (ours().deflate_pending)(&mut *stream.0, &mut bytes, &mut bits) };
                assert_eq!(code, OK, "seed {seed}");
            }
            _ => {}
        }
        // After Z_FINISH, zlib.h allows only more Z_FINISH.
        if flush == FINISH {
            out.extend(stream.all(&payload[at..end], usize::MAX / 2, room + 1));
            break;
        }
    }
    assert_eq!(stream.end(), OK, "seed {seed}");
    (payload, out)
}

#[test]
#[ignore = "run by written_streams_behave_as_in_zlib, in a process of its own"]
fn random_calls_lose_nothing() {
    let mut zlibs = 0;
    for seed in 0..1_500 {
        let (payload, stored) = random_calls(seed);
        zlibs += usize::from(stored[0] == 0x78);
        let mut decoded = vec![0; payload.len()];
        let consumed = ChunkDecoder::new(ZlibReader::Stock).decode(&stored, &mut decoded);
        assert_eq!(consumed.unwrap(), stored.len(), "seed {seed}");
        assert!(decoded == payload, "seed {seed}");
    }
    assert!(zlibs > 0, "some sequences look at what is there before the end");
}

#[test]
#[ignore = "run by written_streams_behave_as_in_zlib, in a process of its own"]
fn long_payloads_stay_zlib() {
    for (length, is_zlibs) in [(1, false), (999, false), (1_000, false), (1_001, true), (70_000, true)] {
        let payload = payload(length);
        for (piece, room) in [(usize::MAX / 2, 200), (900, 1), (1, 9_000)] {
            let stored = Stream::open(ours(), 15).all(&payload, piece, room);
            assert_eq!(stored[0] == 0x78, is_zlibs, "{length} bytes, {piece} {room}");
            match is_zlibs {
                true => assert!(inflated(&stored, 15) == payload),
                false => assert!(stored == chunk(&"zstd:3".parse().unwrap(), &payload)),
            }
        }
    }
}

/// The payload of a stream, read by the system's zlib.
fn inflated(stored: &[u8], window_bits: i32) -> Vec<u8> {
    let (mut stream, code) = ReadStream::open(zlibs(), window_bits);
    assert_eq!(code, OK);
    let (payload, code) = outcome(&read(&mut stream, stored, || usize::MAX / 2, || 10_000, 0));
    assert_eq!(code, i64::from(STREAM_END));
    payload
}

#[test]
#[ignore = "run by written_streams_behave_as_in_zlib, in a process of its own"]
fn gzip_and_raw_streams_stay_zlib() {
    let payload = payload(5_000);
    for window_bits in [31, -15] {
        let stored = Stream::open(ours(), window_bits).all(&payload, 999, 333);
        assert!(stored == deflated(&payload, 6, window_bits, None), "{window_bits}");
    }
}

#[test]
#[ignore = "run by written_streams_behave_as_in_zlib, in a process of its own"]
fn settings_before_the_first_byte_make_it_zlib() {
    let payload = payload(5_000);
    // Before the first byte, every call except `deflate` makes the stream zlib's.
    type Call = fn(&ZlibFunctions, *mut ZStream) -> i32;
    let calls: [(Call, i32); 4] = [
        // SAFETY: an open stream, in each call.
        (|zlib, stream| unsafe { (zlib.deflate_params)(stream, 6, 0) }, OK),
        (|zlib, stream| unsafe { (zlib.deflate_tune)(stream, 8, 16, 128, 128) }, OK),
        (|zlib, stream| unsafe { (zlib.deflate_set_header)(stream, std::ptr::null_mut()) }, STREAM_ERROR),
        (|zlib, stream| unsafe { (zlib.deflate_set_dictionary)(stream, c"hello".as_ptr().cast(), 5) }, OK),
    ];
    for (call, expected) in calls {
        let [ours, zlibs] = [ours(), zlibs()].map(|functions| {
            let mut stream = Stream::open(functions, 15);
            let code = call(functions, &mut *stream.0);
            (code, stream.all(&payload, 1_000, 1_000), stream.end())
        });
        assert!(ours == zlibs && ours.0 == expected);
        // After the first byte they are refused, and change nothing.
        let mut stream = Stream::open(self::ours(), 15);
        stream.deflate(&payload[..10], 9, NO_FLUSH);
        assert_eq!(call(self::ours(), &mut *stream.0), STREAM_ERROR);
        assert_ne!(stream.all(&payload[10..], 1_000, 1_000)[0], 0x78);
    }
    let mut stream = Stream::open(ours(), 15);
    let mut copy = Box::new(ZStream::zeroed());
    // SAFETY: an open stream, and one to write to.
    assert_eq!(unsafe { (ours().deflate_copy)(&mut *copy, &mut *stream.0) }, OK);
    assert!(Stream(copy, ours()).all(&payload, 99, 99) == stream.all(&payload, 5_000, 9_000));
}

#[test]
#[ignore = "run by written_streams_behave_as_in_zlib, in a process of its own"]
fn flush_in_the_middle_makes_it_zlib() {
    let payload = payload(5_000);
    // A flush needs output in the middle, so zlib takes over and gets what was collected.
    for (room, rest) in [(10_000, 10_000), (7, 11)] {
        let mut stream = Stream::open(ours(), 15);
        let (code, taken, mut stored) = stream.deflate(&payload[..2_000], 100, NO_FLUSH);
        assert_eq!((code, taken, stored.len()), (OK, 2_000, 0));
        let (code, taken, written) = stream.deflate(&payload[2_000..2_500], room, SYNC_FLUSH);
        assert_eq!(code, OK);
        stored.extend(written);
        stored.extend(stream.all(&payload[2_000 + taken..], 700, rest));
        assert!(inflated(&stored, 15) == payload);
        assert_eq!(stream.end(), OK);
    }
}

#[test]
#[ignore = "run by written_streams_behave_as_in_zlib, in a process of its own"]
fn misuse_fails_as_in_zlib() {
    let payload = payload(5_000);
    for functions in [ours(), zlibs()] {
        let mut stream = Stream::open(functions, 15);
        assert_eq!(stream.deflate(b"bytes", 0, FINISH), (BUF_ERROR, 0, Vec::new()));
        assert_eq!(stream.deflate(b"bytes", 9, 6).0, STREAM_ERROR);
        // There is not enough room for all.
        assert_eq!(stream.deflate(&payload, 1, FINISH).0, OK);
        let mut moved = *stream.0;
        // SAFETY: a valid stream, but not at the address at which it was opened.
        assert_eq!(unsafe { (functions.deflate)(&mut moved, FINISH) }, STREAM_ERROR);
        // SAFETY: `deflate` checks for a null stream.
        assert_eq!(unsafe { (functions.deflate)(std::ptr::null_mut(), FINISH) }, STREAM_ERROR);
    }
}

#[test]
#[ignore = "run by written_streams_behave_as_in_zlib, in a process of its own"]
fn pending_is_the_rest_of_the_chunk() {
    let payload = payload(5_000);
    let (mut pending, mut bits) = (7, 7);
    let mut stream = Stream::open(ours(), 15);
    let (_, _, first) = stream.deflate(&payload, 100, FINISH);
    // SAFETY: an open stream, and room for the answers.
    assert_eq!(unsafe { (ours().deflate_pending)(&mut *stream.0, &mut pending, &mut bits) }, OK);
    let rest = stream.all(&[], 1, 10_000);
    assert_eq!((first.len(), pending as usize, bits), (100, rest.len(), 0));
}

#[test]
#[ignore = "run by written_streams_behave_as_in_zlib, in a process of its own"]
fn only_loose_objects_use_the_codec() {
    let is_zlibs = |pieces: &[(&[u8], i32)]| {
        let [ours, zlibs] = [ours(), zlibs()].map(|functions| {
            let mut stream = Stream::open(functions, 15);
            pieces.iter().map(|(bytes, flush)| stream.deflate(bytes, 9_000, *flush)).collect::<Vec<_>>()
        });
        assert!(zlibs.last().is_some_and(|(code, ..)| *code == STREAM_END), "{pieces:?}");
        ours == zlibs
    };
    let content = payload(900);
    assert!(is_zlibs(&[(b"blob 900\0", NO_FLUSH), (&content, FINISH)]), "no object is being made");
    let packs = std::env::args_os().next_back().map(PathBuf::from).unwrap();
    let folder = packs.ancestors().nth(2).unwrap().join("56");
    std::fs::create_dir(&folder).unwrap();
    make_file(&folder.join("tmp_obj_1"));
    for header in [&b"blob 900\0"[..], b"tree 0\0", b"commit 123\0", b"tag 18446744073709551615\0"] {
        assert!(!is_zlibs(&[(header, NO_FLUSH), (&content, FINISH)]), "{header:?}");
        // Everything in one call is no loose object: `diff --binary` may compress a file with such content.
        assert!(is_zlibs(&[(header, FINISH)]), "{header:?}");
        assert!(is_zlibs(&[(&[header, &content[..]].concat(), NO_FLUSH), (b"", FINISH)]), "{header:?}");
        // A writer of loose objects never calls deflateBound.
        let mut stream = Stream::open(ours(), 15);
        assert_eq!(stream.bound(900), Stream::open(zlibs(), 15).bound(900));
        assert_eq!(stream.all(&[header, &content[..]].concat(), header.len(), 9_000)[0], 0x78);
    }
    for header in [
        &b"blob\0"[..],
        b"blob \0",
        b"blob 9",
        b"blob 9\0\0",
        b"blob x\0",
        b" blob 9\0",
        b"blob -9\0",
        b"block 9\0",
        b"",
    ] {
        assert!(is_zlibs(&[(header, NO_FLUSH), (&content, FINISH)]), "{header:?}");
    }
}
