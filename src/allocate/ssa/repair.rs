//! SSA repair: φs where several names of one value meet.
//!
//! Spilling and assignment split the live range of a value into pieces with names of their own. Where control joins, several
//! of them may arrive; a φ makes one name of them, and each use is made to read the name that reaches it. Names are pieces
//! of one value if they have the same *base*: the name before the split.
//!
//! Requires: a function in which new names are defined. Uses that follow a new name within its block read it; other uses may
//! still read the old one.
//! Ensures: strict SSA form. Every use reads the one name that reaches it. The φs are pruned: each defines a name that is
//! live.
//! Relies on: \[Cytron91\]: φs at the iterated dominance frontier of the definitions, and then a walk of the dominator tree
//! that knows the latest name. Control leaves a block in its middle for a landing pad; names that are defined
//! later in the block do not reach it.

use crate::analysis::grouped::{Grouped, of_each};
use crate::analysis::{Dominators, JoinSet, Order, Worklist};
use crate::machine::{Block, BlockList, Function, Inst, Phi, Point, Value, ValueData};
use cranelift_entity::{EntitySet, SecondaryMap, packed_option::PackedOption};
use std::ops::RangeInclusive;

/// The names that are pieces of values, and the values to repair.
pub struct Pieces {
    base: SecondaryMap<Value, PackedOption<Value>>,
    /// Values with a use that several names may reach, or one from another block.
    broken: EntitySet<Value>,
    /// φs that are required, in addition to others: (value, block).
    joins: Vec<(Value, Block)>,
    /// Edges to these blocks over which no name arrives, in ascending order for each value.
    refilled: Vec<(Value, (Block, Block))>,
}

/// A φ that joins the pieces of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Join {
    pub block: Block,
    /// The index of the φ among the block's.
    pub row: usize,
    pub base: Value,
    pub name: Value,
}

impl Pieces {
    /// Pieces of no value yet.
    pub fn new(function: &Function) -> Self {
        Pieces { base: of_each(function.values.len()), broken: EntitySet::new(), joins: Vec::new(), refilled: Vec::new() }
    }

    /// Notes that a name is a piece of a value.
    pub fn add(&mut self, name: Value, base: Value) {
        self.base[name] = base.into();
    }

    /// Notes that names of a value other than those in a block reach uses there.
    pub fn reaches_from_outside(&mut self, base: Value) {
        self.broken.insert(base);
    }

    /// Requires a φ for the pieces of a value at the head of a block, whatever their names.
    pub fn join(&mut self, base: Value, block: Block) {
        self.broken.insert(base);
        self.joins.push((base, block));
    }

    /// Requires a φ for the pieces of a value at the head of `to` whose argument for the edge from `from` is undefined,
    /// because the value does not arrive there under a name. The edges of a value are added in ascending order.
    pub fn refilled_on_edge(&mut self, base: Value, from: Block, to: Block) {
        self.join(base, to);
        self.refilled.push((base, (from, to)));
    }

    /// The base of each name whose value has to be repaired.
    fn to_repair(&self, function: &Function) -> Bases {
        let mut to_repair = of_each(function.values.len());
        for base in self.broken.iter() {
            to_repair[base] = base.into();
        }
        for (name, base) in self.base.iter().filter_map(|(name, base)| Some((name, base.expand()?))) {
            if self.broken.contains(base) {
                to_repair[name] = base.into();
            }
        }
        to_repair
    }
}

