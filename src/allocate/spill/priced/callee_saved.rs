//! Callee-saved registers: what is in one has to be worth saving and restoring it.
//!
//! They are bought in one order, so that it is known beforehand how much room each number of them makes where.

use crate::allocate::cost;
use crate::allocate::cuts::{MOST_BOUGHT, price};
use crate::allocate::spill::Problem;
use crate::analysis::PinLiveness;
use crate::machine::{Block, Reg, RegSet};
use std::cmp::Reverse;

/// The callee-saved registers that can be bought, and what one costs.
pub(super) struct CalleeSaved {
    /// Those that keep what the caller left in them, by how many are bought.
    untouched: Vec<RegSet>,
    registers: Vec<Reg>,
    /// What it costs to save and restore one.
    cost: f64,
}

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
        let frequency = |block| function.blocks[block].frequency;
        // Control comes to the end of a block without successors if there is an instruction that it leaves by.
        let returns = |block: Block| {
            let last = function.block_insts(block).next_back();
            function.blocks[block].succs.is_empty() && last.is_some_and(|inst| function.insts[inst].terminator)
        };
        let exits = problem.order.blocks().iter().filter(|&&block| returns(block));
        let saved = problem.order.blocks().first().map_or(0.0, |&entry| problem.cost(cost::SAVE, frequency(entry)));
        let restored: f64 = exits.map(|&block| problem.cost(cost::RESTORE, frequency(block))).sum();
        let untouched = (0..=registers.len()).map(|bought| registers[bought..].iter().copied().collect()).collect();
        CalleeSaved { untouched, registers, cost: saved + restored }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.registers.len()
    }

    /// Those that keep what the caller left in them, if so many are bought, or as many as there are.
    pub(super) fn untouched(&self, bought: usize) -> RegSet {
        self.untouched[bought.min(self.count())]
    }

    /// All of them, in the order in which they are bought.
    pub(super) fn registers(&self) -> &[Reg] {
        &self.registers
    }

    /// What one costs, in units of [`price`].
    pub(super) fn price(&self) -> i64 {
        price(self.cost)
    }

    /// What it costs to save and restore those that are not untouched.
    pub(super) fn cost(&self, untouched: RegSet) -> f64 {
        self.cost * (self.untouched[0] - untouched).len() as f64
    }
}
