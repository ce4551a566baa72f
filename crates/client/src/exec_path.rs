//! What leaves the repository has to be zlib.
//!
//! git copies stored bytes into the packs that it sends, whatever they are, unless `pack-objects` is told not to. It starts that program,
//! for push, fetch, clone and bundle alike, as `git` from its folder of programs, and that folder can be named: so it is made here anew,
//! with a `git` in it that says so.

use std::{
    ffi::OsString,
    fs,
    os::unix::{
        ffi::OsStringExt,
        fs::{PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
    process::Command,
};

use crate::{ClientError, name_of};

/// The folder of programs that `git` names.
pub(crate) fn programs(git: &Path) -> Result<PathBuf, ClientError> {
    let output = Command::new(git).arg("--exec-path").output().map_err(|error| failed(git, error.to_string()))?;
    let mut answer = output.stdout;
    if answer.pop() != Some(b'\n') || !output.status.success() {
        return Err(failed(git, "expected a folder".to_owned()));
    }
    Ok(PathBuf::from(OsString::from_vec(answer)))
}

fn failed(git: &Path, why: String) -> ClientError {
    ClientError::refused(format!("{} --exec-path: {why}", name_of(git)))
}

/// Makes the folder for `git`, and returns it.
pub(crate) fn make(git: &Path, folder: &Path) -> Result<PathBuf, ClientError> {
    let programs = programs(git)?;
    fs::create_dir(folder)?;
    for entry in fs::read_dir(&programs).map_err(|error| failed(git, format!("{}: {error}", name_of(&programs))))? {
        let entry = entry?;
        if entry.file_name() != "git" {
            symlink(entry.path(), folder.join(entry.file_name()))?;
        }
    }
    let ours = folder.join("git");
    fs::write(&ours, script(git)?)?;
    fs::set_permissions(&ours, fs::Permissions::from_mode(0o755))?;
    Ok(folder.to_owned())
}

/// A `git` that never reuses stored bytes in a pack that it writes to stdout.
fn script(git: &Path) -> Result<String, ClientError> {
    let quoted = git.to_str().and_then(|git| shlex::try_quote(git).ok());
    let quoted =
        quoted.ok_or_else(|| ClientError::refused(format!("{}: a path that no script can name", name_of(git))))?;
    Ok(format!(
        "#!/bin/sh\n\
         packs= sends=\n\
         for argument; do\n\
         \tcase $argument in pack-objects) packs=1 ;; --stdout) sends=1 ;; esac\n\
         done\n\
         if test \"$packs$sends\" = 11; then\n\
         \texec {quoted} -c pack.allowPackReuse=false \"$@\" --no-reuse-object\n\
         fi\n\
         exec {quoted} \"$@\"\n"
    ))
}
