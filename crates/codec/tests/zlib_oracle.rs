//! The baseline is stock zlib: byte for byte what another program that links stock zlib writes.
//!
//! Python's `zlib` module is that program. It is built with the system's zlib, whose version may differ
//! from ours; deflate's output has not changed between releases of stock zlib, which this shows.

mod common;

use std::io::Write;
use std::process::{Command, Stdio};

use common::{decoder, encode, noise, text};

/// Reads level and payload length as two ASCII lines, then the payload; writes the stream.
const PROGRAM: &str = "
import sys, zlib
level, length = int(sys.stdin.buffer.readline()), int(sys.stdin.buffer.readline())
sys.stdout.buffer.write(zlib.compress(sys.stdin.buffer.read(length), level))
";

fn python_compress(payload: &[u8], level: i32) -> Vec<u8> {
    let mut python = Command::new("python3")
        .args(["-c", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is needed as the oracle");
    let mut input = python.stdin.take().unwrap();
    write!(input, "{level}\n{}\n", payload.len()).unwrap();
    input.write_all(payload).unwrap();
    drop(input);
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success());
    output.stdout
}

#[test]
fn stock_zlib_writes_what_python_writes() {
    let mut mixed = text(300_000);
    mixed.extend(noise(50_000));
    for level in 0..=9 {
        for payload in
            [Vec::new(), b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n".to_vec(), text(20_000), mixed.clone()]
        {
            let stored = encode(&format!("zlib:{level}"), &payload);
            let expected = python_compress(&payload, level);
            if level == 0 && payload.len() > 16 << 10 {
                // Level 0 cuts stored blocks to fit the output buffer, and Python's grows as it goes. So the bytes
                // cannot agree; what they say must.
                let mut decoded = vec![0; payload.len()];
                assert_eq!(decoder("zlib").decode(&expected, &mut decoded).unwrap(), expected.len());
                assert_eq!(decoded, payload);
                continue;
            }
            assert!(stored == expected, "level {level}, {} bytes", payload.len());
        }
    }
}

#[test]
fn other_programs_read_our_zlib_streams() {
    const PROGRAM: &str = "
import sys, zlib
sys.stdout.buffer.write(zlib.decompress(sys.stdin.buffer.read()))
";
    let payload = text(10_000);
    for typed in ["zlib:0", "zlib:6", "zlib-rs:1", "zlib-rs:9", "libdeflate:1", "libdeflate:12"] {
        let mut python =
            Command::new("python3").args(["-c", PROGRAM]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        python.stdin.take().unwrap().write_all(&encode(typed, &payload)).unwrap();
        assert_eq!(python.wait_with_output().unwrap().stdout, payload, "{typed}");
    }
}
