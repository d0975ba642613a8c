//! Allocators of others, on chordal's model.

pub mod regalloc2;
