//! The trees, and how they are laid out on the disk.

use std::path::{Path, PathBuf};

use rand::{SeedableRng, rngs::SmallRng, seq::SliceRandom};
use repackbench_codec::{CodecSpec, Decoders, FileForm};
use repackbench_reader::files::{Descriptor, FILES_FOLDER, FileTree};
use repackbench_writer::{
    ConvertJob, ProgressUnit,
    cache::{GetOrMakeError, ScratchFolder},
    files::{compressed_in_place, copy_interleaved, files_in_folder_order, write_files},
};

use crate::{Context, ExperimentError};

/// The number of copies that are written side by side, each with one tree of every codec: enough for an interval over copies.
pub(super) const COPIES: u32 = 4;

/// The number of the copies that were written as a whole, one tree after the other.
pub(super) const ALONE: u32 = COPIES + 2;

/// The published codec, and a current one.
const GZIP: &str = "zlib:9";
const ZSTD: &str = "zstd:5";

/// The kind of the files of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Flat,
    Gzip,
    Zstd,
}

impl Kind {
    pub(super) const ALL: [Kind; 3] = [Kind::Flat, Kind::Gzip, Kind::Zstd];

    /// The kinds that were published.
    pub(super) const PUBLISHED: [Kind; 2] = [Kind::Flat, Kind::Gzip];

    /// The name in published tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Flat => "flat",
            Kind::Gzip => "gzip",
            Kind::Zstd => "zstd",
        }
    }

    /// The label of the copy of this number, as in `gzip-2`.
    pub(super) fn copy(self, number: u32) -> String {
        format!("{}-{number}", self.name())
    }

    fn spec(self) -> &'static str {
        match self {
            Kind::Flat => "store",
            Kind::Gzip => GZIP,
            Kind::Zstd => ZSTD,
        }
    }
}

/// The amount of a reading.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) files: u64,
    /// Bytes of the files.
    pub(super) stored: u64,
    /// Bytes of their contents; those of the files where nothing is decoded.
    pub(super) content: u64,
}

/// A tree on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tree {
    pub(super) kind: Kind,
    /// Its number in the published text: 1 is the first of its kind, the others are copies, written side by side except [`ALONE`].
    pub(super) number: u32,
    /// Its folder.
    pub(super) folder: PathBuf,
    /// The form of its files.
    pub(super) form: FileForm,
    /// The amount of reading and decoding all of it.
    pub(super) holds: Amount,
}

impl Tree {
    pub(super) fn label(&self) -> String {
        self.kind.copy(self.number)
    }

    /// The folder of its files.
    pub(super) fn files(&self) -> PathBuf {
        self.folder.join(FILES_FOLDER)
    }

    pub(super) fn descriptor(&self) -> Result<Descriptor, ExperimentError> {
        Ok(FileTree::open(&self.folder)?.descriptor().clone())
    }
}

/// All trees, which are removed with this value.
#[derive(Debug)]
pub(super) struct Trees {
    _folder: ScratchFolder,
    pub(super) all: Vec<Tree>,
}

