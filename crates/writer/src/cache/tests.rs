//! Tests of the cache through its public interface, in temporary folders.

use std::{
    convert::Infallible,
    sync::{
        Barrier,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use super::*;

fn key(spec: &str) -> VariantKey {
    VariantInputs { spec: spec.into(), ..VariantInputs::default() }.key()
}

fn origin(spec: &str) -> VariantOrigin {
    let source = "/somewhere/repo".into();
    VariantOrigin { source, spec: spec.into(), format_version: 1, state: Some("abc".into()), encoder: None }
}

fn cache() -> (tempfile::TempDir, Cache) {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(Some(folder.path().join("cache"))).unwrap();
    (folder, cache)
}

/// Makes a variant that consists of one file of `bytes` bytes.
fn make(bytes: usize) -> impl FnOnce(&Path) -> Result<Option<SearchCost>, Infallible> {
    move |repository| {
        fs::create_dir(repository).unwrap();
        fs::write(repository.join("pack"), vec![b'x'; bytes]).unwrap();
        Ok(None)
    }
}

fn never_made(_: &Path) -> Result<Option<SearchCost>, Infallible> {
    panic!("the cache holds this variant")
}

/// Names in the cache's folder that belong to variants, complete or not.
fn variant_names(cache: &Cache) -> Vec<String> {
    let names = cache.names().unwrap();
    names.into_iter().filter(|name| name != LOCKS_FOLDER && name != "CACHEDIR.TAG").collect()
}

fn set_last_used(cache: &Cache, key: &VariantKey, seconds: u64) {
    let file = cache.variant_folder(key).join(METADATA_FILE);
    let mut metadata = Metadata::read(&file).unwrap().unwrap();
    metadata.last_used = seconds;
    metadata.write(&file).unwrap();
}

#[test]
fn variant_is_made_once_and_found_again() {
    let (_folder, cache) = cache();
    assert!(cache.get(&key("zstd:5")).unwrap().is_none());
    let made = cache.get_or_make(&key("zstd:5"), &origin("zstd:5"), make(10)).unwrap();
    assert_eq!(fs::read(made.path().join("pack")).unwrap().len(), 10);
    let again = cache.get_or_make(&key("zstd:5"), &origin("zstd:5"), never_made).unwrap();
    assert_eq!(again.path(), made.path());
    assert_eq!(cache.get(&key("zstd:5")).unwrap().unwrap().path(), made.path());
    assert!(cache.get(&key("zstd:6")).unwrap().is_none());
    let reopened = Cache::open(Some(cache.root().to_owned())).unwrap();
    reopened.get_or_make(&key("zstd:5"), &origin("zstd:5"), never_made).unwrap();
}

#[test]
fn cost_of_making_a_variant_is_stored() {
    let (_folder, cache) = cache();
    let made = cache.get_or_make(&key("zstd:5"), &origin("zstd:5"), make(10)).unwrap().making_cost().unwrap();
    let found = cache.get(&key("zstd:5")).unwrap().unwrap().making_cost();
    assert_eq!(found, Some(made));
    // The time varies between machines; what the file says must be returned.
    let file = cache.variant_folder(&key("zstd:5")).join(METADATA_FILE);
    let made_up = MakingCost { cpu: Duration::from_millis(3), wall: Duration::from_millis(7), search: None };
    Metadata { making: Some(made_up), ..Metadata::read(&file).unwrap().unwrap() }.write(&file).unwrap();
    assert_eq!(cache.get(&key("zstd:5")).unwrap().unwrap().making_cost(), Some(made_up));
    // Metadata of an older version lacks it.
    let mut metadata: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    metadata.as_object_mut().unwrap().remove("making").unwrap();
    fs::write(&file, metadata.to_string()).unwrap();
    assert_eq!(cache.get(&key("zstd:5")).unwrap().unwrap().making_cost(), None);
}

#[test]
fn list_describes_each_variant() {
    let (_folder, cache) = cache();
    drop(cache.get_or_make(&key("lz4"), &origin("lz4"), make(7)).unwrap());
    drop(cache.get_or_make(&key("zstd:5"), &origin("zstd:5"), make(9)).unwrap());
    set_last_used(&cache, &key("lz4"), 100);
    let list = cache.list().unwrap();
    assert_eq!(list.iter().map(|variant| &*variant.spec).collect::<Vec<_>>(), ["zstd:5", "lz4"]);
    let lz4 = &list[1];
    assert_eq!((lz4.bytes, lz4.last_used, lz4.format_version), (7, 100, 1));
    assert_eq!((&*lz4.source, lz4.key), ("/somewhere/repo", key("lz4")));
    assert!(lz4.created > 1_600_000_000);
    drop(cache.get(&key("lz4")).unwrap());
    assert!(cache.list().unwrap().iter().all(|variant| variant.last_used > 100), "use was not noted");
}

/// Many rounds, since the interesting race (two threads find nothing before either has the lock) does not happen in
/// each.
#[test]
fn concurrent_requests_make_a_variant_once() {
    let (_folder, cache) = cache();
    for round in 0..40 {
        let spec = format!("zstd:{round}");
        let (makings, start) = (AtomicU32::new(0), Barrier::new(4));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    // Each thread opens the cache itself, as four processes would.
                    let cache = Cache::open(Some(cache.root().to_owned())).unwrap();
                    start.wait();
                    let variant = cache.get_or_make(&key(&spec), &origin(&spec), |repository| {
                        makings.fetch_add(1, Ordering::SeqCst);
                        thread::sleep(Duration::from_millis(2));
                        make(10)(repository)
                    });
                    assert!(variant.unwrap().path().join("pack").is_file());
                });
            }
        });
        assert_eq!(makings.load(Ordering::SeqCst), 1, "round {round}");
    }
}

