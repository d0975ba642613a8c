//! From the values in registers in each block to a plan: refills on edges, φs in memory, stores.

use super::ascending::Ascending;
use super::entry::Entries;
use super::store_placement::{self, Reads};
use crate::allocate::spill::plan::homes::Homes;
use crate::allocate::spill::plan::update::changes_home;
use crate::allocate::spill::plan::{Plan, Refill, Site, Store};
use crate::allocate::spill::problem::Problem;
use crate::allocate::spill::spill_set::SpillSet;
use crate::allocate::spill::spilled::SpillCounts;
use crate::analysis::Untouched;
use crate::analysis::grouped::of_each;
use crate::machine::{Block, Function, Inst, Operand, Phi, Point, Value};
use cranelift_entity::{EntitySet, SecondaryMap};

/// The decisions of the block walk.
pub(in crate::allocate::spill) struct Decided<'a> {
    pub(in crate::allocate::spill) entries: Entries<'a>,
    /// Those within blocks.
    pub(in crate::allocate::spill) refills: Vec<(Site, Value, Refill)>,
    /// Where values that live on leave their registers within blocks: before which instruction.
    pub(in crate::allocate::spill) evictions: Vec<(Point, Value)>,
    pub(in crate::allocate::spill) folds: Vec<(Inst, usize)>,
    /// Values whose definitions are needed in a register.
    pub(in crate::allocate::spill) read_where_defined: EntitySet<Value>,
}

/// Where a value that is in memory for a part of its life is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::allocate::spill) enum StorePlacement {
    /// At the least cost ([`store_placement`]).
    Cheapest,
    /// Once, after its definition [PP09, §6.1].
    AfterDefinition,
    /// Wherever it leaves its register, within blocks and on edges.
    WhereEvicted,
}

/// Connects the blocks: a value that is in a register at a block's head, and not at the end of a predecessor, is refilled on
/// the edge.
pub(in crate::allocate::spill) fn connect(
    problem: &Problem,
    set: &SpillSet,
    decided: Decided,
    placement: StorePlacement,
) -> Plan {
    let conventional = problem.conventional;
    let function = &conventional.function;
    let mut connector = Connector { problem, set, function, decided, memory_phis: EntitySet::new() };
    connector.memory_phis = connector.memory_phis();
    let on_edges = connector.on_edges();
    connector.decided.refills.extend(on_edges);
    // Refills at one point stay in order. On an edge, several φs may take one value.
    connector.decided.refills.sort_by_key(|&(site, value, _)| (site, Some(value).filter(|_| matches!(site, Site::Edge { .. }))));
    connector.decided.refills.dedup();
    // A value that is stored without a register is not written by its definition, which is not executed.
    let storable = |value: Value| problem.storable(value).is_some();
    let remains =
        |&(inst, k): &(Inst, usize)| !(function.operands(inst)[k].is_def() && storable(function.operands(inst)[k].value));
    connector.decided.folds.retain(remains);
    connector.decided.folds.sort_unstable();
    let reads = connector.reads();
    let (in_memory, for_a_while) = connector.in_memory(&reads);
    let mut at_home = in_memory.clone();
    at_home.extend(for_a_while.iter());
    let homes = Homes::new(conventional, &at_home, true);
    let definitions = connector.definitions();
    let stores = connector.stores(&in_memory, &for_a_while, &reads, &definitions, placement);
    let updates = connector.updates(&stores);
    let mut dropped = connector.dropped(&at_home, &definitions);
    let values = function.values.keys().filter(|&value| at_home.contains(value) || set.spilled[value]).count();
    let mut counts = SpillCounts { values: values as u64, ..SpillCounts::default() };
    for inst in connector.copies_within_homes() {
        counts.optimisations.coalesced_copies += 1;
        if function.insts[inst].origin.is_none() {
            dropped.insert(inst);
        }
    }
    let Connector { decided: Decided { refills, mut folds, .. }, memory_phis, .. } = connector;
    // An instruction that is not executed accesses nothing.
    folds.retain(|&(inst, _)| !dropped.contains(inst));
    let untouched = Untouched::default();
    Plan {
        refills,
        stores,
        memory_phis,
        folds,
        updates,
        dropped,
        in_memory,
        untouched,
        homes,
        memory_rows: SecondaryMap::new(),
        counts,
        degraded: Vec::new(),
        prices: Vec::new(),
    }
}

