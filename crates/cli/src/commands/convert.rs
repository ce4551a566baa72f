//! `repackbench convert`.

mod network;
mod summary;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use repackbench_codec::CodecSpec;
use repackbench_reader::Repository;
use repackbench_timing::sizes::measure;
use repackbench_writer::{
    ConvertJob, InPlaceJob, Layout, Order, StoreKind, convert, convert_in_place, convert_recomputed, default_output,
    files::{default_files_output, write_files},
};

use self::{network::Network, summary::Summary};
use crate::{
    failure::{Failure, USAGE, print_note, say},
    options::{
        Completeness, Destination, Effort, LayoutArguments, MemoryArguments, OUTPUT, ProgramArguments, SpecArguments,
        WHAT, Written, changeset_of, destination, located,
    },
    output::{converted::Converted, in_place::ReplacedInPlace, print, table_output::TableArguments},
    progress::{
        Bar,
        stop::{set_last_line, set_target},
    },
    repository::{
        cannot_convert, name_of, note_output, open_whole, print_numbers_without_effect, print_orders_without_effect,
    },
};

/// Rewrite a repository under another codec
///
/// A Git repository becomes a new bare one with the same refs and the same objects. Each pack entry
/// keeps its place and its delta base, and its payload, unless ids=number is in the spec. Stock git
/// reads the zlib family (zlib, zlib-rs, miniz, sirocco, libdeflate, zopfli) without dictionaries; at
/// other codecs it stops with "unknown repository extension found".
///
/// A Mercurial repository becomes a new one without a checkout: the same revlogs, each revision with
/// the same delta base. Stock hg reads the zlib family, zstd and store, without dictionaries and
/// bases; at other codecs it stops and names a requirement, such as exp-compression-lz4.
///
/// The source is only read. Every chunk is decoded again and compared before the result gets its
/// name. Whether revisions have their hashes is checked, too, and whether objects have them with
/// --check, and by `repackbench verify`.
///
/// Only --in-place writes to the source: it converts the repository itself, under a codec that stock
/// git or hg reads. It takes their locks, keeps the old files in a backup, and prints the command
/// that goes back.
///
/// Examples:
///   repackbench convert --codec zstd:5 ~/src/linux         writes ~/src/linux.zstd-5
///   repackbench convert --codec zlib:9 repo.git -o best.git
///   repackbench convert --codec zlib:6 repo.zstd-5         back to what stock git reads
///   repackbench convert --codec zstd:19 hgrepo             stock hg reads it
///   repackbench convert --codec zlib:6 --order checkout repo.git
///   repackbench convert --codec libdeflate:12 --in-place repo.git
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ConvertArguments {
    /// Codec, level and options, such as zstd:5 or zstd:5,checksum=no.
    ///
    /// `repackbench codecs` lists the codecs. checksum=, frame=, loose= and store-if-larger= have no effect in
    /// Mercurial repositories.
    #[arg(long, value_name = "SPEC", help_heading = WHAT)]
    codec: CodecSpec,

    #[command(flatten)]
    with: SpecArguments,

    #[command(flatten)]
    pub(crate) layout: LayoutArguments,

    /// The repository: a folder of a work tree, a git directory or `.hg`.
    #[arg(value_parser = located())]
    pub(crate) repository: PathBuf,

    /// Where to write [default: a sibling of the source, named after codec and layout].
    #[arg(short, long, value_name = "OUT", help_heading = OUTPUT)]
    pub(crate) output: Option<PathBuf>,

    /// Replace an existing repository at OUT, and the FILE of --json if it exists.
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) force: bool,

    /// Write the sizes before and after to FILE, in the form of `size`; - is stdout.
    ///
    /// A FILE that exists is refused without --force.
    #[arg(long, value_name = "FILE", value_parser = destination(), help_heading = OUTPUT)]
    json: Option<Destination>,

    #[command(flatten)]
    tables: TableArguments,

    /// Convert the repository itself, under a codec that stock git or hg reads.
    ///
    /// Every object in the new files is hashed before the first old one is replaced. Files are replaced by renames, so
    /// git can read the repository meanwhile, commit and fetch. hg can read it, but may have to be run again; to write,
    /// it waits. The same command finishes a run that was killed. Packs with a .keep file and the objects of alternates
    /// stay as they are.
    #[arg(long, conflicts_with_all = ["output", "force", "rechosen"], help_heading = OUTPUT)]
    in_place: bool,

    /// Remove the old files at the end of --in-place.
    #[arg(long, requires = "in_place", help_heading = OUTPUT)]
    no_backup: bool,

    /// Borrow from variants what a Git repository borrows, instead of copying it.
    ///
    /// Each repository that objects are borrowed from through alternates, such as the common store of a network of
    /// forks, is converted once, into the folder of OUT. A variant of it that is already there is compared with it and
    /// used.
    #[arg(long, conflicts_with_all = ["in_place", "rechosen", "store"], help_heading = WHAT)]
    keep_alternates: bool,

    #[command(flatten)]
    pub(crate) completeness: Completeness,

    /// Search for deltas again, with git or hg.
    ///
    /// git does it by repack -adF, the same for every codec; hg under the codec.
    #[arg(long, help_heading = WHAT)]
    pub(crate) rechosen: bool,

    /// Hash every object or revision of the source before any is converted, and stop at damage.
    ///
    /// The default for Mercurial. --rechosen and stores of whole objects hash all that they write without it.
    #[arg(long, help_heading = WHAT)]
    check: bool,

    /// Do not hash the revisions of a Mercurial repository before.
    #[arg(long, conflicts_with = "check", help_heading = WHAT)]
    no_check: bool,

    #[command(flatten)]
    pub(crate) programs: ProgramArguments,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,

    #[command(flatten)]
    effort: Effort,
}

