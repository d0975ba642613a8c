//! The function in conventional SSA form, and everything that a spiller may ask about it.
//!
//! A problem answers questions: which registers an instruction lacks, how a value gets into a register again and what that
//! costs, where no code can stand. It knows neither the strategies that decide nor the writer of their plans.

use super::config::{Downstream, Policy};
use super::refill::Refill;
use super::remat::{Constants, constants, recomputable};
use super::weights::weights;
use crate::allocate::cost::{self, Added};
use crate::allocate::cuts::Units;
use crate::allocate::failure::Unsupported;
use crate::allocate::pressure::demand::{Demand, Excess, LastUse, foldable_operands};
use crate::allocate::pressure::feasible;
use crate::allocate::pressure::limits::{Counts, Limits};
use crate::allocate::ssa::conventional::Conventional;
use crate::analysis::{Bundles, Dominators, Liveness, Loops, Order, PinLiveness, Untouched};
use crate::machine::{Block, Function, Inst, InstData, InstKind, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use std::cell::OnceCell;

/// A function in conventional SSA form and what spilling needs to know about it.
pub struct Problem<'a> {
    pub(super) conventional: &'a Conventional,
    pub(super) order: &'a Order,
    pub(super) dominators: &'a Dominators,
    pub(super) liveness: &'a Liveness,
    /// What can cross edges that take no code in registers.
    pub(super) bundles: Bundles,
    pub(super) pins: PinLiveness,
    /// If anybody has asked for them.
    pub(super) weights: OnceCell<SecondaryMap<Value, f64>>,
    pub(super) loops: Loops,
    /// Values that have to stay in registers.
    pub(super) unspillable: EntitySet<Value>,
    /// Outside of φ-webs.
    pub(super) constants: Constants,
    /// In φ-webs: where live ranges are split, these are computed again too.
    pub(super) web_constants: Constants,
    /// Where live ranges are split, the instructions that compute values from others: they are executed again where the other value
    /// is in a register.
    pub(super) recomputable: Constants,
    /// Instructions of the imported function that are dearer than moves.
    pub(super) dear: EntitySet<Inst>,
    /// Those of which what they compute can be written to memory at once.
    pub(super) storable: EntitySet<Inst>,
    /// Those of which what they compute can be read from memory where it is.
    pub(super) given: EntitySet<Inst>,
    pub(super) limits: Limits,
    /// What minimum cuts count costs in.
    pub(super) units: Units,
    pub(super) policy: Policy,
    pub(super) downstream: Downstream,
    pub(super) abilities: Abilities,
}

/// Which kinds of plans a spiller makes: they decide which questions a [`Problem`] can answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Abilities {
    /// A value may be in a register in one part of its life, and in memory in another.
    pub splits: bool,
    /// It decides which values are in registers at landing pads, where no code can bring them; otherwise they get there in memory.
    pub decides_at_pads: bool,
}

impl<'a> Problem<'a> {
    /// Prepares to spill.
    ///
    /// # Errors
    /// If the function has values of too many different classes.
    pub fn new(
        conventional: &'a Conventional,
        order: &'a Order,
        dominators: &'a Dominators,
        liveness: &'a Liveness,
        policy: Policy,
        downstream: Downstream,
        abilities: Abilities,
    ) -> Result<Self, Unsupported> {
        let function = &conventional.function;
        let pins = downstream.pins.occupied(function, liveness, &Untouched::default());
        let unspillable = unspillable(function, liveness);
        let loops = Loops::new(function, order, dominators);
        let (constants, web_constants) = constants(conventional);
        let origins = |wanted: fn(&InstData) -> bool| {
            let origins = function.insts.values().filter(|data| wanted(data)).filter_map(|data| data.origin.expand());
            let mut set = EntitySet::new();
            set.extend(origins);
            set
        };
        let dear = origins(|data| (data.rematerialisable || data.recomputable) && data.dear);
        let Abilities { splits, .. } = abilities;
        let storable = origins(|data| data.storable);
        Ok(Problem {
            conventional,
            order,
            dominators,
            liveness,
            bundles: if downstream.pins.moves() { Bundles::new(function, liveness, &pins) } else { Bundles::none() },
            pins,
            weights: OnceCell::new(),
            loops,
            unspillable,
            constants,
            web_constants,
            recomputable: if splits && policy.rematerialise { recomputable(conventional, liveness) } else { Constants::new() },
            dear,
            storable,
            given: if splits && policy.read_in_place { origins(|data| data.given) } else { EntitySet::new() },
            limits: Limits::new(function, downstream.spare)?,
            units: Units::for_executions(function.blocks.values().map(|data| data.frequency).fold(0.0, f64::max)),
            policy,
            downstream,
            abilities,
        })
    }

