//! Hashes everything in a source before it is converted. A conversion copies payloads and never computes the content of
//! an object, so it would copy damage that still decodes, such as a delta for another base.

use std::ops::ControlFlow;

use repackbench_reader::{
    git::{
        GitRepository, verify,
        whole::{WholeObject, WholeVisitor, count_stored_objects},
    },
    hg::{self, HgRepository},
};

use crate::{JobControl, Progress, ProgressUnit, Result, WriterError};

/// The name of the step.
const STEP: &str = "checking";

/// Hashes every stored object of `source`. Returns a note that says so.
///
/// # Errors
/// The first damaged object; [`WriterError::Interrupted`].
pub(crate) fn check_objects(source: &GitRepository, control: JobControl<'_>) -> Result<String> {
    let objects = count_stored_objects(source)?;
    control.progress.start(STEP, objects, ProgressUnit::Items);
    let mut visitors: Vec<Counter<'_>> =
        (0..control.threads.max(1)).map(|_| Counter { progress: control.progress }).collect();
    verify::check_objects(source, &mut visitors)?;
    finish(control.progress)?;
    Ok(format!("checked the hashes of {objects} objects"))
}

/// Counts the objects of one thread for the display.
struct Counter<'a> {
    progress: &'a dyn Progress,
}

impl WholeVisitor for Counter<'_> {
    fn visit(&mut self, _: WholeObject<'_>) -> ControlFlow<()> {
        self.progress.advance(1);
        if self.progress.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Hashes every revision of `source`. Returns a note that says so.
///
/// # Errors
/// The first damaged revision; [`WriterError::Interrupted`].
pub(crate) fn check_revisions(source: &HgRepository, control: JobControl<'_>) -> Result<String> {
    let progress = control.progress;
    progress.start(STEP, source.revlogs().len() as u64, ProgressUnit::Items);
    let (go_on, on_revlog) = (|| !progress.is_cancelled(), || progress.advance(1));
    let verified = hg::verify::check_revisions(source, control.threads, &go_on, &on_revlog)?;
    finish(progress)?;
    let hashed = verified.revisions.saturating_sub(verified.unhashed);
    let unhashed = match verified.unhashed {
        0 => String::new(),
        others => format!("; {others} others have none, by design"),
    };
    Ok(format!("checked the hashes of {hashed} revisions{unhashed}"))
}

/// Ends the step, which the user may have stopped.
fn finish(progress: &dyn Progress) -> Result<()> {
    progress.finish();
    if progress.is_cancelled() { Err(WriterError::Interrupted) } else { Ok(()) }
}
