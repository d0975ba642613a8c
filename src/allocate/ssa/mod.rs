//! SSA form: its conventional kind, and its repair after live ranges have been split.
//!
//! [`conventional`] is what conversion ([`super::cssa`], [`super::destruct`]) hands to spilling. [`repair()`] is called by
//! spilling and assignment, which give the pieces of a live range names of their own.
//!
//! Requires: strict SSA form, but for uses that still read an old name of a value.
//! Ensures: strict SSA form again. Every use reads the name that reaches it, and φs join names where control joins.
//! Relies on: φs are needed at the iterated dominance frontier of the names' definitions, and nowhere else \[Cytron91\].
//!
//! ```text
//! b0: -> b1                       b0: -> b1
//!   v0:w = op                       v0:w = op
//! b1: -> b2 b3                    b1: -> b2 b3
//!                                   v2:w(of=v0) = phi b0:v0 b2:v1
//!   v1:w(of=v0) = parallel v0       v1:w(of=v0) = parallel v2
//!   op terminator                   op terminator
//! b2: -> b1                       b2: -> b1
//! b3:                             b3:
//!   op v0                           op v1
//! ```
//!
//! Assignment has moved v0 to another register in the loop, under the name v1. The φ joins it with v0, and the use reads v1
//! (after `testdata/functions/mock_phi.txt`).

pub mod conventional;
mod repair;

pub use repair::{Join, Pieces, repair};
