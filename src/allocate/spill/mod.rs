//! Spilling: where values are in memory and where in registers, in three steps.
//!
//! - **Decide**: a strategy ([`Choice`]) gives a [`Plan`] about the values of the function.
//! - **Verify** : pressure, reachability of refills and validity of homes are computed again from the plan alone.
//! - **Insert** ([`insert`]) is the only writer: it makes the loads, the stores and the names, and keeps SSA form. (Then what is
//!   loaded, changed and stored is changed in memory: [`update`].)
//!
//! Requires: conventional SSA form.
//! Ensures: at every point, the values in registers fit: for every set of registers that some class allows, the values
//! restricted to it are no more than its registers that are not occupied by pins or destroyed by clobbers. Then assignment
//! succeeds without spilling (the interference graph of an SSA program is chordal; `ssa-register-allocator.txt`,
//! section 4.4, and `ssa-allocation-lecture.txt`, "A Foundation for Spilling"). Values in memory of one φ-web share a home
//! (frugality), and φs between them have disappeared: no φ is left that would move memory to memory.
//!
//! With all strategies but those of [`Choice::Farthest`], a spilled constant or address is computed again; any other spilled
//! value is in memory all its life: stored once, behind its definition, and loaded before uses
//! (`ssa-register-allocator.txt`, section 4.6). [`Policy`] changes all of that.

mod ascending;
mod choose;
mod connect;
mod crossing;
mod entry;
mod hoist;
mod homes;
mod insert;
mod lower;
mod plan;
mod priced;
mod refill;
mod residence;
mod settled;
mod slots;
mod stores;
mod update;
pub mod verify;
mod weights;

pub use entry::Entry;
pub use homes::{Home, Homes};
pub use plan::{Plan, Refill, Site, Store};

use crate::allocate::assign::PinPolicy;
use crate::allocate::cost::{self, Added};
use crate::allocate::cssa::{Conventional, Web};
use crate::allocate::cuts::Units;
use crate::allocate::degraded::Degraded;
use crate::allocate::failure::Unsupported;
use crate::allocate::pressure::demand::foldable_operands;
use crate::allocate::pressure::limits::Limits;
use crate::analysis::grouped::of_each;
use crate::analysis::{Bundles, Dominators, Liveness, Loops, Order, PinLiveness, Untouched};
use crate::machine::{Block, Function, Inst, InstData, InstFlags, InstKind, RegClass, Slot, SlotData, Value};
use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap, packed_option::PackedOption};
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;
use std::time::Duration;
use weights::cross_more_than;

/// How to spill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// A loaded value serves later uses in its block while there is room; without, every use loads.
    pub keep_loaded: bool,
    /// Instructions read spilled operands from memory themselves where they can; without, only copies do.
    pub fold: bool,
    /// Likewise what is in memory from the beginning, if live ranges are split ([`InstFlags::GIVEN`]).
    pub read_in_place: bool,
    /// Constants and addresses are computed again instead of being stored and loaded.
    pub rematerialise: bool,
    /// A φ's argument that is stored is stored once behind its definition, not at the end of each block that it is taken
    /// from (`spill-free-ssa-elimination.txt`, section 6.1).
    pub store_hoist: bool,
    /// Section 6.2.
    pub load_lower: LoadLowering,
    /// A copy from a slot to the same slot is dropped (section 6.3).
    pub memory_coalesce: bool,
    /// Instructions cost a little however seldom they are executed ([`cost::weigh_size`] has said so in frequencies), and however
    /// little they do.
    pub weigh_size: bool,
    /// How long [`Choice::Priced`] looks for something better, and how good what [`Choice::Optimal`] begins with is.
    pub effort: Effort,
    /// How long integer programs of one function may take to solve, in each phase.
    pub solver: Duration,
}

/// How long to look for something better.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    Least,
    Usual,
    More,
    Most,
}

/// What the phases behind spilling do and want, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Downstream {
    /// Which values are to be spilled before registers are given. `None`: only those that are asked for, whole webs; assignment
    /// asks for more where they do not fit. It keeps the others in one register for life, also across edges that can take no
    /// code.
    pub choice: Option<Choice>,
    /// The values of a φ-web share a slot. Without, every value has its own, and φ elimination moves memory to memory.
    pub frugal: bool,
    /// φ elimination wants one register of each bank to stay free wherever no single instruction needs all of them.
    pub spare: bool,
    /// What assignment does about registers of the program. If it moves values, it moves them to where they meet, so that they
    /// can cross edges without code in registers.
    pub pins: PinPolicy,
}

