//! Finds the blocks that control reaches, by search.

use chordal::machine::{Block, Function};
use std::collections::BTreeSet;

/// The blocks that control reaches from one, itself included, if it never enters `without`.
pub fn reached(function: &Function, from: Block, without: Option<Block>) -> BTreeSet<Block> {
    let mut reached = BTreeSet::new();
    let mut stack = vec![from];
    while let Some(block) = stack.pop() {
        if Some(block) != without && reached.insert(block) {
            stack.extend(&function.blocks[block].succs);
        }
    }
    reached
}
