//! Tests exchanging commits between repositories with different codecs.

use std::fs;

use crate::support::{Hg, quoted, scratch};

#[test]
fn zlib_and_lz4_repositories_exchange_commits() {
    for hg in Hg::extended() {
        let folder = scratch();
        let (zlib, lz4) = (folder.path().join("zlib"), folder.path().join("lz4"));
        hg.stock().set("format.revlog-compression=zlib").new_repository(&zlib);
        let lz4hc = hg.codec("lz4hc:9");
        lz4hc.run(folder.path(), ["clone", "-q", "--pull", "zlib", "lz4"]);
        assert_eq!(Hg::engine_requirements(&lz4), ["exp-compression-lz4"]);
        assert!(hg.chunk_kinds(&lz4, "text").iter().any(|kind| kind == "0x34"));

        lz4hc.commit_round(&lz4, 10);
        hg.run(&zlib, ["pull", "-q", "-u", "../lz4"]);
        hg.stock().commit_round(&zlib, 11);
        lz4hc.run(&lz4, ["pull", "-q", "-u", "../zlib"]);
        lz4hc.commit_round(&lz4, 12);
        lz4hc.run(&lz4, ["push", "-q", "../zlib"]);

        hg.verify(&lz4);
        hg.stock().verify(&zlib);
        assert_eq!(hg.history(&lz4), hg.stock().history(&zlib));
        assert_eq!(Hg::engine_requirements(&zlib), [""; 0]);
    }
}

#[test]
fn local_clone_keeps_chunks_and_requirement() {
    for hg in Hg::extended() {
        let folder = scratch();
        let (original, copy) = (folder.path().join("original"), folder.path().join("copy"));
        hg.codec("lz4").new_repository(&original);
        hg.run(folder.path(), ["clone", "-q", "original", "copy"]);
        assert_eq!(Hg::engine_requirements(&copy), ["exp-compression-lz4"]);
        hg.verify(&copy);
        let revlog =
            |repository: &std::path::Path| fs::read(repository.join(".hg/store/data/text.i")).expect("a revlog");
        assert_eq!(revlog(&original), revlog(&copy));
    }
}

#[test]
fn stream_clone_copies_the_requirement() {
    for server in Hg::extended() {
        let folder = scratch();
        let original = folder.path().join("original");
        server.codec("lz4").new_repository(&original);
        // Pulled changesets become public. They are public before, so that the clones differ only in their store.
        server.run(&original, ["phase", "--public", "all()"]);
        // Instead of a shell on another machine, a shell on this one, in which `hg` is the server's hg.
        let connection = folder.path().join("connection.sh");
        let (program, configuration) = server.program_and_configuration();
        let hgrc = folder.path().join("hgrc");
        fs::write(&hgrc, configuration).expect("the server's configuration");
        let hg = format!("HGRCPATH={} {}", quoted(&hgrc), quoted(program));
        let script = format!("hg() {{ {hg} \"$@\"; }}\nshift\neval \"$*\"\n");
        fs::write(&connection, script).expect("the connection's script");
        let clone = |hg: &Hg, name: &str| {
            let source = format!("ssh://host/{}", original.display());
            let shell = format!("sh {}", quoted(&connection));
            hg.run(folder.path(), ["clone", "-q", "--stream", "--ssh", &shell, &source, name]);
            folder.path().join(name)
        };

        let streamed = clone(&server, "streamed");
        assert_eq!(Hg::engine_requirements(&streamed), ["exp-compression-lz4"]);
        server.verify(&streamed);
        assert!(server.chunk_kinds(&streamed, "text").iter().any(|kind| kind == "0x34"));

        // Stock hg cannot use the store, so it pulls instead.
        let pulled = clone(&server.stock(), "pulled");
        assert!(!Hg::engine_requirements(&pulled).contains(&"exp-compression-lz4".to_owned()));
        server.stock().verify(&pulled);
        assert_eq!(server.stock().history(&pulled), server.history(&original));
    }
}
