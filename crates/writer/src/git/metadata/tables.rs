//! Writes the refs of a repository that has them in tables: see the reader's
//! [`reftable`](repackbench_reader::git::repository::reftable).
//!
//! The tables are copied as they are. Those of a linked work tree are for that work tree only, so a copy of it gets one
//! more table, which says what they say. It has at most one block of refs and one of reflogs, without alignment. Numbers
//! of variable length are encoded like the distances of offset deltas in packs.

use std::{collections::BTreeMap, path::Path};

use bstr::BString;
use repackbench_codec::{ChunkEncoder, CodecSpec};
use repackbench_reader::{
    ReaderError,
    git::{
        GitRepository,
        pack::write_offset_distance,
        repository::reftable::{PrivateRecords, REFTABLE_FOLDER, ReferenceValue, TABLES_LIST},
    },
};

use super::files::Output;
use crate::error::{Result, WriterError};

/// The files `HEAD` and `refs/heads`, as git writes them for versions that do not know the format.
const STUBS: [(&str, &str); 2] =
    [("HEAD", "ref: refs/heads/.invalid\n"), ("refs/heads", "this repository uses the reftable format\n")];

/// The length of a block's kind and length.
const HEAD_LEN: usize = 4;
/// The longest block: its length has three bytes.
const MAX_BLOCK_LEN: usize = 0xff_ffff;
/// The number of restart points has two bytes.
const MAX_RESTARTS: usize = 0xffff;
/// Every key of this number is complete, as in git's tables.
const RESTART_INTERVAL: usize = 16;
/// The codec of log blocks.
const LOG_CODEC: &str = "zlib:9";

/// Writes the tables of `source`, their list, and the stubs.
pub(super) fn write_tables(source: &GitRepository, output: &mut Output<'_>) -> Result<()> {
    for (name, content) in STUBS {
        output.write(name, content.as_bytes())?;
    }
    let folder = Path::new(REFTABLE_FOLDER);
    let mut list = BString::default();
    let mut last_update = 0;
    for table in source.reference_tables()? {
        let name = table.path().file_name().unwrap_or_default();
        output.write(folder.join(name), table.content())?;
        list.extend_from_slice(name.as_encoded_bytes());
        list.push(b'\n');
        last_update = table.max_update_index().max(last_update);
    }
    if let Some(records) = source.private_records()?.filter(|records| !records.refs.is_empty()) {
        let update = last_update.saturating_add(1);
        let table = private_table(&records, source, update)?;
        let name = format!("0x{update:012x}-0x{update:012x}-{:08x}.ref", crc32fast::hash(&table));
        output.write(folder.join(&name), &table)?;
        list.extend_from_slice(format!("{name}\n").as_bytes());
    }
    output.write(folder.join(TABLES_LIST), &list)
}

/// A table with `records`, which changed in the update of that number.
fn private_table(records: &PrivateRecords, source: &GitRepository, update: u64) -> Result<Vec<u8>> {
    let refused = || ReaderError::unsupported(source.git_dir(), "16 MiB of refs or reflogs of one linked work tree");
    let header = header(source.object_hash(), update);
    let mut refs = BlockBuilder::new(header.len());
    for (name, value) in &records.refs {
        let (kind, value) = ref_value(value);
        refs.add(name, kind, &value);
    }
    let mut table = [header.clone(), refs.finish(b'r').ok_or_else(refused)?].concat();
    let mut log_position = 0;
    if !records.logs.is_empty() {
        log_position = table.len();
        table.extend(log_block(&records.logs)?.ok_or_else(refused)?);
    }
    let mut footer = header;
    // No index of refs, no objects and no index of them, no index of logs.
    for position in [0, 0, 0, log_position, 0] {
        footer.extend_from_slice(&(position as u64).to_be_bytes());
    }
    footer.extend_from_slice(&crc32fast::hash(&footer).to_be_bytes());
    table.extend(footer);
    Ok(table)
}