/// The definition of a value.
#[derive(Clone, Copy)]
struct Definition {
    block: Block,
    /// `None` if it is a φ.
    inst: Option<Inst>,
}

/// The definition of each value that has one.
type Definitions = SecondaryMap<Value, Option<Definition>>;

struct Connector<'a> {
    problem: &'a Problem<'a>,
    set: &'a SpillSet,
    function: &'a Function,
    decided: Decided<'a>,
    memory_phis: EntitySet<Value>,
}

impl Connector<'_> {
    /// φs whose definitions are not in registers at their blocks' heads.
    fn memory_phis(&self) -> EntitySet<Value> {
        let mut memory_phis = EntitySet::new();
        for (block, data) in &self.function.blocks {
            let elsewhere = |phi: &&Phi| !self.decided.entries.is_in(block, phi.def);
            memory_phis.extend(data.phis.iter().filter(elsewhere).map(|phi| phi.def));
        }
        memory_phis
    }

    /// Refills of values that are in registers at the head of a block, and not at the end of a predecessor.
    fn on_edges(&self) -> Vec<(Site, Value, Refill)> {
        let entries = &self.decided.entries;
        let mut refills = Vec::new();
        let mut through: Vec<Value> = Vec::new();
        for (to, data) in &self.function.blocks {
            through.clear();
            let mut live = Ascending::new(self.problem.liveness.live_in(to));
            through.extend(entries.at_head(to).iter().filter(|&&value| live.contains(value)));
            for (column, &from) in data.preds.iter().enumerate() {
                let phis = data.phis.iter().filter(|phi| !self.memory_phis.contains(phi.def));
                let taken = phis.filter_map(|phi| phi.args[column].expand());
                let mut over = entries.over(from, to);
                let missing = taken
                    .filter(|&value| !entries.comes_over(from, to, value))
                    .chain(through.iter().copied().filter(|&value| !over.contains(value)));
                refills.extend(missing.map(|value| (Site::Edge { from, to }, value, self.problem.refill(value))));
            }
        }
        refills
    }

    /// The arguments of φs in memory, except for φs that nothing reads: (from, to, argument, φ).
    fn arguments(&self) -> impl Iterator<Item = (Block, Block, Value, Value)> + '_ {
        let phis = self.function.blocks.iter().flat_map(|(to, data)| data.phis.iter().map(move |phi| (to, &data.preds, phi)));
        let in_memory = |def: Value| self.memory_phis.contains(def) && !self.problem.liveness.is_dead(def);
        phis.filter(move |(.., phi)| in_memory(phi.def)).flat_map(|(to, preds, phi)| {
            let args = phi.args.iter().zip(preds);
            args.filter_map(move |(arg, &from)| Some((from, to, arg.expand()?, phi.def)))
        })
    }

    /// Values that are in memory all their lives, and the others that are in memory for a part of them.
    fn in_memory(&self, reads: &Reads) -> (EntitySet<Value>, EntitySet<Value>) {
        let mut in_memory = EntitySet::with_capacity(self.function.values.len());
        let values = self.function.values.keys();
        in_memory.extend(values.filter(|&it| self.set.is_in_memory(it)));
        let mut for_a_while = self.memory_phis.clone();
        for_a_while.extend(self.folded().map(|(_, operand)| operand.value));
        for_a_while.extend(reads.in_blocks.iter().chain(&reads.at_ends).map(|&(_, value)| value));
        for value in in_memory.iter() {
            for_a_while.remove(value);
        }
        (in_memory, for_a_while)
    }

    /// The places where values are read from memory.
    fn reads(&self) -> Reads {
        let loads = self.decided.refills.iter().filter(|(.., refill)| *refill == Refill::Load);
        let loads = loads.map(|&(site, value, _)| match site {
            Site::At(point) => (point.block, value),
            Site::Edge { from, .. } => (from, value),
        });
        let folded = self.folded().filter(|(_, operand)| !operand.is_def()).map(|(block, operand)| (block, operand.value));
        let mut reads = Reads { in_blocks: loads.chain(folded).collect(), at_ends: Vec::new() };
        for (from, to, arg, _) in self.arguments() {
            // Where control leaves in the middle of a block, a store at its end would be too late.
            let at_end = self.function.departure(from, to) == self.function.before_terminators(from);
            if at_end { &mut reads.at_ends } else { &mut reads.in_blocks }.push((from, arg));
        }
        reads
    }

    /// The operands that instructions access in memory themselves, in the homes of their values.
    fn folded(&self) -> impl Iterator<Item = (Block, Operand)> + '_ {
        let blocks = self.function.blocks.iter();
        blocks.flat_map(move |(block, data)| {
            let folds = &self.decided.folds;
            let first = folds.partition_point(|(inst, _)| inst.as_u32() < data.insts.start);
            let here = folds[first..].iter().take_while(|(inst, _)| inst.as_u32() < data.insts.end);
            let at_home = here.filter(|&&(inst, k)| self.problem.read_in_place(inst, k).is_none());
            at_home.map(move |&(inst, k)| (block, self.function.operands(inst)[k]))
        })
    }

    /// Stores each value after its definition, or elsewhere if the placement says so.
    fn stores(
        &self,
        in_memory: &EntitySet<Value>,
        for_a_while: &EntitySet<Value>,
        reads: &Reads,
        definitions: &Definitions,
        placement: StorePlacement,
    ) -> Vec<Store> {
        let unspillable = |value: Value| self.problem.unspillable.contains(value);
        let mut stored = EntitySet::new();
        stored.extend(for_a_while.iter().filter(|&value| !unspillable(value) && !self.memory_phis.contains(value)));
        let folded = self.folded().map(|(_, operand)| operand).filter(|operand| operand.is_def());
        folded.for_each(|operand| _ = stored.remove(operand.value));
        // If the source of a copy within a home is in memory, the copy's home has been written with it.
        let read_from_home = self.decided.folds.iter().filter(|&&(inst, k)| k == 1 && self.problem.copies_within_home(inst));
        read_from_home.for_each(|&(inst, _)| _ = stored.remove(self.function.operands(inst)[0].value));
        let defined = |value: Value| definitions[value].map(|it| it.block);
        let (mut stores, elsewhere) = match placement {
            StorePlacement::Cheapest => store_placement::place(self.problem, &self.decided.entries, reads, &stored, defined),
            StorePlacement::AfterDefinition => Default::default(),
            StorePlacement::WhereEvicted => self.where_evicted(stored.clone()),
        };
        for (from, to, value, home) in self.arguments().filter(|&(_, _, value, _)| unspillable(value)) {
            stores.push(Store { at: self.function.departure(from, to), value, home });
        }
        let at_definition = stored.iter().filter(|&value| !elsewhere.contains(value));
        let always_there = in_memory.iter().filter(|&value| self.is_stored_after_definition(value, definitions));
        for value in at_definition.chain(always_there) {
            let Some(Definition { block, inst }) = definitions[value] else { continue };
            let after = |inst: Inst| Point { block, index: inst.as_u32() - self.function.blocks[block].insts.start + 1 };
            let at = inst.map_or_else(|| self.function.head(block), after);
            stores.push(Store { at, value, home: value });
        }
        stores.sort_by_key(|store| (store.at, store.value));
        stores
    }

    /// Stores values wherever they leave their registers: within blocks, on edges, and for the φs in memory that take them.
    /// The second result is the set of these values. Those that edges without code, or out of the middle of a block, need in
    /// memory are not among them.
    fn where_evicted(&self, mut stored: EntitySet<Value>) -> (Vec<Store>, EntitySet<Value>) {
        // Control leaves for some blocks in the middle of another, before a value is evicted there.
        let loaded = self.decided.refills.iter().filter_map(|&(site, value, _)| match site {
            Site::Edge { from, to } => Some((from, value, to)),
            Site::At(_) => None,
        });
        for (_, value, _) in self.evicted_on_edges().chain(loaded).filter(|&(from, _, to)| !self.takes_code(from, to)) {
            stored.remove(value);
        }
        let store = |at: Point, value: Value| Store { at, value, home: value };
        let in_blocks = self.decided.evictions.iter().map(|&(at, value)| store(at, value));
        let on_edges = self.evicted_on_edges().filter(|&(from, value, _)| self.decided.entries.is_at_end(from, value));
        // There need be no register for the value at the head of the block to which the edge leads.
        let on_edges = on_edges.map(|(from, value, to)| store(self.function.departure(from, to), value));
        let mut stores: Vec<Store> = in_blocks.chain(on_edges).filter(|store| stored.contains(store.value)).collect();
        stores.sort_by_key(|store| (store.at, store.value));
        stores.dedup();
        (stores, stored)
    }

    /// The values that each edge needs in memory, in a register or not before it: (from, value, to).
    fn evicted_on_edges(&self) -> impl Iterator<Item = (Block, Value, Block)> + '_ {
        let through = self.function.blocks.iter().flat_map(move |(to, data)| {
            let live = self.problem.liveness.live_in(to).iter();
            let in_memory = live.filter(move |&&value| !self.decided.entries.is_in(to, value));
            in_memory.flat_map(move |&value| data.preds.iter().map(move |&from| (from, value, to)))
        });
        through.chain(self.arguments().map(|(from, to, value, _)| (from, value, to)))
    }

    /// Whether a value that is in a register at the end of a block can be stored on an edge.
    fn takes_code(&self, from: Block, to: Block) -> bool {
        !self.function.blocks[to].landing_pad && !self.function.takes_no_code(from, to)
    }

    /// Whether a value that is in memory all its life is stored after its definition. It is not if the instruction writes it
    /// to memory itself, or nothing reads it.
    fn is_stored_after_definition(&self, value: Value, definitions: &Definitions) -> bool {
        let Some(inst) = definitions[value].and_then(|it| it.inst) else { return false };
        let mut operands = self.function.operands(inst).iter();
        let k = operands.position(|operand| operand.is_def() && operand.value == value).expect("it defines the value");
        !self.problem.liveness.is_dead(value) && self.decided.folds.binary_search(&(inst, k)).is_err()
    }

    /// The points at which a loaded value is changed and then only stored ([`crate::allocate::spill::plan::update`]).
    fn updates(&self, stores: &[Store]) -> Vec<Point> {
        let Decided { refills, folds, read_where_defined, .. } = &self.decided;
        let loaded = refills.iter().filter_map(|&(site, value, refill)| match (site, refill) {
            (Site::At(point), Refill::Load) => Some((point, value)),
            _ => None,
        });
        let is_changed = |&(point, value): &(Point, Value)| {
            let inst = Inst::from_u32(self.function.blocks[point.block].insts.start + point.index);
            let Some([read, written]) = changes_home(self.problem, inst) else { return false };
            let [before, after] = [read, written].map(|k| self.function.operands(inst)[k].value);
            let stored = (Point { index: point.index + 1, ..point }, after);
            before == value
                && !read_where_defined.contains(after)
                && folds.binary_search_by_key(&inst, |&(inst, _)| inst).is_err()
                && stores.binary_search_by_key(&stored, |store| (store.at, store.value)).is_ok()
        };
        loaded.filter(is_changed).map(|(point, _)| point).collect()
    }

    /// Finds the definition of each value.
    fn definitions(&self) -> Definitions {
        let mut definitions: Definitions = of_each(self.function.values.len());
        for (block, data) in &self.function.blocks {
            data.phis.iter().for_each(|phi| definitions[phi.def] = Some(Definition { block, inst: None }));
            for inst in self.function.block_insts(block) {
                for operand in self.function.operands(inst).iter().filter(|operand| operand.is_def()) {
                    definitions[operand.value] = Some(Definition { block, inst: Some(inst) });
                }
            }
        }
        definitions
    }

    /// Copies whose operands are both accessed in memory, so that they do nothing. (Those of the program are kept
    /// nevertheless, because whoever compares allocations looks for all its instructions.)
    fn copies_within_homes(&self) -> impl Iterator<Item = Inst> + '_ {
        self.decided.folds.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[0].0)
    }

    /// The definitions of values that are rematerialised or recomputed wherever they are needed.
    fn dropped(&self, at_home: &EntitySet<Value>, definitions: &Definitions) -> EntitySet<Inst> {
        let needless = |value: Value| {
            let stored = at_home.contains(value) && self.problem.storable(value).is_none();
            let constant = self.problem.refill(value) != Refill::Load && !stored;
            let again = constant || self.problem.recompute(value).is_some() && !stored;
            self.set.rematerialised[value] || again && !self.decided.read_where_defined.contains(value)
        };
        let values = definitions.keys().filter(|&value| needless(value));
        let mut dropped = EntitySet::new();
        dropped.extend(values.filter_map(|value| definitions[value]?.inst));
        dropped
    }
}
