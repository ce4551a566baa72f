//! `repackbench codecs`.

use std::process::ExitCode;

use clap::Args;
use repackbench_codec::{Algorithm, CodecInfo, Levels, catalogue, named_specs};

use repackbench_report::Block;
use serde::Serialize;

use crate::{
    failure::Failure,
    output::listing::{ListingArguments, words},
};

/// The notes under the table. They mention lzo because its only complete library is under the GPL.
const NOTES: [&str; 3] = [
    "The last column names the stock programs that read a codec. repackbench reads every codec, and so does hg with the",
    "extension, except for dictionaries and bases.",
    "No code under the GPL is linked: lzo is an implementation of repackbench, and libzstd is used under its BSD licence.",
];

/// List all codecs, and the stock programs that read them
///
/// Shows levels, library, version, licence and the longest dictionary of each.
#[derive(Debug, Args)]
pub(crate) struct CodecListArguments {
    #[command(flatten)]
    listing: ListingArguments,
}

/// A codec, as JSON.
#[derive(Serialize)]
struct CodecLine<'a> {
    name: &'a str,
    /// The range of levels and the default, as the table shows them; `None` if it has no levels.
    levels: Option<String>,
    default_level: Option<i32>,
    library: &'a str,
    version: &'a str,
    language: &'a str,
    licence: &'a str,
    longest_dictionary_bytes: Option<usize>,
    read_by_git: bool,
    read_by_hg: bool,
}

impl<'a> CodecLine<'a> {
    fn of(codec: &'a CodecInfo) -> Self {
        CodecLine {
            name: codec.name,
            levels: codec.levels.as_ref().map(Levels::to_string),
            default_level: codec.levels.as_ref().map(|levels| levels.default),
            library: codec.library(),
            version: &codec.version,
            language: codec.language,
            licence: codec.licence,
            longest_dictionary_bytes: codec.algorithm.longest_dictionary(),
            read_by_git: codec.read_by_git,
            read_by_hg: codec.read_by_hg,
        }
    }
}

/// A named spec, as JSON.
#[derive(Serialize)]
struct NamedSpecLine<'a> {
    name: &'a str,
    spec: &'a str,
}

pub(crate) fn run(arguments: &CodecListArguments) -> Result<ExitCode, Failure> {
    let mut listing = arguments.listing.create()?;
    let codecs = catalogue();
    for codec in &codecs {
        listing.line("codec", CodecLine::of(codec))?;
    }
    for (name, spec) in named_specs() {
        listing.line("named-spec", NamedSpecLine { name, spec })?;
    }
    let header = ["codec", "levels (default)", "library", "version", "language", "licence", "dict up to", "stock"];
    let mut table = words(&header, &codecs.iter().map(cells).collect::<Vec<_>>());
    table.blocks.push(Block::Notes(NOTES.map(str::to_owned).to_vec()));
    let named: Vec<Vec<String>> =
        named_specs().iter().map(|(name, spec)| vec![(*name).to_owned(), (*spec).to_owned()]).collect();
    listing.tables.write(&[table, words(&["named spec", "stands for"], &named)])?;
    Ok(ExitCode::SUCCESS)
}

fn cells(codec: &CodecInfo) -> Vec<String> {
    vec![
        codec.name.to_owned(),
        codec.levels.as_ref().map_or("none".to_owned(), levels),
        codec.library().to_owned(),
        codec.version.clone(),
        codec.language.to_owned(),
        codec.licence.to_owned(),
        longest_dictionary(codec.algorithm),
        match (codec.read_by_git, codec.read_by_hg) {
            (true, true) => "git, hg",
            (true, false) => "git",
            (false, true) => "hg",
            (false, false) => "none",
        }
        .to_owned(),
    ]
}

fn levels(levels: &Levels) -> String {
    format!("{levels} ({})", levels.default)
}

fn longest_dictionary(algorithm: Algorithm) -> String {
    const KIB: usize = 1 << 10;
    match algorithm.longest_dictionary() {
        None => "none".to_owned(),
        Some(bytes) if bytes.is_multiple_of(KIB * KIB) => format!("{} MiB", bytes / KIB / KIB),
        Some(bytes) => format!("{} KiB", bytes / KIB),
    }
}
