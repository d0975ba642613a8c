//! Which segments go on from block to block.
//!
//! A value that passes from one block into the next could be in a register in the one and not in the other. To refill it before
//! it is accessed is never cheaper than later, unless a loop begins. To give it up pays only where registers are scarcer than
//! they have been on its way; where they are not, what found room will find room again, and outside of loops it mostly does
//! where two more are missing. So there its segment goes on, and both blocks take one decision. Where segments meet, outside of
//! loops, it is the one in which the value comes mostly that goes on. That loses little, and saves half of SQLite's decisions.
//!
//! What a loop does not access need not be refilled for it, and where it is in a register in front of the loop, this is for the
//! sake of what comes behind it or beside it. In functions that are not hot, its segment goes on through the whole loop, however
//! scarce registers are there; in hot ones, if most that pass the segment come there: else it pays to give the value up for an inner
//! loop, and keep it beside. That saves a sixth of the decisions that are left of SQLite's, and makes spilling 0.3% dearer.
//!
//! Where far more values pass through blocks than there are instructions to access them, every segment goes on: the work would
//! otherwise grow with blocks times values.
//!
//! Not so at efforts that consider all plans ([`Priced::considers_all`]): there, segments end with blocks.

use super::Priced;
use super::excess_pressure::Tight;
use super::passed_loops::PassedLoops;
use super::regions::is_hot;
use crate::allocate::cuts::Decision;
use crate::allocate::spill::problem::Problem;
use crate::analysis::grouped::of_each;
use crate::machine::{Block, Function, Inst, Operand, RegClass, RegSet, Value};
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};

/// By how many registers a block has to be better supplied at most if many executions do not come there.
const MOST_LEAD: usize = 2;

/// The same, times how many registers a value can be in that calls preserve: by two where there are two of these, by one where
/// there are four. Where there are six, hardly a value has to leave that passes through what is seldom executed.
const LEAD: usize = 5;

/// How often a block is executed, for each execution of one before it, if most come there.
const MOST_COME: f64 = 0.6;

/// By how many registers a block may be worse supplied where they are scarce already, unless it is executed [`OFTEN`].
const SLACK: i32 = 2;

/// Executions for each time that the function is entered: more are in loops, where slack costs a program of the corpus up to a tenth
/// more instructions executed.
const OFTEN: f64 = 1.1;

/// How many values may be live into blocks, for each instruction, if it is to be considered whether segments go on. Of the
/// corpus's functions, one of perl's has most: 41.
const CONSIDERED: usize = 64;

/// By how many registers a block has to be better supplied for values that can be in these callee-saved ones.
fn lead(preserved: RegSet) -> i32 {
    LEAD.checked_div(preserved.len()).unwrap_or(MOST_LEAD).min(MOST_LEAD) as i32
}

/// What is known of the segments that have been passed, and of the current block.
pub(super) struct Passing<'a> {
    function: &'a Function,
    /// Whether all segments go on.
    always: bool,
    is_hot: bool,
    loops: PassedLoops,
    /// Whether registers are scarce anywhere in the current block.
    is_scarce: bool,
    /// How scarce registers are from the current block's head to the first access of a value.
    ahead: Scarcity,
    /// Likewise behind the last one, to the block's end.
    behind: Scarcity,
    /// Whether the current block is executed [`OFTEN`], and whether most executions of what comes before it go elsewhere.
    is_often: bool,
    is_aside: bool,
    /// Of each class, [`LEAD`] by its callee-saved registers.
    leads: SecondaryMap<RegClass, i32>,
    passed: SecondaryMap<Decision, Passed>,
}

/// What a segment has passed.
#[derive(Clone, Copy, Default)]
struct Passed {
    /// How scarce registers have been at most.
    scarcest: i32,
    /// How often a block is executed at most.
    most: f64,
}

/// How scarce registers are between one end of a block and each value's access that is nearest to it, and in the whole block.
struct Scarcity {
    in_block: i32,
    of: SecondaryMap<Value, (PackedOption<Block>, i32)>,
}

impl Scarcity {
    fn new(function: &Function) -> Self {
        Scarcity { in_block: 0, of: of_each(function.values.len()) }
    }

    fn meet(&mut self, block: Block, value: Value) {
        if self.of[value].0 != Some(block).into() {
            self.of[value] = (Some(block).into(), self.in_block);
        }
    }

    fn of(&self, block: Block, value: Value) -> Option<i32> {
        let (of, scarcity) = self.of[value];
        (of == Some(block).into()).then_some(scarcity)
    }
}

