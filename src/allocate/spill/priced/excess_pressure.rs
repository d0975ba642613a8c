//! Finds the points with more live values than registers, if no callee-saved register is bought.

use crate::allocate::pressure::demand::{Demand, LastUse};
use crate::allocate::pressure::limits::{Counts, Limits};
use crate::allocate::pressure::live_set::LiveSet;
use crate::allocate::spill::crossing::{BundleRoom, Head, head, is_decided_by_spiller};
use crate::allocate::spill::problem::Problem;
use crate::allocate::spill::spill_set::SpillSet;
use crate::analysis::grouped::of_each;
use crate::analysis::{Partition, PinLiveness};
use crate::machine::{Block, BlockData, Function, Inst, RegSet, Value};
use cranelift_entity::{EntitySet, SecondaryMap};

/// The points at which not all values can be in registers, and the values that meet there.
pub(super) struct ExcessPressure {
    /// The number of values too many, for the set of registers with the most.
    pub(super) insts: SecondaryMap<Inst, i32>,
    pub(super) heads: SecondaryMap<Block, i32>,
    /// Blocks with such heads or instructions.
    pub(super) blocks: EntitySet<Block>,
    /// The excess pressure of each block.
    pub(super) of_block: SecondaryMap<Block, BlockExcess>,
    /// The values that are live at such points. If there are any, also those that are in memory somewhere else in any case,
    /// since it is to be decided for how long; and the φ-webs of all these.
    pub(super) values: EntitySet<Value>,
}

/// The excess pressure of a block, if all values are in registers and no callee-saved register is bought.
#[derive(Clone, Copy, Default)]
pub(super) struct BlockExcess {
    /// The greatest number of values too many, for any set of registers.
    most: i32,
    /// The sets with values too many somewhere, one bit each.
    sets: u32,
    /// Whether values may lack a register although there are enough by number.
    doubtful: bool,
}

impl BlockExcess {
    fn add(&mut self, set: usize, excess: i32) {
        self.most = self.most.max(excess);
        self.sets |= 1 << set;
    }

    /// Whether the values fit if this many of each set are in memory throughout the block, and these registers have been
    /// bought.
    pub(super) fn leaves_room(&self, limits: &Limits, bought: RegSet, in_memory: &Counts) -> bool {
        let gained = |set: usize| in_memory[set] + limits.room(set, RegSet::EMPTY) - limits.room(set, bought);
        let mut exceeded = limits.sets().filter(|set| self.sets >> set & 1 != 0);
        !self.doubtful && exceeded.all(|set| self.most <= gained(set))
    }
}

impl ExcessPressure {
    /// `pins` are those of the program, and the callee-saved registers that can be bought.
    pub(super) fn new(problem: &Problem, chosen: &SpillSet, pins: &PinLiveness) -> Self {
        let function = &problem.conventional.function;
        let count = function.values.len();
        let mut finder = ExcessFinder {
            problem,
            chosen,
            pins,
            live: LiveSet::new(function, &problem.limits),
            first_position: of_each(count),
            position: 0,
            last_excess: problem.limits.sets().map(|_| 0).collect(),
            has_excess: false,
            pressure: ExcessPressure {
                insts: of_each(function.insts.len()),
                heads: of_each(function.blocks.len()),
                blocks: EntitySet::with_capacity(function.blocks.len()),
                of_block: of_each(function.blocks.len()),
                values: EntitySet::with_capacity(count),
            },
        };
        problem.order.blocks().iter().filter(|&&block| !problem.is_passed(block)).for_each(|&block| finder.block(block));
        let mut pressure = finder.pressure;
        pressure.add_crowded_bundles(problem, chosen, pins);
        if !pressure.values.is_empty() {
            pressure.values.extend(in_memory_somewhere(problem, chosen).filter(|&value| !problem.unspillable.contains(value)));
        }
        pressure.add_related(problem);
        pressure.add_phi_webs(function);
        pressure
    }

    /// Adds the values that cross bundles without enough registers. At none of a bundle's ends need pressure be excessive.
    fn add_crowded_bundles(&mut self, problem: &Problem, chosen: &SpillSet, pins: &PinLiveness) {
        let Problem { conventional, bundles, limits, unspillable, .. } = problem;
        let function = &conventional.function;
        for (_, meeting) in bundles.iter().filter(|(_, meeting)| is_decided_by_spiller(problem, meeting)) {
            let mut room = BundleRoom::new(function, limits, meeting, pins.kept());
            let crossing = || meeting.crossing.iter().copied().filter(|&value| !chosen.spilled[value]);
            if !crossing().all(|value| room.admit_crossing(function, bundles, value)) {
                self.values.extend(crossing().filter(|&value| !unspillable.contains(value)));
            }
        }
    }

    /// Adds the values that cross bundles in one register with those that are there.
    fn add_related(&mut self, problem: &Problem) {
        let Problem { bundles, unspillable, .. } = problem;
        let related: Vec<Value> = self.values.iter().flat_map(|value| bundles.related(value)).copied().collect();
        self.values.extend(related.into_iter().filter(|&value| !unspillable.contains(value)));
    }

