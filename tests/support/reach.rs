//! Which blocks control reaches, by search.

use chordal::machine::{Block, Function};
use std::collections::BTreeSet;

/// The blocks that control reaches from one, itself among them, if it never enters another one.
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
