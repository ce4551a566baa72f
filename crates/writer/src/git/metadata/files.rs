//! Copies small files into the output, under the same names.

use std::{
    ffi::OsStr,
    fs::{self, OpenOptions},
    io::Write as _,
    os::unix::{ffi::OsStrExt as _, fs::symlink},
    path::{Component, Path},
};

use bstr::ByteSlice as _;
use repackbench_reader::{
    ReaderError,
    git::{
        GitRepository,
        repository::{Target, TreeFile},
    },
    read_regular_file,
};

use super::MetadataReport;
use crate::error::{Result, WriterError};

/// The output folder, and the report of what was written so far.
pub(super) struct Output<'out> {
    root: &'out Path,
    report: MetadataReport,
}

impl<'out> Output<'out> {
    pub(super) fn new(root: &'out Path) -> Self {
        Output { root, report: MetadataReport::default() }
    }

    pub(super) fn into_report(self) -> MetadataReport {
        self.report
    }

    /// Adds a note about something that is not copied.
    pub(super) fn note_left_out(&mut self, what: String) {
        self.report.left_out.push(what);
    }

    pub(super) fn create_folder(&self, name: &str) -> Result<()> {
        let path = self.root.join(name);
        fs::create_dir_all(&path).map_err(|error| WriterError::io("create", &path, error))
    }

    /// Writes `content` to the new file `name`.
    pub(super) fn write(&mut self, name: impl AsRef<Path>, content: &[u8]) -> Result<()> {
        self.write_to(&self.root.join(name), content)
    }

    /// Copies `source` to the new file `name` if it exists.
    pub(super) fn copy_if_there(&mut self, name: &str, source: &Path) -> Result<()> {
        match read_regular_file(source)? {
            Some(content) => self.write(name, &content),
            None => Ok(()),
        }
    }

    /// Copies a loose ref. A symbolic link is kept if git reads its text as a symbolic ref, or if it leads to another
    /// loose ref. Any other link is replaced by the ref that it leads to.
    pub(super) fn copy_reference(&mut self, source: &GitRepository, file: &TreeFile) -> Result<()> {
        let destination = self.root.join(relative_path(file));
        let Some(link) = &file.link else { return self.copy_listed(file, &destination) };
        if leads_into_refs(file, link) {
            return self.link(link, &destination);
        }
        match source.read_reference(file)? {
            Target::Symbolic(name) if name == link.as_os_str().as_bytes() => self.link(link, &destination),
            Target::Symbolic(name) => self.write_to(&destination, &[b"ref: ", name.as_bytes(), b"\n"].concat()),
            Target::Object(id) => self.write_to(&destination, format!("{id}\n").as_bytes()),
        }
    }

    /// Copies a reflog. Symbolic links are not copied, since their content may be anywhere.
    pub(super) fn copy_reflog(&mut self, file: &TreeFile) -> Result<()> {
        if file.link.is_some() {
            self.report.left_out.push(format!("{}: left out: the reflog is a symbolic link", file.path.display()));
            return Ok(());
        }
        self.copy_listed(file, &self.root.join(relative_path(file)))
    }

    /// Copies a file from a listing. If it is gone, the source has changed.
    fn copy_listed(&mut self, file: &TreeFile, destination: &Path) -> Result<()> {
        match read_regular_file(&file.path)? {
            Some(content) => self.write_to(destination, &content),
            None => Err(ReaderError::Changed { path: file.path.clone() }.into()),
        }
    }

    fn write_to(&mut self, destination: &Path, content: &[u8]) -> Result<()> {
        create_parent(destination)?;
        let mut created = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(destination)
            .map_err(|error| WriterError::io("create", destination, error))?;
        created.write_all(content).map_err(|error| WriterError::io("write", destination, error))?;
        self.report.files += 1;
        self.report.bytes += content.len() as u64;
        Ok(())
    }

    fn link(&mut self, link: &Path, destination: &Path) -> Result<()> {
        create_parent(destination)?;
        symlink(link, destination).map_err(|error| WriterError::io("create", destination, error))?;
        self.report.files += 1;
        Ok(())
    }
}

/// The path of a listed file in the output folder.
fn relative_path(file: &TreeFile) -> &Path {
    Path::new(OsStr::from_bytes(&file.name))
}

/// Whether the symbolic link `file`, whose text is `link`, leads to a path below `refs/`. Only names are considered.
fn leads_into_refs(file: &TreeFile, link: &Path) -> bool {
    let mut place: Vec<&OsStr> = relative_path(file).iter().collect();
    place.pop();
    for component in link.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => place.push(name),
            Component::ParentDir if place.pop().is_some() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    place.len() > 1 && place.first().is_some_and(|folder| *folder == "refs")
}

fn create_parent(path: &Path) -> Result<()> {
    match path.parent() {
        Some(parent) => fs::create_dir_all(parent).map_err(|error| WriterError::io("create", parent, error)),
        None => Ok(()),
    }
}
