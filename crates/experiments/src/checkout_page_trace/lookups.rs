//! Failed lookups: opening files that do not exist, as a client does that looks for `.gitignore` in every folder of a
//! work tree.

use std::{
    collections::HashSet,
    fs::File,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use repackbench_reader::Changes;
use repackbench_timing::{
    BenchError,
    clock::{Clock, measure},
};

use crate::ExperimentError;

/// The folders of a tree, and which of the wanted files they hold.
#[derive(Debug)]
pub(super) struct Folders {
    /// Relative to the root, which is the first; each comes before its subfolders.
    folders: Vec<PathBuf>,
    /// The paths of all files with one of the names that are looked for.
    present: HashSet<PathBuf>,
}

impl Folders {
    /// The folders of a manifest's files, and its files with one of `names`.
    pub(super) fn of(manifest: &Changes, names: &[&str]) -> Self {
        let mut folders = vec![PathBuf::new()];
        let mut seen: HashSet<PathBuf> = folders.iter().cloned().collect();
        let mut present = HashSet::new();
        for (path, _) in manifest.iter().filter(|(_, change)| change.new.is_some()) {
            let path = to_path(path);
            let mut above: Vec<&Path> = path.ancestors().skip(1).filter(|folder| !seen.contains(*folder)).collect();
            above.reverse();
            for folder in above {
                seen.insert(folder.to_owned());
                folders.push(folder.to_owned());
            }
            if names.iter().any(|name| path.file_name().is_some_and(|found| found == *name)) {
                present.insert(path);
            }
        }
        Folders { folders, present }
    }

    /// The number of folders.
    pub(super) fn len(&self) -> u64 {
        self.folders.len() as u64
    }

    /// The paths that do not exist when `names` are looked for in every folder below `root`, in the order of folders.
    pub(super) fn missing(&self, root: &Path, names: &[&str]) -> Vec<PathBuf> {
        let in_folder = |folder: &PathBuf| names.iter().map(|name| folder.join(name)).collect::<Vec<_>>();
        let wanted = self.folders.iter().flat_map(in_folder).filter(|path| !self.present.contains(path));
        wanted.map(|path| root.join(path)).collect()
    }
}

#[cfg(unix)]
fn to_path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

/// Opens each of `paths`, which should not exist, and returns the time that it took.
///
/// # Errors
/// The first path that exists, or that could not be looked for; or a failure of the clock.
pub(super) fn open_missing(paths: &[PathBuf], clock: &dyn Clock) -> Result<Duration, ExperimentError> {
    let open = || {
        let mut unexpected = None;
        for path in paths {
            match File::open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => unexpected = unexpected.or(Some((path, error))),
                Ok(_) => unexpected = unexpected.or(Some((path, io::ErrorKind::AlreadyExists.into()))),
            }
        }
        unexpected
    };
    let (unexpected, sample) =
        measure(clock, open).map_err(|source| BenchError::Io { action: "read the clock", source })?;
    match unexpected {
        None => Ok(sample.wall),
        Some((path, source)) => Err(ExperimentError::Io { action: "look for", path: path.clone(), source }),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use repackbench_reader::{FileVersion, traits::FileMode};
    use repackbench_timing::clock::ClockReading;

    use super::*;

    /// Each reading is a second after the one before.
    struct SteppingClock(Cell<u64>);

    impl Clock for SteppingClock {
        fn read(&self) -> io::Result<ClockReading> {
            self.0.set(self.0.get() + 1);
            Ok(ClockReading { wall: Duration::from_secs(self.0.get()), user: Duration::ZERO, sys: Duration::ZERO })
        }

        fn read_cpu(&self) -> io::Result<Duration> {
            Ok(Duration::ZERO)
        }

        fn read_children(&self) -> io::Result<ClockReading> {
            self.read()
        }
    }

    fn manifest(paths: &[&str]) -> Changes {
        let version = FileVersion { id: gix_hash::ObjectId::null(gix_hash::Kind::Sha1), mode: FileMode::Regular };
        let mut changes = Changes::default();
        for path in paths {
            changes.push(path.as_bytes(), None, Some(version));
        }
        changes
    }

    #[test]
    fn each_folder_is_looked_at_once_without_existing_files() {
        let names = [".gitignore", ".gitattributes"];
        let files = manifest(&[".gitignore", "a", "b/c/d", "b/c/.gitattributes", "b/e", "f/.gitignore"]);
        let folders = Folders::of(&files, &names);
        assert_eq!(folders.len(), 4);
        let missing = |names: &[&str]| -> Vec<String> {
            let paths = folders.missing(Path::new("/r"), names);
            paths.iter().map(|path| path.to_str().unwrap().to_owned()).collect()
        };
        assert_eq!(missing(&names[..1]), ["/r/b/.gitignore", "/r/b/c/.gitignore"]);
        assert_eq!(
            missing(&names),
            ["/r/.gitattributes", "/r/b/.gitignore", "/r/b/.gitattributes", "/r/b/c/.gitignore", "/r/f/.gitattributes"]
        );
    }

    #[test]
    fn existing_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let paths = vec![folder.path().join("x"), folder.path().join("y")];
        let clock = SteppingClock(Cell::new(0));
        assert_eq!(open_missing(&paths, &clock).unwrap(), Duration::from_secs(1));
        std::fs::write(&paths[1], "").unwrap();
        let error = open_missing(&paths, &clock).unwrap_err();
        let ExperimentError::Io { path, source, .. } = error else { panic!("{error}") };
        assert_eq!((path, source.kind()), (paths[1].clone(), io::ErrorKind::AlreadyExists));
    }
}