    /// The function, in conventional SSA form.
    pub fn function(&self) -> &'a Function {
        &self.conventional.function
    }

    /// Its blocks in reverse postorder.
    pub fn order(&self) -> &'a Order {
        self.order
    }

    pub fn liveness(&self) -> &'a Liveness {
        self.liveness
    }

    /// Whether a value may be in memory. Those may not that inline assembly defines and that are used where it jumps to.
    pub fn can_be_in_memory(&self, value: Value) -> bool {
        !self.unspillable.contains(value)
    }

    /// The registers that an instruction lacks, if it lacks any, where `after` are the values that stay in registers past it. The
    /// others that it reads are in registers only while it reads them, except for the one that is folded.
    pub fn shortage(&self, block: Block, inst: Inst, after: &[Value], folded: Option<usize>) -> Option<Shortage<'_>> {
        let Conventional { function, .. } = self.conventional;
        let occupancy = self.pins.occupancy(function, block, inst);
        let operands = function.operands(inst);
        let last_use = |k: usize| if after.contains(&operands[k].value) { LastUse::No } else { LastUse::OfRefill };
        let mut through = Counts::default();
        after.iter().for_each(|&value| self.limits.count(&mut through, function.values[value].class, 1));
        let demand = Demand::of(function, &self.limits, inst, folded, last_use);
        let excess = demand.excess(&self.limits, &through, &occupancy, self.limits.spare()).or_else(|| {
            let live = after.iter().map(|&value| (value, None));
            feasible::misfit(function, &self.limits, inst, &occupancy, live, folded, last_use)
        });
        excess.map(|Excess { set, .. }| Shortage { problem: self, set })
    }

    /// The weight of each value: light ones are spilled first, those of infinite weight not at all.
    pub fn weights(&self) -> &SecondaryMap<Value, f64> {
        self.weights.get_or_init(|| {
            let mut weights = weights(&self.conventional.function, &self.loops, self.liveness);
            self.unspillable.iter().for_each(|value| weights[value] = f64::INFINITY);
            weights
        })
    }

    /// What is live into a block's landing pads, or what their φs take from it; ascending.
    pub(super) fn wanted_in_pads(&self, block: Block) -> Vec<Value> {
        let Conventional { function, .. } = self.conventional;
        let pads = function.blocks[block].succs.iter().filter(|&&succ| function.blocks[succ].landing_pad);
        let mut wanted = Vec::new();
        for &pad in pads {
            let column = function.column(block, pad);
            wanted.extend(self.liveness.live_in(pad));
            wanted.extend(function.blocks[pad].phis.iter().filter_map(|phi| phi.args[column].expand()));
        }
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }

    /// How a value gets into a register again.
    pub(super) fn refill(&self, value: Value) -> Refill {
        let member = || self.web_constants[value].expand().filter(|_| self.abilities.splits);
        let constant = self.constants[value].expand().or_else(member).filter(|_| self.policy.rematerialise);
        constant.map_or(Refill::Load, Refill::Rematerialise)
    }

    /// The instruction whose constant is written to memory at once where this value is stored, so that the value need not be in
    /// a register.
    pub(super) fn storable(&self, value: Value) -> Option<Inst> {
        match self.refill(value) {
            Refill::Rematerialise(inst) => Some(inst).filter(|&inst| self.storable.contains(inst)),
            Refill::Load | Refill::Recompute { .. } => None,
        }
    }

    /// The instruction that loads the value from where it can be read as well.
    pub(super) fn given(&self, value: Value) -> Option<Inst> {
        match self.refill(value) {
            Refill::Rematerialise(inst) => Some(inst).filter(|&inst| self.given.contains(inst)),
            Refill::Load | Refill::Recompute { .. } => None,
        }
    }

    /// The same, if the value is read by the k-th operand of an instruction that can read it there. (A copy is loaded, rather.)
    pub(super) fn read_in_place(&self, inst: Inst, k: usize) -> Option<Inst> {
        let Conventional { function, .. } = self.conventional;
        let operand = function.operands(inst)[k];
        if operand.is_def() || function.insts[inst].kind.is_copy() { None } else { self.given(operand.value) }
    }

    /// How a value is computed again from another one.
    pub(super) fn recompute(&self, value: Value) -> Option<Refill> {
        let inst = self.recomputable[value].expand()?;
        let Conventional { function, .. } = self.conventional;
        Some(Refill::Recompute { inst: function.insts[inst].origin.expand()?, from: function.operands(inst)[1].value })
    }

    /// Whether an instruction copies between values of one home: in memory, it does nothing
    /// (`spill-free-ssa-elimination.txt`, section 6.3).
    pub(super) fn copies_within_home(&self, inst: Inst) -> bool {
        let Conventional { function, webs, .. } = self.conventional;
        if function.insts[inst].kind != InstKind::Copy || !self.policy.memory_coalesce {
            return false;
        }
        let [to, from] = *function.operands(inst) else { return false };
        // What is computed again may cost less than to load it.
        let loaded = |value: Value| self.refill(value) == Refill::Load;
        function.slot_for(to.value) == function.slot_for(from.value)
            && webs[to.value].is_some()
            && webs[to.value] == webs[from.value]
            && foldable_operands(function, inst, false).count() == 2
            && loaded(to.value)
            && loaded(from.value)
    }

    /// What an instruction costs that is added where code is executed so often.
    pub(super) fn cost(&self, added: Added, frequency: f64) -> f64 {
        added.cost(frequency, self.policy.weigh_size)
    }

    /// What a refill costs there.
    pub(super) fn cost_of_refill(&self, refill: Refill, frequency: f64) -> f64 {
        let added = match refill {
            Refill::Load => cost::RELOAD,
            Refill::Rematerialise(inst) | Refill::Recompute { inst, .. } if self.dear.contains(inst) => {
                cost::DEAR_REMATERIALISATION
            }
            Refill::Rematerialise(_) | Refill::Recompute { .. } => cost::REMATERIALISATION,
        };
        self.cost(added, frequency)
    }

    /// Whether nothing is decided about a block: it is on an edge and empty, so what is in a register at the end of the block before
    /// it is so here, as far as it is live, and code for the edge stands behind that.
    pub(super) fn is_passed(&self, block: Block) -> bool {
        let data = &self.conventional.function.blocks[block];
        data.on_edge && data.insts.is_empty()
    }

    /// The block at whose end it is decided what is in registers at the end of this one.
    pub(super) fn source(&self, block: Block) -> Block {
        if self.is_passed(block) { self.conventional.function.blocks[block].preds[0] } else { block }
    }

    /// What a refill on an edge costs.
    pub(super) fn cost_on_edge(&self, refill: Refill, from: Block, to: Block) -> f64 {
        let function = &self.conventional.function;
        let frequency = cost::edge(function, from, to);
        let jump = if function.blocks[from].on_edge { self.cost(cost::JUMP, frequency) } else { 0.0 };
        self.cost_of_refill(refill, frequency) + jump
    }
}

/// A set of registers that does not suffice at an instruction.
pub struct Shortage<'p> {
    problem: &'p Problem<'p>,
    set: usize,
}

impl Shortage<'_> {
    /// Whether it is less if the value is not in a register past the instruction.
    pub fn is_relieved_by(&self, value: Value) -> bool {
        let Problem { conventional, limits, .. } = self.problem;
        limits.is_confined(conventional.function.values[value].class, self.set)
    }
}

/// The values that inline assembly defines and that are wanted where it jumps to: no store can stand where control passes on
/// all its ways out.
fn unspillable(function: &Function, liveness: &Liveness) -> EntitySet<Value> {
    let mut unspillable = EntitySet::new();
    let targets = |block: Block| function.blocks[block].succs.iter().filter(|&&succ| function.blocks[succ].jump_target);
    for block in function.blocks.keys() {
        for inst in function.block_insts(block).filter(|&inst| function.insts[inst].jumps) {
            for def in function.operands(inst).iter().filter(|operand| operand.is_def()) {
                if targets(block).any(|&target| liveness.live_in(target).binary_search(&def.value).is_ok()) {
                    unspillable.insert(def.value);
                }
            }
        }
    }
    unspillable
}
