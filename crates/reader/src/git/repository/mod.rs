//! A Git repository as files: where everything is, before any object is read.
//!
//! Git spreads one repository over several folders (a work tree's `.git`, the common directory of linked work trees,
//! the object directories of alternates). Small text files change the meaning of what is stored (`config`, `shallow`,
//! `info/grafts`, `refs/replace`). [`GitRepository`] resolves all of that once by git's own rules and provides plain
//! paths and ids. It never writes, and follows nothing that git would not follow.
//!
//! The rules are those of git 2.47: `setup.c` for layout and format, `object-file.c` for alternates, `packfile.c` for
//! packs, `refs/files-backend.c` and `refs/reftable-backend.c` for refs, `commit.c` and `shallow.c` for grafts.

mod alternates;
mod btree_listing;
mod format;
mod grafts;
mod location;
mod loose_listing;
mod pack_listing;
mod references;
pub mod reftable;
mod snapshot;
#[cfg(test)]
mod tests;
mod tree_files;

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
};

use gix_hash::ObjectId;
use repackbench_codec::{ChunkDecoder, CodecSpec, Decoders, Dictionaries};

pub use self::{
    alternates::MissingAlternate,
    btree_listing::BTREE_FILE,
    format::{RefStorage, RepositoryFormat, VariantMark},
    loose_listing::{LooseObject, LooseObjects},
    pack_listing::PackFiles,
    references::{Reference, Target},
    snapshot::SourceSnapshot,
    tree_files::TreeFile,
};
use self::{
    alternates::ObjectDirs,
    location::Location,
    reftable::{PrivateRecords, ReferenceTable},
};
use crate::{
    bounds::{Bounds, check_folder},
    dictionaries::{DICTIONARY_FOLDER, read_dictionaries},
    error::{Place, ReaderError, Result},
};

/// An opened, read-only view of a Git repository's layout.
///
/// Opening reads the small files that decide how the rest is interpreted (configuration, alternates, pack listings,
/// `shallow`, grafts). Refs and loose objects are listed on demand.
#[derive(Debug)]
pub struct GitRepository {
    location: Location,
    config: gix_config::File,
    format: RepositoryFormat,
    object_dirs: Vec<PathBuf>,
    /// Whether alternates are followed.
    borrows: bool,
    missing_alternates: Vec<MissingAlternate>,
    packs: Vec<PackFiles>,
    btree: Option<PathBuf>,
    shallow: Vec<ObjectId>,
    grafts: HashMap<ObjectId, Vec<ObjectId>>,
    notes: Vec<String>,
}

impl GitRepository {
    /// Opens the repository at `path`: the root of a work tree (plain, linked or a submodule's), or a git directory.
    ///
    /// # Errors
    /// [`ReaderError::NotARepository`] if git would not find one either, [`ReaderError::Unsupported`] for a format
    /// version, extension or ref storage that is not supported, [`ReaderError::Corrupt`] for a file on which git would
    /// fail.
    pub fn open(path: &Path) -> Result<Self> {
        let location = Location::find(path)?;
        location.check_bounds()?;
        let config_path = location.common_dir.join("config");
        let config = format::read_config(&config_path)?;
        let format = RepositoryFormat::from_config(&config, &config_path)?;
        let mut notes = Vec::new();
        let ObjectDirs { dirs: object_dirs, missing: missing_alternates } =
            alternates::object_dirs(&location.common_dir.join("objects"), &mut notes)?;
        check_object_dirs(&object_dirs, location.bounds())?;
        let packs = pack_listing::list(&object_dirs, &mut notes)?;
        check_marks(&packs, &format)?;
        let btree = btree_listing::find(&object_dirs)?;
        let shallow = grafts::read_shallow(&location.common_dir.join("shallow"), format.object_hash)?;
        let grafts = grafts::read_grafts(&location.common_dir.join("info/grafts"), format.object_hash, &mut notes)?;
        note_unused(&location, &config, &mut notes)?;
        format::check_promisors(&config, &location.common_dir.join("config"))?;
        Ok(GitRepository {
            location,
            config,
            format,
            object_dirs,
            borrows: true,
            missing_alternates,
            packs,
            btree,
            shallow,
            grafts,
            notes,
        })
    }

    /// The git directory proper, with `HEAD` and, for a linked work tree, its private refs.
    #[must_use]
    pub fn git_dir(&self) -> &Path {
        &self.location.git_dir
    }

