//! The registered experiments, and the repositories that they run on.

use repackbench_reader::Repository;
use repackbench_records::{Experiment, Published, Statement, Storage, Vcs, published_experiment};
use repackbench_timing::record_names::vcs_of;

use crate::{
    Context, ExperimentError, checkout_page_trace, compressors_by_level, flat_vs_gzip_tree, zlib_vs_lz4_revlog,
    zlib_vs_zstd_pack, zlib_vs_zstd_revlog,
};

/// An experiment that can be run again.
#[derive(Debug, Clone, Copy)]
pub struct RegisteredExperiment {
    /// The name, which is that of its published figures.
    pub name: &'static str,
    /// The only system whose repositories it runs on; `None` for both.
    pub vcs: Option<Vcs>,
    /// Whether it reads packs or revlogs, so that a new search for deltas matters.
    reads_deltas: bool,
    /// Whether it times the creation of many files.
    makes_files: bool,
    run: fn(&Context<'_>) -> Result<Experiment, ExperimentError>,
}

/// All experiments in the order of their dates.
const EXPERIMENTS: &[RegisteredExperiment] = &[
    RegisteredExperiment {
        name: flat_vs_gzip_tree::NAME,
        vcs: None,
        reads_deltas: false,
        makes_files: true,
        run: flat_vs_gzip_tree::run,
    },
    RegisteredExperiment {
        name: compressors_by_level::NAME,
        vcs: None,
        reads_deltas: false,
        makes_files: true,
        run: compressors_by_level::run,
    },
    RegisteredExperiment {
        name: checkout_page_trace::NAME,
        vcs: Some(Vcs::Git),
        reads_deltas: true,
        makes_files: false,
        run: checkout_page_trace::run,
    },
    RegisteredExperiment {
        name: zlib_vs_lz4_revlog::NAME,
        vcs: Some(Vcs::Mercurial),
        reads_deltas: true,
        makes_files: true,
        run: zlib_vs_lz4_revlog::run,
    },
    RegisteredExperiment {
        name: zlib_vs_zstd_pack::NAME,
        vcs: Some(Vcs::Git),
        reads_deltas: true,
        makes_files: false,
        run: zlib_vs_zstd_pack::run,
    },
    RegisteredExperiment {
        name: zlib_vs_zstd_revlog::NAME,
        vcs: Some(Vcs::Mercurial),
        reads_deltas: true,
        makes_files: false,
        run: zlib_vs_zstd_revlog::run,
    },
];

/// Every experiment that can be run again.
pub fn experiments() -> &'static [RegisteredExperiment] {
    EXPERIMENTS
}

/// The experiment of this name.
pub fn experiment(name: &str) -> Option<&'static RegisteredExperiment> {
    EXPERIMENTS.iter().find(|experiment| experiment.name == name)
}

impl RegisteredExperiment {
    /// Its published figures and claims.
    pub fn published(&self) -> Option<&'static Published> {
        published_experiment(self.name)
    }

    /// Whether it runs on `source`.
    pub fn fits(&self, source: &Repository) -> bool {
        self.vcs.is_none_or(|vcs| vcs == vcs_of(source))
    }

    /// Runs the experiment. Stopped by the user, it returns what was measured until then.
    ///
    /// # Errors
    /// See [`ExperimentError`]; [`ExperimentError::Refused`] for a repository that it does not run on.
    pub fn run(&self, context: &Context<'_>) -> Result<Experiment, ExperimentError> {
        if !self.fits(context.source) {
            let system = if self.vcs == Some(Vcs::Git) { "Git" } else { "Mercurial" };
            let why = format!("{}: it runs on {system} repositories", context.name);
            return Err(ExperimentError::Refused { experiment: self.name, why });
        }
        let mut experiment = (self.run)(context)?;
        if context.options.is_repacked && !self.reads_deltas {
            experiment.notes.push(Statement::new("nothing-repacked").into());
        }
        if self.makes_files && experiment.host.variant_storage.as_ref().is_some_and(Storage::is_slow_after_removals) {
            experiment.notes.push(Statement::new("slow-after-removals").into());
        }
        Ok(experiment)
    }
}

/// Judges the claims that take several repositories, in the `results` of several.
pub fn compare_repositories(results: &mut [Experiment]) {
    zlib_vs_lz4_revlog::compare_repositories(results);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::tests::{Setting, files_of};

    #[test]
    fn notes_when_repacking_has_no_effect() {
        let mut setting = Setting::new(&files_of(3), 1);
        let has_note = |setting: &Setting| {
            let result = setting.run(|context| experiment(flat_vs_gzip_tree::NAME).unwrap().run(context));
            result.unwrap().notes.contains(&Statement::new("nothing-repacked").into())
        };
        assert!(!has_note(&setting));
        setting.options.is_repacked = true;
        assert!(has_note(&setting));
    }

    #[test]
    fn names_are_unique_and_have_published_figures() {
        let names: BTreeSet<&str> = experiments().iter().map(|experiment| experiment.name).collect();
        assert_eq!(names.len(), experiments().len());
        for registered in experiments() {
            assert_eq!(registered.published().map(|published| published.name.as_str()), Some(registered.name));
            assert_eq!(experiment(registered.name).map(|found| found.name), Some(registered.name));
        }
        assert!(experiment("no-such-experiment").is_none());
    }
}
