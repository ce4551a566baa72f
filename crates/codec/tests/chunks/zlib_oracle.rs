//! The baseline is stock zlib: it writes byte for byte what another program with stock zlib writes.
//!
//! That program is Python with its `zlib` module. The module uses the system's zlib, whose version may differ from
//! ours. This also shows that the output of deflate has not changed between releases of stock zlib.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::{SPECS, decoder, encode, noise, revlog_chunk, revlog_payload, spec, text};
use repackbench_codec::{RevlogDecoder, ZlibReader};

/// Reads the level as one ASCII line, then all payloads, each after a line with its length. Writes the stream of each
/// in the same manner.
const PROGRAM: &str = "
import sys, zlib
source, sink = sys.stdin.buffer, sys.stdout.buffer
level = int(source.readline())
for line in iter(source.readline, b''):
    stream = zlib.compress(source.read(int(line)), level)
    sink.write(b'%d\\n' % len(stream) + stream)
";

/// What `program` writes for each of `payloads` if it gets `first_line`, and then each payload after its length.
fn python_each(program: &str, first_line: &str, payloads: &[impl AsRef<[u8]>]) -> Vec<Vec<u8>> {
    let lengths: Vec<String> = payloads.iter().map(|payload| format!("{}\n", payload.as_ref().len())).collect();
    let mut input = vec![first_line.as_bytes()];
    input.extend(lengths.iter().zip(payloads).flat_map(|(line, payload)| [line.as_bytes(), payload.as_ref()]));
    let written = python(program, &input);
    let mut rest = written.as_slice();
    let results = payloads.iter().map(|_| {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
        let length: usize = str::from_utf8(&rest[..end]).unwrap().parse().unwrap();
        let (result, after) = rest[end + 1..].split_at(length);
        rest = after;
        result.to_vec()
    });
    let results = results.collect();
    assert!(rest.is_empty(), "more results than payloads");
    results
}

/// The output of `program` for `input`, which is written in pieces.
fn python(program: &str, input: &[&[u8]]) -> Vec<u8> {
    let mut python = Command::new("python3")
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is needed as the oracle");
    let mut stdin = python.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // In another thread, because the program may write before it has read everything.
        let writing = scope.spawn(move || input.iter().try_for_each(|piece| stdin.write_all(piece)));
        let output = python.wait_with_output().unwrap();
        assert!(output.status.success());
        writing.join().unwrap().unwrap();
        output.stdout
    })
}

#[test]
fn stock_zlib_writes_the_same_bytes_as_python() {
    let mixed = [text(300_000), noise(50_000)].concat();
    let payloads =
        [Vec::new(), b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n".to_vec(), text(20_000), mixed.clone()];
    for level in 0..=9 {
        for (payload, expected) in payloads.iter().zip(python_each(PROGRAM, &format!("{level}\n"), &payloads)) {
            let stored = encode(&format!("zlib:{level}"), payload);
            if level == 0 && payload.len() > 16 << 10 {
                // Level 0 cuts stored blocks to fit the output buffer, and Python's buffer grows. So the bytes differ,
                // but the payloads must not.
                let mut decoded = vec![0; payload.len()];
                assert_eq!(decoder("zlib").decode(&expected, &mut decoded).unwrap(), expected.len());
                assert_eq!(decoded, *payload);
                continue;
            }
            assert!(stored == expected, "level {level}, {} bytes", payload.len());
        }
    }
}

#[test]
fn python_decodes_our_zlib_streams() {
    const PROGRAM: &str = "
import sys, zlib
source, sink = sys.stdin.buffer, sys.stdout.buffer
for line in iter(source.readline, b''):
    payload = zlib.decompress(source.read(int(line)))
    sink.write(b'%d\\n' % len(payload) + payload)
";
    let payload = text(10_000);
    let mut streams = Vec::new();
    for typed in SPECS.into_iter().filter(|typed| spec(typed).is_read_by_git()) {
        streams.push((typed, encode(typed, &payload)));
        // At level 0 a payload does not shrink and its revlog chunk is raw.
        if spec(typed).level() != Some(0) {
            streams.push((typed, revlog_chunk(typed, &payload)));
        }
    }
    let (names, streams): (Vec<&str>, Vec<Vec<u8>>) = streams.into_iter().unzip();
    for (typed, decoded) in names.iter().zip(python_each(PROGRAM, "", &streams)) {
        assert!(decoded == payload, "{typed}");
    }
}

/// Reads the level as one ASCII line, then all payloads, each after a line with its length. Writes the revlog chunk of
/// each in the same manner.
///
/// hg's rules: payloads below 44 bytes, and those whose stream is not shorter, are raw; above 1,000,000 bytes, the
/// compressor gets 1 MiB at a time.
const REVLOG_PROGRAM: &str = "
import sys, zlib
source, sink = sys.stdin.buffer, sys.stdout.buffer
level = int(source.readline())
for line in iter(source.readline, b''):
    payload = source.read(int(line))
    if len(payload) <= 1000000:
        stream = zlib.compress(payload, level)
    else:
        deflate = zlib.compressobj(level=level)
        pieces = [payload[start:start + (1 << 20)] for start in range(0, len(payload), 1 << 20)]
        stream = b''.join([deflate.compress(piece) for piece in pieces] + [deflate.flush()])
    if len(payload) >= 44 and len(stream) < len(payload):
        chunk = stream
    elif payload[:1] in (b'', b'\\0'):
        chunk = payload
    else:
        chunk = b'u' + payload
    sink.write(b'%d\\n' % len(chunk) + chunk)
";

/// Payloads of all lengths around a boundary, whose textures result in raw chunks and in stored, fixed and dynamic
/// blocks.
fn revlog_payloads() -> Vec<Vec<u8>> {
    let mut payloads = vec![Vec::new(), b"\0nul".to_vec(), [&b"\0"[..], &text(500)].concat()];
    payloads.extend((1..80).map(text));
    payloads.extend((1..80).map(|length| vec![b'a'; length]));
    payloads.extend((0..120).map(|noisy| [text(60), noise(noisy)].concat()));
    payloads.extend([100, 200, 1_000, 32_767, 32_768, 65_535, 65_536, 300_000].map(text));
    for length in [999_999, 1_000_000, 1_000_001, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 2_500_000, 3 << 20] {
        payloads.push(text(length));
        payloads.push([text(length / 2), noise(length / 8), vec![0; length / 4], text(length / 8)].concat());
    }
    payloads.push(noise(1_300_000));
    payloads.push(vec![b'x'; 5_000_000]);
    payloads
}

#[test]
fn zlib_revlog_chunks_equal_those_of_hg() {
    let payloads = revlog_payloads();
    for level in [0, 1, 4, 6, 9] {
        let mut decoders = ZlibReader::ALL.map(RevlogDecoder::new);
        for (payload, chunk) in payloads.iter().zip(python_each(REVLOG_PROGRAM, &format!("{level}\n"), &payloads)) {
            assert!(revlog_chunk(&format!("zlib:{level}"), payload) == chunk, "level {level}, {} bytes", payload.len());
            // The other readers decode only one level, because the levels make no difference to them.
            let count = if level == 6 { decoders.len() } else { 1 };
            for decoder in &mut decoders[..count] {
                assert!(revlog_payload(decoder, &chunk, payload.len()).as_ref() == Ok(payload), "level {level}");
            }
        }
    }
}
