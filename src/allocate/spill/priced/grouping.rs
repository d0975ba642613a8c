//! Which blocks are decided about by themselves, and which together with blocks before them.
//!
//! If each block is decided about by itself, the bound is one of all plans, but every open value that is live into a block
//! costs a decision. Small functions need few such decisions, and have them all. In others, a budget of them goes to the
//! blocks where values compete for registers, the most frequent first. All other blocks are grouped
//! ([`super::segment_merging`]).
//!
//! Ensures: beside those that grouping leaves, the number of decisions is at most linear in the number of instructions.

use super::excess_pressure::ExcessPressure;
use super::thoroughness::Thoroughness;
use super::tuning::{HEAD_DECISIONS, HEAD_DECISIONS_PER_INSTRUCTION, OFTEN, SMALL};
use crate::allocate::spill::problem::Problem;
use crate::machine::Block;
use cranelift_entity::EntitySet;

pub(super) enum Grouping {
    /// Each block is decided about by itself.
    None,
    /// Only these are.
    AllBut(EntitySet<Block>),
}

impl Grouping {
    pub(super) fn new(thoroughness: Thoroughness, problem: &Problem, pressure: &ExcessPressure) -> Self {
        if thoroughness.considers_all() || is_small(problem, pressure) {
            return Grouping::None;
        }
        Grouping::AllBut(most_frequent(problem, pressure))
    }
}

/// Whether a function is so small that grouping its blocks would save hardly any time.
fn is_small(problem: &Problem, pressure: &ExcessPressure) -> bool {
    let mut left = SMALL;
    let mut blocks = problem.order.blocks().iter().filter(|&&block| !problem.is_passed(block));
    blocks.all(|&block| match left.checked_sub(head_decisions(problem, pressure, block)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    })
}

/// The most frequent blocks with excess pressure, as far as the budget goes. Part of it is for those that are executed often.
fn most_frequent(problem: &Problem, pressure: &ExcessPressure) -> EntitySet<Block> {
    let function = &problem.conventional.function;
    let frequency = |block: Block| function.blocks[block].frequency;
    let mut blocks: Vec<Block> = pressure.blocks.iter().collect();
    blocks.sort_by(|&one, &other| frequency(other).total_cmp(&frequency(one)));
    let often = OFTEN * frequency(function.entry());
    let for_hot_ones = (HEAD_DECISIONS_PER_INSTRUCTION * function.insts.len() as f64) as usize;
    let mut left = HEAD_DECISIONS + for_hot_ones;
    let mut apart = EntitySet::with_capacity(function.blocks.len());
    for block in blocks {
        let kept_back = if frequency(block) >= often { 0 } else { for_hot_ones };
        let decisions = head_decisions(problem, pressure, block);
        if left < kept_back + decisions {
            break;
        }
        left -= decisions;
        apart.insert(block);
    }
    apart
}

/// The number of decisions that a block needs at its head if it is decided about by itself.
fn head_decisions(problem: &Problem, pressure: &ExcessPressure, block: Block) -> usize {
    problem.liveness.live_in(block).iter().filter(|&&value| pressure.values.contains(value)).count()
}
