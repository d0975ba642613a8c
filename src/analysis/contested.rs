//! Which physical registers are in the way of which values.
//!
//! Values interfere with registers that the program itself occupies. The graph of these interferences is much smaller than
//! that of interferences between values [PP05, "Handling Pre-colored Virtual Registers", Table 1].
//! Relies on: of two values that interfere, one is live where the other is defined [PP05, Lemma 2].

use super::grouped::of_each;
use super::{Liveness, PinLiveness};
use crate::machine::{Block, BlockData, Function, Inst, InstKind, RegSet, Value};
use cranelift_entity::SecondaryMap;
use serde::{Deserialize, Serialize};

/// The number of edges of the two graphs. Values of different banks do not interfere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphSizes {
    /// Between values and the registers of their banks that are occupied somewhere in their live ranges.
    pub value_register: u64,
    /// Between values that are live at the same time.
    pub interference: u64,
}

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

/// Counts pairs of values that are live together: at each definition, the values that are live there [PP05, Lemma 2].
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
/// The time is linear if no more values are live at an instruction than there are registers, as after spilling.
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
            remove_last_uses(function, liveness, inst, &mut live);
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

/// The weight of the danger that a value's copy is in, relative to the danger that the value is in itself.
const IN_A_COPY: f64 = 0.01;

/// For each value, how often instructions that destroy registers are executed while it is live and stays so.
///
/// A value that dies where it is copied lives on in the copy. The danger to that one counts a little, as it may be in
/// another register. The time is linear under the condition that [`contested`] states.
pub fn endangered(function: &Function, liveness: &Liveness) -> SecondaryMap<Value, f64> {
    let mut endangered: SecondaryMap<Value, f64> = of_each(function.values.len());
    let mut live: Vec<Value> = Vec::new();
    let destroys = |inst: Inst| !function.pins(inst).clobbers.is_empty();
    for (block, data) in function.blocks.iter().filter(|&(block, _)| function.block_insts(block).any(destroys)) {
        enter(function, liveness, block, &mut live);
        for inst in function.block_insts(block) {
            let first = function.insts[inst].operands.start as usize;
            let operands = function.operands(inst);
            remove_last_uses(function, liveness, inst, &mut live);
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

/// Removes the values that an instruction reads for the last time.
fn remove_last_uses(function: &Function, liveness: &Liveness, inst: Inst, live: &mut Vec<Value>) {
    let first = function.insts[inst].operands.start as usize;
    let operands = function.operands(inst).iter().enumerate();
    for (_, operand) in operands.filter(|&(k, operand)| !operand.is_def() && liveness.kills(first + k)) {
        // An instruction may read a value twice.
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
