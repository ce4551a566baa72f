//! Files that get their names when they are complete.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Read, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use repackbench_writer::leftovers::Leftover;
use tempfile::NamedTempFile;

use super::{cannot_create, cannot_write, print};
use crate::{
    failure::{Failure, USAGE},
    options::Destination,
};

/// A file that replaces the one at its path when it is complete. Until then it has another name in the same folder,
/// where it is created early, so that a misspelt folder does not cost the results of a long run.
pub(crate) struct AtomicFile {
    path: PathBuf,
    form: Form,
}

enum Form {
    /// A file that gets its name later.
    Beside { file: NamedTempFile, _leftover: Leftover },
    /// A device or a pipe, which must not be replaced.
    InPlace(File),
}

impl AtomicFile {
    /// Creates the file that `path` will name.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let cannot = |error: io::Error| cannot_create(path, &error);
        if path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            let file = OpenOptions::new().write(true).open(path).map_err(cannot)?;
            return Ok(AtomicFile { path: path.to_owned(), form: Form::InPlace(file) });
        }
        // A symbolic link stays, and what it leads to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let file = create_beside(&path).map_err(cannot)?;
        let leftover = Leftover::new(file.path());
        Ok(AtomicFile { path, form: Form::Beside { file, _leftover: leftover } })
    }

    /// Writes the whole content and names the file.
    pub(crate) fn write(self, content: impl AsRef<[u8]>) -> Result<(), Failure> {
        let AtomicFile { path, form } = self;
        let written = match form {
            Form::InPlace(mut file) => file.write_all(content.as_ref()),
            Form::Beside { mut file, _leftover } => {
                file.write_all(content.as_ref()).and_then(|()| file.persist(&path).map(drop).map_err(io::Error::from))
            }
        };
        written.map_err(|error| cannot_write(&path, &error))
    }
}

/// A form of output for people or other programs: a file that replaces an earlier one, or stdout.
pub(crate) struct OutputFile(Option<AtomicFile>);

impl OutputFile {
    /// Creates the file that `option` names. Rejects a file of JSON, which is probably a file of results that the user
    /// meant to read.
    pub(crate) fn create(option: &str, destination: &Destination) -> Result<Self, Failure> {
        let Some(path) = destination.file() else { return Ok(OutputFile(None)) };
        if is_json(path) {
            let why = format!("{option}: {} is a file of results, and would be replaced", path.display());
            return Err(Failure::new(USAGE, why).with_hint(format!("{option} - prints; {option} FILE writes a file")));
        }
        AtomicFile::create(path).map(|file| OutputFile(Some(file)))
    }

    /// Writes the whole content.
    pub(crate) fn write(self, content: &str) -> Result<(), Failure> {
        self.0.map_or_else(|| print(content), |file| file.write(content))
    }
}

impl From<AtomicFile> for OutputFile {
    fn from(file: AtomicFile) -> Self {
        OutputFile(Some(file))
    }
}

/// Whether the file at `path` starts like a JSON object, as records do, and Markdown, CSV and HTML never.
pub(crate) fn is_json(path: &Path) -> bool {
    let mut first = [0];
    path.is_file() && File::open(path).is_ok_and(|mut file| file.read_exact(&mut first).is_ok()) && first == *b"{"
}

/// A new file in the folder of `path`, with the usual permissions.
fn create_beside(path: &Path) -> io::Result<NamedTempFile> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    tempfile::Builder::new().permissions(Permissions::from_mode(0o666)).tempfile_in(folder)
}
