//! From registers of intervals to registers of operands.

use super::Chosen;
use super::intervals::{Interval, Intervals};
use super::registers::Registers;
use crate::allocate::assign::{Assignment, Repair, Split};
use crate::analysis::Liveness;
use crate::machine::{Block, Function, Inserted, Inst, InstKind, Reg, Value};

/// A register for every interval.
pub(in crate::allocate::assign) struct Placed<'a> {
    pub(in crate::allocate::assign) function: &'a Function,
    pub(in crate::allocate::assign) intervals: &'a Intervals,
    pub(in crate::allocate::assign) registers: &'a Registers,
    pub(in crate::allocate::assign) chosen: &'a Chosen,
}

impl Placed<'_> {
    /// The assignment that gives each operand the register of its interval.
    pub(in crate::allocate::assign) fn answer(&self, liveness: &Liveness) -> Assignment {
        let function = self.function;
        let live = liveness.at_debug_uses(function);
        let debug = function.debug_uses.iter().zip(live).map(|(debug, live)| live.then(|| self.register(debug.value)));
        let mut assignment = Assignment { debug: debug.collect(), ..Assignment::empty(function) };
        for block in function.blocks.keys() {
            self.borders(liveness, block, &mut assignment);
            for inst in function.block_insts(block) {
                self.operands(inst, &mut assignment);
            }
        }
        assignment
    }

    /// Fills in the registers at a block's head and end.
    fn borders(&self, liveness: &Liveness, block: Block, assignment: &mut Assignment) {
        let registers = |values: &[Value]| -> Vec<Reg> { values.iter().map(|&value| self.register(value)).collect() };
        assignment.entry.add(block, registers(liveness.live_in(block)));
        assignment.exit.add(block, registers(liveness.live_out(block)));
        let data = &self.function.blocks[block];
        if data.throws.is_some() {
            // Values that live on past the call live to the block's end.
            assignment.at_throw[block] = (liveness.live_out(block).to_vec(), registers(liveness.live_out(block)));
        }
        for phi in &data.phis {
            assignment.phi_register[phi.def] = Some(self.register(phi.def));
        }
    }

    /// Fills in the registers of an instruction. Operands that it overwrites are copied to the registers of the definitions.
    fn operands(&self, inst: Inst, assignment: &mut Assignment) {
        let function = self.function;
        let first = function.insts[inst].operands.start as usize;
        let operands = function.operands(inst);
        for (k, operand) in operands.iter().enumerate() {
            assignment.operands[first + k] = Some(self.register(operand.value));
        }
        let mut splits = Vec::new();
        for operand in operands {
            let Some(reused) = operand.reuse.map(usize::from) else { continue };
            let source = operands[reused].value;
            let (from, to) = (self.register(source), self.register(operand.value));
            if from != to {
                splits.push(Split { value: source, to, operand: Some(reused) });
                assignment.operands[first + reused] = Some(to);
            }
        }
        if !splits.is_empty() {
            assignment.repairs.push(Repair { before: inst, splits });
        }
        let loads = matches!(function.insts[inst].kind, InstKind::Inserted(Inserted::Load(_)));
        if loads && self.is_redundant(self.intervals.of(operands[0].value)) {
            assignment.redundant.insert(operands[0].value);
        }
    }

    /// Whether an interval loads a content that its register has already.
    fn is_redundant(&self, number: Interval) -> bool {
        let interval = &self.intervals.data[number];
        interval.previous_access.is_some() && self.registers.still_there(self.chosen, interval) == self.chosen[number]
    }

    fn register(&self, value: Value) -> Reg {
        self.chosen[self.intervals.of(value)].expect("every interval was placed")
    }
}
