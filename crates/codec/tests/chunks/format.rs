//! The encoder writes the worked examples in docs/format.md, and the decoder decodes them.

use crate::common::{encode, revlog_chunk, revlog_payload, spec};
use repackbench_codec::{
    BaseUse, ChunkDecoder, ChunkEncoder, DeltaBase, Dictionaries, Dictionary, FORMAT_VERSION, RevlogDecoder, ZlibReader,
};

const FORMAT: &str = include_str!("../../../../docs/format.md");

/// The headings of the tables of examples, and the payload that their rows refer to by name.
const TABLE: &str = "| codec spec | payload | stored bytes |";
const BESIDE_TABLE: &str = "| codec spec | beside it | payload | stored bytes with it |";
const REVLOG_TABLE: &str = "| codec spec | payload | revlog chunk |";
const LINE: &str = "hello, hello, hello, hello, hello\n";

/// The start of the delta called `insertion`: from 680 bytes make 34; insert 34.
const INSERTION: [u8; 4] = [0xa8, 0x05, 0x22, 0x22];

fn payload(named: &str) -> Vec<u8> {
    match named {
        "empty" => Vec::new(),
        "`hi`" => b"hi".to_vec(),
        "`\\0hi`" => b"\0hi".to_vec(),
        "twenty" => LINE.repeat(20).into_bytes(),
        "twice" => LINE.repeat(2).into_bytes(),
        "greeting" => LINE.as_bytes().to_vec(),
        "insertion" => [&INSERTION[..], LINE.as_bytes()].concat(),
        other => panic!("docs/format.md names an unknown payload: {other}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// The bytes that a cell spells out.
fn bytes(cell: &str) -> Vec<u8> {
    match cell {
        "none" => Vec::new(),
        hex => hex.trim_matches('`').split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect(),
    }
}

/// The cells of each row under `heading`.
fn examples<const CELLS: usize>(heading: &str) -> Vec<[&'static str; CELLS]> {
    let (_, after) = FORMAT.split_once(heading).expect("docs/format.md lacks a table of examples");
    let rows = after.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        <[&str; CELLS]>::try_from(cells).expect("a row of docs/format.md's table has another number of cells")
    })
    .collect()
}

#[test]
fn worked_examples_of_chunks_are_correct() {
    let examples: Vec<[&str; 3]> = examples(TABLE);
    assert!(examples.len() >= 10, "found {} examples only", examples.len());
    for [typed, named, stored] in examples {
        let (typed, payload, stored) = (typed.trim_matches('`'), payload(named), bytes(stored));
        assert_eq!(hex(&encode(typed, &payload)), hex(&stored), "{typed} of {named}");
        let mut decoded = vec![0; payload.len()];
        let consumed = ChunkDecoder::for_spec(&spec(typed)).decode(&stored, &mut decoded).unwrap();
        assert_eq!((consumed, decoded), (stored.len(), payload), "{typed} of {named}");
    }
}

#[test]
fn worked_examples_of_revlog_chunks_are_correct() {
    let examples: Vec<[&str; 3]> = examples(REVLOG_TABLE);
    assert!(examples.len() >= 8, "found {} examples only", examples.len());
    for [typed, named, stored] in examples {
        let (typed, payload, stored) = (typed.trim_matches('`'), payload(named), bytes(stored));
        assert_eq!(hex(&revlog_chunk(typed, &payload)), hex(&stored), "{typed} of {named}");
        let decoded = revlog_payload(&mut RevlogDecoder::for_spec(&spec(typed)), &stored, payload.len());
        assert_eq!(decoded, Ok(payload), "{typed} of {named}");
    }
}

#[test]
fn document_names_the_version_and_the_payload() {
    assert!(FORMAT.contains(&format!("format version {FORMAT_VERSION}")));
    assert!(FORMAT.contains(&format!("`{}`", LINE.escape_default())), "docs/format.md spells another greeting");
}

#[test]
fn worked_examples_with_dictionary_or_base_are_correct() {
    let dictionaries = Dictionaries::new([Dictionary::new(*b"unused"), Dictionary::new(payload("twenty"))]);
    let base = payload("twenty");
    let examples: Vec<[&str; 4]> = examples(BESIDE_TABLE);
    assert!(examples.len() >= 8, "found {} examples only", examples.len());
    for [typed, beside, named, cell] in examples {
        let spec = spec(typed.trim_matches('`'));
        let (delta, object, stored) = (payload(named), payload("greeting"), bytes(cell));
        let dictionary = (beside == "dictionary twenty").then(|| (1, dictionaries.get(1).unwrap()));
        let mut encoder = ChunkEncoder::for_choice(spec.default_choice(), dictionary).unwrap();
        let mut found = Vec::new();
        match beside {
            "dictionary twenty" => encoder.encode(&delta, &mut found).unwrap(),
            "base twenty" => {
                let base = DeltaBase { content: &base, object: Some(&object) };
                encoder.encode_delta(&delta, &base, &mut found).unwrap()
            }
            other => panic!("docs/format.md names something unknown beside a chunk: {other}"),
        };
        assert_eq!(hex(&found), hex(&stored), "{typed} of {named}");

        let expected = if ChunkDecoder::base_use(&stored) == BaseUse::Patch { &object } else { &delta };
        let mut decoded = vec![0; expected.len()];
        let mut decoder = ChunkDecoder::new(ZlibReader::Stock).with_dictionaries(&dictionaries);
        let consumed = decoder.decode_on_base(&stored, &base, &mut decoded).unwrap();
        assert_eq!((consumed, &decoded), (stored.len(), expected), "{typed} of {named}");
    }
}

/// The lines of docs/format.md between two lines that start with `first` and `last`.
fn lines_between(first: &str, last: &str) -> Vec<&'static str> {
    let after = FORMAT.lines().skip_while(|line| !line.starts_with(first)).skip(1);
    after.take_while(|line| !line.starts_with(last)).collect()
}

#[test]
fn document_lists_the_valid_tag_bytes() {
    let paragraphs = lines_between("The valid tag bytes of format version 1 are", "### Payload checksum").join(" ");
    // Every second piece is between two backticks. Only the flag is spelled with 0x.
    let spelled = paragraphs.split('`').skip(1).step_by(2).filter(|piece| !piece.starts_with("0x"));
    let mut listed: Vec<u8> = spelled.flat_map(bytes).collect();
    listed.sort_unstable();
    let is_tag = |byte: &u8| byte & 0x0f != 8 && ChunkDecoder::identify(&[*byte, 0]).is_some();
    assert_eq!(listed, (0..=u8::MAX).filter(is_tag).collect::<Vec<_>>());
}

#[test]
fn document_lists_every_body_once_in_order() {
    let rows = lines_between("| body | codec |", "No two of the flags");
    let numbers: Vec<&str> = rows.iter().filter_map(|row| row.split('|').nth(1)).map(str::trim).skip(1).collect();
    let expected: Vec<String> = (0..13).map(|number| number.to_string()).chain(["13–15".to_owned()]).collect();
    assert_eq!(numbers, expected);
}