/// The header of a table without alignment.
fn header(hash: gix_hash::Kind, update: u64) -> Vec<u8> {
    let (version, hash): (_, &[u8]) = if hash == gix_hash::Kind::Sha256 { (2, b"s256") } else { (1, b"") };
    let update = update.to_be_bytes();
    [b"REFT", &[version, 0, 0, 0][..], &update, &update, hash].concat()
}

/// The kind of a ref's value, and what follows its key: the update index relative to the table's, and the value.
fn ref_value(value: &ReferenceValue) -> (u8, Vec<u8>) {
    let mut out = vec![0];
    let kind = match value {
        ReferenceValue::Deletion => 0,
        ReferenceValue::Object { id, peeled: None } => {
            out.extend_from_slice(id.as_bytes());
            1
        }
        ReferenceValue::Object { id, peeled: Some(peeled) } => {
            out.extend_from_slice(id.as_bytes());
            out.extend_from_slice(peeled.as_bytes());
            2
        }
        ReferenceValue::Symbolic(name) => {
            write_offset_distance(name.len() as u64, &mut out);
            out.extend_from_slice(name);
            3
        }
    };
    (kind, out)
}

/// The compressed block of `logs`; `None` if it is too long.
fn log_block(logs: &BTreeMap<Vec<u8>, Option<Vec<u8>>>) -> Result<Option<Vec<u8>>> {
    let mut builder = BlockBuilder::new(0);
    for (key, data) in logs {
        builder.add(key, u8::from(data.is_some()), data.as_deref().unwrap_or_default());
    }
    let Some(block) = builder.finish(b'g') else { return Ok(None) };
    let Some((head, body)) = block.split_at_checked(HEAD_LEN) else { return Ok(None) };
    let spec: CodecSpec =
        LOG_CODEC.parse().map_err(|error| WriterError::Spec { spec: LOG_CODEC.to_owned(), why: format!("{error}") })?;
    let mut stored = head.to_vec();
    ChunkEncoder::new(&spec)?.encode(body, &mut stored)?;
    Ok(Some(stored))
}

/// A block that is being written.
struct BlockBuilder {
    bytes: Vec<u8>,
    /// The length of the table's header, which counts as a part of the first block.
    header_len: usize,
    restarts: Vec<usize>,
    last_key: Vec<u8>,
    records: usize,
}

impl BlockBuilder {
    fn new(header_len: usize) -> Self {
        BlockBuilder { bytes: vec![0; HEAD_LEN], header_len, restarts: Vec::new(), last_key: Vec::new(), records: 0 }
    }

    /// Adds a record whose key is greater than those before.
    fn add(&mut self, key: &[u8], extra: u8, value: &[u8]) {
        let is_restart = self.records.is_multiple_of(RESTART_INTERVAL) && self.restarts.len() < MAX_RESTARTS;
        if is_restart {
            self.restarts.push(self.header_len + self.bytes.len());
            self.last_key.clear();
        }
        let same = self.last_key.iter().zip(key).take_while(|(last, next)| last == next).count();
        let suffix = key.get(same..).unwrap_or_default();
        write_offset_distance(same as u64, &mut self.bytes);
        write_offset_distance((suffix.len() as u64) << 3 | u64::from(extra), &mut self.bytes);
        self.bytes.extend_from_slice(suffix);
        self.bytes.extend_from_slice(value);
        self.last_key = key.to_vec();
        self.records += 1;
    }

    /// The block; `None` if it is too long.
    fn finish(mut self, kind: u8) -> Option<Vec<u8>> {
        for restart in &self.restarts {
            self.bytes.extend_from_slice(&three_bytes(*restart)?);
        }
        self.bytes.extend_from_slice(&u16::try_from(self.restarts.len()).ok()?.to_be_bytes());
        let [high, middle, low] = three_bytes(self.header_len + self.bytes.len())?;
        self.bytes.get_mut(..HEAD_LEN)?.copy_from_slice(&[kind, high, middle, low]);
        Some(self.bytes)
    }
}

fn three_bytes(number: usize) -> Option<[u8; 3]> {
    let [.., high, middle, low] = number.to_be_bytes();
    (number <= MAX_BLOCK_LEN).then_some([high, middle, low])
}
