//! Keeping SSA form where values get further names.

mod repair;

pub use repair::{Join, Pieces, repair};
