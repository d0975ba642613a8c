//! LLVM's fatal errors and crashes, which it does not report as results.

use super::ffi;
use std::cell::Cell;
use std::ptr::{null, null_mut};
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The beginning of a last message. A prefix that is replaced is leaked, because a signal may interrupt any code.
static PREFIX: AtomicPtr<String> = AtomicPtr::new(null_mut());

/// The component at work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Ours,
    /// LLVM reads and verifies a module.
    Reading,
    /// LLVM's passes run, including the bridge's.
    Generating,
}

thread_local! {
    /// The component at work on this thread. (Nothing is allocated or dropped for it, so a signal may interrupt any code.)
    static STAGE: Cell<Stage> = const { Cell::new(Stage::Ours) };

    /// The name of the function that chordal works on in this thread: address and length.
    static FUNCTION: Cell<(*const u8, usize)> = const { Cell::new((null(), 0)) };
}

/// Works on a function. If that ends the process, the last message names it.
pub(super) fn with_function<T>(name: &[u8], work: impl FnOnce() -> T) -> T {
    let before = FUNCTION.replace((name.as_ptr(), name.len()));
    let done = work();
    FUNCTION.set(before);
    done
}

/// Runs a stage. If that ends the process, the last message names it.
pub(super) fn during<T>(stage: Stage, work: impl FnOnce() -> T) -> T {
    let before = STAGE.replace(stage);
    let done = work();
    STAGE.set(before);
    done
}

const CRASHES: [libc::c_int; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGTRAP, libc::SIGFPE, libc::SIGABRT];

/// Makes a fatal error or a crash end the process with status 1 and a line on standard error that starts with `prefix`.
pub fn die_with_prefix(prefix: &str) {
    static HANDLERS: Once = Once::new();
    PREFIX.store(Box::into_raw(Box::new(prefix.to_owned())), Ordering::Release);
    HANDLERS.call_once(|| {
        for signal in CRASHES {
            // SAFETY: the handler does nothing that is unsafe in one; Rust has given the thread a stack for signals.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = crashed as extern "C" fn(libc::c_int) as usize;
                action.sa_flags = libc::SA_ONSTACK | libc::SA_RESETHAND | libc::SA_NODEFER;
                libc::sigaction(signal, &action, null_mut());
            }
        }
    });
}

/// LLVM's handler of fatal errors.
pub(super) extern "C" fn report(message: ffi::Str) {
    // SAFETY: LLVM passes a text that is alive.
    let message = super::module::one_line(&unsafe { message.text() });
    let who = if STAGE.get() == Stage::Reading { "LLVM's reader gave up: " } else { "" };
    let mut buffer = [0; LONGEST];
    let doing = match String::from_utf8_lossy(doing(&mut buffer)) {
        doing if doing.is_empty() => String::new(),
        doing => format!(" ({doing})"),
    };
    eprintln!("{}{who}{message}{doing}", prefix());
    std::process::exit(1);
}

/// The maximum length of the description of the work at hand, in bytes.
const LONGEST: usize = 512;

/// The work at hand on this thread, if it is known: the function that chordal works on, or LLVM's pass and its function. Takes no
/// memory from the heap.
fn doing(buffer: &mut [u8; LONGEST]) -> &[u8] {
    const FUNCTION_IS: &[u8] = b"function ";
    let (name, length) = FUNCTION.get();
    if length == 0 {
        // SAFETY: the buffer has that many bytes.
        let length = unsafe { ffi::ch_doing(buffer.as_mut_ptr(), LONGEST) };
        return &buffer[..length];
    }
    // SAFETY: whoever set the name is at work still.
    let name = unsafe { std::slice::from_raw_parts(name, length.min(LONGEST - FUNCTION_IS.len())) };
    let (start, rest) = buffer.split_at_mut(FUNCTION_IS.len());
    start.copy_from_slice(FUNCTION_IS);
    rest[..name.len()].copy_from_slice(name);
    &buffer[..FUNCTION_IS.len() + name.len()]
}

fn prefix() -> &'static str {
    // SAFETY: a stored prefix lives forever.
    unsafe { PREFIX.load(Ordering::Acquire).as_ref() }.map_or("", String::as_str)
}

extern "C" fn crashed(signal: libc::c_int) {
    let (who, why) = match STAGE.get() {
        Stage::Reading => ("LLVM's reader", ": the file is damaged"),
        Stage::Generating => ("LLVM's code generation, or chordal's part in it,", ""),
        Stage::Ours => ("internal error: chordal", ""),
    };
    let how = match signal {
        libc::SIGSEGV => " crashed (segmentation fault)",
        libc::SIGABRT => " crashed (abort)",
        _ => " crashed",
    };
    [prefix(), who, how, why].iter().for_each(|text| say(text.as_bytes()));
    let mut buffer = [0; LONGEST];
    let doing = doing(&mut buffer);
    if !doing.is_empty() {
        say(b": ");
        say(doing);
    }
    say(b"\n");
    unsafe { libc::_exit(1) };
}

fn say(text: &[u8]) {
    // SAFETY: write may be called in a signal handler.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}
