//! Where there are more values than registers, if no callee-saved one is bought.

use crate::allocate::pressure::demand::{Demand, LastUse};
use crate::allocate::pressure::limits::{Counts, Limits};
use crate::allocate::pressure::live_set::LiveSet;
use crate::allocate::spill::crossing::{Head, head};
use crate::allocate::spill::problem::Problem;
use crate::allocate::spill::spill_set::SpillSet;
use crate::analysis::grouped::of_each;
use crate::analysis::{Partition, PinLiveness};
use crate::machine::{Block, BlockData, Function, Inst, RegSet, Value};
use cranelift_entity::{EntitySet, SecondaryMap};

/// Where there are too many values for all to be in registers, and which ones that concerns.
pub(super) struct Tight {
    /// How many values too many there are for some set of registers.
    pub(super) insts: SecondaryMap<Inst, i32>,
    pub(super) heads: SecondaryMap<Block, i32>,
    /// Blocks with such heads or instructions.
    pub(super) blocks: EntitySet<Block>,
    /// How scarce registers are in each block.
    pub(super) tightness: SecondaryMap<Block, Tightness>,
    /// Those that are there; if there are any, those that are in memory somewhere else in any case, so that it is to be decided
    /// how long; and what φs relate to all these.
    pub(super) values: EntitySet<Value>,
}

/// How scarce registers are in a block, if all values are in registers and no callee-saved one is bought.
#[derive(Clone, Copy, Default)]
pub(super) struct Tightness {
    /// How many values too many there are at most, for any set of registers.
    excess: i32,
    /// The sets for which there are too many somewhere, one bit each.
    sets: u32,
    /// Whether there may be no register for each value somewhere although there are enough by number.
    doubtful: bool,
}

impl Tightness {
    fn add(&mut self, set: usize, excess: i32) {
        self.excess = self.excess.max(excess);
        self.sets |= 1 << set;
    }

    /// Whether there is room for the others if so many values of each set are in memory from end to end, and these registers
    /// have been bought.
    pub(super) fn leaves_room(&self, limits: &Limits, bought: RegSet, in_memory: &Counts) -> bool {
        let made = |set: usize| in_memory[set] + limits.room(set, RegSet::EMPTY) - limits.room(set, bought);
        let mut scarce = limits.sets().filter(|set| self.sets >> set & 1 != 0);
        !self.doubtful && scarce.all(|set| self.excess <= made(set))
    }
}

impl Tight {
    /// `pins` are those of the program, and the callee-saved registers that can be bought.
    pub(super) fn new(problem: &Problem, chosen: &SpillSet, pins: &PinLiveness) -> Self {
        let function = &problem.conventional.function;
        let count = function.values.len();
        let mut walk = Walk {
            problem,
            chosen,
            pins,
            live: LiveSet::new(function, &problem.limits),
            since: of_each(count),
            place: 0,
            last: problem.limits.sets().map(|_| 0).collect(),
            is_tight: false,
            tight: Tight {
                insts: of_each(function.insts.len()),
                heads: of_each(function.blocks.len()),
                blocks: EntitySet::with_capacity(function.blocks.len()),
                tightness: of_each(function.blocks.len()),
                values: EntitySet::with_capacity(count),
            },
        };
        problem.order.blocks().iter().filter(|&&block| !problem.is_passed(block)).for_each(|&block| walk.block(block));
        let mut tight = walk.tight;
        if !tight.values.is_empty() {
            tight.values.extend(in_memory_somewhere(problem, chosen).filter(|&value| !problem.unspillable.contains(value)));
        }
        tight.relate(function);
        tight
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

/// Values that are in memory where they cross edges without code.
fn in_memory_somewhere<'a>(problem: &'a Problem, chosen: &'a SpillSet) -> impl Iterator<Item = Value> + 'a {
    let blocks = &problem.conventional.function.blocks;
    let in_memory =
        |&(block, data): &(Block, &BlockData)| data.landing_pad || data.jump_target || head(problem, block) == Head::Nothing;
    let arriving = blocks.iter().filter(in_memory).flat_map(|(block, _)| problem.liveness.live_in(block)).copied();
    let off_bundles = chosen.off_bundles.iter().filter(|&(_, &is_off)| is_off).map(|(value, _)| value);
    arriving.chain(off_bundles).filter(|&value| !chosen.spilled[value])
}

/// Looks at one place after the other: heads of blocks, and instructions.
struct Walk<'a> {
    problem: &'a Problem<'a>,
    chosen: &'a SpillSet,
    pins: &'a PinLiveness,
    live: LiveSet<'a>,
    /// Of each live value, the first place in the block that it is at.
    since: SecondaryMap<Value, u32>,
    place: u32,
    /// Of each set of registers, the last place that has too many values for it.
    last: Vec<u32>,
    /// Whether such a place is in the current block.
    is_tight: bool,
    tight: Tight,
}

impl Walk<'_> {
    fn block(&mut self, block: Block) {
        let Problem { conventional, liveness, limits, .. } = self.problem;
        let function = &conventional.function;
        self.place += 1;
        self.is_tight = false;
        self.live.clear();
        let phis = function.blocks[block].phis.iter().map(|phi| phi.def).filter(|&def| !liveness.is_dead(def));
        for value in liveness.live_in(block).iter().copied().chain(phis).filter(|&value| !self.chosen.spilled[value]) {
            self.live.add(value);
            self.since[value] = self.place;
        }
        let occupied = self.pins.at(function, function.head(block)) | function.blocks[block].live_in_pins;
        for set in limits.sets() {
            let excess = self.live.counts()[set] - limits.room(set, occupied);
            if excess > 0 {
                self.tight.heads[block] = self.tight.heads[block].max(excess);
                self.find_tight(block, set, excess);
            }
        }
        for inst in function.block_insts(block) {
            self.place += 1;
            if !self.chosen.drops(function.operands(inst)) {
                self.look_at(block, inst);
            }
            self.advance(inst);
        }
        if self.is_tight {
            for index in 0..self.live.values().len() {
                self.leave(self.live.values()[index]);
            }
        }
    }

