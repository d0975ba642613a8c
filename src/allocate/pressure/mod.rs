//! Register pressure: whether there are registers enough. Spilling has to ensure that there are, and assignment relies on
//! it.
//!
//! [`limits`] are the register sets that values compete for, and [`demand`] is what one instruction asks of them. Where
//! counting is not enough, [`feasible`] asks for a [`matching`] of values to registers, the one that assignment will look
//! for. [`meeting`] asks for registers at edges that can take no code.
//!
//! Requires: a function, and which of its values are in registers at a point.
//! Ensures: an answer that assignment can rely on: if these values fit, there is a register for each of them before, during
//! and after the instruction. Nothing is changed.
//! Relies on: Hall's theorem, by which counts decide ([`limits`]), and augmenting paths where they do not ([`matching`]).
//!
//! ```text
//!                              lives on past it    demand
//! v0:w = op                                        v0, when it is written
//! v1:w(reuse=1) = op v0                            one register throughout, first for v0 and then for v1
//! v2:w(reuse=1) = op v1        v1                  one register throughout, for v2
//! op v1 v2                                         v1 and v2, while they are read
//! ```
//!
//! Two registers are enough. With one, the third instruction is the first that asks for too many
//! (`testdata/functions/two_address.txt`).

pub(in crate::allocate) mod demand;
pub(in crate::allocate) mod feasible;
pub(in crate::allocate) mod limits;
pub(in crate::allocate) mod live_set;
pub(in crate::allocate) mod matching;
pub(in crate::allocate) mod meeting;
pub mod pin_policy;
