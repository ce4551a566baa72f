//! Measures the bytes of a repository's chunks under each spec, independently of where the repository came from.
//!
//! The server or the git that made a pack has chosen its deltas and their bases. So sizes are measured on a variant
//! without deltas: in a B-tree, each object is compressed whole and on its own. The deltas of hg depend only on its
//! release.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::Trouble;
use super::manifest::Sizes;
use crate::files::{failed, make_folder, remove_folder};
use crate::process::output;

/// How to measure a repository.
pub(super) struct Check<'a> {
    /// The program `repackbench`.
    pub(super) program: &'a Path,
    pub(super) specs: &'a [String],
    /// The expected number of Git objects; `None` for Mercurial.
    pub(super) objects: Option<u64>,
}

/// Totals over a variant's chunks.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sums {
    chunks: u64,
    payload_bytes: u64,
    stored_bytes: u64,
}

impl Check<'_> {
    /// Makes the variants of `repository` in the folder `scratch`, one at a time, and removes each after measuring it.
    pub(super) fn measure(&self, name: &str, repository: &Path, scratch: &Path) -> Result<Sizes, Trouble> {
        let mut stored_bytes = BTreeMap::new();
        let mut payload = None;
        for spec in self.specs {
            eprintln!("{name}: measuring {spec}");
            remove_folder(scratch)?;
            make_folder(scratch)?;
            let sums = self.variant(repository, spec, scratch);
            remove_folder(scratch)?;
            let sums = sums?;
            if let Some(objects) = self.objects.filter(|objects| *objects != sums.chunks) {
                return Err(Trouble::Failed(format!("expected {objects} objects under {spec}, found {}", sums.chunks)));
            }
            let expected = *payload.get_or_insert(sums.payload_bytes);
            if expected != sums.payload_bytes {
                let found = sums.payload_bytes;
                return Err(Trouble::Failed(format!(
                    "expected {expected} bytes of payload under {spec}, found {found}"
                )));
            }
            stored_bytes.insert(spec.clone(), sums.stored_bytes);
        }
        let payload_bytes = payload.ok_or_else(|| Trouble::Failed("the manifest has no specs to measure".into()))?;
        Ok(Sizes { payload_bytes, stored_bytes })
    }

    fn variant(&self, repository: &Path, spec: &str, scratch: &Path) -> Result<Sums, Trouble> {
        let (variant, record) = (scratch.join("variant"), scratch.join("size.json"));
        let mut convert = Command::new(self.program);
        convert.args(["convert", "--quiet", "--codec", spec]);
        if self.objects.is_some() {
            convert.args(["--store", "btree"]);
        }
        output(convert.arg(repository).arg("--output").arg(&variant))?;
        output(Command::new(self.program).args(["size", "--quiet", "--json"]).arg(&record).arg(&variant))?;
        let text = fs::read(&record).map_err(|error| failed(&record, &error))?;
        let unexpected = |what: &str| Trouble::Failed(format!("{}: {what}", record.display()));
        let record: Value = serde_json::from_slice(&text).map_err(|error| unexpected(&error.to_string()))?;
        sums(&record).ok_or_else(|| unexpected("expected chunks by kind"))
    }
}

/// The totals over all kinds of chunks in a record of `size`.
fn sums(record: &Value) -> Option<Sums> {
    let mut sums = Sums::default();
    for kind in record.get("size")?.get("objects")?.as_object()?.values() {
        for form in ["whole", "delta"] {
            let figure = |name: &str| kind.get(form)?.get(name)?.as_u64();
            sums.chunks = sums.chunks.checked_add(figure("entries")?)?;
            sums.payload_bytes = sums.payload_bytes.checked_add(figure("payload_bytes")?)?;
            sums.stored_bytes = sums.stored_bytes.checked_add(figure("stored_bytes")?)?;
        }
    }
    Some(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_include_all_kinds_and_forms() {
        let sizes = |stored: u64| serde_json::json!({"entries": 1, "payload_bytes": 7, "stored_bytes": stored});
        let record = serde_json::json!({"size": {"objects": {
            "blob": {"whole": sizes(100), "delta": sizes(20)},
            "tree": {"whole": sizes(3), "delta": sizes(0)},
        }}});
        assert_eq!(sums(&record), Some(Sums { chunks: 4, payload_bytes: 28, stored_bytes: 123 }));
        assert_eq!(sums(&serde_json::json!({"size": {"objects": {"blob": {"whole": sizes(100)}}}})), None);
        assert_eq!(sums(&serde_json::json!({"size": {}})), None);
    }
}
