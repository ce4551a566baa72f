//! `repackbench convert --keep-alternates`: repositories that borrow objects, such as the forks of a forge.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use repackbench_codec::CodecSpec;
use repackbench_reader::{
    Repository,
    git::verify::{Difference, compare},
};
use repackbench_writer::{Layout, default_output};

use super::{ConvertArguments, Part, Summary, convert_part};
use crate::{
    failure::{BAD_INPUT, FAILED, Failure, USAGE, say},
    repository::open_whole,
};

/// The stores that a repository borrows from, and their variants.
pub(super) struct Network<'a> {
    arguments: &'a ConvertArguments,
    codec: &'a CodecSpec,
    layout: Layout,
    /// The variant of the repository. Those of shared stores are beside it.
    target: PathBuf,
    /// The object directory of the variant of each object directory.
    variants: HashMap<PathBuf, PathBuf>,
    summary: &'a mut Summary,
}

impl<'a> Network<'a> {
    /// Variants under `codec` in the folder of `target`.
    pub(super) fn new(
        arguments: &'a ConvertArguments,
        codec: &'a CodecSpec,
        layout: Layout,
        target: &Path,
        summary: &'a mut Summary,
    ) -> Result<Self, Failure> {
        if codec.uses_dictionaries() {
            let why = "--keep-alternates: a chunk names a dictionary of its own repository: expected a codec without dictionaries";
            return Err(Failure::new(USAGE, why));
        }
        let failed = |error| Failure::new(FAILED, format!("cannot find {}: {error}", target.display()));
        let target = std::path::absolute(target).map_err(failed)?;
        Ok(Network { arguments, codec, layout, target, variants: HashMap::new(), summary })
    }

    /// Converts what `source` borrows from, unless an earlier run did. Returns the own part of `source`, and the object
    /// directories that its variant borrows from.
    pub(super) fn own_part(&mut self, source: Repository) -> Result<(Repository, Vec<PathBuf>), Failure> {
        let Repository::Git(git) = source else {
            return Err(Failure::new(USAGE, "--keep-alternates: Mercurial has no alternates"));
        };
        let shared: Vec<PathBuf> = git.object_dirs().iter().skip(1).cloned().collect();
        let alternates = shared.iter().map(|objects| self.shared(objects)).collect::<Result<_, _>>()?;
        Ok((Repository::Git(Box::new(git.without_alternates())), alternates))
    }

    /// The object directory of the variant of the repository with the object directory `objects`.
    fn shared(&mut self, objects: &Path) -> Result<PathBuf, Failure> {
        if let Some(variant) = self.variants.get(objects) {
            return Ok(variant.clone());
        }
        let path = objects.parent().unwrap_or(objects);
        let source = open_whole(path, self.arguments.completeness.allow_missing, true)?;
        let own = fs::canonicalize(source.folder().join("objects")).ok();
        if own.as_deref() != Some(objects) {
            let message = format!("{}: expected the objects of a Git repository", objects.display());
            return Err(Failure::new(BAD_INPUT, message).with_hint("without --keep-alternates, its objects are copied"));
        }
        let name = default_output(path, self.codec, &self.layout.file_suffix())?;
        let target = self.target.with_file_name(name.file_name().unwrap_or_default());
        if target == self.target {
            // It would replace what it borrows from.
            let message = format!("{}: the variant of {} belongs here, too", target.display(), path.display());
            return Err(
                Failure::new(USAGE, message).with_hint("give the variant of the repository another name with -o")
            );
        }
        let (source, alternates) = self.own_part(source)?;
        let follows_others = !self.variants.is_empty();
        let part =
            Part { source: &source, path, alternates: &alternates, target: &target, force: false, follows_others };
        let made =
            (!target.exists()).then(|| convert_part(self.arguments, self.codec, self.layout, &part, self.summary));
        match made {
            // Another run may have converted the same store meanwhile.
            None | Some(Err(_)) if target.exists() => {
                self.check_variant(&source, &target)?;
                if !self.arguments.effort.quiet() {
                    say(format_args!("uses     {}, the variant of {}", target.display(), path.display()));
                }
            }
            made => made.transpose().map(drop)?,
        }
        let made = target.join("objects");
        let variant = fs::canonicalize(&made)
            .map_err(|error| Failure::new(FAILED, format!("cannot find {}: {error}", made.display())))?;
        self.variants.insert(objects.to_owned(), variant.clone());
        Ok(variant)
    }

    /// Checks that `target` is a variant of `source`, object by object.
    fn check_variant(&self, source: &Repository, target: &Path) -> Result<(), Failure> {
        let variant = Repository::open(target)?;
        let recorded = (!self.codec.is_read_by_git()).then(|| self.codec.clone());
        let mut first = (variant.recorded_spec() != recorded).then(|| format!("it is not under {}", self.codec));
        if let (None, Repository::Git(source), Repository::Git(variant)) = (&first, source, variant) {
            let mut differ = |difference: Difference| {
                first.get_or_insert_with(|| difference.to_string());
            };
            compare(source, &variant.without_alternates(), self.arguments.effort.threads(), &mut differ)?;
        }
        match first {
            None => Ok(()),
            Some(difference) => {
                let (target, source) = (target.display(), source.folder().display());
                let message = format!("{target} is not the variant of {source}: {difference}");
                Err(Failure::new(FAILED, message).with_hint("remove it, or name another folder with -o"))
            }
        }
    }
}
