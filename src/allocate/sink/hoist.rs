//! Readers of a value, moved up in front of the two-address instruction that would overwrite it.
//!
//! Where the instruction cannot go down past the last use of the value, because what it computes is needed before, the other
//! uses may come first instead.
//!
//! ```text
//! v1:w(reuse=1) = op v0 movable     ; takes a copy of v0      v2:w(reuse=1) = op v0 movable     ; takes a copy of v0
//! op v1                                                       v3:w(reuse=1) = op v2 v0 movable
//! v2:w(reuse=1) = op v0 movable     ; takes a copy of v0      v1:w(reuse=1) = op v0 movable     ; overwrites v0
//! v3:w(reuse=1) = op v2 v0 movable                            op v1
//! ```
//!
//! Ensures: as many values as before are live on the way, or fewer: what the readers define takes the places of what they
//! read last.

use super::overwrite::{REACH, Sinker};
use crate::machine::{Bank, Block, Inst, Operand, Value};
use std::collections::BTreeSet;

/// How many readers may go up together, with what they are computed from.
const MOST: usize = 8;

impl Sinker<'_> {
    /// The instructions in a block's order that can go up in front of the one at `index`, so that it overwrites a value which
    /// then ends there, and the index of the last of them. `None` if there is no such value, or if that would not help.
    pub(super) fn readers(&self, block: Block, order: &[Inst], index: usize) -> Option<(Vec<Inst>, usize)> {
        // A form with three addresses needs no copy.
        let def = self.movable(order[index]).filter(|def| !def.reuse_none)?;
        let overwritten = self.overwritten(block, order[index], def)?;
        let mut behind = order.iter().enumerate().skip(index + 1).take(REACH);
        let (to, _) = behind.find(|&(_, &inst)| self.killed(inst, |value| value == overwritten))?;
        let between = &order[index + 1..=to];
        if between.iter().any(|&inst| self.destroys(inst)) {
            return None;
        }
        let mut readers = Readers { sinker: self, overwritten, insts: Vec::new(), read: Vec::new() };
        for &inst in between.iter().rev() {
            readers.consider(inst, def.value)?;
        }
        readers.take_no_more_registers(between).then_some((readers.insts, to))
    }
}

/// Instructions that read a value, and what they are computed from, found from the last one upwards.
struct Readers<'a> {
    sinker: &'a Sinker<'a>,
    overwritten: Value,
    insts: Vec<Inst>,
    /// The values that these instructions read.
    read: Vec<Value>,
}

impl Readers<'_> {
    /// Adds an instruction if it reads the value, or defines what the others read. `None` if it would have to move and may
    /// not.
    fn consider(&mut self, inst: Inst, behind: Value) -> Option<()> {
        let operands = self.sinker.operands(inst);
        let reads = |value: Value| operands.iter().any(|o| !o.is_def() && o.value == value);
        let is_needed = |o: &Operand| o.is_def() && self.read.contains(&o.value);
        if !reads(self.overwritten) && !operands.iter().any(is_needed) {
            return Some(());
        }
        self.sinker.movable(inst)?;
        if self.insts.len() == MOST || reads(behind) || self.sinker.wants(inst, self.overwritten) {
            return None;
        }
        self.insts.push(inst);
        self.read.extend(operands.iter().filter(|o| !o.is_def()).map(|o| o.value));
        Some(())
    }

    /// Whether no bank has more values to hold between where the instructions go and where they were. The value that all of
    /// them read ends in front.
    fn take_no_more_registers(&self, between: &[Inst]) -> bool {
        let stays = |inst: &&Inst| !self.insts.contains(inst);
        let is_read_behind = |value: Value| {
            let mut others = between.iter().filter(stays).flat_map(|&inst| self.sinker.operands(inst));
            others.any(|o| !o.is_def() && o.value == value)
        };
        let ends = |value: Value| {
            let is_last = self.insts.iter().any(|&inst| self.sinker.killed(inst, |of| of == value));
            value == self.overwritten || is_last && !is_read_behind(value)
        };
        let defs = self.insts.iter().flat_map(|&inst| self.sinker.operands(inst)).filter(|o| o.is_def());
        let defined: BTreeSet<Value> = defs.map(|o| o.value).collect();
        let read: BTreeSet<Value> = self.read.iter().copied().collect();
        let of_bank = |value: Value, bank: Bank| self.sinker.bank(value) == bank;
        let fits = |bank: Bank| {
            let before = read.difference(&defined).filter(|&&value| of_bank(value, bank) && ends(value)).count();
            let after = defined.iter().filter(|&&value| of_bank(value, bank) && !ends(value)).count();
            after <= before
        };
        defined.iter().all(|&value| fits(self.sinker.bank(value)))
    }
}
