//! Callee-saved registers: what is in one has to be worth saving and restoring it.
//!
//! They are bought in one order, so that it is known beforehand how much room each number of them makes where. If control need not
//! come to where registers are scarce, they are used there and nowhere else, so that shrink wrapping can save them there.

use crate::allocate::cost::{self, Added};
use crate::allocate::cuts::{MOST_BOUGHT, Units};
use crate::allocate::pressure::limits::Limits;
use crate::allocate::spill::problem::Problem;
use crate::analysis::{PinLiveness, Untouched};
use crate::machine::{Block, Reg, RegSet};
use cranelift_entity::EntitySet;
use std::cmp::Reverse;
use std::rc::Rc;

/// The callee-saved registers that can be bought, and what one costs.
pub(super) struct CalleeSaved {
    /// Those that keep what the caller left in them, by how many are bought.
    untouched: Vec<RegSet>,
    registers: Vec<Reg>,
    /// What it costs to save and restore one.
    cost: f64,
    /// The blocks in which they can be used; all if none are named.
    within: Option<EntitySet<Block>>,
}

/// That part of what wrapping saves which is not counted: LLVM's shrink wrapping does not always come as far (0 and 0.3 were
/// tried).
const DOUBT: f64 = 0.15;

impl CalleeSaved {
    /// Those that the program overwrites are saved anyway, and so are all where values cross bundles of jumps: which ones do is
    /// decided before.
    pub(super) fn new(problem: &Problem) -> Self {
        let function = &problem.conventional.function;
        let file = &function.file;
        let sets = |reg: Reg| problem.limits.sets_with(reg);
        let given = file.callee_saved - PinLiveness::written(function);
        let mut registers: Vec<Reg> = match problem.bundles.iter().find(|(_, meeting)| !meeting.at_pads) {
            None => given.iter().filter(|&reg| sets(reg) > 0).collect(),
            Some(_) => Vec::new(),
        };
        // Those first that most values can be in, then those with short names, then in the order of their class.
        let place = |reg: Reg| {
            let class = file.classes.values().filter(|class| class.regs.contains(reg)).max_by_key(|class| class.regs.len());
            class.and_then(|class| class.order.iter().position(|&other| other == reg))
        };
        registers.sort_by_cached_key(|&reg| (Reverse(sets(reg)), file.prefixed.contains(reg), place(reg), reg));
        // Of another bank, they would be bought in an order of their own: no calling convention that compilers choose by
        // themselves has such ones.
        let bank = registers.first().map(|&reg| file.bank(reg));
        registers.retain(|&reg| Some(file.bank(reg)) == bank);
        registers.truncate(MOST_BOUGHT);
        let untouched = (0..=registers.len()).map(|bought| registers[bought..].iter().copied().collect()).collect();
        CalleeSaved { untouched, registers, cost: 0.0, within: None }
    }

    /// They are wanted in no other blocks than these. (What crosses bundles has been decided before, and may want them elsewhere.)
    pub(super) fn wanted_in(&mut self, problem: &Problem, blocks: &EntitySet<Block>) {
        let Some(&entry) = problem.order.blocks().first() else { return };
        self.cost = Wrap::new(problem, entry, cost::SAVE, cost::RESTORE).cost;
        let function = &problem.conventional.function;
        if function.returns_twice || problem.bundles.iter().next().is_some() {
            return;
        }
        let first = blocks.iter().reduce(|a, b| problem.dominators.meet(a, b));
        if let Some(first) = first.and_then(|block| outside_of_loops(problem, block)).filter(|&block| block != entry) {
            // What is in one by then has come in another register.
            let copy = problem.cost(cost::COPY, function.blocks[first].frequency);
            let saved = self.cost - wrapping(problem, first) - copy;
            if saved > 0.0 {
                self.cost -= (1.0 - DOUBT) * saved;
                let within = self.within.insert(EntitySet::with_capacity(function.blocks.len()));
                within.extend(around(problem, first));
            }
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.registers.len()
    }

    /// Those that keep what the caller left in them, if so many are bought, or as many as there are.
    pub(super) fn untouched(&self, bought: usize) -> RegSet {
        self.untouched[bought.min(self.count())]
    }

    /// The same, and where those that are bought do so, too.
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

    /// How many registers of a set those are that are bought, by how many are.
    pub(super) fn made(&self, limits: &Limits, set: usize) -> [i32; MOST_BOUGHT + 1] {
        let of_set = |bought: usize| self.registers.iter().take(bought).filter(|&&reg| limits.contains(set, reg)).count();
        std::array::from_fn(|bought| of_set(bought) as i32)
    }

    /// What one costs.
    pub(super) fn price(&self, units: Units) -> i64 {
        units.price(self.cost)
    }

    /// What it costs to save and restore those that are not untouched.
    pub(super) fn cost(&self, untouched: &Untouched) -> f64 {
        self.cost * (self.untouched[0] - untouched.everywhere).len() as f64
    }
}

/// The last block outside of loops that control passes on its way to this one, if there is any.
fn outside_of_loops(problem: &Problem, mut block: Block) -> Option<Block> {
    while let Some(header) = problem.loops.innermost(block) {
        block = problem.dominators.idom(header)?;
    }
    Some(block)
}

/// The blocks that one dominates.
fn around(problem: &Problem, first: Block) -> impl Iterator<Item = Block> {
    problem.order.blocks().iter().copied().filter(move |&block| problem.dominators.dominates(first, block))
}

/// What it costs to save a register where control comes to a block, and to restore it where control leaves what the block
/// dominates. If that is in one place, and there are no calls elsewhere, for which there would be a frame, LLVM's shrink wrapping
/// has the prologue and the epilogue do it; else each register is saved for itself.
fn wrapping(problem: &Problem, first: Block) -> f64 {
    let function = &problem.conventional.function;
    let data = &function.blocks[first];
    if data.landing_pad || data.jump_target || data.on_edge {
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

/// A register that is saved where control comes to a block.
struct Wrap {
    cost: f64,
    /// In how many places it is restored.
    restores: usize,
}

impl Wrap {
    fn new(problem: &Problem, first: Block, save: Added, restore: Added) -> Self {
        let function = &problem.conventional.function;
        let frequency = |block: Block| function.blocks[block].frequency;
        // Control comes to the end of a block without successors if there is an instruction that it leaves by.
        let returns = |block: Block| {
            let last = function.block_insts(block).next_back();
            function.blocks[block].succs.is_empty() && last.is_some_and(|inst| function.insts[inst].terminator)
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
