//! Checks that a git calls the library that is preloaded into it.
//!
//! Only a try can show that: git may be linked statically, have a zlib of its own, or not be allowed to preload
//! libraries. Also, the library may lack the requested zlib.

use std::{io::Write, path::Path, process::Stdio};

use repackbench_codec::{ChunkEncoder, CodecSpec};
use repackbench_preload_abi::ZLIB_VARIABLE;

use crate::{
    ClientError, isolation,
    library::{Preload, Zlib},
    name_of,
};

/// The content of a file that a patch adds.
const CONTENT: &str = "probe\n";
/// A codec that git itself cannot read.
const CODEC: &str = "store";
/// The prefix of the library's own messages.
const COMPLAINT: &str = "repackbench: ";

/// Makes `git` read a patch that it can read only through the library. Makes no file.
pub(crate) fn check(git: &Path, preload: &Preload, zlib: Zlib) -> Result<(), ClientError> {
    let failed = |why: &str| ClientError::refused(format!("{}: {why}", name_of(git)));
    let mut command = isolation::git(git, []);
    command.args(["apply", "--numstat"]).current_dir("/");
    preload.set(&mut command);
    command.env(ZLIB_VARIABLE, zlib.name());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed(&error.to_string()))?;
    if let Some(mut input) = child.stdin.take() {
        // A program that does not read its input fails below.
        let _ = input.write_all(patch()?.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| failed(&error.to_string()))?;
    if output.status.success() && output.stdout.ends_with(b"\tprobe\n") {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    if let Some(complaint) = said.lines().find_map(|line| line.strip_prefix(COMPLAINT)) {
        return Err(ClientError::refused(format!("the preloaded library reports: {complaint}")));
    }
    let why = "does not call the zlib that is preloaded into it: it is linked statically, or with a zlib of its own";
    let hint = format!("exec needs a git that is linked with libz.so; this one printed {:?}", said.trim_end());
    Err(failed(why).with_hint(hint))
}

/// A patch that adds a file with [`CONTENT`], compressed with a codec that no zlib can read.
fn patch() -> Result<String, ClientError> {
    let failed = |error: String| ClientError::refused(error);
    let spec: CodecSpec = CODEC.parse().map_err(|error: repackbench_codec::SpecError| failed(error.to_string()))?;
    let mut encoder = ChunkEncoder::new(&spec).map_err(|error| failed(error.to_string()))?;
    let mut stored = Vec::new();
    encoder.encode(CONTENT.as_bytes(), &mut stored).map_err(|error| failed(error.to_string()))?;
    Ok(format!(
        "diff --git a/probe b/probe\nnew file mode 100644\nindex {}..{}\nGIT binary patch\nliteral {}\n{}\n\nliteral 0\nHcmV?d00001\n\n",
        "0".repeat(40),
        "da0c4eb8d9a48d171a33574b380752e183286751",
        CONTENT.len(),
        line_of(&stored)
    ))
}

/// A line of a binary patch, in git's base 85. It encodes at most 26 bytes; its first letter is their number.
fn line_of(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 85] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
    let letters = b'A'..=b'Z';
    let length = letters.clone().nth(bytes.len().saturating_sub(1)).unwrap_or(*letters.end());
    let mut line = String::from(char::from(length));
    for group in bytes.chunks(4) {
        let mut number = group.iter().chain(&[0; 4]).take(4).fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
        let mut digits = [0; 5];
        for digit in digits.iter_mut().rev() {
            *digit = DIGITS[(number % 85) as usize];
            number /= 85;
        }
        line.extend(digits.map(char::from));
    }
    line
}
