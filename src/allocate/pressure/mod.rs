//! Whether there are registers enough: what spilling has to ensure and assignment relies on.
//!
//! [`limits`] are the register sets that values compete for, [`demand`] what one instruction asks of them. Where counting is
//! not enough, [`feasible`] asks for a [`matching`] of values to registers, the one that assignment will look for.
//! [`meeting`] is the same question at edges that can take no code.

pub(in crate::allocate) mod demand;
pub(in crate::allocate) mod feasible;
pub(in crate::allocate) mod limits;
pub(in crate::allocate) mod live_set;
pub(in crate::allocate) mod matching;
pub(in crate::allocate) mod meeting;
pub mod pin_policy;
