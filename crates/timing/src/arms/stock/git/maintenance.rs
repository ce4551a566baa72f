//! What a server does with pushes, as commands of git.

use std::{fs, path::Path};

use super::{
    super::{
        Caches, Maintenance, OutputForm, Prepared, Step, StepInput, StockError, StockJob,
        copies::copy_repository,
        drawn::{Push, Stream},
        made_once, output,
    },
    GitRow,
};

/// The number of pushes after which a server repacks.
const PUSHES_PER_REPACK: usize = 8;

const MAIN: &str = "refs/heads/main";

impl GitRow {
    /// A job of a server in the folder `place`, which it creates.
    pub(super) fn maintenance(&self, job: &StockJob, what: Maintenance, place: &Path) -> Result<Prepared, StockError> {
        let stream = job.stream()?;
        let mut steps = Vec::new();
        match what {
            Maintenance::IndexPack => {
                copy_repository(self.before(stream)?, place)?;
                for push in &stream.pushes {
                    steps.push(self.receive(push, place)?);
                }
            }
            Maintenance::Geometric => {
                copy_repository(self.before(stream)?, place)?;
                for pushes in stream.pushes.chunks(PUSHES_PER_REPACK) {
                    for push in pushes {
                        steps.push(self.receive(push, place)?.untimed());
                    }
                    steps.push(self.step(place, &["repack", "--geometric=2", "-d", "-q", "--write-midx"])?);
                }
            }
            Maintenance::Cruft => {
                copy_repository(self.after(stream)?, place)?;
                // The newer half is unreachable, as if its branch had been deleted.
                let kept = stream.pushes.get(stream.pushes.len() / 2).map_or("", |push| push.old.as_str());
                steps.push(self.step(place, &["update-ref", MAIN, kept])?.untimed());
                steps.push(self.step(place, &["repack", "--cruft", "-d", "-q"])?);
            }
            Maintenance::MultiPackIndex => {
                copy_repository(self.after(stream)?, place)?;
                steps.push(self.step(place, &["multi-pack-index", "write", "--no-progress"])?);
            }
            Maintenance::MultiPackIndexBitmap => {
                copy_repository(self.after(stream)?, place)?;
                steps.push(self.step(place, &["multi-pack-index", "write", "--bitmap", "--no-progress"])?);
            }
        }
        Ok(Prepared {
            steps,
            // The names of packs, which depend on their bytes.
            form: OutputForm::Nothing,
            made: self.objects_of(place)?,
            has_requests: what == Maintenance::IndexPack,
            grows: Some(place.join("objects")),
            sends: None,
        })
    }

    fn step(&self, place: &Path, words: &[&str]) -> Result<Step, StockError> {
        let mut command = self.command_on(place, Caches::Forge)?;
        command.args(words);
        Ok(Step::timed(command))
    }

    /// Takes the pack of a push in.
    fn receive(&self, push: &Push, place: &Path) -> Result<Step, StockError> {
        let step = self.step(place, &["index-pack", "--stdin", "--fix-thin"])?;
        Ok(step.reading(StepInput::File(push.pack.clone())))
    }

    /// The variant in one pack, as it was before the stream: written by git with the codec of the row.
    fn before(&self, stream: &Stream) -> Result<&Path, StockError> {
        made_once(&self.before_stream, self.folder.join("before"), |place| {
            self.copy(place)?;
            let old = stream.pushes.first().map_or("", |push| push.old.as_str());
            let run = |words: &[&str]| output(self.command_on(place, Caches::Off)?.args(words));
            run(&["symbolic-ref", "HEAD", MAIN])?;
            // Symbolic ones, too.
            let removals = run(&["for-each-ref", "--format=option no-deref%0adelete %(refname)"])?;
            let file = self.folder.join("removals");
            let opened = fs::write(&file, removals).and_then(|()| fs::File::open(&file));
            let mut update = self.command_on(place, Caches::Off)?;
            update.args(["update-ref", "--stdin"]);
            output(update.stdin(opened.map_err(|error| StockError::files("write", &file, error))?))?;
            run(&["update-ref", MAIN, old])?;
            run(&["repack", "-a", "-d", "-q"])?;
            // Objects of the stream that are loose.
            run(&["prune", "--expire=now"]).map(drop)
        })
    }

    /// The same after all pushes, each of them in a pack of its own.
    fn after(&self, stream: &Stream) -> Result<&Path, StockError> {
        let before = self.before(stream)?;
        made_once(&self.after_stream, self.folder.join("after"), |place| {
            copy_repository(before, place)?;
            for push in &stream.pushes {
                let mut step = self.receive(push, place)?;
                step.open_input()?;
                output(&mut step.command)?;
            }
            let new = stream.pushes.last().map_or("", |push| push.new.as_str());
            output(self.command_on(place, Caches::Off)?.args(["update-ref", MAIN, new])).map(drop)
        })
    }
}
