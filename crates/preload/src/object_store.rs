//! Which streams of which process go to the object store whose codec is not zlib. In doubt, none.
//!
//! git does not say what a stream is for. What can be seen is enough: the executable, its command, the repository that it works on, and
//! whether a stream begins as a loose object does.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::MetadataExt,
    },
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock, PoisonError},
};

use repackbench_preload_abi::{CODEC_VARIABLE, REPOSITORY_VARIABLE, WRITERS_VARIABLE};

use crate::git_command::{GitCommand, PackWriter};

/// Where git finds its repository, and what may lead parts of it elsewhere. git keeps them up to date in its own environment.
const PLACES: [&str; 3] = ["GIT_DIR", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"];

/// The file of a linked work tree that names the git directory it belongs to.
const COMMON_DIR: &str = "commondir";

/// The longest header of a loose object: the longest kind's name, a size of 20 digits, a space and a NUL.
const LONGEST_HEADER: usize = 6 + 1 + 20 + 1;

/// A file, whatever its name: device and inode.
type Identity = (u64, u64);

/// What a new stream may be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// An entry of a pack, if it is no loose object.
    Pack,
    /// A loose object, or something else that stays zlib.
    PerhapsLoose,
}

/// This process, if it is a git that writes with the codec.
struct Writer {
    /// The git directory, as its files are looked up.
    repository: PathBuf,
    repository_id: Identity,
    objects_id: Identity,
    command: GitCommand,
}

/// What the stream that is being opened may be for; none if it is zlib's in any case.
pub(crate) fn purpose() -> Option<Purpose> {
    let writer = writer()?;
    if writer.command.sends || !writer.works_on_the_repository() {
        return None;
    }
    match writer.command.writer {
        None => Some(Purpose::PerhapsLoose),
        Some(_) => writer.packs_go_there().then_some(Purpose::Pack),
    }
}

/// Whether that is all of what git compresses first for a loose object: kind, size and a NUL.
pub(crate) fn is_loose_header(bytes: &[u8]) -> bool {
    let kinds: [&[u8]; 4] = [b"blob ", b"tree ", b"commit ", b"tag "];
    let Some(rest) = kinds.iter().find_map(|kind| bytes.strip_prefix(*kind)) else { return false };
    let Some(digits) = rest.strip_suffix(b"\0") else { return false };
    !digits.is_empty() && bytes.len() <= LONGEST_HEADER && digits.iter().all(u8::is_ascii_digit)
}

/// Found out once: a process that becomes another loads this library anew.
fn writer() -> Option<&'static Writer> {
    static WRITER: OnceLock<Option<Writer>> = OnceLock::new();
    WRITER.get_or_init(find_writer).as_ref()
}

fn find_writer() -> Option<Writer> {
    env::var_os(CODEC_VARIABLE)?;
    let writers = env::var_os(WRITERS_VARIABLE)?;
    let (device, inode) = identity(Path::new("/proc/self/exe"))?;
    let this = format!("{device}:{inode}");
    if !writers.as_bytes().split(|byte| *byte == b',').any(|writer| writer == this.as_bytes()) {
        return None;
    }
    let repository = PathBuf::from(env::var_os(REPOSITORY_VARIABLE)?);
    let repository_id = identity(&repository)?;
    let objects_id = identity(&repository.join("objects"))?;
    let command = GitCommand::of(&fs::read("/proc/self/cmdline").ok()?);
    Some(Writer { repository, repository_id, objects_id, command })
}

impl Writer {
    /// Whether git works on the repository at this moment: `clone`, `receive-pack` and others become another's on their way.
    fn works_on_the_repository(&self) -> bool {
        static LAST: Mutex<Option<[Option<OsString>; 3]>> = Mutex::new(None);
        let places = PLACES.map(env::var_os);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref() == Some(&places) {
            return true;
        }
        let found = self.are_the_repositorys(&places);
        // Where a relative path leads may change.
        if found && places.iter().flatten().all(|place| Path::new(place).is_absolute()) {
            *last = Some(places);
        }
        found
    }

    fn are_the_repositorys(&self, [git_dir, common_dir, objects]: &[Option<OsString>; 3]) -> bool {
        let Some(git_dir) = git_dir.as_ref().map(Path::new) else { return false };
        let is_git_dir = identity(git_dir) == Some(self.repository_id) || self.has_linked_work_tree(git_dir);
        let is_common_dir = |place: &OsString| identity(Path::new(place)) == Some(self.repository_id);
        // What arrives is first put into a folder there.
        let are_objects = |place: &OsString| {
            let place = Path::new(place);
            identity(place)
                .is_some_and(|id| id == self.objects_id || identity(&place.join("..")) == Some(self.objects_id))
        };
        is_git_dir && common_dir.as_ref().is_none_or(is_common_dir) && objects.as_ref().is_none_or(are_objects)
    }

    fn has_linked_work_tree(&self, git_dir: &Path) -> bool {
        let Ok(mut common) = fs::read(git_dir.join(COMMON_DIR)) else { return false };
        while common.pop_if(|byte| matches!(byte, b'\n' | b'\r')).is_some() {}
        identity(&git_dir.join(OsString::from_vec(common))) == Some(self.repository_id)
    }

    /// Whether the packs that this command writes belong to the repository: none goes to a file elsewhere.
    fn packs_go_there(&self) -> bool {
        // By now git has gone to the folder that relative paths start from.
        static THERE: OnceLock<bool> = OnceLock::new();
        *THERE.get_or_init(|| {
            let mut operands = self.command.operands.iter().map(|operand| Path::new(OsStr::from_bytes(operand)));
            match self.command.writer {
                // Besides the pack's place there may be values of options, which name no folder.
                Some(PackWriter::PackObjects) => {
                    let mut places = operands.filter(|operand| operand.components().count() > 1).peekable();
                    places.peek().is_some() && places.all(|place| self.is_in_pack_folder(place))
                }
                Some(PackWriter::IndexPack) => operands.all(|place| self.is_in_pack_folder(place)),
                // It cannot be told where to.
                Some(PackWriter::FastImport) => true,
                None => false,
            }
        })
    }

    fn is_in_pack_folder(&self, place: &Path) -> bool {
        let pack_folder = identity(&self.repository.join("objects/pack"));
        pack_folder.is_some() && place.parent().and_then(identity) == pack_folder
    }
}

fn identity(path: &Path) -> Option<Identity> {
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}
