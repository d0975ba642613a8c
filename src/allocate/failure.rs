//! Why a function could not be allocated: what is beyond an allocator, and what is a bug, are two things.
//!
//! Another allocator may stand in for one that does not support a function. Nothing stands in for a bug: it is reported, with
//! the function that shows it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// Why a function could not be allocated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    #[error("this is a bug in chordal: {0}")]
    Defect(Defect),
}

impl From<Defect> for Failure {
    fn from(defect: Defect) -> Self {
        Failure::Defect(defect)
    }
}

/// The function contains what the allocator cannot handle: no registers are enough for an instruction, a construct is not
/// implemented. Another allocator may.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unsupported(pub String);

/// A phase broke its promise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Defect {
    /// A phase panicked.
    #[error("{0}")]
    Panic(String),
    /// What the phases before have to make possible is not.
    #[error("{0}")]
    Impossible(String),
    /// The allocation is wrong.
    #[error("the checker rejects the allocation: {0}")]
    Rejected(String),
}

thread_local! {
    /// Whether a panic is going to be caught here.
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    static PANIC: Cell<Option<String>> = const { Cell::new(None) };
}

/// Runs (part of) an allocation. A panic becomes a defect, whose message, with the place, the panic hook catches.
///
/// # Errors
/// Those of the allocation.
pub fn guarded<T>(run: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let default = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if CATCHING.get() {
                PANIC.set(Some(info.to_string().replace('\n', " ")));
            } else {
                default(info);
            }
        }));
    });
    CATCHING.set(true);
    let result = catch_unwind(AssertUnwindSafe(run));
    CATCHING.set(false);
    result.unwrap_or_else(|_| Err(Defect::Panic(PANIC.take().unwrap_or_default()).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_defect() {
        let Err(Failure::Defect(Defect::Panic(message))) = guarded::<()>(|| panic!("no {} left", "register")) else {
            panic!("the panic was no defect");
        };
        assert!(message.contains("no register left") && message.contains("failure.rs"), "{message}");
        assert_eq!(guarded(|| Ok(1)), Ok(1));
    }
}
