//! FORMAT.md's worked examples are what the encoder writes and the decoder reads.

mod common;

use common::{encode, spec};
use repackbench_codec::{ChunkDecoder, FORMAT_VERSION};

const FORMAT: &str = include_str!("../../../FORMAT.md");

/// Heading of the table of examples, and the payload that its rows call by a name.
const TABLE: &str = "| codec spec | payload | stored bytes |";
const LINE: &str = "hello, hello, hello, hello, hello\n";

fn payload(named: &str) -> Vec<u8> {
    match named {
        "empty" => Vec::new(),
        "`hi`" => b"hi".to_vec(),
        "greeting" => LINE.as_bytes().to_vec(),
        other => panic!("FORMAT.md names an unknown payload: {other}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// The cells of each row: codec spec, payload, stored bytes.
fn examples() -> Vec<[&'static str; 3]> {
    let (_, after) = FORMAT.split_once(TABLE).expect("FORMAT.md lacks the table of examples");
    let rows = after.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        <[&str; 3]>::try_from(cells).expect("a row of FORMAT.md's table has another number of cells")
    })
    .collect()
}

#[test]
fn the_worked_examples_are_true() {
    let examples = examples();
    assert!(examples.len() >= 10, "found {} examples only", examples.len());
    for [typed, named, stored] in examples {
        let typed = typed.trim_matches('`');
        let payload = payload(named);
        assert_eq!(hex(&encode(typed, &payload)), stored.trim_matches('`'), "{typed} of {named}");

        let bytes: Vec<u8> =
            stored.trim_matches('`').split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
        let mut decoded = vec![0; payload.len()];
        let consumed = ChunkDecoder::for_spec(&spec(typed)).decode(&bytes, &mut decoded).unwrap();
        assert_eq!((consumed, decoded), (bytes.len(), payload), "{typed} of {named}");
    }
}

#[test]
fn the_document_names_this_version_and_payload() {
    assert!(FORMAT.contains(&format!("format version {FORMAT_VERSION}")));
    assert!(FORMAT.contains(&format!("`{}`", LINE.escape_default())), "FORMAT.md spells another greeting");
}