    /// Whether an instruction fits beside the values that are live before it.
    fn look_at(&mut self, block: Block, inst: Inst) {
        let Problem { conventional, liveness, limits, .. } = self.problem;
        let function = &conventional.function;
        let operands = function.operands(inst);
        let occupancy = self.pins.occupancy(function, block, inst);
        if limits.are_ample(self.live.counts(), operands.len() as i32, occupancy.all(), 0) {
            self.tight.tightness[block].doubtful |= !limits.are_laminar();
            return;
        }
        self.tight.tightness[block].doubtful |= limits.are_nested();
        let first = function.insts[inst].operands.start as usize;
        let in_register = |value: Value| !self.chosen.spilled[value];
        let last_use = |k: usize| match liveness.kills(first + k) {
            _ if !in_register(operands[k].value) => LastUse::OfRefill,
            true => LastUse::OfValue,
            false => LastUse::No,
        };
        let held = self.pins.held(inst);
        let mut demand = Demand::of(function, limits, inst, None, last_use);
        let dies = |value: Value| operands.iter().enumerate().any(|(k, o)| o.value == value && liveness.kills(first + k));
        demand.hold(function, held, |value| in_register(value) && self.live.contains(value) && !dies(value));
        let through = self.live.counts_without(&demand.dying);
        let all = occupancy.all();
        for set in limits.sets().filter(|&set| through[set] + demand.most(set) > limits.room(set, all)) {
            let excess = through[set] - demand.left(limits, set, &occupancy).least();
            if excess > 0 {
                self.tight.insts[inst] = self.tight.insts[inst].max(excess);
                self.find_tight(block, set, excess);
            }
        }
    }

    /// So many values are too many for a set of registers at the current place.
    fn find_tight(&mut self, block: Block, set: usize, excess: i32) {
        self.is_tight = true;
        self.tight.blocks.insert(block);
        self.tight.tightness[block].add(set, excess);
        self.last[set] = self.place;
    }

    /// Passes an instruction: it is a place of what it reads, and of what it defines.
    fn advance(&mut self, inst: Inst) {
        let Problem { conventional, liveness, .. } = self.problem;
        let first = conventional.function.insts[inst].operands.start as usize;
        for (k, operand) in conventional.function.operands(inst).iter().enumerate() {
            let value = operand.value;
            if operand.is_def() && !self.chosen.spilled[value] {
                self.since[value] = self.place;
            }
            if liveness.kills(first + k) && !self.chosen.spilled[value] {
                self.leave(value);
            }
        }
        self.live.advance(liveness, inst, |value| !self.chosen.spilled[value]);
    }

    /// What a value has been too much for is known when it goes.
    fn leave(&mut self, value: Value) {
        if !self.is_tight {
            return;
        }
        let Problem { conventional, limits, unspillable, .. } = self.problem;
        let mut sets = limits.sets_of(conventional.function.values[value].class);
        if sets.any(|set| self.last[set] >= self.since[value]) && !unspillable.contains(value) {
            self.tight.values.insert(value);
        }
    }
}
