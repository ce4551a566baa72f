use gix_hash::{Kind, ObjectId, oid};
use repackbench_reader::{
    ObjectKind,
    git::{
        delta,
        numbered::{PackNumbers, expand},
    },
};

use super::{
    Reference,
    delta::{find_steps, write_delta},
    object::{ParsedObject, WrittenObject},
};

const FORMAT: &str = include_str!("../../../../../docs/format.md");

/// The objects of the example in docs/format.md, in the order of their numbers.
const IDS: [&str; 5] = [
    "45b983be36b73c0788dc9cbcb76cbb80fc7bb057",
    "9102876096043e78a8947ebc5f43e312d410f417",
    "e562960cdc979bf29fe9c49c0b002b6c5d61e382",
    "e71d843063355acf22b20a3a11cf2fe8ef33b604",
    "f2e548d04214649c57d8a1da195c27017d735e29",
];

const SUBMODULE: &str = "0123456789abcdef0123456789abcdef01234567";

/// The tree, the blob and the other objects of the same example under SHA-256, in the order of their numbers.
const SHA256_IDS: [&str; 5] = [
    "2b3d82c65123be7fb1b1d526a3c31a5b745a3086b0843cd414544c2e628ab278",
    "3e3f66a7502a2a114a743e34f8206ea2da980993250df382a907e458ee301425",
    "96c18f0297e38d01f4b2dacddea4259aea6b2961eb0822bd2c0c3f6029030045",
    "9db4e4929d27704b672300f2fef2f212e7c30818bf45992c7c5836d24ddff5f0",
    "c075d1340eaef41592e9488708d27a8392c332c0f4a4e821f23f592a329304f4",
];

const SHA256_SUBMODULE: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn id(digits: &str) -> ObjectId {
    ObjectId::from_hex(digits.as_bytes()).unwrap()
}

/// A pack of five objects.
struct Pack {
    hash: Kind,
    /// In the order of their numbers.
    ids: [&'static str; 5],
}

impl Pack {
    fn numbers(&self) -> PackNumbers {
        PackNumbers::new(5, self.hash)
    }

    /// An object in pieces, with numbers.
    fn numbered(&self, kind: ObjectKind, content: &[u8]) -> (ParsedObject, WrittenObject) {
        let (mut parsed, mut written) = (ParsedObject::default(), WrittenObject::default());
        parsed.parse(kind, content, self.hash.len_in_bytes(), |wanted: &oid| {
            let found = (0..).zip(self.ids).find(|(_, digits)| *id(digits) == *wanted);
            Reference { id: wanted.to_owned(), position: found.map(|(position, _)| position) }
        });
        parsed.write(&mut written, |reference, bytes| self.numbers().put(reference.position, &reference.id, bytes));
        (parsed, written)
    }

