//! Variables of a program out of SSA form, each in one register all its life: what linear scan and graph colouring share.
//!
//! [`positions`] puts the program in a line. [`intervals`] says at which positions each variable is live, and [`registers`]
//! which registers are taken there. [`temporaries`] matches the short intervals of one instruction with registers, and
//! [`answer`] turns a register for each interval into an [`Assignment`](super::Assignment).
//!
//! Requires: webs none of whose values interfere.
//! Ensures: two intervals can share a register if and only if they have no position in common.
//! Relies on: \[THS98\] for intervals with holes.
//!
//! ```text
//! b0: -> b1 b2              v0    v1    v2
//!   v0:w = op               |
//!   op v0 terminator        |
//! b1: -> b3
//!   v1:w = op                     |
//!   v2:w = op                     |     |
//!   op v1 v2                      |     |
//! b2: -> b3                 |
//!   op v0                   |
//! b3:
//! ```
//!
//! v0 is not live in b1, so its interval has a hole there, into which v1 fits: both are in a, and v2 is in b
//! (`testdata/functions/hole.txt`).

pub(super) mod answer;
pub(super) mod intervals;
pub(super) mod positions;
pub(super) mod registers;
pub(super) mod temporaries;

use crate::machine::Reg;
use cranelift_entity::SecondaryMap;
use intervals::Interval;

/// The registers of the intervals that have one.
pub(super) type Chosen = SecondaryMap<Interval, Option<Reg>>;
