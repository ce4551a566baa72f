//! What leaves a variant is zlib, whatever its object store holds.
//!
//! git copies stored bytes into the packs that it sends, copies them between stores, and links packs into clones of a local path, unless
//! its command line or its configuration says otherwise. So both say so, from the moment at which such a command begins. What arrives in a
//! repository without a guard has to be zlib, too.

use std::{
    env,
    ffi::CStr,
    ptr,
    sync::atomic::{AtomicBool, AtomicPtr, Ordering},
};

use libc::{c_char, c_int, c_void};

use crate::{git_command::GitCommand, guarded, next::call_next, repository};

type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

/// The program's own, which ours calls.
static MAIN: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Commands that keep what others send as it is; `index-pack` is one where it reads that from its standard input.
const RECEIVERS: [&[u8]; 4] = [b"unpack-objects", b"remote-http", b"remote-https", b"http-fetch"];

/// Whether what this process takes in goes to a repository without a guard.
static ACCEPTS_ONLY_ZLIB: AtomicBool = AtomicBool::new(false);

/// Whether this process may not take chunks of ours: what reads them puts them as they are into a repository that plain git reads.
pub(crate) fn accepts_only_zlib() -> bool {
    ACCEPTS_ONLY_ZLIB.load(Ordering::Relaxed)
}

/// Words that a command lacks, and how many stand before them.
type Missing = (usize, Vec<&'static CStr>);

/// `__libc_start_main`, by which every program's `main` is called.
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
    // SAFETY: the loader's arguments, with our function in the place of the program's.
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

unsafe extern "C" fn start(count: c_int, words: *mut *mut c_char, environment: *mut *mut c_char) -> c_int {
    // SAFETY: what `__libc_start_main` was given, which is not null.
    let main = unsafe { std::mem::transmute::<*mut c_void, Main>(MAIN.load(Ordering::Acquire)) };
    // SAFETY: the program's words, which last as long as it.
    let (count, words) = guarded((count, words), || unsafe { completed(count, words) });
    // Its environment may have moved when something was added.
    // SAFETY: the C library's own.
    let environment = unsafe { if ENVIRONMENT.is_null() { environment } else { ENVIRONMENT } };
    // SAFETY: the program's own function and what belongs to it.
    unsafe { main(count, words, environment) }
}

unsafe extern "C" {
    /// The C library's environment.
    #[link_name = "environ"]
    static ENVIRONMENT: *mut *mut c_char;
}

/// The program's words with those that it lacks.
///
/// # Safety
/// There must be so many words, all C strings that last.
unsafe fn completed(count: c_int, words: *mut *mut c_char) -> (c_int, *mut *mut c_char) {
    let Ok(length) = usize::try_from(count) else { return (count, words) };
    // SAFETY: as the caller vouches.
    let given = unsafe { std::slice::from_raw_parts(words, length) };
    // SAFETY: as above.
    let texts: Vec<&[u8]> = given.iter().map(|word| unsafe { CStr::from_ptr(*word) }.to_bytes()).collect();
    let mut all = given.to_vec();
    // From the back, so that places in front stay what they are.
    for (at, missing) in lacking(&texts).into_iter().rev() {
        // Nobody writes to them.
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

/// What a git with these words lacks, if it is one. What can only be told by the environment is put there.
fn lacking(words: &[&[u8]]) -> Vec<Missing> {
    let command = GitCommand::of_words(words);
    if !command.is_git {
        return Vec::new();
    }
    // NextFunction all options, of which the last counts.
    let own = words.get(command.at..).unwrap_or_default();
    let end = command.at + own.iter().position(|word| *word == b"--").unwrap_or(own.len());
    match command.name.as_slice() {
        b"pack-objects" if command.sends && repository::may_read_variant(&command) => {
            let last = (end, vec![c"--no-reuse-object"]);
            match command.at {
                // Called by the command's own name.
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
        // Files as they are: plain git cannot read those of a variant.
        b"http-backend" if repository::http_request_is_for_variant() => {
            configure("http.getAnyFile=false");
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// Adds a setting to those that git was given on a command line, behind all others.
fn configure(setting: &str) {
    const PARAMETERS: &str = "GIT_CONFIG_PARAMETERS";
    let mut all = env::var_os(PARAMETERS).filter(|all| !all.is_empty()).unwrap_or_default();
    if !all.is_empty() {
        all.push(" ");
    }
    all.push(format!("'{setting}'"));
    // SAFETY: the program has not begun, so that no other thread looks at the environment.
    unsafe { env::set_var(PARAMETERS, all) };
}
