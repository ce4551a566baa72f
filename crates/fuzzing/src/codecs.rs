//! The codecs and their containers.

use std::io::BufReader;

use repackbench_codec::{
    Algorithm, ChunkDecoder, Codec, CodecSpec, CodecSpecs, Decoders, DeflateReader, Dictionaries, Dictionary,
    FileDecoder, FileForm, PushDecoder, RevlogDecoder, StoredForm, parse_size,
};

use crate::input::Input;

/// Limit for the payloads in bytes.
const LIMIT: usize = 1 << 20;

/// Length of the beginning of a payload in bytes.
const PREFIX: usize = 40;

/// The body of one codec: its number in [`Algorithm::ALL`], a byte of options, the length of the payload, a dictionary,
/// and the body.
pub fn codec(data: &[u8]) {
    let mut input = Input::new(data);
    let algorithm = Algorithm::ALL[usize::from(input.byte()) % Algorithm::ALL.len()];
    let options = input.byte();
    let payload_len = input.long().min(LIMIT);
    let dictionary = Dictionary::new(input.part());
    let stored = input.rest();
    let new = || {
        let mut codec = CodecSpec::of(algorithm).new_codec().expect("a codec");
        codec.set_checksum(options & 1 != 0);
        let is_set = options & 2 == 0 || codec.set_dictionary(Some(&dictionary)).is_ok();
        is_set.then_some(codec)
    };
    let Some(mut codec) = new() else { return };
    decode_body(&mut *codec, stored, payload_len);
    // A context that has failed works as a new one.
    if let Some(mut fresh) = new() {
        let (mut again, mut payload) = (vec![0; payload_len], vec![0; payload_len]);
        let used = codec.decode(stored, &mut again).ok();
        assert_eq!(used, fresh.decode(stored, &mut payload).ok());
        assert!(used.is_none() || payload == again);
    }
}

fn decode_body(codec: &mut dyn Codec, stored: &[u8], payload_len: usize) {
    let mut payload = vec![0; payload_len];
    let decoded = codec.decode(stored, &mut payload).ok();
    let mut streamed = Vec::new();
    let consumed = codec.decode_stream(&mut &*stored, payload_len as u64, &mut |piece| {
        streamed.extend_from_slice(piece);
        assert!(streamed.len() <= payload_len, "more than was asked for");
        Ok(())
    });
    assert_eq!(decoded.map(|length| length as u64), consumed.ok());
    assert!(decoded.is_none() || streamed == payload);
    let mut prefix = [0; PREFIX];
    let filled = codec.decode_prefix(stored, &mut prefix);
    if decoded.is_some() {
        let filled = filled.expect("the beginning of what was decoded");
        assert_eq!(prefix[..filled], payload[..PREFIX.min(payload_len)]);
    }
}

/// Chunks, in packs, revlogs and files: a byte of options, the length of the payload, a dictionary, a base, and the
/// stored bytes.
pub fn container(data: &[u8]) {
    let mut input = Input::new(data);
    let options = input.byte();
    let payload_len = input.long().min(LIMIT);
    let dictionaries = match input.part() {
        b"" => Dictionaries::default(),
        bytes => Dictionaries::new([Dictionary::new(bytes)]),
    };
    let base = input.part();
    let stored = input.rest();
    let _ = (ChunkDecoder::identify(stored), StoredForm::of_chunk(stored), StoredForm::of_revlog_chunk(stored));
    for decoders in Decoders::all_for(stored) {
        chunk(decoders, &dictionaries, stored, base, payload_len);
        revlog_chunk(decoders, &dictionaries, stored, base, payload_len);
    }
    pushed(&dictionaries, stored, payload_len, usize::from(options) + 1);
    for form in FileForm::ALL {
        let mut content = Vec::new();
        let decoded = FileDecoder::new(form, Decoders::default()).decode(stored, payload_len, &mut content);
        assert_eq!(decoded.unwrap_or(0), content.len(), "{}", form.name());
        assert!(content.len() <= payload_len);
    }
}

