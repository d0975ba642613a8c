//! Keeping SSA form where values get further names.

mod repair;

pub use repair::{Pieces, repair};
