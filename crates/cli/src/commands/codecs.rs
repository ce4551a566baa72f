//! `repackbench codecs`.

use std::process::ExitCode;

use repackbench_codec::{Algorithm, CodecInfo, Levels, catalogue, named_specs};

use crate::{
    failure::Failure,
    output::{print, table_of_words},
};

/// The notes under the table. They mention lzo because its only complete library is under the GPL.
const NOTES: &str = "\
The last column names the stock programs that read a codec. repackbench reads every codec, and so does hg with the
extension, except for dictionaries and bases.
No code under the GPL is linked: lzo is an implementation of repackbench, and libzstd is used under its BSD licence.
";

pub(crate) fn run() -> Result<ExitCode, Failure> {
    let header = ["codec", "levels (default)", "library", "version", "language", "licence", "dict up to", "stock"];
    let codecs: Vec<Vec<String>> = catalogue().iter().map(cells).collect();
    let named: Vec<Vec<String>> =
        named_specs().iter().map(|(name, spec)| vec![(*name).to_owned(), (*spec).to_owned()]).collect();
    let (codecs, named) = (table_of_words(&header, &codecs), table_of_words(&["named spec", "stands for"], &named));
    print(&format!("{codecs}\n{NOTES}\n{named}"))?;
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
