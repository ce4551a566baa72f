use gix_hash::{Kind, ObjectId, oid};

use super::*;

/// The ids of a pack of three objects, in the order of its index.
fn ids() -> [ObjectId; 3] {
    [1, 2, 3].map(|byte| ObjectId::Sha1([byte; 20]))
}

fn expanded(kind: ObjectKind, numbered: &[u8]) -> Result<Vec<u8>> {
    let ids = ids();
    let numbers = PackNumbers::new(3, Kind::Sha1);
    let id_at = |position: u32| -> &oid { &ids[position as usize] };
    let mut content = b"what was there before".to_vec();
    expand(kind, numbered, &mut content, |bytes| numbers.take_id(bytes, id_at)).map(|()| content)
}

#[test]
fn width_is_the_least_that_holds_the_number_of_objects() {
    for (count, width) in [(0, 1), (1, 1), (255, 1), (256, 2), (65_535, 2), (65_536, 3), (1 << 24, 4), (u32::MAX, 4)] {
        assert_eq!(PackNumbers::new(count, Kind::Sha1).width(), width, "{count} objects");
    }
}

#[test]
fn references_round_trip() {
    let (ids, outside) = (ids(), ObjectId::Sha1([9; 20]));
    let numbers = PackNumbers::new(3, Kind::Sha1);
    let mut bytes = Vec::new();
    numbers.put(Some(2), &ids[2], &mut bytes);
    numbers.put(None, &outside, &mut bytes);
    assert_eq!(bytes[..2], [3, 0]);
    let mut rest = bytes.as_slice();
    assert_eq!(numbers.take_id(&mut rest, |position| &ids[position as usize]).unwrap(), ids[2].as_slice());
    assert_eq!(numbers.take_id(&mut rest, |position| &ids[position as usize]).unwrap(), outside.as_slice());
    assert!(rest.is_empty());
}

#[test]
fn objects_are_expanded() {
    let [first, second, third] = ids();
    let tree = [b"100644 a\0".as_slice(), first.as_slice(), b"40000 b\0", &[9; 20]].concat();
    let numbered = [b"100644 a\0\x01".as_slice(), b"40000 b\0\0", &[9; 20]].concat();
    assert_eq!(expanded(ObjectKind::Tree, &numbered).unwrap(), tree);
    let commit = format!("tree {first}\nparent {second}\nparent {third}\nauthor A\n\nmessage");
    assert_eq!(expanded(ObjectKind::Commit, b"\x03\x01\x02\x03author A\n\nmessage").unwrap(), commit.as_bytes());
    let tag = format!("object {third}\ntype commit\n");
    assert_eq!(expanded(ObjectKind::Tag, b"\x01\x03type commit\n").unwrap(), tag.as_bytes());
    for kind in [ObjectKind::Commit, ObjectKind::Tree, ObjectKind::Tag] {
        assert_eq!(expanded(kind, b"\0as it is").unwrap(), b"as it is");
        assert_eq!(expanded(kind, b"\0").unwrap(), b"");
    }
    assert_eq!(expanded(ObjectKind::Tree, b"").unwrap(), b"");
}

#[test]
fn damaged_objects_have_specific_errors() {
    let past_end = |number| Err(NumberError::PastEnd { number, count: 3 });
    assert_eq!(expanded(ObjectKind::Tree, b"100644 a\0\x04"), past_end(4));
    assert_eq!(expanded(ObjectKind::Commit, b"\x01\xff"), past_end(255));
    assert_eq!(expanded(ObjectKind::Tag, b"\x02\x01\x01"), Err(NumberError::Tag(2)));
    let truncated: [(ObjectKind, &[u8]); 7] = [
        (ObjectKind::Commit, b""),
        (ObjectKind::Tag, b""),
        (ObjectKind::Commit, b"\x02\x01"),
        (ObjectKind::Commit, b"\x01\0an id that is too short"),
        (ObjectKind::Tree, b"100644 a"),
        (ObjectKind::Tree, b"100644 a\0"),
        (ObjectKind::Tree, b"100644 a\0\0\x01\x01"),
    ];
    for (kind, numbered) in truncated {
        let numbered = if numbered.len() > 20 { &numbered[..20] } else { numbered };
        assert_eq!(expanded(kind, numbered), Err(NumberError::Truncated), "{kind} {numbered:?}");
    }
}

#[test]
fn expansion_ends_at_the_limit_of_memory() {
    let too_large = TooLarge { len: 0, largest: 0, ceiling: 0 };
    // Each entry of three bytes becomes one of 22.
    let numbered = b"1\0\x01".repeat(1000);
    let id = [1; 20];
    let mut take = |bytes: &mut &[u8]| {
        *bytes = bytes.get(1..).unwrap_or_default();
        Ok(id.as_slice())
    };
    for (largest, is_refused) in [(22_000, false), (21_999, true)] {
        let mut content = Vec::new();
        let check = |len: u64| if len > largest { Err(TooLarge { len, largest, ..too_large }) } else { Ok(()) };
        let mut expanded = Expanded { content: &mut content, check };
        let result = expand_tree(&numbered, &mut expanded, &mut take);
        let refused = Err(NumberError::TooLarge(TooLarge { len: 22_000, largest, ..too_large }));
        assert_eq!(result, if is_refused { refused } else { Ok(()) });
        assert!(content.len() as u64 <= largest);
    }
}

proptest::proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(numbered: Vec<u8>) {
        for kind in [ObjectKind::Commit, ObjectKind::Tree, ObjectKind::Tag] {
            if let Ok(content) = expanded(kind, &numbered) {
                let most = PackNumbers::new(3, Kind::Sha1).most_expanded(numbered.len() as u64);
                proptest::prop_assert!(content.len() as u64 <= most);
            }
        }
    }
}