fn chunk(decoders: Decoders, dictionaries: &Dictionaries, stored: &[u8], base: &[u8], payload_len: usize) {
    let mut decoder = ChunkDecoder::new(decoders).with_dictionaries(dictionaries);
    let mut payload = vec![0; payload_len];
    let decoded = decoder.decode(stored, &mut payload).ok();
    let mut streamed = Vec::new();
    let consumed = decoder.decode_stream(stored, payload_len as u64, &mut |piece| {
        streamed.extend_from_slice(piece);
        assert!(streamed.len() <= payload_len, "more than was asked for");
        Ok(())
    });
    let consumed = consumed.ok();
    // libdeflate takes the two length codes that RFC 1951 reserves for the longest one. Stock zlib reads pieces for it, and
    // rejects them.
    let is_lenient = decoders.deflate == DeflateReader::Libdeflate && decoded.is_some() && consumed.is_none();
    if is_lenient {
        let mut stock = ChunkDecoder::new(Decoders::default()).with_dictionaries(dictionaries);
        let error = stock.decode(stored, &mut payload).expect_err("only libdeflate is lenient").to_string();
        assert!(error.contains("invalid literal/length code"), "{error}");
    }
    let decoded = decoded.filter(|_| !is_lenient);
    assert_eq!(decoded.map(|length| length as u64), consumed, "{decoders:?}");
    assert!(decoded.is_none() || streamed == payload);
    let mut byte_by_byte = BufReader::with_capacity(1, stored);
    let from_source = decoder.decode_stream_from(&mut byte_by_byte, payload_len as u64, &mut |_| Ok(()));
    assert_eq!(from_source.ok(), consumed);
    let (mut prefix, mut from_source) = ([0; PREFIX], [0; PREFIX]);
    let filled = decoder.decode_prefix(stored, &mut prefix);
    let filled_from = decoder.decode_prefix_from(&mut BufReader::with_capacity(1, stored), &mut from_source);
    if decoded.is_some() {
        let filled = filled.expect("the beginning of what was decoded");
        assert_eq!(prefix[..filled], payload[..PREFIX.min(payload_len)]);
        assert_eq!((filled, prefix), (filled_from.expect("the same from a source"), from_source));
    }
    let _ = ChunkDecoder::claimed_len_on_base(stored);
    let on_base = decoder.decode_on_base(stored, base, &mut payload).ok();
    // Only a chunk that needs a base decodes with one alone.
    assert!(decoded.is_none() || on_base == decoded);
}

fn revlog_chunk(decoders: Decoders, dictionaries: &Dictionaries, stored: &[u8], base: &[u8], limit: usize) {
    let mut decoder = RevlogDecoder::new(decoders).with_dictionaries(dictionaries);
    let mut payload = Vec::new();
    let decoded = decoder.decode(stored, limit, &mut payload).ok();
    assert_eq!(decoded.unwrap_or(0), payload.len());
    assert!(payload.len() <= limit);
    let _ = RevlogDecoder::claimed_len_on_base(stored);
    payload.clear();
    let _ = decoder.decode_on_base(stored, base, limit, &mut payload);
    assert!(payload.len() <= limit);
}

/// Decodes in steps of `step` bytes. The result is that of decoding at once.
fn pushed(dictionaries: &Dictionaries, stored: &[u8], payload_len: usize, step: usize) {
    let mut payload = vec![0; payload_len];
    let whole = ChunkDecoder::new(Decoders::default()).with_dictionaries(dictionaries).decode(stored, &mut payload);
    let mut decoder = PushDecoder::new(dictionaries);
    let (mut taken, mut given, mut written) = (0, 0, Vec::new());
    loop {
        given = given.max(taken + step).min(stored.len());
        let mut room = vec![0; step];
        let Ok(done) = decoder.step(&stored[taken..given], &mut room) else { break };
        taken += done.consumed;
        written.extend_from_slice(&room[..done.produced]);
        if done.ended {
            // Streams of zlib are not its own.
            assert!(whole.as_ref().is_ok_and(|consumed| *consumed == taken) || written.len() != payload_len);
            assert!(whole.is_err() || written == payload);
            return;
        }
        if done.consumed + done.produced == 0 && given == stored.len() || written.len() > LIMIT {
            break;
        }
    }
    let is_zlibs = stored.first().is_some_and(|first| first & 0x0f == 8);
    assert!(whole.is_err() || is_zlibs, "refused in steps of {step} what decodes at once");
}

/// A codec spec, or several. What can be read is written as it was read.
pub fn spec(data: &[u8]) {
    let Ok(typed) = std::str::from_utf8(data) else { return };
    let _ = parse_size(typed);
    if let Ok(spec) = typed.parse::<CodecSpec>() {
        let again: CodecSpec = spec.to_string().parse().expect("a spec that was written");
        assert_eq!(again, spec);
        let canonical: CodecSpec = spec.canonical().parse().expect("a spec that was written in full");
        assert_eq!(canonical.canonical(), spec.canonical());
        assert!(!spec.file_stem().contains('/'));
    }
    if let Ok(specs) = typed.parse::<CodecSpecs>() {
        assert!(!specs.specs().is_empty());
    }
}
