//! Makes hg write revlogs with a codec.

use std::{ffi::OsString, path::Path};

use repackbench_codec::{Algorithm, CodecSpec};
use repackbench_reader::hg::HgRepository;

use crate::{ClientError, name_of, writing::check_needs_only_payload};

/// The prefixes of requirements for engines. A repository without any uses zlib.
const ENGINES: [&str; 2] = ["revlog-compression-", "exp-compression-"];

/// The options that make hg write with `codec`, with the extension if one was named.
///
/// # Errors
/// Fails if the codec needs more than a payload, if it belongs to another engine than the repository's, or if hg has it
/// only with the extension.
pub fn hg_codec(
    repository: &HgRepository,
    extension: Option<&Path>,
    codec: &CodecSpec,
) -> Result<Vec<OsString>, ClientError> {
    check_needs_only_payload(codec)?;
    refuse_other_engines(repository, codec)?;
    let setting = match (extension, codec.algorithm(), codec.level()) {
        (Some(_), ..) => format!("repackbench.codec={}", codec.canonical()),
        (None, Algorithm::Store, _) => return Ok(Vec::new()),
        (None, algorithm @ (Algorithm::Zlib | Algorithm::Zstd), Some(level)) if has_level_alone(codec) => {
            format!("storage.revlog.{}.level={level}", algorithm.name())
        }
        (None, ..) => {
            let message = format!("--codec {codec}: hg has this codec only with repackbench's extension");
            let hint = "`cargo xtask hg-extension` builds it and prints the folder for --hg-extension";
            return Err(ClientError::refused(message).with_hint(hint));
        }
    };
    Ok(vec!["--config".into(), setting.into()])
}

/// Whether nothing but the level tells the codec, as written in revlogs, from its bare name.
fn has_level_alone(codec: &CodecSpec) -> bool {
    codec.for_revlogs().canonical().split_once(',').is_none()
}

fn refuse_other_engines(repository: &HgRepository, codec: &CodecSpec) -> Result<(), ClientError> {
    let requirements = repository.requirements();
    let required = requirements.work_tree.iter().chain(&requirements.store);
    let mut names: Vec<&str> =
        required.filter_map(|name| ENGINES.iter().find_map(|prefix| name.strip_prefix(prefix))).collect();
    if names.is_empty() {
        names.push("zlib");
    }
    let wanted = codec.revlog_engine().name();
    if names.contains(&wanted) {
        return Ok(());
    }
    let place = name_of(repository.hg_dir());
    let message = format!(
        "{place}: expected a codec of the engine that the repository requires, {}, found {codec}, which is of {wanted}",
        names.join(" or ")
    );
    Err(ClientError::refused(message).with_hint(format!("`repackbench convert --codec {codec}` changes the engine")))
}
