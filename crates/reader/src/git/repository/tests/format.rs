//! Format versions and extensions.

use std::fs;

use super::*;

#[test]
fn default_repository_is_version_0_and_sha1() {
    let scratch = Scratch::new();
    let repository = GitRepository::open(&scratch.repository("r", &[])).unwrap();
    assert_eq!((repository.format().version, repository.object_hash()), (0, gix_hash::Kind::Sha1));
    assert!(!repository.is_partial_clone());
    assert_eq!(repository.extension_spec(), None);
    assert!(repository.notes().is_empty());
}

#[test]
fn object_format_extension_selects_sha256() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &["--object-format=sha256"]);
    let repository = GitRepository::open(&path).unwrap();
    assert_eq!(repository.object_hash(), gix_hash::Kind::Sha256);
    assert_eq!(repository.loose_objects().unwrap().len(), 6);
    let head = git(&path, &["rev-parse", "HEAD"]);
    assert!(repository.references().unwrap().iter().any(|reference| format!("{:?}", reference.target).contains(&head)));
}

#[test]
fn repository_without_configuration_is_valid() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    fs::remove_file(path.join(".git/config")).unwrap();
    assert_eq!(GitRepository::open(&path).unwrap().object_hash(), gix_hash::Kind::Sha1);
}

/// Sets a value from outside the repository: git refuses to work in one with extensions that it does not know.
fn configure(repository: &Path, key: &str, value: &str) {
    let file = repository.join(".git/config");
    git(repository.parent().unwrap(), &["config", "--file", file.to_str().unwrap(), key, value]);
}

#[test]
fn unknown_ref_storage_is_rejected() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    configure(&path, "core.repositoryformatversion", "1");
    configure(&path, "extensions.refStorage", "reftable://elsewhere");
    let message = refusal(&path);
    assert!(message.ends_with("config: extensions.refStorage = reftable://elsewhere is not supported"), "{message}");
}

#[test]
fn unknown_extension_is_rejected_only_in_version_1() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    git(&path, &["config", "extensions.futureThing", "yes"]);
    GitRepository::open(&path).unwrap();
    git(&path, &["config", "core.repositoryformatversion", "1"]);
    assert!(refusal(&path).ends_with("config: extensions.futurething is not supported"), "{}", refusal(&path));
}

#[test]
fn rejects_newer_format_version() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    git(&path, &["config", "core.repositoryformatversion", "2"]);
    assert!(refusal(&path).contains("core.repositoryformatversion = 2"));
}

#[test]
fn rejects_compatibility_hash() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &["--object-format=sha256"]);
    git(&path, &["config", "extensions.compatObjectFormat", "sha1"]);
    assert!(refusal(&path).contains("extensions.compatobjectformat"));
}

#[test]
fn version_1_extension_in_version_0_is_an_error_as_in_git() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &["--object-format=sha256"]);
    git(&path, &["config", "core.repositoryformatversion", "0"]);
    let message = refusal(&path);
    assert!(
        message.contains("expected core.repositoryformatversion = 1, which extensions.objectformat needs"),
        "{message}"
    );
    let stock = Command::new("git").arg("-C").arg(&path).args(["rev-parse", "HEAD"]).output().unwrap();
    assert_eq!(stock.status.code(), Some(128));
}

#[test]
fn extensions_are_ignored_without_format_version() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    git(&path, &["config", "--unset", "core.repositoryformatversion"]);
    git(&path, &["config", "extensions.objectFormat", "sha256"]);
    git(&path, &["config", "extensions.futureThing", "yes"]);
    assert_eq!(git(&path, &["rev-list", "--count", "HEAD"]), "2");
    assert_eq!(GitRepository::open(&path).unwrap().object_hash(), gix_hash::Kind::Sha1);
}

#[test]
fn accepts_harmless_extensions() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    for (key, value) in [
        ("core.repositoryformatversion", "1"),
        ("extensions.noop", "x"),
        ("extensions.noop-v1", "x"),
        ("extensions.worktreeConfig", "true"),
        ("extensions.preciousObjects", "true"),
        ("extensions.refStorage", "files"),
    ] {
        configure(&path, key, value);
    }
    let format = GitRepository::open(&path).unwrap().format().clone();
    assert!(format.noop && format.noop_v1 && format.precious_objects);
    configure(&path, "extensions.relativeWorktrees", "true");
    assert!(GitRepository::open(&path).is_ok());
}

#[test]
fn variant_names_its_spec_and_newer_one_is_rejected() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    git(&path, &["config", "core.repositoryformatversion", "1"]);
    let config = path.join(".git/config");
    let unmarked = fs::read_to_string(&config).unwrap();
    let mark =
        |value: &str| fs::write(&config, format!("{unmarked}[extensions]\n\trepackbench = \"{value}\"\n")).unwrap();
    mark(&format!("{};zstd:5,checksum=no", repackbench_codec::FORMAT_VERSION));
    assert_eq!(GitRepository::open(&path).unwrap().extension_spec(), Some("zstd:5,checksum=no"));
    mark(&format!("{};zstd:5", repackbench_codec::NUMBERS_FORMAT_VERSION + 1));
    assert!(refusal(&path).contains("extensions.repackbench format 3"), "{}", refusal(&path));
    for damaged in ["zstd:5", "1;", ";zstd:5", "0;zstd:5", "-1;zstd:5"] {
        mark(damaged);
        assert!(refusal(&path).contains("expected '<format version>;<codec spec>'"), "{damaged}");
    }
}

#[test]
fn malformed_configuration_error_names_the_line() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    fs::write(path.join(".git/config"), "[core]\n\tbare = true\n[broken\n").unwrap();
    assert!(refusal(&path).contains("config, line 3: expected a Git configuration file"), "{}", refusal(&path));
}

#[test]
fn partial_clone_is_recognised() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    git(&path, &["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", path.display());
    git(scratch.folder.path(), &["clone", "-q", "--bare", "--filter=blob:none", &url, "partial"]);
    let mut repository = GitRepository::open(&scratch.path("partial")).unwrap();
    assert!(repository.is_partial_clone());
    assert!(repository.packs().iter().all(|pack| pack.promisor.is_some()));
    repository.packs.clear();
    assert!(repository.is_partial_clone(), "because of the remote");
    repository.config = gix_config::File::default();
    assert_eq!(repository.is_partial_clone(), repository.format().partial_clone.is_some());
}

#[test]
fn settings_of_promisors_on_which_git_fails_are_damage() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    let config = path.join(".git/config");
    let before = fs::read_to_string(&config).unwrap();
    let open = |setting: &str| {
        fs::write(&config, format!("{before}[remote \"origin\"]\n\t{setting}\n")).unwrap();
        GitRepository::open(&path).map(|repository| repository.is_partial_clone())
    };
    assert!(open("promisor").unwrap() && open("promisor = 1").unwrap() && !open("promisor = off").unwrap());
    assert!(!open("partialclonefilter = blob:none").unwrap());
    for (setting, expected) in [("promisor = perhaps", "a boolean for"), ("partialclonefilter", "a value for")] {
        let error = open(setting).unwrap_err();
        assert!(matches!(error, ReaderError::Corrupt { .. }) && error.to_string().contains(expected), "{error}");
    }
}