impl Trees {
    /// Writes them all:
    ///
    /// - `flat-1`, from the repository;
    /// - `gzip-1`, a flat copy whose files were then compressed in place, so that its layout is sparse;
    /// - [`COPIES`] further copies of each kind, a file of each in turn, in a random order of kinds for each copy;
    /// - one more copy of the flat tree as a whole, and then one of the gzip tree, as with `cp -a`.
    ///
    /// The copies of zstd are taken from a temporary tree.
    pub(super) fn make(context: &Context<'_>) -> Result<Self, ExperimentError> {
        let scratch = context.cache.scratch().map_err(|error| cache_error(GetOrMakeError::Cache(error)))?;
        let root = scratch.path().to_owned();
        let options = context.options;
        let write = |kind: Kind, folder: &Path| -> Result<Descriptor, ExperimentError> {
            let revision = options.revision.as_deref();
            let spec = spec(kind)?;
            let written = write_files(context.source, &spec, revision, &ConvertJob::new(folder, context.control()))?;
            Ok(written.0.descriptor)
        };
        let (flat, gzip, zstd) = (root.join("flat-1"), root.join("gzip-1"), root.join("zstd-1"));
        let descriptor = write(Kind::Flat, &flat)?;
        if descriptor.files == 0 {
            let why = format!("{}: revision {} has no files", context.name, descriptor.revision);
            return Err(ExperimentError::Refused { experiment: super::NAME, why });
        }
        announce(context, &descriptor, &root);
        context.progress.note("compressing each file of a copy in place");
        compressed_in_place(&flat, &spec(Kind::Gzip)?, &gzip, context.progress)?;
        write(Kind::Zstd, &zstd)?;
        let mut all = vec![tree(Kind::Flat, 1, flat)?, tree(Kind::Gzip, 1, gzip)?];
        let sources = [root.join("flat-1"), root.join("gzip-1"), zstd.clone()];
        let mut random = SmallRng::seed_from_u64(options.seed);
        for copy in 0..COPIES {
            let number = copy + 2;
            let targets = Kind::ALL.map(|kind| root.join(kind.copy(number)));
            let mut order = [0, 1, 2];
            order.shuffle(&mut random);
            let (from, to) = (sources.each_ref().map(PathBuf::as_path), targets.each_ref().map(PathBuf::as_path));
            copy_interleaved(&from, &to, &order, context.progress)?;
            for (kind, target) in Kind::ALL.into_iter().zip(targets) {
                all.push(tree(kind, number, target)?);
            }
        }
        for (kind, source) in [Kind::Flat, Kind::Gzip].into_iter().zip(&sources) {
            let target = root.join(kind.copy(ALONE));
            copy_interleaved(&[source], &[&target], &[0], context.progress)?;
            all.push(tree(kind, ALONE, target)?);
        }
        std::fs::remove_dir_all(&zstd).map_err(|error| ExperimentError::io("remove", zstd, error))?;
        compare(context, &all)?;
        Ok(Trees { _folder: scratch, all })
    }

    /// The tree of this kind and number.
    pub(super) fn get(&self, kind: Kind, number: u32) -> Option<&Tree> {
        self.all.iter().find(|tree| tree.kind == kind && tree.number == number)
    }
}

fn tree(kind: Kind, number: u32, folder: PathBuf) -> Result<Tree, ExperimentError> {
    let descriptor = FileTree::open(&folder)?.descriptor().clone();
    let Descriptor { form, files, stored_bytes: stored, content_bytes: content, .. } = descriptor;
    Ok(Tree { kind, number, folder, form, holds: Amount { files, stored, content } })
}

/// Checks that all trees hold the same files as the first one, which is flat: timed readings do not look at contents.
fn compare(context: &Context<'_>, all: &[Tree]) -> Result<(), ExperimentError> {
    let Some((flat, others)) = all.split_first() else { return Ok(()) };
    let files = files_in_folder_order(&flat.files())?;
    context.progress.start("comparing trees", others.len() as u64, ProgressUnit::Items);
    for tree in others {
        let opened = FileTree::open(&tree.folder)?;
        let mut reader = opened.reader(Decoders::default());
        for file in &files {
            if context.progress.is_cancelled() {
                return Err(ExperimentError::Interrupted);
            }
            let path = flat.files().join(file);
            let expected = std::fs::read(&path).map_err(|error| ExperimentError::io("read", &path, error))?;
            if reader.read(file)? != expected {
                let why = format!("{}: {} is not what {} has", tree.label(), file.display(), flat.label());
                return Err(ExperimentError::Refused { experiment: super::NAME, why });
            }
        }
        context.progress.advance(1);
    }
    context.progress.finish();
    Ok(())
}

fn spec(kind: Kind) -> Result<CodecSpec, ExperimentError> {
    kind.spec()
        .parse()
        .map_err(|error| ExperimentError::Refused { experiment: super::NAME, why: format!("{}: {error}", kind.spec()) })
}

fn cache_error(error: GetOrMakeError<repackbench_writer::WriterError>) -> ExperimentError {
    repackbench_timing::BenchError::from(error).into()
}

/// Announces how much will be written.
fn announce(context: &Context<'_>, flat: &Descriptor, root: &Path) {
    // The flat tree is the largest of its kind; compressed ones are smaller.
    let trees = u64::from(COPIES) * 3 + 5;
    context.progress.note(&format!(
        "{} files, {:.1} MB flat: writing {trees} trees of them below {}, at most {:.1} MB; they are removed again",
        flat.files,
        flat.content_bytes as f64 / 1e6,
        root.display(),
        flat.content_bytes as f64 * trees as f64 / 1e6,
    ));
}
