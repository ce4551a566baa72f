//! Ensures that everything that leaves a variant is zlib, whatever its object store holds.
//!
//! git copies stored bytes into the packs that it sends, copies them between stores, and links packs into clones of a
//! local path, unless its command line or its configuration forbids it. So this module adds the options that forbid it
//! before such a command's `main` runs. Objects that a repository without a guard receives must be zlib, too.

use std::{
    env,
    ffi::CStr,
    ptr,
    sync::atomic::{AtomicBool, AtomicPtr, Ordering},
};

use libc::{c_char, c_int, c_void};
use repackbench_preload_abi::{SENDS_STORED, SENDS_VARIABLE};

use crate::{git_command::GitCommand, guarded, next::call_next, repository};

type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

/// The program's own `main`, which [`start`] calls.
static MAIN: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Commands that store received bytes unchanged. `index-pack` does that, too, when it reads from standard input.
const RECEIVERS: [&[u8]; 4] = [b"unpack-objects", b"remote-http", b"remote-https", b"http-fetch"];

/// Whether this process receives objects for a repository without a guard.
static ACCEPTS_ONLY_ZLIB: AtomicBool = AtomicBool::new(false);

/// Whether this process must reject chunks of ours, because it would store them unchanged in a repository that git
/// reads without this library.
pub(crate) fn accepts_only_zlib() -> bool {
    ACCEPTS_ONLY_ZLIB.load(Ordering::Relaxed)
}

/// Words to insert into a command line, and how many words come before them.
type Missing = (usize, Vec<&'static CStr>);

/// `__libc_start_main`, which calls every program's `main`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __libc_start_main(
    main: Option<Main>,
    count: c_int,
    words: *mut *mut c_char,
    init: *mut c_void,
    fini: *mut c_void,
    end_of_loader: *mut c_void,
    end_of_stack: *mut c_void,
) -> c_int {
    let address = main.map_or(ptr::null_mut(), |main| main as *mut c_void);
    MAIN.store(address, Ordering::Release);
    let ours: Option<Main> = main.map(|_| start as Main);
    // SAFETY: the loader's arguments, with our function in place of the program's.
    unsafe {
        call_next!(
            c"__libc_start_main": fn(
                Option<Main>, c_int, *mut *mut c_char, *mut c_void, *mut c_void, *mut c_void, *mut c_void
            ) -> c_int,
            (ours, count, words, init, fini, end_of_loader, end_of_stack),
            libc::abort()
        )
    }
}

/// Replaces the program's `main`.
unsafe extern "C" fn start(count: c_int, words: *mut *mut c_char, environment: *mut *mut c_char) -> c_int {
    // SAFETY: the function that `__libc_start_main` received, which is not null.
    let main = unsafe { std::mem::transmute::<*mut c_void, Main>(MAIN.load(Ordering::Acquire)) };
    // SAFETY: the program's words, which live as long as the process.
    let (count, words) = guarded((count, words), || unsafe { completed(count, words) });
    // The environment may have moved when a variable was added.
    // SAFETY: the C library's own.
    let environment = unsafe { if ENVIRONMENT.is_null() { environment } else { ENVIRONMENT } };
    // SAFETY: the program's own function with its arguments.
    unsafe { main(count, words, environment) }
}

unsafe extern "C" {
    /// The C library's environment.
    #[link_name = "environ"]
    static ENVIRONMENT: *mut *mut c_char;
}

/// The program's words, with the missing ones added.
///
/// # Safety
/// There must be `count` words, all C strings that are never freed.
unsafe fn completed(count: c_int, words: *mut *mut c_char) -> (c_int, *mut *mut c_char) {
    let Ok(length) = usize::try_from(count) else { return (count, words) };
    // SAFETY: the caller guarantees it.
    let given = unsafe { std::slice::from_raw_parts(words, length) };
    // SAFETY: as above.
    let texts: Vec<&[u8]> = given.iter().map(|word| unsafe { CStr::from_ptr(*word) }.to_bytes()).collect();
    let mut all = given.to_vec();
    // From the back, so that earlier positions stay valid.
    for (at, missing) in lacking(&texts).into_iter().rev() {
        // The program does not write to them.
        all.splice(at..at, missing.iter().map(|word| word.as_ptr().cast_mut()));
    }
    match c_int::try_from(all.len()) {
        Ok(number) if number != count => {
            all.push(ptr::null_mut());
            (number, all.leak().as_mut_ptr())
        }
        _ => (count, words),
    }
}

/// The words to add to a command line of git. A setting that cannot be a word is put into the environment.
fn lacking(words: &[&[u8]]) -> Vec<Missing> {
    let command = GitCommand::of_words(words);
    if !command.is_git {
        return Vec::new();
    }
    // After all options, because the last one counts.
    let own = words.get(command.at..).unwrap_or_default();
    let end = command.at + own.iter().position(|word| *word == b"--").unwrap_or(own.len());
    match command.name.as_slice() {
        b"pack-objects" if command.sends && sends_stored() => Vec::new(),
        b"pack-objects" if command.sends && repository::may_read_variant(&command) => {
            let last = (end, vec![c"--no-reuse-object"]);
            match command.at {
                // Started as `git-pack-objects`, which takes no `-c`.
                1 => {
                    configure("pack.allowPackReuse=false");
                    vec![last]
                }
                at => vec![(at - 1, vec![c"-c", c"pack.allowPackReuse=false"]), last],
            }
        }
        b"pack-objects" if !command.sends && repository::may_copy_unusable_chunks(&command, command.pack_place()) => {
            vec![(end, vec![c"--no-reuse-object"])]
        }
        name if RECEIVERS.contains(&name) || name == b"index-pack" && words.contains(&&b"--stdin"[..]) => {
            ACCEPTS_ONLY_ZLIB.store(!repository::may_read_variant(&command), Ordering::Relaxed);
            Vec::new()
        }
        b"clone" if command.operands.iter().any(|place| repository::is_variant(&command, place)) => {
            vec![(end, vec![c"--no-local"])]
        }
        // A client without this library cannot read a variant's files, so they are not served unchanged.
        b"http-backend" if repository::http_request_is_for_variant() => {
            configure("http.getAnyFile=false");
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// Whether whoever receives the packs of this process reads the codec of the variant, so that stored bytes may be sent.
fn sends_stored() -> bool {
    env::var_os(SENDS_VARIABLE).is_some_and(|value| value == SENDS_STORED)
}

/// Adds a setting after all those that git was given on a command line.
fn configure(setting: &str) {
    const PARAMETERS: &str = "GIT_CONFIG_PARAMETERS";
    let mut all = env::var_os(PARAMETERS).filter(|all| !all.is_empty()).unwrap_or_default();
    if !all.is_empty() {
        all.push(" ");
    }
    all.push(format!("'{setting}'"));
    // SAFETY: `main` has not started, so no other thread uses the environment.
    unsafe { env::set_var(PARAMETERS, all) };
}
