//! The ways back into a register.

use crate::machine::{Inst, Value};

/// How a value gets into a register again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refill {
    /// From its home.
    Load,
    /// By this instruction of the imported function, which is executed again.
    Rematerialise(Inst),
    /// By a recomputable instruction that reads another value, which is in a register there. Only within blocks.
    Recompute { inst: Inst, from: Value },
}