    /// Adds the values that φs relate to those that are there.
    fn add_phi_webs(&mut self, function: &Function) {
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
    let in_memory = |&(block, data): &(Block, &BlockData)| data.landing_pad || head(problem, block) == Head::Nothing;
    let arriving = blocks.iter().filter(in_memory).flat_map(|(block, _)| problem.liveness.live_in(block)).copied();
    let off_bundles = chosen.off_bundles.iter().filter(|&(_, &is_off)| is_off).map(|(value, _)| value);
    arriving.chain(off_bundles).filter(|&value| !chosen.spilled[value])
}

/// Visits one position after the other: heads of blocks, and instructions.
struct ExcessFinder<'a> {
    problem: &'a Problem<'a>,
    chosen: &'a SpillSet,
    pins: &'a PinLiveness,
    live: LiveSet<'a>,
    /// The first position of each live value in the block.
    first_position: SecondaryMap<Value, u32>,
    position: u32,
    /// The last position with excess pressure, by set of registers.
    last_excess: Vec<u32>,
    /// Whether the current block has such a position.
    has_excess: bool,
    pressure: ExcessPressure,
}

impl ExcessFinder<'_> {
    fn block(&mut self, block: Block) {
        let Problem { conventional, liveness, limits, .. } = self.problem;
        let function = &conventional.function;
        self.position += 1;
        self.has_excess = false;
        self.live.clear();
        let phis = function.blocks[block].phis.iter().map(|phi| phi.def).filter(|&def| !liveness.is_dead(def));
        for value in liveness.live_in(block).iter().copied().chain(phis).filter(|&value| !self.chosen.spilled[value]) {
            self.live.add(value);
            self.first_position[value] = self.position;
        }
        let occupied = self.pins.at(function, function.head(block)) | function.blocks[block].live_in_pins;
        for set in limits.sets() {
            let excess = self.live.counts()[set] - limits.room(set, occupied);
            if excess > 0 {
                self.pressure.heads[block] = self.pressure.heads[block].max(excess);
                self.record(block, set, excess);
            }
        }
        for inst in function.block_insts(block) {
            self.position += 1;
            if !self.chosen.drops(function.operands(inst)) {
                self.look_at(block, inst);
            }
            self.advance(inst);
        }
        if self.has_excess {
            for index in 0..self.live.values().len() {
                self.leave(self.live.values()[index]);
            }
        }
    }

    /// Compares an instruction's demand, and the values that are live before it, with the registers that are free.
    fn look_at(&mut self, block: Block, inst: Inst) {
        let Problem { conventional, liveness, limits, .. } = self.problem;
        let function = &conventional.function;
        let operands = function.operands(inst);
        let occupancy = self.pins.occupancy(function, block, inst);
        if limits.are_ample(self.live.counts(), operands.len() as i32, occupancy.all(), 0) {
            self.pressure.of_block[block].doubtful |= !limits.are_laminar();
            return;
        }
        self.pressure.of_block[block].doubtful |= limits.are_nested();
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
        demand.hold(function, inst, held, |value| in_register(value) && self.live.contains(value), dies);
        let through = self.live.counts_without(&demand.dying);
        let all = occupancy.all();
        for set in limits.sets().filter(|&set| through[set] + demand.most(set) > limits.room(set, all)) {
            let excess = through[set] - demand.left(limits, set, &occupancy).least();
            if excess > 0 {
                self.pressure.insts[inst] = self.pressure.insts[inst].max(excess);
                self.record(block, set, excess);
            }
        }
    }

    /// Records excess pressure on a set of registers at the current position.
    fn record(&mut self, block: Block, set: usize, excess: i32) {
        self.has_excess = true;
        self.pressure.blocks.insert(block);
        self.pressure.of_block[block].add(set, excess);
        self.last_excess[set] = self.position;
    }

    /// Passes an instruction. Its position is the last of values that die there, and the first of those that it defines.
    fn advance(&mut self, inst: Inst) {
        let Problem { conventional, liveness, .. } = self.problem;
        let first = conventional.function.insts[inst].operands.start as usize;
        for (k, operand) in conventional.function.operands(inst).iter().enumerate() {
            let value = operand.value;
            if operand.is_def() && !self.chosen.spilled[value] {
                self.first_position[value] = self.position;
            }
            if liveness.kills(first + k) && !self.chosen.spilled[value] {
                self.leave(value);
            }
        }
        self.live.advance(liveness, inst, |value| !self.chosen.spilled[value]);
    }

    /// Whether a value has met excess pressure is known when it dies.
    fn leave(&mut self, value: Value) {
        if !self.has_excess {
            return;
        }
        let Problem { conventional, limits, unspillable, .. } = self.problem;
        let mut sets = limits.sets_of(conventional.function.values[value].class);
        if sets.any(|set| self.last_excess[set] >= self.first_position[value]) && !unspillable.contains(value) {
            self.pressure.values.insert(value);
        }
    }
}