/// How many instructions and edges all values may live across, for each instruction that there is, if prices are to decide.
const CROWDED: u64 = 512;

/// Which values are spilled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Where too many are live, those of least weight.
    Lightest,
    /// Those that are live from one block to another; then, within blocks, as above.
    AcrossBlocks,
    /// All.
    Everything,
    /// Those that are used farthest away, for as long as they are.
    Farthest(Entry),
    /// Those that cost least, where they cost least, as nearly as can be found out quickly.
    Priced,
    /// Those that cost least, by integer programming. Not in every build ([`crate::allocate::HAS_SOLVER`]).
    Optimal,
}

impl Choice {
    /// Whether values may be in registers in any blocks that they pass, without regard to what neighbouring blocks do. Else
    /// blocks that are alike are decided about together, and the bound is one of plans that do so.
    pub fn considers_all(self, effort: Effort) -> bool {
        self == Choice::Optimal || matches!(effort, Effort::More | Effort::Most)
    }

    /// What can be done in time and memory that grow with the function alone. Prices are about each value in each segment of
    /// the program, so where thousands of values live long, their number is a product of both; then nearly all are in memory
    /// nearly everywhere, and which are not is decided for all their lives.
    fn within_reach(self, effort: Effort, is_crowded: impl FnOnce() -> bool) -> Self {
        if self == Choice::Priced && !self.considers_all(effort) && is_crowded() { Choice::Lightest } else { self }
    }

    /// Whether a value may be in a register in one part of its life, and in memory in another.
    pub fn splits(self) -> bool {
        matches!(self, Choice::Farthest(_) | Choice::Priced | Choice::Optimal)
    }
}

/// When a φ's definition in a register is put into memory because its arguments are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadLowering {
    /// Never.
    Off,
    /// If its arguments' loads are more than its uses.
    Counted,
    /// If the loads and stores that it saves are executed more often than those that it costs.
    Weighted,
}

/// A function whose values in registers fit. All its operands are in registers.
pub struct Spilled {
    pub function: Function,
    /// By instruction, operands that the imported function has and this one has not: they are accessed in memory.
    pub folds: Vec<Fold>,
    pub memory: Memory,
    /// Callee-saved registers that nothing may be in, and where.
    pub untouched: Untouched,
    /// What spilling came to.
    pub counts: SpillCounts,
    /// Where it was done in another way than was asked for.
    pub degraded: Vec<Degraded>,
}

/// What the function says nothing about: values that are elsewhere than in registers.
pub struct Memory {
    pub slots: PrimaryMap<Slot, SlotData>,
    /// The instruction that loads what is in a slot, of those that are none of the frame.
    pub given: SecondaryMap<Slot, PackedOption<Inst>>,
    /// Of each value that is in memory all its life.
    pub slot_of: SecondaryMap<Value, PackedOption<Slot>>,
    /// What φs of a block take from elsewhere than registers, in the order of the φs.
    pub edge_refills: SecondaryMap<Block, Vec<EdgeRefill>>,
    /// φs of each block that move memory to memory; without frugality only.
    pub memory_phis: SecondaryMap<Block, Vec<MemoryPhi>>,
    /// One a debug use: where it finds its value, if that is in memory and live.
    pub debug_slots: Vec<Option<Slot>>,
}

/// An operand that its instruction accesses in memory itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fold {
    pub inst: Inst,
    /// Its index among the operands of the imported instruction.
    pub operand: usize,
    pub slot: Slot,
    /// It is a definition.
    pub writes: bool,
}

/// An argument of a φ in a register that is in none itself: it gets there on its edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EdgeRefill {
    /// The φ, by its index in its block.
    pub row: usize,
    pub from: Block,
    pub source: EdgeSource,
}

/// Where it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeSource {
    /// Memory; the class is wide enough for φ and argument.
    Slot { slot: Slot, class: RegClass },
    /// This instruction of the imported function, which is executed again.
    Rematerialise(Inst),
}

impl Spilled {
    /// A function that is as it was: nothing is in memory.
    pub fn nothing(function: Function) -> Self {
        let memory = Memory {
            slots: PrimaryMap::new(),
            given: SecondaryMap::new(),
            slot_of: SecondaryMap::new(),
            edge_refills: SecondaryMap::new(),
            memory_phis: SecondaryMap::new(),
            debug_slots: vec![None; function.debug_uses.len()],
        };
        Spilled {
            function,
            folds: Vec::new(),
            memory,
            untouched: Untouched::default(),
            counts: SpillCounts::default(),
            degraded: Vec::new(),
        }
    }

