//! Variables of the program out of SSA form, each in one register all its life: where they are live, what keeps them from
//! registers, and what a register for each of them amounts to. Linear scan and graph colouring are about the rest.

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
