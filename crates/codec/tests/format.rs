//! FORMAT.md's worked examples are what the encoder writes and the decoder reads.

mod common;

use common::{encode, revlog_chunk, revlog_payload, spec};
use repackbench_codec::{ChunkDecoder, FORMAT_VERSION, RevlogDecoder};

const FORMAT: &str = include_str!("../../../FORMAT.md");

/// Headings of the tables of examples, and the payload that their rows call by a name.
const TABLE: &str = "| codec spec | payload | stored bytes |";
const REVLOG_TABLE: &str = "| codec spec | payload | revlog chunk |";
const LINE: &str = "hello, hello, hello, hello, hello\n";

fn payload(named: &str) -> Vec<u8> {
    match named {
        "empty" => Vec::new(),
        "`hi`" => b"hi".to_vec(),
        "`\\0hi`" => b"\0hi".to_vec(),
        "twenty" => LINE.repeat(20).into_bytes(),
        "twice" => LINE.repeat(2).into_bytes(),
        "greeting" => LINE.as_bytes().to_vec(),
        other => panic!("FORMAT.md names an unknown payload: {other}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// The bytes that a cell spells.
fn bytes(cell: &str) -> Vec<u8> {
    match cell {
        "none" => Vec::new(),
        hex => hex.trim_matches('`').split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect(),
    }
}

/// The cells of each row under `heading`: codec spec, payload, stored bytes.
fn examples(heading: &str) -> Vec<[&'static str; 3]> {
    let (_, after) = FORMAT.split_once(heading).expect("FORMAT.md lacks a table of examples");
    let rows = after.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        <[&str; 3]>::try_from(cells).expect("a row of FORMAT.md's table has another number of cells")
    })
    .collect()
}

#[test]
fn the_worked_examples_are_true() {
    let examples = examples(TABLE);
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
fn the_worked_examples_of_revlog_chunks_are_true() {
    let examples = examples(REVLOG_TABLE);
    assert!(examples.len() >= 8, "found {} examples only", examples.len());
    for [typed, named, stored] in examples {
        let (typed, payload, stored) = (typed.trim_matches('`'), payload(named), bytes(stored));
        assert_eq!(hex(&revlog_chunk(typed, &payload)), hex(&stored), "{typed} of {named}");
        let decoded = revlog_payload(&mut RevlogDecoder::for_spec(&spec(typed)), &stored, payload.len());
        assert_eq!(decoded, Ok(payload), "{typed} of {named}");
    }
}

#[test]
fn the_document_names_this_version_and_payload() {
    assert!(FORMAT.contains(&format!("format version {FORMAT_VERSION}")));
    assert!(FORMAT.contains(&format!("`{}`", LINE.escape_default())), "FORMAT.md spells another greeting");
}
