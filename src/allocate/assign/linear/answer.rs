//! The registers of intervals as registers of operands.

use super::Scan;
use crate::allocate::assign::{Assignment, Repair, Split};
use crate::analysis::Liveness;
use crate::machine::{Block, Inserted, Inst, InstKind, Reg, Value};

/// The assignment that a scan which evicted nothing amounts to.
pub(super) fn answer(scan: &Scan, liveness: &Liveness) -> Assignment {
    let function = scan.function;
    let live = liveness.at_debug_uses(function);
    let debug = function.debug_uses.iter().zip(live).map(|(debug, live)| live.then(|| scan.register(debug.value)));
    let mut assignment = Assignment { debug: debug.collect(), ..Assignment::empty(function) };
    for block in function.blocks.keys() {
        borders(scan, liveness, block, &mut assignment);
        for inst in function.block_insts(block) {
            operands(scan, inst, &mut assignment);
        }
    }
    assignment
}

/// Fills in where values are at a block's head and end.
fn borders(scan: &Scan, liveness: &Liveness, block: Block, assignment: &mut Assignment) {
    let registers = |values: &[Value]| -> Vec<Reg> { values.iter().map(|&value| scan.register(value)).collect() };
    assignment.entry[block] = registers(liveness.live_in(block));
    assignment.exit[block] = registers(liveness.live_out(block));
    let data = &scan.function.blocks[block];
    if data.throws.is_some() {
        // What lives on past the call lives to the block's end.
        assignment.at_throw[block] = (liveness.live_out(block).to_vec(), registers(liveness.live_out(block)));
    }
    for phi in &data.phis {
        assignment.phi_register[phi.def] = Some(scan.register(phi.def));
    }
}

/// Fills in an instruction's registers; what it overwrites is moved to where the definition is.
fn operands(scan: &Scan, inst: Inst, assignment: &mut Assignment) {
    let function = scan.function;
    let first = function.insts[inst].operands.start as usize;
    let operands = function.operands(inst);
    for (k, operand) in operands.iter().enumerate() {
        assignment.operands[first + k] = Some(scan.register(operand.value));
    }
    let mut splits = Vec::new();
    for operand in operands {
        let Some(reused) = operand.reuse.map(usize::from) else { continue };
        let source = operands[reused].value;
        let (from, to) = (scan.register(source), scan.register(operand.value));
        if from != to {
            splits.push(Split { value: source, to, operand: Some(reused) });
            assignment.operands[first + reused] = Some(to);
        }
    }
    if !splits.is_empty() {
        assignment.repairs.push(Repair { before: inst, splits });
    }
    let loads = matches!(function.insts[inst].kind, InstKind::Inserted(Inserted::Load(_)));
    if loads && scan.is_redundant(scan.intervals.of(operands[0].value)) {
        assignment.redundant.insert(operands[0].value);
    }
}
