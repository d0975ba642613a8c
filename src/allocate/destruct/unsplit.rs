//! Removal of the blocks that split critical edges.
//!
//! φ elimination after allocation needs critical edges split, so the imported function has a block on each edge that can be
//! split. Destruction does without these blocks.
//!
//! Requires: blocks on edges are empty, and come after all other blocks.
//! Ensures: the same function without them. All blocks stay, however, if a φ takes a value over one of these edges that is
//! defined too late to be copied before the branch, or if two edges join the same blocks. Splitting the edge is the way out
//! of both [Bo09, §21.1 "Limitations"]. LLVM's code has neither.

use super::isolation::is_defined_from;
use crate::machine::{Block, Function};

/// Removes the blocks on edges, if there are any and none of them is needed.
pub fn unsplit(function: &Function) -> Option<Function> {
    let on_edges = || function.blocks.iter().filter(|(_, data)| data.on_edge).map(|(block, _)| block);
    let real = on_edges().next()?.as_u32() as usize;
    if on_edges().any(|block| has_to_stay(function, block)) {
        return None;
    }
    let ends = |block: Block| (function.blocks[block].preds[0], function.blocks[block].succs[0]);
    let on_edge = |block: Block| function.blocks[block].on_edge;
    let mut unsplit = function.clone();
    unsplit.blocks = function.blocks.values().take(real).cloned().collect();
    for data in unsplit.blocks.values_mut() {
        data.preds.iter_mut().filter(|pred| on_edge(**pred)).for_each(|pred| *pred = ends(*pred).0);
        data.succs.iter_mut().filter(|succ| on_edge(**succ)).for_each(|succ| *succ = ends(*succ).1);
    }
    Some(unsplit)
}

/// Whether only code on this edge can give the φs at its target their arguments.
fn has_to_stay(function: &Function, edge: Block) -> bool {
    let (from, to) = (function.blocks[edge].preds[0], function.blocks[edge].succs[0]);
    if function.blocks[to].on_edge || function.blocks[from].on_edge {
        return true;
    }
    let source = |pred: Block| if function.blocks[pred].on_edge { function.blocks[pred].preds[0] } else { pred };
    let again = function.blocks[to].preds.iter().filter(|&&pred| source(pred) == from).count() > 1;
    let column = function.column(edge, to);
    let departure = function.before_terminators(from);
    let late = |value| is_defined_from(function, value, departure);
    again || function.blocks[to].phis.iter().filter_map(|phi| phi.args[column].expand()).any(late)
}
