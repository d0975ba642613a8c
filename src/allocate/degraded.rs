//! Phases that did something else than their allocator is named for, so that whoever compares allocators knows.

use serde::{Deserialize, Serialize};

/// A phase that did less than it was asked for, in one function, and why. The allocation is as right as any other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Degraded {
    /// The phase's name.
    pub phase: String,
    /// The other thing that it did, and why.
    pub reason: String,
}

impl Degraded {
    pub fn new(phase: &str, reason: impl Into<String>) -> Self {
        Degraded { phase: phase.into(), reason: reason.into() }
    }
}
