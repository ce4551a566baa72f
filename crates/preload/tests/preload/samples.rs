//! Payloads and zlib streams for the tests.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use repackbench_preload_abi::{FINISH, OK, STREAM_END, ZStream};

use crate::library::zlibs;

/// A payload of this length: text with some random bytes.
pub(crate) fn payload(length: usize) -> Vec<u8> {
    let mut random = SmallRng::seed_from_u64(length as u64);
    let mut bytes = include_bytes!("../../../../docs/format.md").repeat(length / 4_000 + 1);
    bytes.truncate(length);
    for place in 0..length / 50 {
        if length > 300 && place % 7 == 0 {
            bytes[place * 50] = random.random();
        }
    }
    bytes
}

/// The stream that the system's zlib writes for `payload`.
pub(crate) fn deflated(payload: &[u8], level: i32, window_bits: i32, dictionary: Option<&[u8]>) -> Vec<u8> {
    let zlib = zlibs();
    let mut stream = ZStream::zeroed();
    let mut out = vec![0; payload.len() + payload.len() / 100 + 200];
    // SAFETY: a stream of zeroes; then one with a payload and room of these lengths.
    unsafe {
        let version = c"1.2.11".as_ptr();
        assert_eq!((zlib.deflate_init2)(&mut stream, level, 8, window_bits, 8, 0, version, ZStream::SIZE), OK);
        if let Some(dictionary) = dictionary {
            assert_eq!((zlib.deflate_set_dictionary)(&mut stream, dictionary.as_ptr(), dictionary.len() as u32), OK);
        }
        (stream.next_in, stream.avail_in) = (payload.as_ptr(), payload.len() as u32);
        (stream.next_out, stream.avail_out) = (out.as_mut_ptr(), out.len() as u32);
        assert_eq!((zlib.deflate)(&mut stream, FINISH), STREAM_END);
        out.truncate(stream.total_out as usize);
        assert_eq!((zlib.deflate_end)(&mut stream), OK);
    }
    out
}
