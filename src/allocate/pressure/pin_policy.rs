//! What is done about registers that the program itself occupies.

use crate::analysis::{Liveness, PinLiveness, Untouched};
use crate::machine::Function;

/// What happens to values where the program pins or clobbers registers.
///
/// Avoiding them is `ssa-register-allocator.txt`, "Handling Pre-colored Virtual Registers".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PinPolicy {
    /// Values are kept off registers that are occupied anywhere in their live range, or spilled.
    Avoid,
    /// Values move to other registers where they are in the way.
    Repair,
    /// Likewise, and a value that lives on past its copy to a register of the program may be there as long as the program wants
    /// the copy ([`crate::analysis::Held`]).
    Hold,
    /// All live values get new names, which may be in any registers, before each instruction that takes registers: the
    /// constraint of such an instruction concerns names that live on from there only (`ssa-allocation-lecture.txt`, "Register
    /// Constraints by Perm-Optimization").
    Permute,
}

impl PinPolicy {
    /// Whether values change registers where they have to.
    pub fn moves(self) -> bool {
        self != PinPolicy::Avoid
    }

    /// Where registers are occupied by the program, and with what, beside those that are left untouched.
    pub fn occupied(self, function: &Function, liveness: &Liveness, untouched: &Untouched) -> PinLiveness {
        let pins = PinLiveness::new(function).keeping(function, untouched);
        if self == PinPolicy::Hold { pins.holding(function, liveness) } else { pins }
    }
}