    /// The operands of an instruction that are in memory.
    pub fn folds(&self, inst: Inst) -> &[Fold] {
        let first = self.folds.partition_point(|fold| fold.inst < inst);
        let count = self.folds[first..].iter().take_while(|fold| fold.inst == inst).count();
        &self.folds[first..first + count]
    }
}

/// A φ in memory whose arguments are not all in its own slot.
#[derive(Clone, Debug)]
pub struct MemoryPhi {
    pub to: Slot,
    /// As wide as what is moved.
    pub class: RegClass,
    /// The slot of each argument, in the order of the predecessors; `None` for those that are stored from registers, or
    /// undefined.
    pub from: Vec<Option<Slot>>,
}

/// What a plan costs, and what any costs at least that lets the same values cross edges without code and folds the same
/// operands, in executions at the weights of [`crate::allocate::cost`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certificate {
    pub cost: f64,
    pub bound: f64,
}

/// What spilling came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpillCounts {
    /// Spilled values.
    pub values: u64,
    /// How good that is, if it is known.
    pub certificate: Option<Certificate>,
    pub optimisations: Optimisations,
}

/// What the optimisations of `spill-free-ssa-elimination.txt` removed (its Figure 12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Optimisations {
    /// Store hoisting: stores of φ arguments at the ends of blocks that are not there.
    pub hoisted_stores: u64,
    /// Load lowering: φs put into memory.
    pub lowered_values: u64,
    /// Load lowering: loads at the ends of blocks that are not there. The loads before uses that stand for them are not taken
    /// off.
    pub lowered_loads: u64,
    /// Memory coalescing: copies from a slot to the same slot that are not there, each of them a load and a store.
    pub coalesced_copies: u64,
}

