//! Packs the preload libraries for the program. The layout is described where it is read, in
//! `crates/client/src/embedded.rs`. Tests include this file, too.

use zstd_safe::CParameter;

/// The mark by which a test finds the packed bytes in a program.
pub(crate) const MARK: &[u8; 32] = b"repackbench: preload libraries:\n";

/// The length of everything before the frame.
const HEADER_LEN: usize = MARK.len() + 3 * 8;

/// Packs the stand-in and the library with the codecs. The level is one of zstd's.
pub(crate) fn pack(stand_in: &[u8], codecs: &[u8], level: i32) -> Result<Vec<u8>, String> {
    let failed = |code| format!("zstd: {}", zstd_safe::get_error_name(code));
    let both = [stand_in, codecs].concat();
    let mut context = zstd_safe::CCtx::create();
    context.set_parameter(CParameter::CompressionLevel(level)).map_err(failed)?;
    context.set_parameter(CParameter::ChecksumFlag(true)).map_err(failed)?;
    let mut frame = Vec::with_capacity(zstd_safe::compress_bound(both.len()));
    context.compress2(&mut frame, &both).map_err(failed)?;
    let mut packed = header([frame.len(), stand_in.len(), codecs.len()]);
    packed.append(&mut frame);
    Ok(packed)
}

/// Room for packed libraries, and nothing in it: `len` bytes, or as many as the header has if that is more.
#[allow(dead_code, reason = "tests fill the room that the build script makes")]
pub(crate) fn room(len: usize) -> Vec<u8> {
    let mut room = header([0; 3]);
    room.resize(len.max(HEADER_LEN), 0);
    room
}

fn header(lengths: [usize; 3]) -> Vec<u8> {
    let mut header = MARK.to_vec();
    lengths.iter().for_each(|length| header.extend((*length as u64).to_le_bytes()));
    header
}