#[test]
fn failed_making_leaves_nothing_and_can_be_repeated() {
    let (_folder, cache) = cache();
    let failed = cache.get_or_make(&key("zstd:5"), &origin("zstd:5"), |repository| {
        make(10)(repository).unwrap();
        Err("the source is damaged")
    });
    assert!(matches!(failed, Err(GetOrMakeError::Make("the source is damaged"))));
    assert_eq!(variant_names(&cache), [""; 0]);
    cache.get_or_make(&key("zstd:5"), &origin("zstd:5"), make(10)).unwrap();
}

#[test]
fn making_nothing_is_an_error() {
    let (_folder, cache) = cache();
    let result = cache.get_or_make(&key("zstd:5"), &origin("zstd:5"), |_| Ok::<_, Infallible>(None));
    assert!(matches!(result, Err(GetOrMakeError::Cache(CacheError::NothingMade { .. }))));
    assert_eq!(variant_names(&cache), [""; 0]);
}

#[test]
fn opening_removes_only_leftovers_of_interrupted_processes() {
    let (_folder, cache) = cache();
    let abandoned = [format!("{}{MAKING}", key("a")), format!("{}{REMOVING}", key("b"))];
    for name in &abandoned {
        fs::create_dir_all(cache.root().join(name).join(REPOSITORY_FOLDER)).unwrap();
    }
    let foreign = ["notes.making".to_owned(), "readme".to_owned()];
    for name in &foreign {
        fs::create_dir(cache.root().join(name)).unwrap();
    }
    cache
        .get_or_make(&key("c"), &origin("c"), |repository| {
            Cache::open(Some(cache.root().to_owned())).unwrap();
            assert!(repository.parent().unwrap().is_dir(), "a making in progress was removed");
            make(1)(repository)
        })
        .unwrap();
    let mut expected = vec![key("c").to_string()];
    expected.extend(foreign);
    expected.sort();
    assert_eq!(variant_names(&cache), expected);
}

#[test]
fn variant_without_metadata_is_remade_or_pruned() {
    let (_folder, cache) = cache();
    drop(cache.get_or_make(&key("zstd:5"), &origin("zstd:5"), make(10)).unwrap());
    let metadata = cache.variant_folder(&key("zstd:5")).join(METADATA_FILE);
    fs::write(&metadata, "{\"source\": 5}").unwrap();
    assert_eq!(cache.list().unwrap(), []);
    drop(cache.get_or_make(&key("zstd:5"), &origin("zstd:5"), make(20)).unwrap());
    assert_eq!(cache.list().unwrap()[0].bytes, 20);
    fs::remove_file(&metadata).unwrap();
    assert_eq!(cache.prune(PrunePolicy::KeepBytes(u64::MAX)).unwrap(), Freed::default());
    assert_eq!(variant_names(&cache), [""; 0]);
}

#[test]
fn pruning_all_keeps_variants_in_use() {
    let (_folder, cache) = cache();
    let in_use = cache.get_or_make(&key("used"), &origin("used"), make(100)).unwrap();
    drop(cache.get_or_make(&key("idle"), &origin("idle"), make(30)).unwrap());
    let freed = cache.prune(PrunePolicy::All).unwrap();
    assert_eq!(freed, Freed { variants: 1, bytes: 30, in_use: 1, ..Freed::default() });
    assert!(in_use.path().join("pack").is_file());
    drop(in_use);
    assert_eq!(
        cache.prune(PrunePolicy::All).unwrap(),
        Freed { variants: 1, bytes: 100, in_use: 0, ..Freed::default() }
    );
    assert_eq!(variant_names(&cache), [""; 0]);
    drop(cache.get_or_make(&key("used"), &origin("used"), make(5)).unwrap());
}

#[test]
fn pruning_goes_by_last_use() {
    let (_folder, cache) = cache();
    let now = unix_seconds(std::time::SystemTime::now());
    for (spec, bytes, age) in [("old", 10, 9000), ("older", 20, 10_000), ("new", 40, 0)] {
        drop(cache.get_or_make(&key(spec), &origin(spec), make(bytes)).unwrap());
        set_last_used(&cache, &key(spec), now - age);
    }
    let none = cache.prune(PrunePolicy::UnusedFor(Duration::from_secs(20_000))).unwrap();
    assert_eq!(none, Freed::default());
    assert_eq!(
        cache.prune(PrunePolicy::KeepBytes(50)).unwrap(),
        Freed { variants: 1, bytes: 20, in_use: 0, ..Freed::default() }
    );
    assert_eq!(cache.prune(PrunePolicy::KeepBytes(50)).unwrap(), Freed::default());
    let freed = cache.prune(PrunePolicy::UnusedFor(Duration::from_secs(5000))).unwrap();
    assert_eq!(freed, Freed { variants: 1, bytes: 10, in_use: 0, ..Freed::default() });
    assert_eq!(cache.list().unwrap()[0].spec, "new");
}

#[test]
fn default_folder_follows_the_xdg_specification() {
    let path = |text: &str| Some(PathBuf::from(text));
    assert_eq!(default_root(path("/x"), path("/home/me")), path("/x/repackbench"));
    assert_eq!(default_root(path("relative"), path("/home/me")), path("/home/me/.cache/repackbench"));
    assert_eq!(default_root(None, path("/home/me")), path("/home/me/.cache/repackbench"));
    assert_eq!(default_root(path(""), None), None);
}

#[test]
fn cache_folder_has_a_cachedir_tag() {
    let (_folder, cache) = cache();
    let tag = fs::read_to_string(cache.root().join("CACHEDIR.TAG")).unwrap();
    assert!(tag.starts_with("Signature: 8a477f597d28d172789f06886806bc55\n"));
}
