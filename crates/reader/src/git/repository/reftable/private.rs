//! The refs and reflogs that a linked work tree has of its own, as records for one more table.

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice};

use super::{
    is_own_reference,
    table::{ReferenceTable, ReferenceValue},
};
use crate::error::Result;

/// The length of a log record's key after the name: a NUL and the reversed update index.
const LOG_KEY_TAIL: usize = 9;

/// What a table after those of the common directory has to say, so that they show the refs of a linked work tree
/// instead of the main one's.
#[derive(Debug, Default)]
pub struct PrivateRecords {
    /// The value of each ref.
    pub refs: BTreeMap<BString, ReferenceValue>,
    /// The content of each log record, by its key; `None` if it has to be deleted.
    pub logs: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl PrivateRecords {
    /// Compares the tables of the common directory with those of the linked work tree.
    pub(crate) fn new(common: &[ReferenceTable], own: &[ReferenceTable]) -> Result<Self> {
        let mut records = PrivateRecords::default();
        for table in common {
            let mut kept = 0;
            table.for_each_ref(&mut |name, _| {
                if is_own_reference(name.as_bstr()) {
                    records.refs.insert(name.into(), ReferenceValue::Deletion);
                }
            })?;
            table.for_each_log(&mut |key, _| {
                if is_of_own_reference(key) {
                    kept += key.len();
                    records.logs.insert(key.to_vec(), None);
                }
                kept
            })?;
        }
        for table in own {
            table.for_each_ref(&mut |name, value| {
                if is_own_reference(name.as_bstr()) {
                    records.refs.insert(name.into(), value);
                }
            })?;
            let mut kept = 0;
            table.for_each_log(&mut |key, data| {
                if is_of_own_reference(key) {
                    kept += key.len() + data.map_or(0, <[u8]>::len);
                    records.logs.insert(key.to_vec(), data.map(<[u8]>::to_vec));
                }
                kept
            })?;
        }
        Ok(records)
    }
}

/// Whether `key` is of a log record of a ref that each work tree has.
fn is_of_own_reference(key: &[u8]) -> bool {
    let name = key.len().checked_sub(LOG_KEY_TAIL).and_then(|len| key.get(..len));
    name.is_some_and(|name| is_own_reference(name.as_bstr()))
}
