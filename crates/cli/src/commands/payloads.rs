//! `repackbench payloads`.

use std::{path::Path, process::ExitCode};

use repackbench_writer::payloads::{Exported, export_payloads, folder_of};

use super::{note_output, open, print, print_notes};
use crate::{failure::Failure, failure::print_note, payload_arguments::PayloadsArguments, progress::Bar};

pub(crate) fn run(arguments: &PayloadsArguments) -> Result<ExitCode, Failure> {
    arguments.memory.ceiling(1).set();
    let repository = open(&arguments.repository)?;
    print_notes(&repository, arguments.quiet);
    let bar = Bar::new(arguments.quiet);
    let _note = note_output(&arguments.export);
    let (exported, path) = export_payloads(&repository, &arguments.selection(), &arguments.export, &bar)?;
    if !arguments.quiet {
        summarise(&exported, &path)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn summarise(exported: &Exported, path: &Path) -> Result<(), Failure> {
    if exported.left_out.payloads > 0 {
        let (payloads, bytes) = (exported.left_out.payloads, exported.left_out.bytes);
        print_note(format!("left out: {payloads} payloads above 64 MiB, {bytes} bytes"));
    }
    let mut rows = Vec::new();
    let (mut found, mut payloads, mut bytes, mut stored) = (0, 0, 0, 0);
    for (kind, written) in &exported.kinds {
        let numbers = [written.found, written.payloads, written.payload_bytes, written.stored_bytes];
        rows.push([folder_of(*kind)].into_iter().chain(numbers.map(|number| number.to_string())).collect());
        (found, payloads) = (found + written.found, payloads + written.payloads);
        (bytes, stored) = (bytes + written.payload_bytes, stored + written.stored_bytes);
    }
    rows.push(vec!["total".into(), found.to_string(), payloads.to_string(), bytes.to_string(), stored.to_string()]);
    let header = ["folder", "found", "written", "payload bytes", "stored bytes"];
    print(&format!("{}\n{}\n", repackbench_report::text_table(&header, &rows).trim_end(), path.display()))
}
