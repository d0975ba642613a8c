//! Whether a plan is right: all that it promises, computed again from the plan alone.
//!
//! - **Reachability**: wherever a value is read in a register, its definition or a refill reaches on every path.
//! - **Validity of homes**: wherever a home is read, the value has been stored there on every path, and no other value
//!   since.
//! - **Pressure**: at every point, the values in registers fit.
//! - **Edges without code**: a value that crosses one in a register belongs to a bundle at which there is a register for
//!   each value.
//!
//! All of this is data-flow analysis over sets of values. Nothing is taken from the strategy that made the plan. It takes
//! time proportional to blocks times values, so it runs only in tests, and builds of tests.

use super::homes::Home;
use super::{Plan, Refill, Site, Step, Store, steps};
use crate::allocate::pressure::demand::{Demand, LastUse};
use crate::allocate::pressure::limits::Counts;
use crate::allocate::spill::crossing::BundleRoom;
use crate::allocate::spill::problem::Problem;
use crate::analysis::{Bundle, PinLiveness};
use crate::machine::{Block, Function, Inst, InstKind, Point, Value};
use cranelift_entity::{EntitySet, SecondaryMap, packed_option::PackedOption};
use std::collections::{BTreeMap, BTreeSet};

/// A fault of a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("{value} is read at {at:?}, but is not in a register on every way there")]
    NotInRegister { value: Value, at: Point },
    #[error("{value} is read from its home at {at:?}, but has not been stored there on every way")]
    NotInHome { value: Value, at: Point },
    #[error("at {0:?} there are more values in registers than fit")]
    TooMany(Point),
    #[error("a refill on the edge from {from} to {to}, which can take no code")]
    EdgeWithoutCode { from: Block, to: Block },
    #[error("{0} is not executed, but accesses memory")]
    Unexecuted(Inst),
    #[error("{values:?} cross edges without code in registers, for which there are not registers enough ({bundle})")]
    Meeting { bundle: Bundle, values: Vec<Value> },
    #[error("{value} crosses the edge from {from} to {to} in a register, where no code can bring it to another one")]
    Crosses { value: Value, from: Block, to: Block },
}

/// The faults of a plan, in program order.
pub fn verify(problem: &Problem, plan: &Plan) -> Vec<Fault> {
    let function = &problem.conventional.function;
    let pins = problem.pins.clone().keeping(function, &plan.untouched);
    let mut verifier =
        Verifier { problem, plan, function, pins, tracked: tracked(function, plan), copied: copied(problem), faults: Vec::new() };
    verifier.homes_and_registers();
    // If assignment spills on demand, nothing has to fit yet: assignment finds out itself, and asks for more values to be
    // spilled.
    if !problem.downstream.evicts {
        let live_in = verifier.live_in_registers();
        verifier.pressure(&live_in);
        verifier.crossing(&live_in);
    }
    verifier.edges();
    let unexecuted = plan.folds.iter().filter(|(inst, _)| plan.dropped.contains(*inst));
    verifier.faults.extend(unexecuted.map(|&(inst, _)| Fault::Unexecuted(inst)));
    verifier.faults
}

/// The values that are not in a register from their definitions to their last uses, so that the verifier has to track them.
fn tracked(function: &Function, plan: &Plan) -> EntitySet<Value> {
    let mut tracked = plan.in_memory.clone();
    tracked.extend(plan.refills.iter().map(|&(_, value, _)| value));
    for inst in plan.dropped.iter() {
        tracked.extend(function.operands(inst).iter().filter(|operand| operand.is_def()).map(|operand| operand.value));
    }
    tracked
}

/// The contents of copies. Values that are copies of each other may share a home and yet be live at once. Between two of one
/// width there may be wider copies, each of which holds the content in its low part.
fn copied(problem: &Problem) -> SecondaryMap<Value, PackedOption<Value>> {
    let function = &problem.conventional.function;
    let width = |value: Value| function.slot_for(value).size;
    let mut source: SecondaryMap<Value, PackedOption<Value>> = SecondaryMap::new();
    let mut copied: SecondaryMap<Value, PackedOption<Value>> = SecondaryMap::new();
    let insts = problem.order.blocks().iter().flat_map(|&block| function.block_insts(block));
    for inst in insts.filter(|&inst| function.insts[inst].kind == InstKind::Copy) {
        if let [to, from] = *function.operands(inst) {
            source[to.value] = from.value.into();
            let sources = std::iter::successors(Some(from.value), |&value| source[value].expand());
            let as_wide = sources.take_while(|&value| width(value) >= width(to.value));
            copied[to.value] = as_wide.filter(|&value| width(value) == width(to.value)).last().into();
        }
    }
    copied
}

