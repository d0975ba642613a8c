//! Callee-saved registers are bought: the values in one have to be worth its save and restore.
//!
//! They are bought in one fixed order, so that each constraint knows its capacity for every number of them. If a block that
//! control need not come to dominates all excess pressure, they are used only in blocks that it dominates, so that shrink
//! wrapping can save them there.

use super::tuning::WRAPPING_DOUBT;
use crate::allocate::cost::{self, Added};
use crate::allocate::cuts::{MOST_BOUGHT, Units};
use crate::allocate::pressure::limits::Limits;
use crate::allocate::spill::problem::Problem;
use crate::analysis::{PinLiveness, Untouched};
use crate::machine::{Block, InstFlags, Reg, RegSet};
use cranelift_entity::EntitySet;
use std::cmp::Reverse;
use std::rc::Rc;

/// The callee-saved registers that can be bought, and their cost.
pub(super) struct CalleeSaved {
    /// Registers that still hold the caller's values, by the number bought.
    untouched: Vec<RegSet>,
    registers: Vec<Reg>,
    /// The cost of saving and restoring one.
    cost: f64,
    /// The blocks in which they can be used, if not all.
    within: Option<EntitySet<Block>>,
}

impl CalleeSaved {
    /// The registers that can be bought. Those that the program overwrites are saved anyway, and so are all if values cross
    /// bundles of jumps: interpreters go on for long.
    pub(super) fn new(problem: &Problem) -> Self {
        let function = &problem.conventional.function;
        let file = &function.file;
        let sets = |reg: Reg| problem.limits.sets_with(reg);
        let given = file.callee_saved - PinLiveness::written(function);
        let mut registers: Vec<Reg> = match problem.bundles.iter().find(|(_, meeting)| !meeting.at_pads) {
            None => given.iter().filter(|&reg| sets(reg) > 0).collect(),
            Some(_) => Vec::new(),
        };
        // First the registers that most sets have, then those that make no instruction longer, then in the order of
        // their class.
        let rank = |reg: Reg| {
            let class = file.classes.values().filter(|class| class.regs.contains(reg)).max_by_key(|class| class.regs.len());
            class.and_then(|class| class.order.iter().position(|&other| other == reg))
        };
        registers.sort_by_cached_key(|&reg| (Reverse(sets(reg)), file.prefixed.contains(reg), rank(reg), reg));
        // Registers of another bank would need an order of their own. No calling convention that compilers choose by
        // themselves has any.
        let bank = registers.first().map(|&reg| file.bank(reg));
        registers.retain(|&reg| Some(file.bank(reg)) == bank);
        registers.truncate(MOST_BOUGHT);
        let untouched = (0..=registers.len()).map(|bought| registers[bought..].iter().copied().collect()).collect();
        CalleeSaved { untouched, registers, cost: 0.0, within: None }
    }

    /// Confines them to where they are needed: these blocks have excess pressure. (Values that cross bundles may need them
    /// elsewhere.)
    pub(super) fn needed_in(&mut self, problem: &Problem, blocks: &EntitySet<Block>) {
        let Some(&entry) = problem.order.blocks().first() else { return };
        self.cost = Wrap::new(problem, entry, cost::SAVE, cost::RESTORE).cost;
        let function = &problem.conventional.function;
        if function.returns_twice || problem.bundles.iter().next().is_some() {
            return;
        }
        let first = blocks.iter().reduce(|a, b| problem.dominators.meet(a, b));
        if let Some(first) = first.and_then(|block| outside_of_loops(problem, block)).filter(|&block| block != entry) {
            // A value that comes into one there has come in another register.
            let copy = problem.cost(cost::COPY, function.blocks[first].frequency);
            let saved = self.cost - wrapping(problem, first) - copy;
            if saved > 0.0 {
                self.cost -= (1.0 - WRAPPING_DOUBT) * saved;
                let within = self.within.insert(EntitySet::with_capacity(function.blocks.len()));
                within.extend(around(problem, first));
            }
        }
    }

    pub(super) fn count(&self) -> usize {
        self.registers.len()
    }

    /// The registers that still hold the caller's values if this many are bought, or as many as there are.
    pub(super) fn untouched(&self, bought: usize) -> RegSet {
        self.untouched[bought.min(self.count())]
    }

