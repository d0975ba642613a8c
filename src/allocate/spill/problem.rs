//! The function to spill in, and everything that a spiller may ask about it.
//!
//! A problem answers questions: which registers an instruction lacks, how a value gets back into a register and at what
//! cost, where no code can stand. It knows neither the strategies that decide nor the writer of their plans.
//!
//! The public methods are for spillers outside the crate as well; those in this folder also see the fields.

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
use crate::analysis::{Bundles, Dominators, Liveness, Loops, NextUses, Order, PinLiveness, Untouched};
use crate::machine::{Block, Function, Inst, InstData, InstFlags, InstKind, Value};
use cranelift_entity::{EntitySet, SecondaryMap};
use std::cell::OnceCell;

/// A function in conventional SSA form, with what spilling needs to know about it.
///
/// Costs and frequencies are relative to one call of the function: a block of frequency 1 is executed once in each call.
pub struct Problem<'a> {
    pub(super) conventional: &'a Conventional,
    pub(super) order: &'a Order,
    pub(super) dominators: &'a Dominators,
    pub(super) liveness: &'a Liveness,
    /// The edges without code, and which values can cross them in registers.
    pub(super) bundles: Bundles,
    pub(super) pins: PinLiveness,
    /// Computed when first asked for.
    pub(super) weights: OnceCell<SecondaryMap<Value, f64>>,
    pub(super) loops: Loops,
    /// Values that have to stay in registers: those that terminators define, since no store can stand between the terminators of
    /// a block.
    pub(super) unspillable: EntitySet<Value>,
    /// The instructions that compute constants outside φ-webs.
    pub(super) constants: Constants,
    /// The instructions that compute constants in φ-webs. Only if live ranges are split are these rematerialised, too.
    pub(super) web_constants: Constants,
    /// The instructions that compute values from other values. If live ranges are split, they are executed again where the
    /// other value is in a register.
    pub(super) recomputable: Constants,
    /// Instructions of the imported function that can be executed again, but take longer than a move.
    pub(super) dear: EntitySet<Inst>,
    /// Instructions of the imported function whose result can be written to memory directly.
    pub(super) storable: EntitySet<Inst>,
    /// Instructions of the imported function whose result can be read from where it is in memory.
    pub(super) given: EntitySet<Inst>,
    pub(super) limits: Limits,
    /// The integers in which minimum cuts count costs.
    pub(super) units: Units,
    pub(super) policy: Policy,
    pub(super) downstream: Downstream,
    pub(super) abilities: Abilities,
}

