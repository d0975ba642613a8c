//! SSA form: its conventional kind, and how it is kept where values get further names.

pub mod conventional;
mod repair;

pub use repair::{Join, Pieces, repair};