impl<'a> Passing<'a> {
    /// `None` if segments end with blocks.
    pub(super) fn new(priced: &Priced, problem: &'a Problem, tight: &Tight) -> Option<Self> {
        let Problem { order, loops, liveness, .. } = problem;
        let function = &problem.conventional.function;
        (!priced.considers_all()).then(|| Passing {
            function,
            always: liveness.all_live_in() > CONSIDERED * function.insts.len(),
            is_hot: is_hot(function),
            loops: PassedLoops::new(function, order, loops, liveness, tight),
            is_scarce: false,
            ahead: Scarcity::new(function),
            behind: Scarcity::new(function),
            is_often: false,
            is_aside: false,
            leads: function
                .file
                .classes
                .iter()
                .map(|(class, data)| (class, lead(data.regs & function.file.callee_saved)))
                .collect(),
            passed: SecondaryMap::new(),
        })
    }

    /// Looks at the next block.
    pub(super) fn enter(&mut self, tight: &Tight, block: Block) {
        let function = self.function;
        let frequency = |block: Block| function.blocks[block].frequency;
        self.is_often = frequency(block) > OFTEN * frequency(function.entry());
        let before = function.blocks[block].preds.iter().map(|&pred| frequency(pred));
        self.is_aside = frequency(block) < MOST_COME * before.fold(0.0, f64::max);
        let accessed =
            |inst: Inst, of: fn(&Operand) -> bool| function.operands(inst).iter().filter(move |o| of(o)).map(|o| o.value);
        self.ahead.in_block = tight.heads[block];
        self.is_scarce = tight.blocks.contains(block);
        if !self.is_scarce {
            return;
        }
        for inst in function.block_insts(block) {
            accessed(inst, |operand| !operand.is_def()).for_each(|value| self.ahead.meet(block, value));
            self.ahead.in_block = self.ahead.in_block.max(tight.insts[inst]);
        }
        self.behind.in_block = 0;
        for inst in function.block_insts(block).rev() {
            self.behind.in_block = self.behind.in_block.max(tight.insts[inst]);
            accessed(inst, |_| true).for_each(|value| self.behind.meet(block, value));
        }
    }

    /// Whether a loop begins with a block.
    pub(super) fn is_loop(&self, block: Block) -> bool {
        self.loops.begins(block)
    }

    /// How scarce registers are in the loop that begins with the current block, if one does that passes the value in this row.
    pub(super) fn scarcity_in_passed_loop(&self, block: Block, row: usize) -> Option<i32> {
        self.loops.scarcity(block, row)
    }

    /// Whether a segment goes on into a loop that passes its value, and that control comes to so often.
    pub(super) fn goes_on_into_loop(&self, decision: Decision, coming: f64) -> bool {
        !self.is_hot || coming >= MOST_COME * self.passed[decision].most
    }

    /// A value is in this segment throughout the loop that begins with the current block, if one does that passes it.
    pub(super) fn pass_loop(&mut self, block: Block, row: usize, decision: Decision) {
        if let Some(scarcity) = self.loops.scarcity(block, row) {
            let passed = &mut self.passed[decision];
            passed.scarcest = passed.scarcest.max(scarcity);
        }
    }

    /// Whether a value's segment goes on into the current block, to which it comes from all predecessors, or from those that
    /// control comes from mostly.
    pub(super) fn goes_on(&self, block: Block, value: Value, decision: Decision) -> bool {
        if self.always || !self.is_scarce {
            return true;
        }
        let ahead = self.ahead.of(block, value).unwrap_or(self.ahead.in_block);
        let lead = if ahead > 0 && self.is_aside { self.leads[self.function.values[value].class] } else { 0 };
        let scarcest = self.passed[decision].scarcest;
        let slack = if scarcest > 0 && !self.is_often { SLACK } else { 0 };
        ahead + lead <= scarcest + slack
    }

    /// Whether the current block is executed [`OFTEN`].
    pub(super) fn is_executed_often(&self) -> bool {
        self.is_often
    }

    /// At the current block's end, a value is in this segment.
    pub(super) fn leave(&mut self, block: Block, value: Value, decision: Decision) {
        let passed = &mut self.passed[decision];
        if self.is_scarce {
            let scarcity = self.behind.of(block, value).unwrap_or(self.ahead.in_block);
            passed.scarcest = passed.scarcest.max(scarcity);
        }
        passed.most = passed.most.max(self.function.blocks[block].frequency);
    }
}

/// What has at least half of all weight. (Of two that have half each, the first.)
pub(super) fn majority<T: Copy + PartialEq>(weighted: &[(T, f64)]) -> Option<T> {
    // It is what is left if others take as much from it as they weigh (Boyer and Moore's vote).
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
