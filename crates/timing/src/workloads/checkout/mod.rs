//! `checkout` and `checkout:sink`: a revision's files, written or only decoded.
//!
//! Files are written as a fresh clone without configuration would: line endings, `ident` and encodings follow the
//! revision's own `.gitattributes`; filters, which git would have to be configured for, do not run. Mercurial converts
//! nothing.

mod conversion;
mod encoding;
mod file_writer;
mod folders;
mod ident;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use repackbench_reader::{Changes, History, traits::FileMode};
use repackbench_records::{ComparedTime, WorkloadLabel};

use self::file_writer::FileWriter;
use super::{Observer, VariantPlace, Workload, WorkloadError, destination::Destination, files_error, start};

fn label(name: &str, revision: &str) -> WorkloadLabel {
    let parameters = BTreeMap::from([("rev".to_owned(), revision.to_owned())]);
    WorkloadLabel { name: name.to_owned(), parameters }
}

#[derive(Debug)]
pub(super) struct CheckoutToSink {
    revision: String,
    files: Changes,
    content: Vec<u8>,
}

impl CheckoutToSink {
    pub(super) fn new(revision: &str) -> Self {
        CheckoutToSink { revision: revision.to_owned(), files: Changes::default(), content: Vec::new() }
    }
}

impl Workload for CheckoutToSink {
    fn label(&self) -> WorkloadLabel {
        label("checkout:sink", &self.revision)
    }

    fn run(&mut self, history: &mut dyn History, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        let revision = start(history, &self.revision)?;
        history.manifest(&revision, &mut self.files)?;
        for (path, change) in self.files.iter() {
            observer.change(path, change);
            if let Some(version) = change.new.filter(|version| version.mode != FileMode::Gitlink)
                && history.content(path, &version, &mut self.content)?
            {
                observer.content(&self.content);
            }
        }
        observer.missing(history.missing());
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct Checkout {
    revision: String,
    destination: Destination,
    writer: FileWriter,
}

impl Checkout {
    pub(super) fn new(revision: &str, into: Option<PathBuf>) -> Self {
        Checkout { revision: revision.to_owned(), destination: Destination::new(into), writer: FileWriter::default() }
    }
}

impl Workload for Checkout {
    fn label(&self) -> WorkloadLabel {
        label("checkout", &self.revision)
    }

    /// The kernel's time for a file varies several-fold from run to run, so it is left out.
    fn compared_time(&self) -> ComparedTime {
        ComparedTime::CpuWithoutWriting
    }

    fn prepare(&mut self, _variant: &VariantPlace) -> Result<(), WorkloadError> {
        self.destination.make()
    }

    fn run(&mut self, history: &mut dyn History, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        let folder = self.destination.path()?;
        let revision = start(history, &self.revision)?;
        let written = self.writer.write(history, &revision, &folder, observer)?;
        observer.written(written.files, written.bytes);
        observer.missing(history.missing());
        if observer.wants_written_files() {
            tell_written_files(&folder, observer)?;
        }
        Ok(())
    }

    fn clean_up(&mut self) -> Result<(), WorkloadError> {
        self.destination.remove()
    }
}

/// Reads all files below `folder` again, in the order of paths. The content of a symbolic link is its target.
fn tell_written_files(folder: &Path, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
    use std::os::unix::{ffi::OsStrExt, fs::PermissionsExt};
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.map_err(|e| files_error("list", folder, e))?;
        let failed = |error: std::io::Error| files_error("read", entry.path(), error);
        let kind = entry.file_type();
        let content = if kind.is_symlink() {
            std::fs::read_link(entry.path()).map_err(failed)?.into_os_string().as_bytes().to_vec()
        } else if kind.is_file() {
            std::fs::read(entry.path()).map_err(failed)?
        } else {
            continue;
        };
        let mode = entry.metadata().map_err(|e| files_error("inspect", entry.path(), e))?.permissions().mode();
        let path = entry.path().strip_prefix(folder).unwrap_or(entry.path());
        observer.written_file(path.as_os_str().as_bytes(), mode, &content);
    }
    Ok(())
}
