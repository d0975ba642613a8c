//! Segments that go on into the next block, so that one decision does for both.
//!
//! A value that crosses from one block into another could be in a register in one and in memory in the other. But a refill
//! before the access is never cheaper than one at it, unless a loop begins between; and giving a register up pays only where
//! pressure is higher than it has been on the way. Where it is not, a value that found a register finds one again. Outside
//! of loops, it mostly does even with two registers fewer. There, the segment goes on. Where segments meet outside of loops,
//! the one goes on in which the value comes most often. This loses little, and saves half of SQLite's decisions.
//!
//! ```text
//!     excess pressure of the blocks on the way of a value that none of them accesses
//!
//!          1           1           0          1             4           1
//!       [ b1 ] ---> [ b2 ] ---> [ b3 ] --> [ b4 ] -----> [ b5 ] ---> [ b6 ]
//!       '----------------- x1 --------------------'      '------- x2 -------'
//! ```
//!
//! A value that a loop does not access need not be refilled for it, and if it is in a register before the loop, that is for
//! the sake of accesses after the loop or beside it. In functions that are not hot, its segment goes on through the whole
//! loop, however high the pressure is. In hot ones, it does if most executions that the segment has passed come there;
//! otherwise it pays to give the value up for an inner loop, and to keep it beside. This saves a sixth of SQLite's remaining
//! decisions, and makes spilling 0.3% dearer.
//!
//! Where far more values are live through blocks than there are instructions to access them, every segment goes on.
//! Otherwise, the work would grow with the number of blocks times that of values.
//!
//! Into blocks that are decided about by themselves ([`super::grouping`]), no segment goes on.

use super::excess_pressure::ExcessPressure;
use super::grouping::Grouping;
use super::passed_loops::PassedLoops;
use super::regions::is_hot;
use super::tuning::{FREQUENT, LEAD, LIVE_IN_PER_INSTRUCTION, MOST_LEAD, MOST_OF_EXECUTIONS, SLACK};
use crate::allocate::cuts::Decision;
use crate::allocate::spill::problem::Problem;
use crate::analysis::grouped::of_each;
use crate::machine::{Block, Function, Inst, Operand, RegClass, RegSet, Value};
use cranelift_entity::{EntitySet, SecondaryMap, packed_option::PackedOption};

/// The number of registers by which a block must be better supplied for a value that can be in these callee-saved ones.
fn lead(preserved: RegSet) -> i32 {
    LEAD.checked_div(preserved.len()).unwrap_or(MOST_LEAD).min(MOST_LEAD) as i32
}

/// The segments of the blocks that have been visited, and the excess pressure of the current one.
pub(super) struct SegmentMerging<'a> {
    function: &'a Function,
    /// Blocks that no segment goes on into.
    apart: EntitySet<Block>,
    /// Whether all segments go on.
    always: bool,
    is_hot: bool,
    loops: PassedLoops,
    /// Whether the current block has excess pressure anywhere.
    has_excess: bool,
    /// The excess pressure from the current block's head to the first access of each value.
    to_first_access: ExcessToAccess,
    /// The excess pressure from the last access of each value to the current block's end.
    from_last_access: ExcessToAccess,
    /// Whether the current block is [`FREQUENT`], and whether most executions of a block before it go elsewhere.
    is_frequent: bool,
    is_side_path: bool,
    /// The [`LEAD`] of each class.
    leads: SecondaryMap<RegClass, i32>,
    passed: SecondaryMap<Decision, Passage>,
}

/// The way of a segment so far.
#[derive(Clone, Copy, Default)]
struct Passage {
    /// The highest excess pressure.
    most_excess: i32,
    /// The highest frequency of a block.
    most_frequent: f64,
}

/// Excess pressure between one end of a block and the nearest access of each value, and in the whole block.
struct ExcessToAccess {
    in_block: i32,
    of: SecondaryMap<Value, (PackedOption<Block>, i32)>,
}

impl ExcessToAccess {
    fn new(function: &Function) -> Self {
        ExcessToAccess { in_block: 0, of: of_each(function.values.len()) }
    }

    fn meet(&mut self, block: Block, value: Value) {
        if self.of[value].0 != Some(block).into() {
            self.of[value] = (Some(block).into(), self.in_block);
        }
    }

    fn of(&self, block: Block, value: Value) -> Option<i32> {
        let (of, excess) = self.of[value];
        (of == Some(block).into()).then_some(excess)
    }
}

impl<'a> SegmentMerging<'a> {
    /// `None` if all segments end with blocks.
    pub(super) fn new(grouping: Grouping, problem: &'a Problem, pressure: &ExcessPressure) -> Option<Self> {
        let Grouping::AllBut(apart) = grouping else { return None };
        let Problem { order, loops, liveness, .. } = problem;
        let function = &problem.conventional.function;
        Some(SegmentMerging {
            function,
            apart,
            always: liveness.all_live_in() > LIVE_IN_PER_INSTRUCTION * function.insts.len(),
            is_hot: is_hot(function),
            loops: PassedLoops::new(function, order, loops, liveness, pressure),
            has_excess: false,
            to_first_access: ExcessToAccess::new(function),
            from_last_access: ExcessToAccess::new(function),
            is_frequent: false,
            is_side_path: false,
            leads: function
                .file
                .classes
                .iter()
                .map(|(class, data)| (class, lead(data.regs & function.file.callee_saved)))
                .collect(),
            passed: SecondaryMap::new(),
        })
    }