    /// The directory that all linked work trees share: objects, refs, configuration. Equal to [`Self::git_dir`] unless
    /// this is a linked work tree.
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        &self.location.common_dir
    }

    /// Whether the folder around the git directory is its work tree: the repository is not bare and names no other one.
    #[must_use]
    pub fn has_work_tree_around(&self) -> bool {
        let is_bare = matches!(self.config.boolean("core.bare"), Ok(Some(true)));
        !is_bare && self.config.string("core.worktree").is_none() && !self.is_linked_work_tree()
    }

    /// Whether it belongs to a linked work tree, for which `core.bare` and `core.worktree` do not count.
    #[must_use]
    pub fn is_linked_work_tree(&self) -> bool {
        self.git_dir() != self.common_dir()
    }

    /// The hash function that names objects.
    #[must_use]
    pub fn object_hash(&self) -> gix_hash::Kind {
        self.format.object_hash
    }

    /// The format version and the extensions in effect.
    #[must_use]
    pub fn format(&self) -> &RepositoryFormat {
        &self.format
    }

    /// The object directories: the repository's own first, then alternates in the order in which git searches them.
    #[must_use]
    pub fn object_dirs(&self) -> &[PathBuf] {
        &self.object_dirs
    }

    /// Leaves only what is in its own object directory, without the objects that it borrows.
    #[must_use]
    pub fn without_alternates(mut self) -> Self {
        self.borrows = false;
        self.object_dirs.truncate(1);
        self.missing_alternates.clear();
        let own = self.object_dirs.first();
        self.packs.retain(|files| own.is_some_and(|own| files.pack.starts_with(own)));
        self
    }

    /// Object directories that alternates files name but that cannot be read. Git continues without them, with a
    /// message.
    #[must_use]
    pub fn missing_alternates(&self) -> &[MissingAlternate] {
        &self.missing_alternates
    }

    /// Every pack that git would open, ordered by object directory and then by file name.
    ///
    /// Two object directories may each have a pack with the same file name. Both are listed, as git reads both.
    #[must_use]
    pub fn packs(&self) -> &[PackFiles] {
        &self.packs
    }

    /// The B-tree file of a variant that has one instead of packs and loose objects.
    #[must_use]
    pub fn btree(&self) -> Option<&Path> {
        self.btree.as_deref()
    }

    /// Lists the loose objects of all object directories, sorted by id. For an object that is stored twice, the file in
    /// the first directory is listed.
    ///
    /// # Errors
    /// [`ReaderError::Io`] if a fan-out directory cannot be listed.
    pub fn loose_objects(&self) -> Result<LooseObjects> {
        LooseObjects::list(&self.object_dirs, self.location.bounds(), self.object_hash())
    }

    /// Lists the loose objects of its own object directory, without those of alternates.
    ///
    /// # Errors
    /// As for [`Self::loose_objects`].
    pub fn own_loose_objects(&self) -> Result<LooseObjects> {
        let own = self.object_dirs.get(..1).unwrap_or_default();
        LooseObjects::list(own, self.location.bounds(), self.object_hash())
    }

    /// `HEAD` and every ref, sorted by name. A loose ref overrides a packed one. Other pseudo-refs (`FETCH_HEAD`,
    /// `ORIG_HEAD`), which `git for-each-ref` does not show, are not listed.
    ///
    /// # Errors
    /// [`ReaderError::Corrupt`] if a ref file, `packed-refs` or a table does not parse.
    pub fn references(&self) -> Result<Vec<Reference>> {
        references::read_all(&self.location, &self.format)
    }

    /// The target in one file of [`Self::reference_files`] (or `HEAD`). Symbolic links are read as in git.
    ///
    /// # Errors
    /// [`ReaderError::Corrupt`] if it does not parse, [`ReaderError::Changed`] if it is gone.
    pub fn read_reference(&self, file: &TreeFile) -> Result<Target> {
        references::read_loose(file, self.object_hash())
    }

    /// `HEAD` itself, as a file.
    ///
    /// # Errors
    /// [`ReaderError::Io`] if it cannot be inspected.
    pub fn head_file(&self) -> Result<TreeFile> {
        TreeFile::inspect("HEAD".into(), self.location.git_dir.join("HEAD"))
    }

    /// The files of loose refs, sorted by name: shared refs from the common directory, and those of one work tree
    /// (`refs/bisect`, `refs/worktree`, `refs/rewritten`) from the git directory. Only for the files backend.
    ///
    /// # Errors
    /// [`ReaderError::Io`] if a folder cannot be listed.
    pub fn reference_files(&self) -> Result<Vec<TreeFile>> {
        references::reference_files(&self.location)
    }

    /// The files of reflogs (`logs/HEAD`, `logs/refs/...`), sorted by name and selected as in
    /// [`Self::reference_files`].
    ///
    /// # Errors
    /// [`ReaderError::Io`] if a folder cannot be listed.
    pub fn reflog_files(&self) -> Result<Vec<TreeFile>> {
        references::reflog_files(&self.location)
    }

    /// The tables that hold the refs, from oldest to newest; none for the files backend. A linked work tree's own refs
    /// are not in them: see [`Self::private_records`].
    ///
    /// # Errors
    /// [`ReaderError::Corrupt`] if the list, or the header or footer of a table, is damaged.
    pub fn reference_tables(&self) -> Result<Vec<ReferenceTable>> {
        match self.format.ref_storage {
            RefStorage::Files => Ok(Vec::new()),
            RefStorage::Reftable => self.stack(&self.location.common_dir),
        }
    }

    /// The records that a linked work tree has in tables of its own, as opposed to those of the main work tree in
    /// [`Self::reference_tables`]. `None` for any other repository, and for the files backend.
    ///
    /// # Errors
    /// [`ReaderError::Corrupt`] if a table is damaged.
    pub fn private_records(&self) -> Result<Option<PrivateRecords>> {
        if self.format.ref_storage == RefStorage::Files || !self.is_linked_work_tree() {
            return Ok(None);
        }
        PrivateRecords::new(&self.reference_tables()?, &self.stack(&self.location.git_dir)?).map(Some)
    }

    fn stack(&self, git_dir: &Path) -> Result<Vec<ReferenceTable>> {
        reftable::open_stack(git_dir, self.location.bounds(), self.object_hash())
    }

    /// The commits whose parents are cut off: those in the file `shallow`, in file order.
    #[must_use]
    pub fn shallow(&self) -> &[ObjectId] {
        &self.shallow
    }

    /// The commits whose parents `info/grafts` replaces, with their new parents.
    #[must_use]
    pub fn grafts(&self) -> &HashMap<ObjectId, Vec<ObjectId>> {
        &self.grafts
    }

    /// The objects that `refs/replace/<id>` replaces, with their replacements. Empty if `core.useReplaceRefs` is false.
    ///
    /// # Errors
    /// As for [`Self::references`].
    pub fn replacements(&self) -> Result<HashMap<ObjectId, ObjectId>> {
        if !self.uses_replacements()? {
            return Ok(HashMap::new());
        }
        Ok(references::replacements(&self.references()?, self.object_hash()))
    }

    /// Whether there are refs under `refs/replace/`, in effect or not.
    ///
    /// # Errors
    /// As for [`Self::references`].
    pub fn has_replace_refs(&self) -> Result<bool> {
        Ok(!references::replacements(&self.references()?, self.object_hash()).is_empty())
    }

    /// Whether `refs/replace/` is in effect: the value of `core.useReplaceRefs`, true by default.
    ///
    /// # Errors
    /// [`ReaderError::Corrupt`] if the value is no boolean.
    pub fn uses_replacements(&self) -> Result<bool> {
        format::boolean(&self.config, &self.location.common_dir.join("config"), "core.useReplaceRefs", true)
    }

    /// The dictionaries that its chunks may use. Only a variant has some.
    ///
    /// # Errors
    /// They cannot be read, or an alternate object directory has some: chunks refer to dictionaries by numbers that are
    /// only valid in their own repository.
    pub fn dictionaries(&self) -> Result<Dictionaries> {
        let folder = |objects: &PathBuf| objects.join("info").join(DICTIONARY_FOLDER);
        for alternate in self.object_dirs.iter().skip(1).map(folder) {
            if alternate.exists() {
                return Err(ReaderError::unsupported(&alternate, "an alternate object directory with dictionaries"));
            }
        }
        self.object_dirs.first().map_or_else(|| Ok(Dictionaries::default()), |own| read_dictionaries(&folder(own)))
    }

    /// A decoder for its chunks.
    ///
    /// # Errors
    /// As for [`dictionaries`](GitRepository::dictionaries).
    pub fn decoder(&self, decoders: impl Into<Decoders>) -> Result<ChunkDecoder> {
        Ok(ChunkDecoder::new(decoders).with_dictionaries(&self.dictionaries()?))
    }

    /// Whether objects may be missing deliberately: `extensions.partialClone` is set, a remote is a promisor, or a pack
    /// has a `.promisor` file.
    #[must_use]
    pub fn is_partial_clone(&self) -> bool {
        self.is_partial_by_configuration() || self.packs.iter().any(|pack| pack.promisor.is_some())
    }

    /// Whether the configuration allows missing objects.
    #[must_use]
    pub fn is_partial_by_configuration(&self) -> bool {
        self.format.partial_clone.is_some() || format::has_promisor_remote(&self.config)
    }

    /// Whether the objects of a pack name others of it by number.
    #[must_use]
    pub fn has_numbers(&self) -> bool {
        self.packs.iter().any(|files| files.numbers.is_some())
    }

    /// The codec spec in `extensions.repackbench`, if this repository is a variant that stock git cannot read.
    #[must_use]
    pub fn extension_spec(&self) -> Option<&str> {
        self.format.variant.as_ref().map(|mark| mark.spec.as_str())
    }

    /// The repository's own configuration file, without includes. Empty if there is no file.
    #[must_use]
    pub fn config(&self) -> &gix_config::File {
        &self.config
    }

    /// What was found and not used, one sentence each, for the summary.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Records the state of every file that a conversion reads. Take a snapshot before reading and check it afterwards.
    ///
    /// # Errors
    /// [`ReaderError::Changed`] if the repository has already changed since it was opened, [`ReaderError::Io`] if a
    /// folder cannot be listed.
    pub fn snapshot(&self) -> Result<SourceSnapshot> {
        SourceSnapshot::take(self)
    }
}

