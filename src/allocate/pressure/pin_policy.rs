//! Policies about registers that the program itself occupies.

use crate::analysis::{Liveness, PinLiveness, Untouched};
use crate::machine::Function;

/// How values avoid registers that the program pins or clobbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PinPolicy {
    /// A value never has a register that is occupied anywhere in its live range; if none is left, the value is spilled [PP05,
    /// "Handling Pre-colored Virtual Registers"].
    Avoid,
    /// Values that are in the way move to other registers.
    Repair,
    /// As [`Self::Repair`]. Besides, a value that lives on past its copy to a register of the program may share that register for
    /// as long as both hold the same content ([`crate::analysis::Held`]).
    Hold,
    /// Before each instruction that takes registers, all live values get new names, which may be in any registers. So the
    /// instruction constrains only names that begin there [Hack, "Register Constraints by Perm-Optimization"].
    Permute,
}

impl PinPolicy {
    /// Whether values change registers where they have to.
    pub fn moves(self) -> bool {
        self != PinPolicy::Avoid
    }

    /// The registers that the program occupies, and the values held in them, beside those that stay untouched.
    pub fn occupied(self, function: &Function, liveness: &Liveness, untouched: &Untouched) -> PinLiveness {
        let pins = PinLiveness::new(function).keeping(function, untouched);
        if self == PinPolicy::Hold { pins.holding(function, liveness) } else { pins }
    }
}
