//! Phases that did less than their allocator is named for. They say so, so that whoever compares allocators knows.

use serde::{Deserialize, Serialize};

/// A phase that did less than it was asked for in one function. The allocation is as right as any other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Degraded {
    /// The phase's name.
    pub phase: String,
    /// Its substitute, and why.
    pub reason: String,
}

impl Degraded {
    pub fn new(phase: &str, reason: impl Into<String>) -> Self {
        Degraded { phase: phase.into(), reason: reason.into() }
    }
}