/// The values that are available in registers and in homes at a point.
#[derive(Clone, PartialEq, Eq, Default)]
struct Available {
    /// The tracked values that are in registers.
    registers: BTreeSet<Value>,
    /// The content that was stored last to each home.
    homes: BTreeMap<Home, Value>,
}

impl Available {
    /// Whether a content is in a home.
    fn is_in(&self, content: Value, home: Option<Home>) -> bool {
        home.is_some_and(|home| self.homes.get(&home) == Some(&content))
    }

    fn write(&mut self, content: Value, home: Option<Home>) {
        self.homes.extend(home.map(|home| (home, content)));
    }

    fn forget(&mut self, home: Option<Home>) {
        home.iter().for_each(|home| {
            self.homes.remove(home);
        });
    }

    /// The values that are available on both paths.
    fn meet(&self, other: &Available) -> Available {
        let same = |&(home, value): &(&Home, &Value)| other.homes.get(home) == Some(value);
        let homes = self.homes.iter().filter(same).map(|(&home, &value)| (home, value)).collect();
        Available { registers: &self.registers & &other.registers, homes }
    }
}

/// The values that are available when control leaves blocks.
#[derive(Default)]
struct Exits {
    at_end: SecondaryMap<Block, Option<Available>>,
    /// Before calls that throw to landing pads.
    at_throws: BTreeMap<Point, Available>,
}

impl Exits {
    /// The values that are available on an edge, if its source has been passed.
    fn on_edge(&self, function: &Function, from: Block, to: Block) -> Option<Available> {
        match self.at_throws.get(&function.departure(from, to)) {
            Some(available) if function.blocks[to].landing_pad => Some(available.clone()),
            _ => self.at_end[from].clone(),
        }
    }
}

struct Verifier<'a> {
    problem: &'a Problem<'a>,
    plan: &'a Plan,
    function: &'a Function,
    pins: PinLiveness,
    tracked: EntitySet<Value>,
    /// For each copy, the value of the same width from which it has been copied, directly or not: its content.
    copied: SecondaryMap<Value, PackedOption<Value>>,
    faults: Vec<Fault>,
}

