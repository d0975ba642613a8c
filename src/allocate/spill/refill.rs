//! The ways back into a register.

use crate::machine::{Inst, Value};

/// How a value gets back into a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refill {
    /// It is loaded from its home.
    Load,
    /// This instruction of the imported function is executed again.
    Rematerialise(Inst),
    /// This recomputable instruction of the imported function is executed again. It reads another value, which is in a
    /// register there. Only within blocks, never on edges.
    Recompute { inst: Inst, from: Value },
}