/// Repairs SSA form. Answers the φs that were added, in the order of their blocks and values.
pub fn repair(function: &mut Function, order: &Order, dominators: &Dominators, pieces: &Pieces) -> Vec<Join> {
    if pieces.broken.is_empty() {
        return Vec::new();
    }
    let mut bases = pieces.to_repair(function);
    let places = Places::new(function, &bases);
    let mut worklist = Worklist::new(function, order, dominators);
    let asked = Grouped::new(function.values.len(), &pieces.joins);
    let refilled = Grouped::new(function.values.len(), &pieces.refilled);
    let mut joins = Vec::new();
    // The values that are live into landing pads.
    let mut live_into_pads: SecondaryMap<Block, Vec<Value>> = of_each(function.blocks.len());
    // Most functions have no such block. Where there are many, a value lives into few of them.
    let any_pads = function.blocks.values().any(|data| data.landing_pad);
    let (mut live, mut pending) = (EntitySet::with_capacity(function.blocks.len()), Vec::new());
    let (mut at, mut assigned): (Vec<Block>, Vec<Block>) = Default::default();
    for base in pieces.broken.iter() {
        places.live_in(function, base, refilled.get(base), &mut live, &mut pending);
        let forced = |block: &Block| function.blocks[*block].preds.len() > 1;
        let live_pads = live.iter().filter(|&block| function.blocks[block].landing_pad);
        let pads: Vec<Block> = if any_pads { live_pads.collect() } else { Vec::new() };
        at.clear();
        at.extend(pads.iter().copied().filter(forced));
        let arrives = |&pad: &Block| function.blocks[pad].preds.iter().all(|&pred| comes_over(refilled.get(base), pred, pad));
        pads.iter().copied().filter(arrives).for_each(|pad| live_into_pads[pad].push(base));
        at.extend(asked.get(base).iter().copied().filter(|&block| live.contains(block)));
        assigned.clear();
        assigned.extend(places.defs.get(base).iter().map(|def| def.block));
        assigned.extend_from_slice(&at);
        // A block that is entered before the value gets its last name in the block before has another name of it.
        assigned.extend(pads.into_iter().filter(|&block| places.has_older_name(function, base, block)));
        worklist.append(&assigned, |block| live.contains(block), &mut at);
        at.sort_unstable();
        at.dedup();
        joins.extend(at.iter().map(|&block| (block, base)));
    }
    joins.sort_unstable();
    let add = |(block, base)| add_phi(function, &mut bases, block, base, refilled.get(base));
    let joins: Vec<Join> = joins.into_iter().map(add).collect();
    Renamer {
        current: of_each(function.values.len()),
        undo: Vec::new(),
        entering: of_each(function.blocks.len()),
        function,
        bases: &bases,
        naming: &places.naming,
        live_into_pads,
    }
    .walk(order, dominators);
    joins
}

/// Whether a name comes over an edge. It does not over those that are `refilled`, which are ascending.
fn comes_over(refilled: &[(Block, Block)], from: Block, to: Block) -> bool {
    refilled.binary_search(&(from, to)).is_err()
}

/// Adds a φ that joins a value's names; the arguments are renamed later.
fn add_phi(function: &mut Function, bases: &mut Bases, block: Block, base: Value, refilled: &[(Block, Block)]) -> Join {
    let class = function.values[base].class;
    let name = function.values.push(ValueData { class, of: function.original(base).into() });
    bases[name] = base.into();
    let arg = |&pred: &Block| Some(base).filter(|_| comes_over(refilled, pred, block)).into();
    let args = function.blocks[block].preds.iter().map(arg).collect();
    let phis = &mut function.blocks[block].phis;
    phis.push(Phi { def: name, args });
    Join { block, row: phis.len() - 1, base, name }
}

/// The base of each name whose value has to be repaired.
type Bases = SecondaryMap<Value, PackedOption<Value>>;

/// The definitions of a value's names in a block.
#[derive(Clone, Copy)]
struct Def {
    block: Block,
    /// The number of instructions up to the first one that defines a name, including it; 0 for a φ.
    first: u32,
    /// The number of instructions up to the last one that defines a name, including it.
    last: u32,
}

/// Where the values to be repaired are defined, and where they are used without an earlier definition in the block.
struct Places {
    defs: Grouped<Value, Def>,
    uses: Grouped<Value, Block>,
    /// The blocks whose instructions name such values.
    naming: EntitySet<Block>,
}

