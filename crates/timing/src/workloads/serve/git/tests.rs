use std::{fs, process::Command};

use repackbench_writer::{ConvertJob, JobControl, Layout, StoreKind, convert};

use super::*;

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(folder).args(["-c", "user.name=A", "-c", "user.email=a@example.com"]).args(arguments);
    // The user may have set GIT_DIR or a folder of configuration.
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", folder);
    assert!(command.output().unwrap().status.success(), "git {arguments:?}");
}

#[test]
fn btree_values_are_found_beforehand_and_sent_by_id() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("source");
    fs::create_dir(&path).unwrap();
    git(&path, &["init", "-q", "-b", "main"]);
    for number in 0..12u64 {
        // Some of a leaf, some of several overflow pages.
        let mut state = number + 1;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        let content: Vec<u8> = (0..10 + 900 * number).map(|_| noise()).collect();
        fs::write(path.join(format!("file {}", number % 5)), content).unwrap();
        git(&path, &["add", "."]);
        git(&path, &["commit", "-q", "-m", &number.to_string()]);
    }
    let source = Repository::open(&path).unwrap();
    let layout = Layout { store: StoreKind::Btree, ..Layout::default() };
    let target = folder.path().join("btree");
    convert(&source, &"zstd:3".parse().unwrap(), layout, &ConvertJob::new(&target, JobControl::quiet(1))).unwrap();
    let variant = Repository::open(&target).unwrap();
    let place = VariantPlace::of(&variant, Decoders::default());
    let range = HistoryRange { revision: "HEAD".to_owned(), commits: None, seed: 0 };
    let mut server = PackServer::at(&place, &range).unwrap();

    let count = 36;
    let entries = &server.plan.entries;
    assert_eq!(entries.len(), count);
    assert!(entries.iter().map(|entry| entry.place.id).is_sorted());
    for entry in entries {
        assert_eq!(entry.btree, Some(server.stores[0].expect_in_btree(&entry.place.id).unwrap()));
    }

    let recoding = server.record(Client::Zlib).unwrap();
    assert_eq!(recoding.encodes.len(), count);
    assert_eq!(recoding.encodes.last().unwrap().decodes, count, "each is decoded once");
    for client in [Client::Same, Client::Zlib] {
        let pack = folder.path().join(format!("{client:?}.pack"));
        let served = server.serve(client, Some(&pack), true).unwrap();
        let encoded = if client == Client::Zlib { count as u64 } else { 0 };
        assert_eq!((served.entries, served.encoded), (count as u64, encoded));
    }
    git(folder.path(), &["init", "-q", "--bare", "check"]);
    git(&folder.path().join("check"), &["index-pack", "--strict", "../Zlib.pack"]);
}