impl ConvertArguments {
    pub(crate) fn codec(&self) -> Result<CodecSpec, Failure> {
        self.with.apply(&self.codec)
    }

    /// The options that name the codec.
    fn codec_words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["--codec".into(), self.codec.to_string().into()];
        words.extend(self.with.words());
        words
    }

    /// Whether the hashes of `source` are checked first. A search for deltas checks them itself.
    fn checks(&self, source: &Repository) -> bool {
        self.check || (matches!(source, Repository::Hg(_)) && !self.rechosen && !self.no_check)
    }

    /// The variant of `source` at `path`, which these arguments describe.
    fn converted<'a>(
        &'a self,
        source: &'a Repository,
        codec: &'a CodecSpec,
        layout: Layout,
        path: &'a Path,
    ) -> Converted<'a> {
        let mut options = self.codec_words();
        if layout.store != StoreKind::AsFound {
            options.extend(["--store".into(), layout.store.name().into()]);
        }
        if layout.order != Order::Source {
            options.extend(["--order".into(), layout.order.name().into()]);
            options.extend(layout.reference_deltas.then(|| "--order-refs".into()));
        }
        options.extend(self.rechosen.then(|| "--rechosen".into()));
        Converted { source, source_path: &self.repository, path, codec, layout, options }
    }
}

pub(crate) fn run(arguments: &ConvertArguments) -> Result<ExitCode, Failure> {
    arguments.memory.ceiling(arguments.effort.threads()).set();
    if arguments.in_place {
        return run_in_place(arguments);
    }
    let allow_missing = arguments.completeness.allow_missing;
    let source = open_whole(&arguments.repository, allow_missing, arguments.effort.quiet())?;
    let codec = arguments.codec()?;
    let codec = match &source {
        Repository::Git(_) => &codec,
        Repository::Hg(_) => &codec.for_revlogs(),
    };
    let written = arguments.layout.written(arguments.rechosen, arguments.check)?;
    let target = match (&arguments.output, written) {
        (Some(path), _) => path.clone(),
        (None, Written::Repository(layout)) => default_output(&arguments.repository, codec, &layout.file_suffix())?,
        (None, Written::Files) => default_files_output(&arguments.repository, codec)?,
    };
    let _note = note_output(&target);
    let layout = match written {
        Written::Repository(layout) => layout,
        Written::Files => return write_revision(arguments, &source, codec, &target),
    };
    if arguments.rechosen {
        layout.check_recomputed(codec)?;
    }
    let mut summary = Summary::create(arguments)?;
    let (source, alternates) = match arguments.keep_alternates {
        true => Network::new(arguments, codec, layout, &target, &mut summary)?.own_part(source)?,
        false => (source, Vec::new()),
    };
    let part = Part {
        source: &source,
        path: &arguments.repository,
        alternates: &alternates,
        target: &target,
        force: arguments.force,
        follows_others: !alternates.is_empty(),
    };
    let path = convert_part(arguments, codec, layout, &part, &mut summary)?;
    summary.finish()?;
    if !arguments.effort.quiet() {
        say(format_args!("{}", arguments.converted(&source, codec, layout, &path)));
    }
    Ok(ExitCode::SUCCESS)
}

