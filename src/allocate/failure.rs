//! The reasons why a function could not be allocated. It may be beyond an allocator, or there is a bug; these are two
//! things.
//!
//! Another allocator may stand in for one that does not support a function. For a bug there is no substitute: it is
//! reported, with the function that shows it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// A reason why a function could not be allocated.
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

/// The function contains something that the allocator cannot handle: no number of registers is enough for an instruction, or
/// a construct is not implemented. Another allocator may handle it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unsupported(pub String);

/// A phase broke its promise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Defect {
    /// A phase panicked.
    #[error("{0}")]
    Panic(String),
    /// A phase found impossible what earlier phases have to make possible.
    #[error("{0}")]
    Impossible(String),
    /// The allocation is wrong.
    #[error("the checker rejects the allocation: {0}")]
    Rejected(String),
}

thread_local! {
    /// Whether a panic in this thread is going to be caught.
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    static PANIC: Cell<Option<String>> = const { Cell::new(None) };
}

/// Runs an allocation, or part of one. A panic becomes a defect, with the message and the place that the panic hook has
/// noted.
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
