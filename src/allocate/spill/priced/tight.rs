//! Where there are more values than registers, if no callee-saved one is bought.

use crate::allocate::pressure::demand::{Demand, LastUse};
use crate::allocate::pressure::live_set::LiveSet;
use crate::allocate::spill::Problem;
use crate::allocate::spill::choose::Chosen;
use crate::analysis::{Partition, PinLiveness};
use crate::machine::{Block, Function, Inst, Value};
use cranelift_entity::{EntitySet, SecondaryMap};

/// Where there are too many values for all to be in registers, and which ones that concerns.
pub(super) struct Tight {
    /// How many values too many there are for some set of registers.
    pub(super) insts: SecondaryMap<Inst, u16>,
    pub(super) heads: SecondaryMap<Block, u16>,
    /// Those that are there, and what φs relate to them.
    pub(super) values: EntitySet<Value>,
}

impl Tight {
    /// `pins` are those of the program, and the callee-saved registers that can be bought.
    pub(super) fn new(problem: &Problem, chosen: &Chosen, pins: &PinLiveness) -> Self {
        let Problem { conventional, order, liveness, limits, .. } = problem;
        let function = &conventional.function;
        let mut tight = Tight { insts: SecondaryMap::new(), heads: SecondaryMap::new(), values: EntitySet::new() };
        let mut live = LiveSet::new(function, limits);
        let in_register = |value: Value| !chosen.spilled[value];
        for &block in order.blocks() {
            live.clear();
            let phis = function.blocks[block].phis.iter().map(|phi| phi.def).filter(|&def| !liveness.is_dead(def));
            let entering = liveness.live_in(block).iter().copied().chain(phis).filter(|&value| in_register(value));
            entering.for_each(|value| live.add(value));
            let occupied = pins.at(function, function.head(block)) | function.blocks[block].live_in_pins;
            for set in limits.sets() {
                let excess = i32::from(live.counts()[set]) - limits.room(set, occupied);
                if excess > 0 {
                    tight.heads[block] = tight.heads[block].max(excess as u16);
                    tight.mark(problem, set, live.values().iter().copied());
                }
            }
            for inst in function.block_insts(block) {
                if !chosen.drops(function.operands(inst)) {
                    tight.look_at(problem, chosen, pins, block, inst, &live);
                }
                live.advance(liveness, inst, in_register);
            }
        }
        tight.relate(function);
        tight
    }

    /// Whether an instruction fits beside the values that are live before it.
    fn look_at(&mut self, problem: &Problem, chosen: &Chosen, pins: &PinLiveness, block: Block, inst: Inst, live: &LiveSet) {
        let Problem { conventional, liveness, limits, .. } = problem;
        let function = &conventional.function;
        let operands = function.operands(inst);
        let first = function.insts[inst].operands.start as usize;
        let last_use = |k: usize| match liveness.kills(first + k) {
            _ if chosen.spilled[operands[k].value] => LastUse::OfRefill,
            true => LastUse::OfValue,
            false => LastUse::No,
        };
        let in_register = |value: Value| !chosen.spilled[value];
        let demand = Demand::of(function, limits, inst, None, last_use).hold(function, limits, pins.held(inst), in_register);
        let through = live.counts_without(&demand.dying);
        let occupancy = pins.occupancy(function, block, inst);
        for set in limits.sets() {
            let excess = i32::from(through[set]) - demand.left(limits, set, &occupancy).least();
            if excess > 0 {
                self.insts[inst] = self.insts[inst].max(excess as u16);
                let accessed = operands.iter().map(|operand| operand.value).filter(|&value| !chosen.spilled[value]);
                self.mark(problem, set, live.values().iter().copied().chain(accessed));
            }
        }
    }

    fn mark(&mut self, problem: &Problem, set: usize, values: impl Iterator<Item = Value>) {
        let Problem { conventional, limits, unspillable, .. } = problem;
        let confined = |value: &Value| limits.is_confined(conventional.function.values[*value].class, set);
        self.values.extend(values.filter(confined).filter(|&value| !unspillable.contains(value)));
    }

    /// Adds what φs relate to the values.
    fn relate(&mut self, function: &Function) {
        let mut partition: Partition<Value> = Partition::discrete(function.values.len());
        let phis = || function.blocks.values().flat_map(|data| &data.phis);
        for phi in phis() {
            for arg in phi.args.iter().filter_map(|arg| arg.expand()) {
                let (def, arg) = (partition.find(phi.def), partition.find(arg));
                if def != arg {
                    partition.attach(arg, def);
                }
            }
        }
        let mut roots: EntitySet<Value> = EntitySet::new();
        roots.extend(self.values.iter().map(|value| partition.find(value)));
        let related = phis().flat_map(|phi| phi.args.iter().filter_map(|arg| arg.expand()).chain([phi.def]));
        self.values.extend(related.filter(|&value| roots.contains(partition.find(value))));
    }
}
