//! The graph of interferences between values and physical registers (`ssa-register-allocator.txt`, "Handling Pre-colored
//! Virtual Registers"), and how much smaller it is than the whole interference graph (Table 1 there).

use super::grouped::of_each;
use super::{Liveness, PinLiveness};
use crate::machine::{Block, BlockData, Function, Inst, InstKind, RegSet, Value};
use cranelift_entity::SecondaryMap;
use serde::{Deserialize, Serialize};

/// Edges of the two graphs. Values of different banks do not interfere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphSizes {
    /// Between values and registers of their banks that are occupied somewhere in their live ranges.
    pub value_register: u64,
    /// Between values that are live together.
    pub interference: u64,
}

/// Counts the edges of a function's graphs.
pub fn graph_sizes(function: &Function, liveness: &Liveness, pins: &PinLiveness) -> GraphSizes {
    let file = &function.file;
    let contested = contested(function, liveness, pins);
    let bank = |value: Value| file.classes[function.values[value].class].bank;
    let banks: Vec<RegSet> = file.banks.keys().map(|bank| file.allocatable(bank)).collect();
    let registers = |value: Value| (contested[value] & banks[bank(value).as_u32() as usize]).len() as u64;
    GraphSizes {
        value_register: function.values.keys().map(registers).sum(),
        interference: interferences(function, liveness, |value| bank(value).as_u32() as usize),
    }
}

/// Of two values that interfere, one is live where the other is defined (Lemma 2): so many are counted at each definition.
fn interferences(function: &Function, liveness: &Liveness, bank: impl Fn(Value) -> usize) -> u64 {
    let mut edges = 0;
    for (block, data) in &function.blocks {
        let mut live = vec![0u64; function.file.banks.len()];
        for &value in liveness.live_in(block) {
            live[bank(value)] += 1;
        }
        for phi in &data.phis {
            edges += live[bank(phi.def)];
            live[bank(phi.def)] += 1;
        }
        for phi in data.phis.iter().filter(|phi| liveness.is_dead(phi.def)) {
            live[bank(phi.def)] -= 1;
        }
        for inst in function.block_insts(block) {
            let first = function.insts[inst].operands.start as usize;
            let operands = function.operands(inst);
            for (k, operand) in operands.iter().enumerate().filter(|(_, operand)| !operand.is_def()) {
                let repeated = operands[..k].iter().any(|o| !o.is_def() && o.value == operand.value);
                if liveness.kills(first + k) && !repeated {
                    live[bank(operand.value)] -= 1;
                }
            }
            for operand in operands.iter().filter(|operand| operand.is_def()) {
                edges += live[bank(operand.value)];
                live[bank(operand.value)] += 1;
            }
            for (k, operand) in operands.iter().enumerate().filter(|(_, operand)| operand.is_def()) {
                if liveness.kills(first + k) {
                    live[bank(operand.value)] -= 1;
                }
            }
        }
    }
    edges
}

/// For each value, the registers that are occupied somewhere in its live range.
///
/// Linear where no more values are live at an instruction than there are registers, as behind spilling.
pub fn contested(function: &Function, liveness: &Liveness, pins: &PinLiveness) -> SecondaryMap<Value, RegSet> {
    let mut contested: SecondaryMap<Value, RegSet> = of_each(function.values.len());
    let mut live: Vec<Value> = Vec::new();
    let is_concerned = |&(block, data): &(Block, &BlockData)| !pins.is_free_in(block) || !data.live_in_pins.is_empty();
    for (block, data) in function.blocks.iter().filter(is_concerned) {
        enter(function, liveness, block, &mut live);
        for value in &live {
            contested[*value] |= data.live_in_pins;
        }
        for inst in function.block_insts(block) {
            let first = function.insts[inst].operands.start as usize;
            let operands = function.operands(inst);
            end(function, liveness, inst, &mut live);
            let occupancy = pins.occupancy(function, block, inst);
            if !pins.is_free(inst) {
                for &value in &live {
                    let held = pins.holder(inst, value).map_or(RegSet::EMPTY, |held| RegSet::only(held.reg));
                    contested[value] |= occupancy.all() - held;
                }
            }
            for (k, operand) in operands.iter().enumerate() {
                if operand.is_def() && !liveness.kills(first + k) {
                    contested[operand.value] |= occupancy.after;
                    live.push(operand.value);
                }
            }
        }
    }
    let kept = pins.kept();
    contested.values_mut().for_each(|registers| *registers |= kept);
    contested
}

/// What counts of how often a value's copy is in danger.
const IN_A_COPY: f64 = 0.01;

/// Of each value, how often an instruction that destroys registers is executed while it is live and stays so. If it dies where it
/// is copied, it lives on in the copy, which counts a little: the copy may be elsewhere.
///
/// Linear likewise.
pub fn endangered(function: &Function, liveness: &Liveness) -> SecondaryMap<Value, f64> {
    let mut endangered: SecondaryMap<Value, f64> = of_each(function.values.len());
    let mut live: Vec<Value> = Vec::new();
    let destroys = |inst: Inst| !function.pins(inst).clobbers.is_empty();
    for (block, data) in function.blocks.iter().filter(|&(block, _)| function.block_insts(block).any(destroys)) {
        enter(function, liveness, block, &mut live);
        for inst in function.block_insts(block) {
            let first = function.insts[inst].operands.start as usize;
            let operands = function.operands(inst);
            end(function, liveness, inst, &mut live);
            if destroys(inst) {
                live.iter().for_each(|&value| endangered[value] += data.frequency);
            }
            let stays = operands.iter().enumerate().filter(|&(k, operand)| operand.is_def() && !liveness.kills(first + k));
            live.extend(stays.map(|(_, operand)| operand.value));
        }
    }
    let alone = endangered.clone();
    for (inst, data) in function.insts.iter().filter(|(_, data)| data.kind == InstKind::Copy) {
        if let [to, from] = *function.operands(inst)
            && liveness.kills(data.operands.start as usize + 1)
        {
            endangered[from.value] += IN_A_COPY * alone[to.value];
        }
    }
    endangered
}

/// Removes what an instruction reads for the last time.
fn end(function: &Function, liveness: &Liveness, inst: Inst, live: &mut Vec<Value>) {
    let first = function.insts[inst].operands.start as usize;
    let operands = function.operands(inst).iter().enumerate();
    for (_, operand) in operands.filter(|&(k, operand)| !operand.is_def() && liveness.kills(first + k)) {
        // It may be read twice.
        if let Some(place) = live.iter().position(|&value| value == operand.value) {
            live.swap_remove(place);
        }
    }
}

fn enter(function: &Function, liveness: &Liveness, block: Block, live: &mut Vec<Value>) {
    live.clear();
    live.extend_from_slice(liveness.live_in(block));
    live.extend(function.blocks[block].phis.iter().map(|phi| phi.def).filter(|&def| !liveness.is_dead(def)));
}