/// What an interrupt leaves of a network whose shared stores are converted.
const SHARED_STAY: &str =
    "interrupted; variants of shared stores are complete, and the same command goes on from there";

/// A repository to convert, or its own part of a network.
struct Part<'a> {
    source: &'a Repository,
    /// Its path as the user knows it.
    path: &'a Path,
    /// The object directories from which its variant borrows.
    alternates: &'a [PathBuf],
    /// The path of the variant.
    target: &'a Path,
    /// Whether an earlier variant there is replaced.
    force: bool,
    /// Whether variants of shared stores are complete already.
    follows_others: bool,
}

/// Converts `part` and adds it to the summary. Returns the path of the variant.
fn convert_part(
    arguments: &ConvertArguments,
    codec: &CodecSpec,
    layout: Layout,
    part: &Part<'_>,
    summary: &mut Summary,
) -> Result<PathBuf, Failure> {
    let source = part.source;
    print_orders_without_effect(source, &[layout], arguments.effort.quiet());
    if !arguments.rechosen {
        print_numbers_without_effect(source, std::slice::from_ref(codec), arguments.effort.quiet());
    }
    let bar = Bar::new(arguments.effort.quiet());
    match part.follows_others {
        false => set_target(part.target, part.force),
        true => set_last_line(|| SHARED_STAY),
    }
    let job = ConvertJob {
        target: part.target,
        force: part.force,
        alternates: part.alternates,
        check: arguments.checks(source),
        control: arguments.effort.control(&bar),
    };
    let converted = if arguments.rechosen {
        convert_recomputed(source, codec, &arguments.programs.recomputer(source)?, &job)
    } else {
        convert(source, codec, layout, &job)
    };
    let (conversion, path) = converted.map_err(|error| {
        let failure = cannot_convert(source, error.into());
        match failure.is_interrupt() && part.follows_others {
            true => failure.with_message(SHARED_STAY.to_owned()),
            false => failure,
        }
    })?;
    // The output is complete, so an error in its summary is not a failure.
    if let Err(failure) = summary.add(source, part.path, conversion, &path) {
        print_note(format!("{} is complete, but its summary failed: {failure}", path.display()));
    }
    Ok(path)
}

/// Converts the repository itself.
fn run_in_place(arguments: &ConvertArguments) -> Result<ExitCode, Failure> {
    Summary::refuse(arguments, "--in-place")?;
    let written = arguments.layout.written(false, false)?;
    if written != Written::Repository(Layout::default()) {
        let why =
            "--in-place: stock git and hg read packs and revlogs in their own order: leave out --store and --order";
        return Err(Failure::new(USAGE, why));
    }
    let (path, codec) = (&arguments.repository, arguments.codec()?);
    let size = || Repository::open(path).and_then(|repository| measure(&repository, &name_of(path))).ok();
    let bar = Bar::new(arguments.effort.quiet());
    set_last_line(|| "interrupted; the same command finishes what was begun");
    let before = if arguments.effort.quiet() { None } else { size() };
    let job = InPlaceJob { keeps_backup: !arguments.no_backup, control: arguments.effort.control(&bar) };
    let replaced = convert_in_place(path, &codec, job)?;
    drop(bar);
    if !arguments.effort.quiet() {
        let sizes = before.zip(size()).map(|(before, after)| [before, after]);
        let (repository, options) = (&Repository::open(path)?, arguments.codec_words());
        say(ReplacedInPlace { path, repository, codec: &codec, replaced: &replaced, sizes, options });
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the files of one revision.
fn write_revision(
    arguments: &ConvertArguments,
    source: &Repository,
    codec: &CodecSpec,
    target: &Path,
) -> Result<ExitCode, Failure> {
    Summary::refuse(arguments, "--store files")?;
    let revision = match (&arguments.layout.rev, source) {
        (Some(rev), Repository::Hg(repository)) => Some(changeset_of(source, repository, rev, &arguments.programs.hg)?),
        (rev, _) => rev.clone(),
    };
    let bar = Bar::new(arguments.effort.quiet());
    set_target(target, false);
    let job = ConvertJob { force: arguments.force, ..ConvertJob::new(target, arguments.effort.control(&bar)) };
    let (files, _) = write_files(source, codec, revision.as_deref(), &job)?;
    if !arguments.effort.quiet() {
        print(&files.to_string())?;
        say(format_args!("wrote    {}", target.display()));
    }
    Ok(ExitCode::SUCCESS)
}