/// A function in conventional SSA form and what spilling needs to know about it.
pub struct Problem<'a> {
    conventional: &'a Conventional,
    order: &'a Order,
    dominators: &'a Dominators,
    liveness: &'a Liveness,
    /// What can cross edges that take no code in registers.
    bundles: Bundles,
    pins: PinLiveness,
    /// If anybody has asked for them.
    weights: OnceCell<SecondaryMap<Value, f64>>,
    loops: Loops,
    /// Values that have to stay in registers.
    unspillable: EntitySet<Value>,
    /// Outside of φ-webs.
    constants: Constants,
    /// In φ-webs: where live ranges are split, these are computed again too.
    web_constants: Constants,
    /// Where live ranges are split, the instructions that compute values from others: they are executed again where the other value
    /// is in a register.
    recomputable: Constants,
    /// Instructions of the imported function that are dearer than moves.
    dear: EntitySet<Inst>,
    /// Those of which what they compute can be written to memory at once.
    storable: EntitySet<Inst>,
    /// Those of which what they compute can be read from memory where it is.
    given: EntitySet<Inst>,
    limits: Limits,
    /// What minimum cuts count costs in.
    units: Units,
    policy: Policy,
    downstream: Downstream,
    /// If values are to be chosen in another way than was asked for: why.
    degraded: Option<Degraded>,
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
    ) -> Result<Self, Unsupported> {
        let function = &conventional.function;
        let pins = downstream.pins.occupied(function, liveness, &Untouched::default());
        let unspillable = unspillable(function, liveness);
        let loops = Loops::new(function, order, dominators);
        let is_crowded = || cross_more_than(CROWDED * function.insts.len() as u64, function, liveness);
        let choice = downstream.choice.map(|choice| choice.within_reach(policy.effort, is_crowded));
        let degraded = (choice != downstream.choice)
            .then(|| Degraded::new("spill", "by weight, not by prices: too many values are live for too long"));
        let (constants, web_constants) = constants(conventional);
        let origins = |wanted: fn(&InstData) -> bool| {
            let origins = function.insts.values().filter(|data| wanted(data)).filter_map(|data| data.origin.expand());
            let mut set = EntitySet::new();
            set.extend(origins);
            set
        };
        let dear = origins(|data| data.is_repeatable() && data.is(InstFlags::DEAR));
        let splits = choice.is_some_and(Choice::splits);
        let storable = origins(|data| data.is(InstFlags::STORABLE));
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
            given: if splits && policy.read_in_place { origins(|data| data.is(InstFlags::GIVEN)) } else { EntitySet::new() },
            limits: Limits::new(function, downstream.spare)?,
            units: Units::for_executions(function.blocks.values().map(|data| data.frequency).fold(0.0, f64::max)),
            policy,
            downstream: Downstream { choice, ..downstream },
            degraded,
        })
    }

    /// Whether prices say where values are.
    fn is_priced(&self) -> bool {
        matches!(self.downstream.choice, Some(Choice::Priced | Choice::Optimal))
    }

    /// The weight of each value: light ones are spilled first, those of infinite weight not at all.
    pub fn weights(&self) -> &SecondaryMap<Value, f64> {
        self.weights.get_or_init(|| {
            let mut weights = weights::weights(&self.conventional.function, &self.loops, self.liveness);
            self.unspillable.iter().for_each(|value| weights[value] = f64::INFINITY);
            weights
        })
    }

    /// What is live into a block's landing pads, or what their φs take from it; ascending.
    fn wanted_in_pads(&self, block: Block) -> Vec<Value> {
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

    /// Decides: spills the requested values, and others until everything fits.
    ///
    /// # Errors
    /// If an instruction alone needs more registers than there are, or code would have to stand between the terminators of a
    /// block.
    pub fn plan(&self, requested: &SecondaryMap<Value, bool>) -> Result<Plan, Unsupported> {
        let mut chosen = choose::choose(self, requested).map_err(Unsupported)?;
        let plan = match self.downstream.choice {
            Some(Choice::Farthest(entry)) => residence::plan(self, &chosen, entry),
            _ if self.is_priced() => residence::plan_priced(self, &chosen),
            _ => self.plan_by_value(&mut chosen),
        };
        let mut plan = plan.map_err(Unsupported)?;
        plan.degraded.extend(self.degraded.clone());
        let Conventional { function, .. } = self.conventional;
        match plan.stores.iter().find(|store| store.at > function.before_terminators(store.at.block)) {
            Some(store) => Err(Unsupported(format!("a terminator of {} defines what is to be in memory", store.at.block))),
            None => Ok(plan),
        }
    }

    /// Decides where values are in memory from their definitions to their last uses.
    fn plan_by_value(&self, chosen: &mut choose::Chosen) -> Result<Plan, String> {
        let lowered = lower::lower(self, &mut chosen.spilled);
        let mut plan = refill::plan(self, chosen)?;
        plan.counts.optimisations.lowered_values = lowered.values;
        plan.counts.optimisations.lowered_loads = lowered.loads;
        Ok(plan)
    }

    /// How a value gets into a register again.
    fn refill(&self, value: Value) -> Refill {
        let member = || self.web_constants[value].expand().filter(|_| self.downstream.choice.is_some_and(Choice::splits));
        let constant = self.constants[value].expand().or_else(member).filter(|_| self.policy.rematerialise);
        constant.map_or(Refill::Load, Refill::Rematerialise)
    }

    /// The instruction whose constant is written to memory at once where this value is stored, so that the value need not be in
    /// a register.
    fn storable(&self, value: Value) -> Option<Inst> {
        match self.refill(value) {
            Refill::Rematerialise(inst) => Some(inst).filter(|&inst| self.storable.contains(inst)),
            Refill::Load | Refill::Recompute { .. } => None,
        }
    }

    /// The instruction that loads the value from where it can be read as well.
    fn given(&self, value: Value) -> Option<Inst> {
        match self.refill(value) {
            Refill::Rematerialise(inst) => Some(inst).filter(|&inst| self.given.contains(inst)),
            Refill::Load | Refill::Recompute { .. } => None,
        }
    }

    /// The same, if the value is read by the k-th operand of an instruction that can read it there. (A copy is loaded, rather.)
    fn read_in_place(&self, inst: Inst, k: usize) -> Option<Inst> {
        let Conventional { function, .. } = self.conventional;
        let operand = function.operands(inst)[k];
        if operand.is_def() || function.insts[inst].kind.is_copy() { None } else { self.given(operand.value) }
    }

    /// How a value is computed again from another one.
    fn recompute(&self, value: Value) -> Option<Refill> {
        let inst = self.recomputable[value].expand()?;
        let Conventional { function, .. } = self.conventional;
        Some(Refill::Recompute { inst: function.insts[inst].origin.expand()?, from: function.operands(inst)[1].value })
    }

    /// Whether an instruction copies between values of one home: in memory, it does nothing
    /// (`spill-free-ssa-elimination.txt`, section 6.3).
    fn copies_within_home(&self, inst: Inst) -> bool {
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
    fn cost(&self, added: Added, frequency: f64) -> f64 {
        added.cost(frequency, self.policy.weigh_size)
    }

    /// What a refill costs there.
    fn cost_of_refill(&self, refill: Refill, frequency: f64) -> f64 {
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
    fn is_passed(&self, block: Block) -> bool {
        let data = &self.conventional.function.blocks[block];
        data.on_edge && data.insts.is_empty()
    }

    /// The block at whose end it is decided what is in registers at the end of this one.
    fn source(&self, block: Block) -> Block {
        if self.is_passed(block) { self.conventional.function.blocks[block].preds[0] } else { block }
    }

    /// What a refill on an edge costs.
    fn cost_on_edge(&self, refill: Refill, from: Block, to: Block) -> f64 {
        let function = &self.conventional.function;
        let frequency = cost::edge(function, from, to);
        let jump = if function.blocks[from].on_edge { self.cost(cost::JUMP, frequency) } else { 0.0 };
        self.cost_of_refill(refill, frequency) + jump
    }

    /// Writes what a plan says.
    pub fn insert(&self, plan: &Plan) -> Spilled {
        let slots = slots::assign(self, plan);
        let spilled = insert::insert(self, plan, &slots);
        let slot = |value: Value| slots.of_value(plan, value);
        if self.policy.fold { update::update(spilled, slot, self.policy.weigh_size) } else { spilled }
    }
}

/// The values that inline assembly defines and that are wanted where it jumps to: no store can stand where control passes on
/// all its ways out.
fn unspillable(function: &Function, liveness: &Liveness) -> EntitySet<Value> {
    let mut unspillable = EntitySet::new();
    let targets = |block: Block| function.blocks[block].succs.iter().filter(|&&succ| function.blocks[succ].jump_target);
    for block in function.blocks.keys() {
        for inst in function.block_insts(block).filter(|&inst| function.insts[inst].is(InstFlags::JUMPS)) {
            for def in function.operands(inst).iter().filter(|operand| operand.is_def()) {
                if targets(block).any(|&target| liveness.live_in(target).binary_search(&def.value).is_ok()) {
                    unspillable.insert(def.value);
                }
            }
        }
    }
    unspillable
}

/// Of each value, its definition, if that is recomputable.
fn recomputable(conventional: &Conventional, liveness: &Liveness) -> Constants {
    let Conventional { function, webs, .. } = conventional;
    let mut recomputable = Constants::new();
    for (inst, data) in function.insts.iter().filter(|(_, data)| data.is(InstFlags::RECOMPUTABLE)) {
        if !liveness.kills(data.operands.start as usize + 1) {
            recomputable[function.operands(inst)[0].value] = inst.into();
        }
    }
    // A copy may share its home with what it copies while both live. What has been computed again and is stored there is equal to
    // the copy, but nobody has copied it.
    for (inst, _) in function.insts.iter().filter(|(_, data)| data.kind == InstKind::Copy) {
        if let [to, from] = *function.operands(inst)
            && webs[to.value].is_some()
            && webs[to.value] == webs[from.value]
        {
            recomputable[from.value] = None.into();
        }
    }
    recomputable
}

/// The imported instruction that computes a value again, wherever it is wanted.
type Constants = SecondaryMap<Value, PackedOption<Inst>>;

/// The values that can be computed again and need no slot, and those that may need one: φs in memory take their arguments from
/// slots. Among the latter are the copies that isolate φs, but no member of a web of several classes: what can be computed into
/// the register of one may not be into another's.
fn constants(conventional: &Conventional) -> (Constants, Constants) {
    let function = &conventional.function;
    let mut outside = of_each(function.values.len());
    let mut of_webs = SecondaryMap::new();
    for (inst, data) in function.insts.iter().filter(|(_, data)| data.is(InstFlags::REMATERIALISABLE)) {
        let def = function.operands(inst)[0].value;
        if !function.names_registers(inst) {
            let constants = if conventional.webs[def].is_none() { &mut outside } else { &mut of_webs };
            constants[def] = data.origin;
        }
    }
    let class = |value: Value| function.values[value].class;
    let isolating = function.insts.iter().filter(|(_, data)| data.kind == InstKind::Copy && data.origin.is_none());
    for (inst, _) in isolating {
        if let [to, from] = *function.operands(inst)
            && class(to.value) == class(from.value)
        {
            of_webs[to.value] = outside[from.value].expand().or(of_webs[from.value].expand()).into();
        }
    }
    let member = |value: Value| Some((value, conventional.webs[value].expand()?));
    let mut class_of: SecondaryMap<Web, Option<RegClass>> = of_each(conventional.web_count);
    let mut mixed: EntitySet<Web> = EntitySet::new();
    for (value, web) in function.values.keys().filter_map(member) {
        if *class_of[web].get_or_insert(class(value)) != class(value) {
            mixed.insert(web);
        }
    }
    for (value, _) in function.values.keys().filter_map(member).filter(|&(_, web)| mixed.contains(web)) {
        of_webs[value] = None.into();
    }
    (outside, of_webs)
}
