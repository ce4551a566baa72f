//! Tests the native module without Mercurial, called from Python as hg calls it.

use std::process::Command;

use crate::support::{NATIVE_MODULE, Outcome, extension};

/// Runs a Python program that can use the module as `native`, and a few helpers. Fails the test if the program fails.
#[track_caller]
fn python(program: &str) {
    let path = extension().join(NATIVE_MODULE);
    let prelude = "
import importlib.machinery, importlib.util, sys, zlib
loader = importlib.machinery.ExtensionFileLoader('_native', sys.argv[1])
spec = importlib.util.spec_from_file_location('_native', sys.argv[1], loader=loader)
native = importlib.util.module_from_spec(spec)
loader.exec_module(native)
class Damaged(Exception):
    pass
def raises(kind, function, *arguments):
    try:
        function(*arguments)
    except kind as error:
        return error
    raise AssertionError('%s expected of %r%r' % (kind.__name__, function, arguments))
def payload(length):
    return (b''.join(b'line %d of the payload\\n' % n for n in range(length // 18 + 1)))[:length]
";
    let outcome = Outcome::of(Command::new("python3").args(["-c", &format!("{prelude}{program}")]).arg(path));
    assert_eq!(outcome.status, Some(0), "{}", outcome.err);
}

#[test]
fn every_codec_decodes_its_chunks_from_bytes_and_views() {
    python(
        "
payloads = [payload(length) for length in (1, 43, 44, 49, 50, 100, 5000, 1000001)]
for name, levels, implementation, engine in native.codecs():
    codec = native.Compressor(name, Damaged)
    for original in payloads:
        length = len(original)
        if name == 'zopfli' and length > 5000:
            # It needs half a minute for a megabyte, and our code for it is the same.
            continue
        chunk = codec.compress(original)
        assert codec.compress(memoryview(b'--' + original)[2:]) == chunk, (name, length)
        if chunk is None:
            assert length < 1000 or name == 'store', (name, length)
            continue
        assert type(chunk) is bytes and len(chunk) < length, (name, length)
        view = memoryview(b'before' + chunk + b'after')[6:-5].toreadonly()
        for stored in (chunk, view, bytearray(chunk)):
            decoded = codec.decompress(stored)
            assert type(decoded) is bytes and decoded == original, (name, length)
",
    );
}

#[test]
fn zlib_writes_the_same_bytes_as_python() {
    python(
        "
for level in range(10):
    codec = native.Compressor('zlib:%d' % level, Damaged)
    for length in (44, 45, 100, 4096, 70000, 1000000):
        expected = zlib.compress(payload(length), level)
        assert codec.compress(payload(length)) == (expected if len(expected) < length else None), (level, length)
        assert codec.decompress(expected) == payload(length), (level, length)
",
    );
}

#[test]
fn bad_arguments_and_chunks_raise_exceptions() {
    python(
        "
assert 'unknown codec' in str(raises(ValueError, native.Compressor, 'gzip', Damaged))
assert 'unknown codec' in str(raises(ValueError, native.engine_of, 'gzip'))
raises(TypeError, native.Compressor, 'zlib')
raises(TypeError, native.Compressor, 'zlib', 'no type')
codec = native.Compressor('zstd:3', Damaged)
for bad in ('text', 7, None):
    raises(TypeError, codec.decompress, bad)
    raises(TypeError, codec.compress, bad)
raises(BufferError, codec.decompress, memoryview(b'every other byte')[::2])
error = raises(Damaged, codec.decompress, b'?unknown')
assert type(error.args[0]) is bytes and error.args[0].startswith(b'revlog decompress error: '), error
chunk = codec.compress(payload(1000))
for length in range(1, len(chunk)):
    raises(Damaged, codec.decompress, chunk[:length])
assert codec.decompress(chunk) == payload(1000)
assert codec.decompress(b'') == b''
assert (codec.decoded, codec.encoded, codec.spec) == (2, 1, 'zstd:3')
",
    );
}
