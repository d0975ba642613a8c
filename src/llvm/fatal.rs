//! What LLVM does not report as a result: its fatal errors, and crashes.
//!
//! LLVM's readers are not hardened: a corrupted file can make them crash. The process then still ends with one message, which
//! says whose fault it is, and status 1.

use super::ffi;
use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, Ordering};

/// What a last message starts with. Replaced prefixes are leaked, because a signal may interrupt anything.
static PREFIX: AtomicPtr<String> = AtomicPtr::new(null_mut());

/// Who is at work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Ours,
    /// LLVM reads and verifies a module.
    Reading,
    /// LLVM's passes run, and the bridge's among them.
    Generating,
}

thread_local! {
    /// Of this thread. (Nothing is made or dropped for it, so a signal may interrupt anything.)
    static STAGE: Cell<Stage> = const { Cell::new(Stage::Ours) };
}

/// Does something that is said to have been at work if it ends the process.
pub(super) fn during<T>(stage: Stage, work: impl FnOnce() -> T) -> T {
    let before = STAGE.replace(stage);
    let done = work();
    STAGE.set(before);
    done
}

const CRASHES: [libc::c_int; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGTRAP, libc::SIGFPE, libc::SIGABRT];

/// From here on a fatal error or a crash ends the process with status 1 and a line on standard error that starts with
/// `prefix`.
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
    eprintln!("{}{who}{message}", prefix());
    std::process::exit(1);
}

fn prefix() -> &'static str {
    // SAFETY: a stored prefix lives forever.
    unsafe { PREFIX.load(Ordering::Acquire).as_ref() }.map_or("", String::as_str)
}

extern "C" fn crashed(signal: libc::c_int) {
    let (who, why) = match STAGE.get() {
        Stage::Reading => ("LLVM's reader", ": the file is damaged\n"),
        Stage::Generating => ("LLVM's code generation, or chordal's part in it,", "\n"),
        Stage::Ours => ("internal error: chordal", "\n"),
    };
    let how = match signal {
        libc::SIGSEGV => " crashed (segmentation fault)",
        libc::SIGABRT => " crashed (abort)",
        _ => " crashed",
    };
    for text in [prefix(), who, how, why] {
        // SAFETY: write and _exit may be called in a signal handler.
        unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
    }
    unsafe { libc::_exit(1) };
}