impl Places {
    fn new(function: &Function, bases: &Bases) -> Self {
        let (mut defs, mut uses) = (Vec::new(), Vec::new());
        // The last block in which each value was found defined.
        let mut defined: SecondaryMap<Value, PackedOption<Block>> = of_each(function.values.len());
        // The index in `defs` of each value's latest definition.
        let mut latest: SecondaryMap<Value, usize> = of_each(function.values.len());
        let mut naming = EntitySet::with_capacity(function.blocks.len());
        for (block, data) in &function.blocks {
            for base in data.phis.iter().filter_map(|phi| bases[phi.def].expand()) {
                defined[base] = block.into();
                latest[base] = defs.len();
                defs.push((base, Def { block, first: 0, last: 0 }));
            }
            if function.block_operands(block).iter().all(|operand| bases[operand.value].is_none()) {
                continue;
            }
            naming.insert(block);
            for (index, inst) in function.block_insts(block).enumerate() {
                let operands = function.operands(inst);
                for base in operands.iter().filter(|operand| !operand.is_def()).filter_map(|o| bases[o.value].expand()) {
                    if defined[base] != block.into() {
                        uses.push((base, block));
                    }
                }
                for base in operands.iter().filter(|operand| operand.is_def()).filter_map(|o| bases[o.value].expand()) {
                    let end = index as u32 + 1;
                    if defined[base] != block.into() {
                        defined[base] = block.into();
                        latest[base] = defs.len();
                        defs.push((base, Def { block, first: end, last: end }));
                    }
                    defs[latest[base]].1.last = end;
                }
            }
        }
        let mut places = Places { defs: Grouped::new(function.values.len(), &defs), uses: Grouped::new(0, &[]), naming };
        for (block, data) in &function.blocks {
            for phi in &data.phis {
                for (arg, &pred) in phi.args.iter().zip(&data.preds) {
                    let base = arg.expand().and_then(|arg| bases[arg].expand());
                    uses.extend(base.filter(|&base| !places.is_defined(function, base, pred, block)).map(|base| (base, pred)));
                }
            }
        }
        places.uses = Grouped::new(function.values.len(), &uses);
        places
    }

    /// Whether a value is defined in `from` before control leaves it for `to`.
    fn is_defined(&self, function: &Function, base: Value, from: Block, to: Block) -> bool {
        let early = function.blocks[to].landing_pad;
        self.def(base, from).is_some_and(|def| !early || def.first <= function.departure(from, to).index)
    }

    /// Whether control leaves the only predecessor of a block, which it enters from the middle of that one, before the value
    /// gets its last name there.
    fn has_older_name(&self, function: &Function, base: Value, block: Block) -> bool {
        let [pred] = function.blocks[block].preds[..] else { return false };
        self.def(base, pred).is_some_and(|def| def.last > function.departure(pred, block).index)
    }

    fn def(&self, base: Value, block: Block) -> Option<Def> {
        let defs = self.defs.get(base);
        defs.binary_search_by_key(&block, |def| def.block).ok().map(|found| defs[found])
    }

    /// Makes `live` the blocks that a value is live into, given the edges over which no name comes. `pending` is empty
    /// before and after.
    fn live_in(
        &self,
        function: &Function,
        base: Value,
        refilled: &[(Block, Block)],
        live: &mut EntitySet<Block>,
        pending: &mut Vec<Block>,
    ) {
        live.clear();
        pending.extend_from_slice(self.uses.get(base));
        while let Some(block) = pending.pop() {
            if live.insert(block) {
                let preds = function.blocks[block].preds.iter().copied();
                let comes = preds.filter(|&pred| comes_over(refilled, pred, block));
                pending.extend(comes.filter(|&pred| !self.is_defined(function, base, pred, block)));
            }
        }
    }
}

/// The walk of the dominator tree that has every use read the latest name.
struct Renamer<'a> {
    function: &'a mut Function,
    bases: &'a Bases,
    /// The blocks to rename in ([`Places::naming`]).
    naming: &'a EntitySet<Block>,
    live_into_pads: SecondaryMap<Block, Vec<Value>>,
    current: SecondaryMap<Value, PackedOption<Value>>,
    /// The old names in `current`, which come back when the walk leaves a subtree.
    undo: Vec<(Value, PackedOption<Value>)>,
    /// The names with which blocks are entered from the middle of others.
    entering: SecondaryMap<Block, Vec<(Value, Value)>>,
}

enum TreeStep {
    Enter(Block),
    /// Restore `current` until `undo` has this length.
    Leave(usize),
}

