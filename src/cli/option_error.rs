//! Why an allocator, or an option of one, is refused.

use crate::allocate::HAS_SOLVER;

/// Why an allocator cannot be had as the command line asks for it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OptionError {
    #[error("there is no such allocator; the nearest is `{nearest}` (`chordal list` shows all)")]
    NoAllocator { nearest: &'static str },
    #[error("{option} is for {whose} allocators, not for {allocator}")]
    OtherAllocators { option: String, whose: &'static str, allocator: &'static str },
    #[error("{0} allocates in LLVM only")]
    InLlvmOnly(&'static str),
    #[error("{0} cannot be held to registers")]
    AlwaysAllRegisters(&'static str),
    #[error("{0} is not for LLVM's fast allocator, which is never scheduled for")]
    NeverScheduled(&'static str),
    #[error("NAME=VALUE is needed")]
    NoValue,
    #[error("there is no `{name}`, only {known}")]
    NoSwitch { name: String, known: String },
    #[error("`{switch}` takes {choices}, not `{value}`")]
    NoChoice { switch: &'static str, choices: String, value: String },
    #[error("{option} has no effect on {allocator}: it is for {condition}")]
    Unread { option: String, allocator: &'static str, condition: &'static str },
    #[error("{option} turns on {switch}, which has no effect on {allocator}: it is for {condition}")]
    PartlyUnread { option: String, switch: &'static str, allocator: &'static str, condition: &'static str },
    #[error("`--spill {spilling}` needs slots that phis share, which `--phi-memory eliminate={elimination}` does without")]
    NoSharedSlots { spilling: &'static str, elimination: &'static str },
    #[error("this chordal was built without a solver for integer programs; `make optimal` builds one that has it")]
    NoSolver,
    /// The first line of what clap says of words that are no allocator with options.
    #[error("{0}")]
    Words(String),
}

impl OptionError {
    /// An error if integer programs are to be solved by a build that cannot.
    pub fn unless_solvable(needs_solver: bool) -> Result<(), Self> {
        if needs_solver && !HAS_SOLVER { Err(OptionError::NoSolver) } else { Ok(()) }
    }
}