    fn expanded(&self, kind: ObjectKind, bytes: &[u8]) -> Vec<u8> {
        let ids = self.ids.map(id);
        let id_at = |position: u32| -> &oid { &ids[position as usize] };
        let mut content = Vec::new();
        expand(kind, bytes, &mut content, |rest| self.numbers().take_id(rest, id_at)).unwrap();
        content
    }
}

/// The pack of the example.
const PACK: Pack = Pack { hash: Kind::Sha1, ids: IDS };

fn numbered(kind: ObjectKind, content: &[u8]) -> (ParsedObject, WrittenObject) {
    PACK.numbered(kind, content)
}

fn expanded(kind: ObjectKind, bytes: &[u8]) -> Vec<u8> {
    PACK.expanded(kind, bytes)
}

/// A delta of `kind` between numbered forms, checked.
fn delta_between(kind: ObjectKind, base: &[u8], object: &[u8]) -> Vec<u8> {
    let ((base, written_base), (object, written)) = (numbered(kind, base), numbered(kind, object));
    let (mut steps, mut delta, mut result) = (Vec::new(), Vec::new(), Vec::new());
    find_steps(&base, &object, 1, &mut steps);
    write_delta(&steps, &written_base, &written, &mut delta);
    delta::apply(&written_base.bytes, &delta, &mut result).unwrap();
    assert_eq!(result, written.bytes);
    delta
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

fn tree(entries: &[(&str, &str)]) -> Vec<u8> {
    let entry = |(name, digits): &(&str, &str)| [name.as_bytes(), b"\0", id(digits).as_slice()].concat();
    entries.iter().flat_map(entry).collect()
}

#[test]
fn example_in_the_document_is_correct() {
    let first = tree(&[("100644 a", IDS[0]), ("160000 b", SUBMODULE)]);
    let second = tree(&[("100644 a", IDS[0]), ("100644 c", IDS[0])]);
    let rest_of_commit = "author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nm\n";
    let commit = format!("tree {}\n{rest_of_commit}", IDS[1]);
    let rest_of_tag = "type commit\ntag v1\n\nm\n";
    let tag = format!("object {}\n{rest_of_tag}", IDS[4]);
    let whole = |kind, content: &[u8]| {
        let bytes = numbered(kind, content).1.bytes;
        assert_eq!(expanded(kind, &bytes), content);
        bytes
    };
    let with_rest = |bytes: &[u8], rest: &str| {
        let head = bytes.strip_suffix(rest.as_bytes()).unwrap();
        format!("`{}`, then `{}`", hex(head), rest.escape_default())
    };
    let payloads = [
        format!("`{}`", hex(b"hi\n")),
        format!("`{}`", hex(&whole(ObjectKind::Tree, &first))),
        format!("`{}`", hex(&delta_between(ObjectKind::Tree, &first, &second))),
        with_rest(&whole(ObjectKind::Tag, tag.as_bytes()), rest_of_tag),
        with_rest(&whole(ObjectKind::Commit, commit.as_bytes()), rest_of_commit),
    ];
    for ((number, digits), payload) in (1..).zip(IDS).zip(payloads) {
        let cells = format!("| `{digits}` | {number} | {payload} |");
        assert!(FORMAT.contains(&cells), "docs/format.md lacks {cells}");
    }
}

#[test]
fn example_in_the_document_is_correct_for_sha256() {
    let pack = Pack { hash: Kind::Sha256, ids: SHA256_IDS };
    let content = tree(&[("100644 a", SHA256_IDS[2]), ("160000 b", SHA256_SUBMODULE)]);
    let bytes = pack.numbered(ObjectKind::Tree, &content).1.bytes;
    assert_eq!(pack.expanded(ObjectKind::Tree, &bytes), content);
    let said = format!("`{}` has number 2 and the payload `{}`", SHA256_IDS[1], hex(&bytes));
    let document = FORMAT.replace('\n', " ");
    assert!(document.contains(&said), "docs/format.md lacks {said}");
    let of_blob = format!("`{}`, number 3", SHA256_IDS[2]);
    assert!(document.contains(&of_blob), "docs/format.md lacks {of_blob}");
}

#[test]
fn objects_in_another_form_stay_as_they_are() {
    let upper = format!("tree {}\nrest\n", IDS[1].to_uppercase());
    let broken: [(ObjectKind, &[u8]); 6] = [
        (ObjectKind::Commit, upper.as_bytes()),
        (ObjectKind::Commit, b""),
        (ObjectKind::Tag, b"no object\n"),
        (ObjectKind::Tree, b"100644 a\0too short"),
        (ObjectKind::Tree, b"100644 a"),
        (ObjectKind::Tree, b"\0an id of twenty bytes"),
    ];
    for (kind, content) in broken {
        let bytes = numbered(kind, content).1.bytes;
        assert_eq!(bytes, [b"\0", content].concat(), "{kind}");
        assert_eq!(expanded(kind, &bytes), content);
    }
    let octopus = format!("tree {}\n{}rest\n", IDS[1], format!("parent {}\n", IDS[4]).repeat(255));
    assert_eq!(numbered(ObjectKind::Commit, octopus.as_bytes()).1.bytes[0], 0);
    let fewer = format!("tree {}\n{}rest\n", IDS[1], format!("parent {}\n", IDS[4]).repeat(254));
    let bytes = numbered(ObjectKind::Commit, fewer.as_bytes()).1.bytes;
    assert_eq!((bytes[0], bytes.len()), (255, 256 + "rest\n".len()));
    assert_eq!(expanded(ObjectKind::Commit, &bytes), fewer.as_bytes());
}

#[test]
fn long_copies_and_inserts_are_cut() {
    let entries = |range: std::ops::Range<u32>| -> Vec<u8> {
        let entry = |number| tree(&[(&format!("100644 file-{number:06}"), IDS[(number % 5) as usize])]);
        range.flat_map(entry).collect()
    };
    let (all, tail) = (entries(0..8000), entries(4000..8000));
    let delta = delta_between(ObjectKind::Tree, &all, &[&tail[..], &entries(9000..9100)].concat());
    assert!(delta.len() < 100 * 20 + 100, "{}", delta.len());
    delta_between(ObjectKind::Tree, &tail, &all);
}

#[test]
fn search_for_pieces_is_bounded() {
    let entries = |word: &str| -> Vec<u8> {
        (0..20_000).flat_map(|number| tree(&[(&format!("100644 {word}-{number:06}"), IDS[0])])).collect()
    };
    // Nothing is the same: without a bound this compares 400 million names.
    let delta = delta_between(ObjectKind::Tree, &entries("first"), &entries("other"));
    assert!(delta.len() > 20_000);
}

proptest::proptest! {
    #[test]
    fn any_object_round_trips(content: Vec<u8>, base: Vec<u8>) {
        for kind in [ObjectKind::Commit, ObjectKind::Tree, ObjectKind::Tag] {
            proptest::prop_assert_eq!(expanded(kind, &numbered(kind, &content).1.bytes), content.clone());
            delta_between(kind, &base, &content);
        }
    }
}