/// The kinds of plans that a spiller makes. They decide which questions a [`Problem`] can answer.
///
/// The default is a spiller that has a value in memory all its life or not at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Abilities {
    /// A value may be in a register in one part of its life and in memory in another, φs included. Then more values can be computed
    /// again: members of φ-webs, and those that one other value is enough for ([`Refill::Recompute`]). Reloads that last, also into
    /// other blocks, do not take it.
    pub splits: bool,
    /// The spiller decides which values are in registers at landing pads, where no code can bring them. Otherwise all values
    /// arrive there in memory, except for those that cannot be in memory.
    pub decides_at_pads: bool,
    /// The spiller decides which values cross bundles of jumps in registers, if none live beside one. Otherwise those do
    /// that are accessed most often for as long as they live.
    pub decides_at_jumps: bool,
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
        let mut unspillable = EntitySet::new();
        unspillable.extend(function.blocks.keys().flat_map(|block| function.defined_by_terminators(block)));
        let loops = Loops::new(function, order, dominators);
        let (constants, web_constants) = constants(conventional);
        let origins = |wanted: fn(&InstData) -> bool| {
            let origins = function.insts.values().filter(|data| wanted(data)).filter_map(|data| data.origin.expand());
            let mut set = EntitySet::new();
            set.extend(origins);
            set
        };
        let dear = origins(|data| data.is_repeatable() && data.is(InstFlags::DEAR));
        let Abilities { splits, .. } = abilities;
        let storable = origins(|data| data.is(InstFlags::STORABLE));
        let bundles = if downstream.pins.moves() { Bundles::new(function, liveness, &pins) } else { Bundles::none() };
        let has_beside = bundles.iter().any(|(_, meeting)| !meeting.beside.is_empty());
        let decides_at_jumps = abilities.decides_at_jumps && !has_beside;
        Ok(Problem {
            conventional,
            order,
            dominators,
            liveness,
            bundles,
            pins,
            weights: OnceCell::new(),
            loops,
            unspillable,
            constants,
            web_constants,
            recomputable: if splits && policy.rematerialise { recomputable(conventional, liveness) } else { Constants::new() },
            dear,
            storable,
            given: if splits && policy.read_in_place { origins(|data| data.is(InstFlags::GIVEN)) } else { EntitySet::new() },
            limits: Limits::new(function, downstream.spare)?,
            units: Units::for_executions(function.blocks.values().map(|data| data.frequency).fold(0.0, f64::max)),
            policy,
            downstream,
            abilities: Abilities { decides_at_jumps, ..abilities },
        })
    }

    /// The function, in conventional SSA form.
    pub fn function(&self) -> &'a Function {
        &self.conventional.function
    }

    /// The blocks of the function in reverse postorder.
    pub fn order(&self) -> &'a Order {
        self.order
    }

    /// Which values are live at the borders of blocks, and which operands are last uses.
    pub fn liveness(&self) -> &'a Liveness {
        self.liveness
    }

    /// The loops of the function.
    pub fn loops(&self) -> &Loops {
        &self.loops
    }

    /// How far away values are used next, over all ways that control can take. If `loops` are given, it is farther where
    /// control leaves them. Each call computes it anew.
    pub fn next_uses(&self, loops: Option<&Loops>) -> NextUses<'a> {
        NextUses::new(&self.conventional.function, self.order, self.liveness, loops)
    }

    /// Whether a value may be in memory.
    pub fn can_be_in_memory(&self, value: Value) -> bool {
        !self.unspillable.contains(value)
    }

    /// The operands, by index, that an instruction can access in memory itself; of them one may be folded.
    pub fn foldable(&self, inst: Inst) -> impl Iterator<Item = usize> {
        foldable_operands(&self.conventional.function, inst, self.policy.fold)
    }

    /// The registers that an instruction lacks; `None` if it has enough.
    ///
    /// `after` are the values that stay in registers past the instruction, each once, in any order. They are in registers
    /// before it as well, so the instruction's definitions are not among them: these are counted in any case. Other values
    /// that it reads take registers only while it reads them. The operand of index `folded` takes none. A register that a
    /// later phase would have free ([`Downstream::spare`]) counts as occupied, as long as one of `after` can leave for it.
    ///
    /// After a shortage, take a value out of `after` that relieves it ([`Shortage::is_relieved_by`]), and ask again. If
    /// there is none, fold an operand, or give up: the instruction alone needs more registers than there are.
    pub fn shortage(&self, block: Block, inst: Inst, after: &[Value], folded: Option<usize>) -> Option<Shortage<'_>> {
        let Conventional { function, .. } = self.conventional;
        let occupancy = self.pins.occupancy(function, block, inst);
        let operands = function.operands(inst);
        let last_use = |k: usize| if after.contains(&operands[k].value) { LastUse::No } else { LastUse::OfRefill };
        let mut through = Counts::default();
        after.iter().for_each(|&value| self.limits.count(&mut through, function.values[value].class, 1));
        let demand = Demand::of(function, &self.limits, inst, folded, last_use);
        let excess = |spare: usize| demand.excess(&self.limits, &through, &occupancy, spare);
        let misfit = || {
            let live = after.iter().map(|&value| (value, None));
            feasible::misfit(function, &self.limits, inst, &occupancy, live, folded, last_use)
        };
        let shortage = |Excess { set, .. }: Excess| Shortage { problem: self, set };
        let with_spare = excess(self.limits.spare())
            .map(shortage)
            .filter(|shortage| after.iter().any(|&value| shortage.is_relieved_by(value)));
        with_spare.or_else(|| excess(0).or_else(misfit).map(shortage))
    }

    /// The weight of each value: its accesses, each of them 1 + 10^(loop depth), divided by the number of instructions and
    /// edges that its live range crosses [PP05, §4.4]. Light values should be spilled first. A value that cannot be in
    /// memory has infinite weight.
    pub fn weights(&self) -> &SecondaryMap<Value, f64> {
        self.weights.get_or_init(|| {
            let mut weights = weights(&self.conventional.function, &self.loops, self.liveness);
            self.unspillable.iter().for_each(|value| weights[value] = f64::INFINITY);
            weights
        })
    }

    /// The values that are live into the landing pads of a block's call, or that their φs take from the block; ascending.
    pub(super) fn wanted_in_pads(&self, block: Block) -> Vec<Value> {
        let Conventional { function, .. } = self.conventional;
        let pads = function.blocks[block].succs.iter().filter(|&&succ| function.blocks[succ].landing_pad);
        let mut values = Vec::new();
        for &pad in pads {
            let column = function.column(block, pad);
            values.extend(self.liveness.live_in(pad));
            values.extend(function.blocks[pad].phis.iter().filter_map(|phi| phi.args[column].expand()));
        }
        values.sort_unstable();
        values.dedup();
        values
    }

    /// How a value gets back into a register.
    pub fn refill(&self, value: Value) -> Refill {
        let member = || self.web_constants[value].expand().filter(|_| self.abilities.splits);
        let constant = self.constants[value].expand().or_else(member).filter(|_| self.policy.rematerialise);
        constant.map_or(Refill::Load, Refill::Rematerialise)
    }

    /// The instruction whose constant is written to memory directly where this value is stored, so that the value need not
    /// be in a register.
    pub(super) fn storable(&self, value: Value) -> Option<Inst> {
        match self.refill(value) {
            Refill::Rematerialise(inst) => Some(inst).filter(|&inst| self.storable.contains(inst)),
            Refill::Load | Refill::Recompute { .. } => None,
        }
    }

    /// The instruction that loads a value from where the program itself has it in memory, if it has.
    pub(super) fn given(&self, value: Value) -> Option<Inst> {
        match self.refill(value) {
            Refill::Rematerialise(inst) => Some(inst).filter(|&inst| self.given.contains(inst)),
            Refill::Load | Refill::Recompute { .. } => None,
        }
    }

    /// The instruction that [`given`](Self::given) names for the value of the k-th operand, if the operand can be read
    /// there. Copies read no operand in place: to load the value again is as good. Nor is such a place recorded.
    pub(super) fn read_in_place(&self, inst: Inst, k: usize) -> Option<Inst> {
        let Conventional { function, .. } = self.conventional;
        let operand = function.operands(inst)[k];
        let data = &function.insts[inst];
        let reads_homes = data.kind.is_copy() || data.is(InstFlags::RECORDED);
        if operand.is_def() || reads_homes { None } else { self.given(operand.value) }
    }

    /// The cost of reading a value's home in an instruction: nothing where only the place is recorded.
    pub(super) fn cost_of_fold(&self, inst: Inst, frequency: f64) -> f64 {
        match self.conventional.function.insts[inst].is(InstFlags::RECORDED) {
            true => 0.0,
            false => self.cost(cost::FOLDED_RELOAD, frequency),
        }
    }

    /// How a value is recomputed from another one, if it can be.
    pub(super) fn recompute(&self, value: Value) -> Option<Refill> {
        let inst = self.recomputable[value].expand()?;
        let Conventional { function, .. } = self.conventional;
        Some(Refill::Recompute { inst: function.insts[inst].origin.expand()?, from: function.operands(inst)[1].value })
    }

    /// Whether an instruction copies between values of one home. If both are in memory, the copy does nothing [PP09, §6.3].
    pub fn copies_within_home(&self, inst: Inst) -> bool {
        let Conventional { function, webs, .. } = self.conventional;
        if function.insts[inst].kind != InstKind::Copy || !self.policy.memory_coalesce {
            return false;
        }
        let [to, from] = *function.operands(inst) else { return false };
        // Rematerialising a value may cost less than loading it, so such a value need not be in its home.
        let loaded = |value: Value| self.refill(value) == Refill::Load;
        function.slot_for(to.value) == function.slot_for(from.value)
            && webs[to.value].is_some()
            && webs[to.value] == webs[from.value]
            && foldable_operands(function, inst, false).count() == 2
            && loaded(to.value)
            && loaded(from.value)
    }

    /// The cost of an instruction that is added in a block of this frequency.
    pub(super) fn cost(&self, added: Added, frequency: f64) -> f64 {
        added.cost(frequency, self.policy.weigh_size)
    }

    /// The cost of a refill in a block of this frequency.
    pub fn cost_of_refill(&self, refill: Refill, frequency: f64) -> f64 {
        let added = match refill {
            Refill::Load => cost::RELOAD,
            Refill::Rematerialise(inst) | Refill::Recompute { inst, .. } if self.dear.contains(inst) => {
                cost::DEAR_REMATERIALISATION
            }
            Refill::Rematerialise(_) | Refill::Recompute { .. } => cost::REMATERIALISATION,
        };
        self.cost(added, frequency)
    }

    /// Whether nothing is decided about a block, because it is empty and on an edge. A value that is in a register at the
    /// end of the block before it is in that register here, as long as it lives, and code for the edge stands after that.
    pub(super) fn is_passed(&self, block: Block) -> bool {
        let data = &self.conventional.function.blocks[block];
        data.on_edge && data.insts.is_empty()
    }

    /// The block at whose end it is decided which values are in registers at the end of this one: itself, or the one before
    /// it if it is passed.
    pub(super) fn source(&self, block: Block) -> Block {
        if self.is_passed(block) { self.conventional.function.blocks[block].preds[0] } else { block }
    }

    /// The cost of a refill on an edge, with that of the jump that the edge's own block needs if it has one.
    pub fn cost_on_edge(&self, refill: Refill, from: Block, to: Block) -> f64 {
        let function = &self.conventional.function;
        let frequency = cost::edge(function, from, to);
        let jump = if function.blocks[from].on_edge { self.cost(cost::JUMP, frequency) } else { 0.0 };
        self.cost_of_refill(refill, frequency) + jump
    }
}

/// A set of registers of which an instruction needs more than there are.
pub struct Shortage<'p> {
    problem: &'p Problem<'p>,
    set: usize,
}

impl Shortage<'_> {
    /// Whether the shortage is less if this value is in no register past the instruction.
    pub fn is_relieved_by(&self, value: Value) -> bool {
        let Problem { conventional, limits, .. } = self.problem;
        limits.is_confined(conventional.function.values[value].class, self.set)
    }
}
