//! `repackbench codecs`.

use std::process::ExitCode;

use super::print;
use crate::failure::Failure;

pub(crate) fn run() -> Result<ExitCode, Failure> {
    let yes_no = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let rows: Vec<Vec<String>> = repackbench_codec::catalogue()
        .into_iter()
        .map(|codec| {
            vec![
                codec.name.to_owned(),
                codec.levels.map_or("none".to_owned(), |levels| levels.to_string()),
                format!("{} {}", codec.implementation, codec.version),
                yes_no(codec.read_by_git),
                if codec.read_by_hg { "yes" } else { "with our extension" }.to_owned(),
            ]
        })
        .collect();
    let header = ["codec", "levels", "implementation", "stock git reads it", "stock hg reads it"];
    print(&repackbench_report::text_table(&header, &rows))?;
    Ok(ExitCode::SUCCESS)
}