impl Verifier<'_> {
    fn refills_at(&self, site: Site) -> &[(Site, Value, Refill)] {
        let first = self.plan.refills.partition_point(|&(other, ..)| other < site);
        let count = self.plan.refills[first..].iter().take_while(|&&(other, ..)| other == site).count();
        &self.plan.refills[first..first + count]
    }

    /// The stores and refills of the plan at a point.
    fn steps(&self, at: Point) -> impl Iterator<Item = Step> {
        let first = self.plan.stores.partition_point(|store| store.at < at);
        let count = self.plan.stores[first..].iter().take_while(|store| store.at == at).count();
        steps(&self.plan.stores[first..first + count], self.refills_at(Site::At(at)))
    }

    /// The values that are refilled on an edge into registers of their own.
    fn arriving(&self, from: Block, to: Block) -> impl Iterator<Item = Value> + '_ {
        let refilled = self.refills_at(Site::Edge { from, to }).iter().map(|&(_, value, _)| value);
        refilled.filter(|&value| !self.plan.in_memory.contains(value))
    }

    fn is_folded(&self, inst: Inst, k: usize) -> bool {
        self.plan.folds.binary_search(&(inst, k)).is_ok()
    }

    /// The content of a value: that of a copy is the value that it copies.
    fn content(&self, value: Value) -> Value {
        self.copied[value].expand().unwrap_or(value)
    }

    fn home(&self, value: Value) -> Option<Home> {
        self.plan.homes.of(value)
    }

    /// Follows registers and homes over all paths, from the most optimistic assumption down to the greatest fixed point;
    /// then checks every use.
    fn homes_and_registers(&mut self) {
        let mut exits = Exits::default();
        loop {
            let mut changed = false;
            for &block in self.problem.order.blocks() {
                let mut available = self.entering(block, &exits);
                self.walk(block, &mut available, &mut exits, None);
                changed |= exits.at_end[block].as_ref() != Some(&available);
                exits.at_end[block] = Some(available);
            }
            if !changed {
                break;
            }
        }
        let mut faults = Vec::new();
        for &block in self.problem.order.blocks() {
            let mut available = self.entering(block, &exits);
            self.walk(block, &mut available, &mut exits, Some(&mut faults));
            self.take_arguments(block, &exits, &mut faults);
        }
        self.faults.extend(faults);
    }

    /// The values that are available after the φs of a block. A φ in memory is in its home if on every edge its argument is
    /// there already, or is moved there from a home of its own.
    fn entering(&self, block: Block, exits: &Exits) -> Available {
        let data = &self.function.blocks[block];
        let incoming = data.preds.iter().enumerate().filter_map(|(column, &pred)| {
            let before = exits.on_edge(self.function, pred, block)?;
            let mut available = before.clone();
            for phi in data.phis.iter().filter(|phi| self.plan.memory_phis.contains(phi.def)) {
                let home = self.home(phi.def);
                let arrives = |arg: Value| {
                    before.is_in(self.content(arg), home)
                        || (self.plan.in_memory.contains(arg) && before.is_in(self.content(arg), self.home(arg)))
                };
                match phi.args[column].expand() {
                    Some(arg) if !arrives(arg) => available.forget(home),
                    _ => available.write(self.content(phi.def), home),
                }
            }
            available.registers.extend(self.arriving(pred, block));
            Some(available)
        });
        let mut available = incoming.reduce(|a, b| a.meet(&b)).unwrap_or_default();
        let in_register = |def: &Value| self.tracked.contains(*def) && !self.plan.memory_phis.contains(*def);
        available.registers.extend(data.phis.iter().map(|phi| phi.def).filter(in_register));
        available
    }

    /// Passes a block, and notes its faults if asked to.
    fn walk(&self, block: Block, available: &mut Available, exits: &mut Exits, mut faults: Option<&mut Vec<Fault>>) {
        let count = self.function.blocks[block].insts.len() as u32;
        let in_register =
            |available: &Available, value: Value| !self.tracked.contains(value) || available.registers.contains(&value);
        let mut blame = |fault: Fault| faults.iter_mut().for_each(|faults| faults.push(fault.clone()));
        for (index, inst) in (0..=count).zip(self.function.block_insts(block).map(Some).chain([None])) {
            let at = Point { block, index };
            for step in self.steps(at) {
                match step {
                    Step::Store(Store { value, home, .. }) => {
                        if self.problem.storable(value).is_none() && !in_register(available, value) {
                            blame(Fault::NotInRegister { value, at });
                        }
                        available.write(self.content(value), self.home(home));
                    }
                    Step::Refill(value, refill) => {
                        match refill {
                            Refill::Load if !available.is_in(self.content(value), self.home(value)) => {
                                blame(Fault::NotInHome { value, at });
                            }
                            Refill::Recompute { from, .. } if !in_register(available, from) => {
                                blame(Fault::NotInRegister { value: from, at });
                            }
                            _ => {}
                        }
                        available.registers.insert(value);
                    }
                }
            }
            let Some(inst) = inst else { continue };
            if self.function.blocks[block].throws == inst.into() {
                exits.at_throws.insert(at, available.clone());
            }
            if self.plan.dropped.contains(inst) {
                self.pass_dropped(inst, available);
                continue;
            }
            let operands = || self.function.operands(inst).iter().enumerate();
            for (k, operand) in operands().filter(|(_, operand)| !operand.is_def()) {
                let value = operand.value;
                let at_home = || available.is_in(self.content(value), self.home(value));
                match self.is_folded(inst, k) {
                    // A value that is read in place is there in any case.
                    true if self.problem.read_in_place(inst, k).is_none() && !at_home() => blame(Fault::NotInHome { value, at }),
                    false if !in_register(available, value) => blame(Fault::NotInRegister { value, at }),
                    _ => {}
                }
            }
            for (k, operand) in operands().filter(|(_, operand)| operand.is_def()) {
                if self.is_folded(inst, k) {
                    available.write(self.content(operand.value), self.home(operand.value));
                } else if self.tracked.contains(operand.value) {
                    available.registers.insert(operand.value);
                }
            }
        }
    }

    /// Checks that φs in registers take their arguments from registers, or are refilled on the edge from homes that hold
    /// them.
    fn take_arguments(&self, from: Block, exits: &Exits, faults: &mut Vec<Fault>) {
        for &to in &self.function.blocks[from].succs {
            let at = self.function.departure(from, to);
            let available = exits.on_edge(self.function, from, to).expect("the block has been passed");
            let column = self.function.column(from, to);
            let phis = self.function.blocks[to].phis.iter().filter(|phi| !self.plan.memory_phis.contains(phi.def));
            for value in phis.filter_map(|phi| phi.args[column].expand()).filter(|&arg| self.tracked.contains(arg)) {
                if self.plan.refill_on(from, to, value).is_none() && !available.registers.contains(&value) {
                    faults.push(Fault::NotInRegister { value, at });
                }
            }
            let loaded = self.refills_at(Site::Edge { from, to }).iter().filter(|&&(_, _, refill)| refill == Refill::Load);
            let unwritten =
                loaded.map(|&(_, value, _)| value).filter(|&value| !available.is_in(self.content(value), self.home(value)));
            faults.extend(unwritten.map(|value| Fault::NotInHome { value, at }));
        }
    }

    /// Passes an instruction that is not executed here: one that is rematerialised, or a copy from a home to the same home.
    fn pass_dropped(&self, inst: Inst, available: &mut Available) {
        if let [to, from] = *self.function.operands(inst)
            && self.home(to.value) == self.home(from.value)
            && available.is_in(self.content(from.value), self.home(from.value))
        {
            available.write(self.content(from.value), self.home(to.value));
        }
    }

    /// Checks at every instruction that the values in registers fit. A value is in a register from a definition or refill to
    /// the last use that this reaches.
    fn pressure(&mut self, live_in: &SecondaryMap<Block, EntitySet<Value>>) {
        for &block in self.problem.order.blocks() {
            let mut after = self.leaving(block, live_in);
            for (index, inst) in self.function.block_insts(block).enumerate().rev() {
                let at = Point { block, index: index as u32 };
                let before = self.before(inst, &after);
                if !self.plan.dropped.contains(inst) && !self.fits(at, inst, &before, &after) {
                    self.faults.push(Fault::TooMany(at));
                }
                after = self.above(at, before);
            }
        }
    }

    /// The values in registers before an instruction and after its refills.
    fn before(&self, inst: Inst, after: &EntitySet<Value>) -> EntitySet<Value> {
        let mut before = after.clone();
        if self.plan.dropped.contains(inst) {
            return before;
        }
        let operands = self.function.operands(inst);
        for operand in operands.iter().filter(|operand| operand.is_def()) {
            before.remove(operand.value);
        }
        let read = operands.iter().enumerate().filter(|&(k, operand)| !operand.is_def() && !self.is_folded(inst, k));
        before.extend(read.map(|(_, operand)| operand.value));
        before
    }

    /// The values in registers before the steps of the plan at a point, from those after them.
    fn above(&self, at: Point, mut live: EntitySet<Value>) -> EntitySet<Value> {
        for step in self.steps(at).collect::<Vec<_>>().into_iter().rev() {
            match step {
                Step::Store(Store { value, .. }) if self.problem.storable(value).is_some() => {}
                Step::Store(Store { value, .. }) => _ = live.insert(value),
                Step::Refill(value, refill) => {
                    live.remove(value);
                    if let Refill::Recompute { from, .. } = refill {
                        live.insert(from);
                    }
                }
            }
        }
        live
    }

    /// The values in registers after the last instruction of a block.
    fn leaving(&self, block: Block, live_in: &SecondaryMap<Block, EntitySet<Value>>) -> EntitySet<Value> {
        let data = &self.function.blocks[block];
        let mut leaving = EntitySet::new();
        for &succ in &data.succs {
            let arriving: Vec<Value> = self.arriving(block, succ).collect();
            leaving.extend(live_in[succ].iter().filter(|value| !arriving.contains(value)));
            let column = self.function.column(block, succ);
            for phi in self.function.blocks[succ].phis.iter().filter(|phi| !self.plan.memory_phis.contains(phi.def)) {
                leaving.extend(phi.args[column].expand().filter(|&arg| self.plan.refill_on(block, succ, arg).is_none()));
            }
        }
        self.above(Point { block, index: data.insts.len() as u32 }, leaving)
    }

    /// The values that are live into each block in registers.
    fn live_in_registers(&self) -> SecondaryMap<Block, EntitySet<Value>> {
        let mut live_in: SecondaryMap<Block, EntitySet<Value>> = SecondaryMap::new();
        loop {
            let mut changed = false;
            for &block in self.problem.order.blocks().iter().rev() {
                let mut live = self.leaving(block, &live_in);
                for (index, inst) in self.function.block_insts(block).enumerate().rev() {
                    live = self.above(Point { block, index: index as u32 }, self.before(inst, &live));
                }
                for phi in &self.function.blocks[block].phis {
                    live.remove(phi.def);
                }
                changed |= !live.iter().eq(live_in[block].iter());
                live_in[block] = live;
            }
            if !changed {
                return live_in;
            }
        }
    }

    /// Whether an instruction finds registers, with these values in registers before and after it.
    fn fits(&self, at: Point, inst: Inst, before: &EntitySet<Value>, after: &EntitySet<Value>) -> bool {
        let Problem { limits, .. } = self.problem;
        let operands = self.function.operands(inst);
        let folds: Vec<usize> = (0..operands.len()).filter(|&k| self.is_folded(inst, k)).collect();
        if folds.len() > 1 {
            // It is a copy from a home to the same home.
            return true;
        }
        let last_use = |k: usize| if after.contains(operands[k].value) { LastUse::No } else { LastUse::OfRefill };
        let mut demand = Demand::of(self.function, limits, inst, folds.first().copied(), last_use);
        let mut through = Counts::default();
        for value in before.iter().filter(|&value| after.contains(value)) {
            limits.count(&mut through, self.function.values[value].class, 1);
        }
        let is_folded = |value: Value| folds.iter().any(|&k| operands[k].value == value);
        let in_register = |value: Value| before.contains(value) && !is_folded(value) && self.has_stayed(at, value);
        demand.hold(self.function, inst, self.pins.held(inst), in_register, |value| !after.contains(value));
        demand.excess(limits, &through, &self.pins.occupancy(self.function, at.block, inst), 0).is_none()
    }

    /// Whether a value that the program may hold in a pinned register has been in a register since it was copied there.
    fn has_stayed(&self, at: Point, value: Value) -> bool {
        let first = self.function.blocks[at.block].insts.start;
        for index in (0..=at.index).rev() {
            match self.pins.holder(Inst::from_u32(first + index), value) {
                Some(held) if held.before => {}
                _ => return true,
            }
            if self.refills_at(Site::At(Point { index, ..at })).iter().any(|&(_, refilled, _)| refilled == value) {
                return false;
            }
        }
        true
    }

    /// Checks that values that cross edges without code in registers cross bundles, and that at each bundle there are
    /// registers for all of them.
    fn crossing(&mut self, live_in: &SecondaryMap<Block, EntitySet<Value>>) {
        let Problem { bundles, limits, .. } = self.problem;
        // For each bundle, the values in registers at its ends.
        let mut meeting: BTreeMap<Bundle, BTreeSet<Value>> = BTreeMap::new();
        let mut crossed: EntitySet<Bundle> = EntitySet::new();
        for (to, data) in &self.function.blocks {
            let bundle = bundles.entry(to);
            let left_by = |from: Block| if data.landing_pad { bundles.throw(from) } else { bundles.exit(from) };
            let phis = data.phis.iter().map(|phi| phi.def).filter(|&def| !self.plan.memory_phis.contains(def));
            let crossing: Vec<Value> = live_in[to].iter().chain(phis).collect();
            for &from in data.preds.iter().filter(|&&from| self.function.takes_no_code(from, to)) {
                match bundle.filter(|_| left_by(from) == bundle) {
                    Some(bundle) => {
                        if !crossing.is_empty() {
                            crossed.insert(bundle);
                        }
                        // At calls, the pressure there accounts for values beside those that cross.
                        let beside = if data.landing_pad { EntitySet::new() } else { self.leaving(from, live_in) };
                        let here = crossing.iter().copied().chain(beside.iter());
                        meeting.entry(bundle).or_default().extend(here.map(|value| bundles.representative(value)));
                    }
                    None => self.faults.extend(crossing.iter().map(|&value| Fault::Crosses { value, from, to })),
                }
            }
        }
        // Where no value crosses, those at the sources have nothing to agree on.
        for (bundle, values) in meeting.into_iter().filter(|&(bundle, _)| crossed.contains(bundle)) {
            let at = bundles.meeting(bundle);
            let mut room = BundleRoom::new(self.function, limits, at, self.pins.kept());
            if !values.iter().all(|&value| room.admit_crossing(self.function, bundles, value)) {
                self.faults.push(Fault::Meeting { bundle, values: values.iter().copied().collect() });
            }
        }
    }

    /// Checks that refills on edges stand where code can.
    fn edges(&mut self) {
        for &(site, ..) in &self.plan.refills {
            if let Site::Edge { from, to } = site
                && self.function.takes_no_code(from, to)
            {
                self.faults.push(Fault::EdgeWithoutCode { from, to });
            }
        }
    }
}
