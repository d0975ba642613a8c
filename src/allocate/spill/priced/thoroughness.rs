//! How thoroughly costs are minimised.

use crate::allocate::spill::config::Effort;

/// How thoroughly costs are minimised: how long to look for something better, and whether to prove that there is nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thoroughness {
    pub effort: Effort,
    /// Whether an integer program decides in the end. Not in every build ([`crate::allocate::HAS_SOLVER`]).
    pub exact: bool,
}

impl Thoroughness {
    /// Whether each block is decided about by itself. Otherwise neighbouring blocks may be decided about together
    /// ([`super::grouping`]), and the bound is one of plans that do so.
    pub fn considers_all(self) -> bool {
        self.exact || matches!(self.effort, Effort::More | Effort::Most)
    }
}