    /// The registers that still hold the caller's values everywhere, and where the bought ones do.
    pub(super) fn left_by(&self, bought: usize) -> Untouched {
        let everywhere = self.untouched(bought);
        let used = self.untouched[0] - everywhere;
        let within = self.within.as_ref().filter(|_| !used.is_empty());
        Untouched { everywhere, outside: within.map(|within| Rc::new((used, within.clone()))) }
    }

    /// All of them, in the order in which they are bought.
    pub(super) fn registers(&self) -> &[Reg] {
        &self.registers
    }

    /// The number of registers that a set gains, by the number bought.
    pub(super) fn gained(&self, limits: &Limits, set: usize) -> [i32; MOST_BOUGHT + 1] {
        let of_set = |bought: usize| self.registers.iter().take(bought).filter(|&&reg| limits.contains(set, reg)).count();
        std::array::from_fn(|bought| of_set(bought) as i32)
    }

    /// The cost of each, in units.
    pub(super) fn cost_of_each(&self, units: Units) -> i64 {
        units.cost(self.cost)
    }

    /// The cost of saving and restoring all registers but these.
    pub(super) fn cost_of_all_but(&self, untouched: &Untouched) -> f64 {
        self.cost * (self.untouched[0] - untouched.everywhere).len() as f64
    }
}

/// The last block outside of loops on the way of control to a block, if there is one.
fn outside_of_loops(problem: &Problem, mut block: Block) -> Option<Block> {
    while let Some(header) = problem.loops.innermost(block) {
        block = problem.dominators.idom(header)?;
    }
    Some(block)
}

/// The blocks that a block dominates.
fn around(problem: &Problem, first: Block) -> impl Iterator<Item = Block> {
    problem.order.blocks().iter().copied().filter(move |&block| problem.dominators.dominates(first, block))
}

/// The cost of saving a register where control comes to a block, and of restoring it where control leaves the blocks that it
/// dominates. If that is one place, and no call elsewhere needs a frame, LLVM's shrink wrapping moves the prologue and the
/// epilogue there. Otherwise each register is saved by itself.
fn wrapping(problem: &Problem, first: Block) -> f64 {
    let function = &problem.conventional.function;
    let data = &function.blocks[first];
    if data.landing_pad || data.on_edge {
        return f64::INFINITY;
    }
    let calls = |block: Block| function.block_insts(block).any(|inst| !function.pins(inst).clobbers.is_empty());
    let mut elsewhere = problem.order.blocks().iter().filter(|&&block| !problem.dominators.dominates(first, block));
    let together = Wrap::new(problem, first, cost::SAVE, cost::RESTORE);
    match together.restores < 2 && !elsewhere.any(|&block| calls(block)) {
        true => together.cost,
        false => Wrap::new(problem, first, cost::SEPARATE_SAVE, cost::SEPARATE_RESTORE).cost,
    }
}

/// A register that is saved at the head of a block.
struct Wrap {
    cost: f64,
    /// The number of places in which it is restored.
    restores: usize,
}

impl Wrap {
    fn new(problem: &Problem, first: Block, save: Added, restore: Added) -> Self {
        let function = &problem.conventional.function;
        let frequency = |block: Block| function.blocks[block].frequency;
        // Control leaves a block without successors by its last instruction, unless there is none to leave by.
        let returns = |block: Block| {
            let last = function.block_insts(block).next_back();
            function.blocks[block].succs.is_empty() && last.is_some_and(|inst| function.insts[inst].is(InstFlags::TERMINATOR))
        };
        let mut wrap = Wrap { cost: problem.cost(save, frequency(first)), restores: 0 };
        let mut restored = |frequency: f64| {
            wrap.cost += problem.cost(restore, frequency);
            wrap.restores += 1;
        };
        for block in around(problem, first) {
            if returns(block) {
                restored(frequency(block));
            }
            for &succ in function.blocks[block].succs.iter().filter(|&&succ| !problem.dominators.dominates(first, succ)) {
                let takes_code = !function.takes_no_code(block, succ);
                restored(if takes_code { cost::edge(function, block, succ) } else { f64::INFINITY });
            }
        }
        wrap
    }
}