impl Renamer<'_> {
    fn walk(mut self, order: &Order, dominators: &Dominators) {
        let below: Vec<(Block, Block)> =
            order.blocks().iter().filter_map(|&block| Some((dominators.idom(block)?, block))).collect();
        let children = Grouped::new(self.function.blocks.len(), &below);
        let mut steps = vec![TreeStep::Enter(self.function.entry())];
        while let Some(step) = steps.pop() {
            match step {
                TreeStep::Enter(block) => {
                    steps.push(TreeStep::Leave(self.undo.len()));
                    self.block(block);
                    steps.extend(children.get(block).iter().rev().map(|&child| TreeStep::Enter(child)));
                }
                TreeStep::Leave(length) => {
                    while self.undo.len() > length {
                        let (base, name) = self.undo.pop().expect("the list is longer");
                        self.current[base] = name;
                    }
                }
            }
        }
    }

    fn define(&mut self, name: Value) {
        if let Some(base) = self.bases[name].expand() {
            self.set(base, name);
        }
    }

    fn set(&mut self, base: Value, name: Value) {
        self.undo.push((base, self.current[base]));
        self.current[base] = name.into();
    }

    /// The name to read in place of this one.
    fn latest(&self, name: Value) -> Value {
        match self.bases[name].expand() {
            Some(base) => self.current[base].expect("a definition reaches every use"),
            None => name,
        }
    }

    fn block(&mut self, block: Block) {
        for (base, name) in std::mem::take(&mut self.entering[block]) {
            self.set(base, name);
        }
        for row in 0..self.function.blocks[block].phis.len() {
            self.define(self.function.blocks[block].phis[row].def);
        }
        let succs = self.function.blocks[block].succs.clone();
        let [head, end] = [0, self.function.blocks[block].insts.len() as u32].map(|index| Point { block, index });
        if !self.naming.contains(block) {
            self.debug_uses(head..=end);
            return succs.into_iter().for_each(|succ| self.depart(block, succ));
        }
        let (pads, others): (BlockList, BlockList) = succs.into_iter().partition(|&succ| self.function.blocks[succ].landing_pad);
        for (index, inst) in self.function.block_insts(block).enumerate() {
            let here = Point { block, index: index as u32 };
            self.debug_uses(here..=here);
            // At a landing pad, the definitions of the call have not taken place.
            if self.function.blocks[block].throws == inst.into() {
                pads.iter().for_each(|&succ| self.depart(block, succ));
            }
            self.instruction(inst);
        }
        self.debug_uses(end..=end);
        others.into_iter().for_each(|succ| self.depart(block, succ));
    }

    fn instruction(&mut self, inst: Inst) {
        let range = self.function.insts[inst].operands.clone();
        for k in range.clone().map(|k| k as usize) {
            if !self.function.operands[k].is_def() {
                self.function.operands[k].value = self.latest(self.function.operands[k].value);
            }
        }
        for k in range.map(|k| k as usize) {
            if self.function.operands[k].is_def() {
                self.define(self.function.operands[k].value);
            }
        }
    }

    /// Has debug uses at these points name the latest piece of their value, if there is one that reaches them.
    fn debug_uses(&mut self, at: RangeInclusive<Point>) {
        let first = self.function.debug_uses.partition_point(|debug| debug.at < *at.start());
        for debug in self.function.debug_uses[first..].iter_mut().take_while(|debug| debug.at <= *at.end()) {
            let latest = self.bases[debug.value].expand().and_then(|base| self.current[base].expand());
            debug.value = latest.unwrap_or(debug.value);
        }
    }

    /// Passes a point at which control may leave a block for another one: fills in the arguments of φs there.
    fn depart(&mut self, from: Block, to: Block) {
        let column = self.function.column(from, to);
        for row in 0..self.function.blocks[to].phis.len() {
            let arg = self.function.blocks[to].phis[row].args[column];
            self.function.blocks[to].phis[row].args[column] = arg.map(|arg| self.latest(arg)).into();
        }
        if self.function.blocks[to].preds.len() == 1 {
            let names = self.live_into_pads[to].iter().map(|&base| (base, self.latest(base))).collect();
            self.entering[to] = names;
        }
    }
}