    /// Begins the next block.
    pub(super) fn enter(&mut self, pressure: &ExcessPressure, block: Block) {
        let function = self.function;
        let frequency = |block: Block| function.blocks[block].frequency;
        self.is_frequent = frequency(block) > FREQUENT * frequency(function.entry());
        let before = function.blocks[block].preds.iter().map(|&pred| frequency(pred));
        self.is_side_path = frequency(block) < MOST_OF_EXECUTIONS * before.fold(0.0, f64::max);
        let accessed =
            |inst: Inst, of: fn(&Operand) -> bool| function.operands(inst).iter().filter(move |o| of(o)).map(|o| o.value);
        self.to_first_access.in_block = pressure.heads[block];
        self.has_excess = pressure.blocks.contains(block);
        if !self.has_excess {
            return;
        }
        for inst in function.block_insts(block) {
            accessed(inst, |operand| !operand.is_def()).for_each(|value| self.to_first_access.meet(block, value));
            self.to_first_access.in_block = self.to_first_access.in_block.max(pressure.insts[inst]);
        }
        self.from_last_access.in_block = 0;
        for inst in function.block_insts(block).rev() {
            self.from_last_access.in_block = self.from_last_access.in_block.max(pressure.insts[inst]);
            accessed(inst, |_| true).for_each(|value| self.from_last_access.meet(block, value));
        }
    }

    pub(super) fn is_loop(&self, block: Block) -> bool {
        self.loops.begins(block)
    }

    /// The excess pressure in the loop that begins with a block, if one does that does not access the value with this index
    /// in `live_in`.
    pub(super) fn excess_in_passed_loop(&self, block: Block, index: usize) -> Option<i32> {
        self.loops.excess(block, index)
    }

    /// Whether a segment goes on into a loop that does not access its value and is entered this often.
    pub(super) fn goes_on_into_loop(&self, block: Block, decision: Decision, coming: f64) -> bool {
        let goes_on = !self.is_hot || coming >= MOST_OF_EXECUTIONS * self.passed[decision].most_frequent;
        goes_on && !self.apart.contains(block)
    }

    /// Notes that a segment goes through the loop that begins with the current block, if one does that does not access its
    /// value.
    pub(super) fn pass_loop(&mut self, block: Block, index: usize, decision: Decision) {
        if let Some(excess) = self.loops.excess(block, index) {
            let passed = &mut self.passed[decision];
            passed.most_excess = passed.most_excess.max(excess);
        }
    }

    /// Whether a segment goes on into the current block, which its value reaches in it from all predecessors, or from most.
    pub(super) fn goes_on(&self, block: Block, value: Value, decision: Decision) -> bool {
        if self.always || !self.has_excess {
            return true;
        }
        if self.apart.contains(block) {
            return false;
        }
        let ahead = self.to_first_access.of(block, value).unwrap_or(self.to_first_access.in_block);
        let lead = if ahead > 0 && self.is_side_path { self.leads[self.function.values[value].class] } else { 0 };
        let most_excess = self.passed[decision].most_excess;
        let slack = if most_excess > 0 && !self.is_frequent { SLACK } else { 0 };
        ahead + lead <= most_excess + slack
    }

    pub(super) fn is_frequent_block(&self) -> bool {
        self.is_frequent
    }

    /// Notes that a value leaves the current block in this segment.
    pub(super) fn leave(&mut self, block: Block, value: Value, decision: Decision) {
        let passed = &mut self.passed[decision];
        if self.has_excess {
            let excess = self.from_last_access.of(block, value).unwrap_or(self.to_first_access.in_block);
            passed.most_excess = passed.most_excess.max(excess);
        }
        passed.most_frequent = passed.most_frequent.max(self.function.blocks[block].frequency);
    }
}

/// The item with at least half of the weight. Of two with half each, the first.
pub(super) fn majority<T: Copy + PartialEq>(weighted: &[(T, f64)]) -> Option<T> {
    // Boyer and Moore's vote: an item with the majority is left if each of the others takes as much from it as it weighs.
    let mut candidate = None;
    let mut lead = 0.0;
    for &(it, weight) in weighted {
        if candidate == Some(it) {
            lead += weight;
        } else if candidate.is_none() || weight > lead {
            (candidate, lead) = (Some(it), weight - lead);
        } else {
            lead -= weight;
        }
    }
    let all: f64 = weighted.iter().map(|&(_, weight)| weight).sum();
    let own: f64 = weighted.iter().filter(|&&(it, _)| Some(it) == candidate).map(|&(_, weight)| weight).sum();
    candidate.filter(|_| 2.0 * own >= all)
}

#[cfg(test)]
mod tests {
    use super::majority;

    #[test]
    fn half_of_all_weight_is_a_majority() {
        assert_eq!(majority(&[('a', 1.0), ('b', 1.0)]), Some('a'));
        assert_eq!(majority(&[('a', 1.0), ('b', 3.0), ('a', 1.0)]), Some('b'));
        assert_eq!(majority(&[('a', 1.0), ('b', 3.0), ('a', 2.5)]), Some('a'));
        assert_eq!(majority(&[('a', 0.0), ('b', 1.0)]), Some('b'));
        assert_eq!(majority(&[('a', 2.0), ('b', 1.5), ('c', 1.5)]), None);
        assert_eq!(majority::<char>(&[]), None);
    }
}
