//! Embeds the preload libraries, so that the program can `exec` git wherever it is copied to.
//!
//! | build | what is embedded |
//! |---|---|
//! | release, for Linux | the libraries, which a cargo in this build script builds |
//! | debug, for Linux | room for them. Building them again would take minutes, and `cargo build` puts them beside the program. Tests fill the room of copies of the program |
//! | without the feature `embedded-preload`, for other systems, or linked statically | nothing |
//!
//! The other cargo has a target folder of its own, because this cargo holds the lock of the common one until it ends.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

#[path = "build/pack.rs"]
mod pack;

/// The reason why the build stops.
type Failure = Box<dyn std::error::Error>;

/// The packages of the libraries, in the order in which they are packed.
const PACKAGES: [&str; 2] = ["repackbench-preload", "repackbench-preload-codecs"];

/// The room in a debug build: enough for stripped libraries of a debug build.
const ROOM_LEN: usize = 12 << 20;

/// The level of zstd that makes a program smallest within seconds.
const LEVEL: i32 = 19;

/// The beginnings of variables that cargo sets for this build script, and that those of other packages would take for
/// their own.
const OWN_VARIABLES: [&str; 5] = ["CARGO_CFG_", "CARGO_FEATURE_", "CARGO_MANIFEST_", "CARGO_PKG_", "DEP_"];

/// Other variables for this build only. `cargo clippy` sets the last two.
const OTHER_VARIABLES: [&str; 4] = ["CARGO_TARGET_DIR", "OUT_DIR", "CLIPPY_ARGS", "RUSTC_WORKSPACE_WRAPPER"];

fn main() -> Result<(), Failure> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let packed = if !can_preload() {
        pack::room(0)
    } else if env::var("PROFILE")? == "release" {
        let [stand_in, codecs] = build_libraries(&out.join("preload"))?;
        pack::pack(&fs::read(stand_in)?, &fs::read(codecs)?, LEVEL)?
    } else {
        pack::room(ROOM_LEN)
    };
    fs::write(out.join("preload_libraries"), packed)?;
    Ok(())
}

/// Whether the program is for a system on which it can preload libraries, and is to embed them. A toolchain that links
/// everything statically makes no shared libraries.
fn can_preload() -> bool {
    let has = |name: &str, value: &str| env::var(name).is_ok_and(|list| list.split(',').any(|item| item == value));
    env::var_os("CARGO_FEATURE_EMBEDDED_PRELOAD").is_some()
        && has("CARGO_CFG_TARGET_OS", "linux")
        && !has("CARGO_CFG_TARGET_FEATURE", "crt-static")
}

/// Builds the libraries in the folder `target`, with the compiler, flags and target of this build. Returns their paths.
fn build_libraries(target: &Path) -> Result<[PathBuf; 2], Failure> {
    let triple = env::var("TARGET")?;
    let mut cargo = Command::new(env::var_os("CARGO").ok_or("CARGO: expected the path of cargo")?);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if OWN_VARIABLES.iter().any(|start| text.starts_with(start)) || OTHER_VARIABLES.contains(&&*text) {
            cargo.env_remove(name);
        }
    }
    // Flags for the compiler are in CARGO_ENCODED_RUSTFLAGS. With a named target, they are not for build scripts.
    cargo.args(["build", "--release", "--locked", "--target", &triple, "--target-dir"]).arg(target);
    // Otherwise a folder for intermediate files that the user's configuration names would be common to both.
    cargo.env("CARGO_BUILD_BUILD_DIR", target);
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        cargo.env(format!("CARGO_TARGET_{}_LINKER", triple.to_uppercase().replace(['-', '.'], "_")), linker);
    }
    // Nobody debugs what is embedded, and it makes the program larger.
    cargo.env("CARGO_PROFILE_RELEASE_DEBUG", "false").env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    cargo.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    if env::var_os("CARGO_FEATURE_ZLIB_NG").is_some() {
        cargo.args(["--features", "repackbench-preload-codecs/zlib-ng"]);
    }
    // cargo reads what a build script prints. Diagnostics of the other cargo go to stderr, which is shown if it fails.
    let status = cargo.current_dir(env::var("CARGO_MANIFEST_DIR")?).stdout(Stdio::null()).status()?;
    if !status.success() {
        let hint = "`--no-default-features` builds a program that needs them beside it";
        return Err(format!("the preload libraries could not be built ({status}); {hint}").into());
    }
    let built = target.join(triple).join("release");
    let libraries = PACKAGES.map(|package| built.join(format!("lib{}.so", package.replace('-', "_"))));
    watch_sources(&libraries)?;
    Ok(libraries)
}

/// Has cargo run this script again if a source file of the libraries changes, or the manifest of a package or workspace
/// with such a file. cargo lists the sources in a file beside each library, as rules of a makefile.
fn watch_sources(libraries: &[PathBuf]) -> Result<(), Failure> {
    let mut watched = BTreeSet::new();
    for library in libraries {
        let rules = fs::read_to_string(library.with_extension("d"))?;
        // A space in a path has a backslash before it.
        let sources = rules.lines().filter_map(|rule| Some(rule.split_once(": ")?.1.replace("\\ ", "\0")));
        let paths = sources.flat_map(|list| list.split(' ').map(|path| path.replace('\0', " ")).collect::<Vec<_>>());
        watched.extend(paths.map(PathBuf::from));
    }
    if watched.is_empty() {
        return Err("expected a list of source files beside each library".into());
    }
    let near = |file: &'static str| {
        let folders = watched.iter().flat_map(|source| source.ancestors());
        folders.map(move |folder| folder.join(file)).filter(|path| path.is_file())
    };
    let manifests: BTreeSet<PathBuf> = near("Cargo.toml").chain(near("Cargo.lock")).collect();
    watched.iter().chain(&manifests).for_each(|path| println!("cargo:rerun-if-changed={}", path.display()));
    Ok(())
}