/// Checks that the object directories only hold files and folders within their bounds. Loose objects are checked when
/// they are listed. `own` are the bounds of the first directory; each of the others belongs to a repository of its own.
fn check_object_dirs(object_dirs: &[PathBuf], own: Bounds<'_>) -> Result<()> {
    for (number, path) in object_dirs.iter().enumerate() {
        let bounds = if number == 0 { own } else { Bounds::of(path) };
        let (info, pack) = (path.join("info"), path.join("pack"));
        for folder in [path, &info, &pack, &info.join(DICTIONARY_FOLDER)] {
            check_folder(bounds, folder)?;
        }
    }
    Ok(())
}

/// Checks that each pack is marked in a variant under `ids=number`, whose own packs and those that it borrows have no
/// other form: without its mark, numbers would be read as content.
fn check_marks(packs: &[PackFiles], format: &RepositoryFormat) -> Result<()> {
    let spec = format.variant.as_ref().and_then(|variant| variant.spec.parse::<CodecSpec>().ok());
    if !spec.is_some_and(|spec| spec.uses_numbers()) {
        return Ok(());
    }
    match packs.iter().find(|files| files.numbers.is_none()) {
        None => Ok(()),
        Some(files) => {
            let mark = files.pack.with_extension("numbers");
            Err(ReaderError::corrupt(&mark, Place::Whole, "the mark of a pack whose objects are numbered", "no file"))
        }
    }
}

/// Notes everything that git takes into account and that a bare copy does not have.
fn note_unused(location: &Location, config: &gix_config::File, notes: &mut Vec<String>) -> Result<()> {
    let worktrees = location.common_dir.join("worktrees");
    let linked = match fs::read_dir(&worktrees) {
        Ok(entries) => entries.count(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(ReaderError::io("list", worktrees, error)),
    };
    let others = if location.is_linked_work_tree() { linked.saturating_sub(1) } else { linked };
    if others > 0 {
        notes
            .push(format!("{}: ignored: HEADs and reflogs of {others} other linked work tree(s)", worktrees.display()));
    }
    if ["include", "includeIf"].iter().any(|name| config.sections_by_name(name).is_some()) {
        notes.push(format!(
            "{}: ignored: the configuration files that it includes",
            location.common_dir.join("config").display()
        ));
    }
    if config.sections_by_name("filter").is_some() {
        notes.push(format!(
            "{}: ignored: filters, which name programs; files are compared as stored",
            location.common_dir.join("config").display()
        ));
    }
    Ok(())
}
