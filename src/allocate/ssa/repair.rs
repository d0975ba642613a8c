//! SSA repair: values whose live ranges were split into pieces with names of their own get φs where several names meet.
//!
//! Requires: a function in which new names are defined, and uses within a block that follow a new name there read it; other
//! uses may still read the old one.
//! Ensures: strict SSA form. Every use reads the one name that reaches it. The φs are pruned: each defines what is live.
//! Relies on: Cytron et al. (1991): φs at the iterated dominance frontier of the definitions, then a walk of the dominator
//! tree that knows the latest name. Control leaves a block for a landing pad, or for the target of inline assembly that
//! jumps, in the middle, so that names behind that place do not reach it.
//!
//! Values are told apart by their *base*: the name that they had before they were split.

use crate::analysis::grouped::{Grouped, of_each};
use crate::analysis::{Dominators, JoinSet, Order, Worklist};
use crate::machine::{Block, BlockList, Function, Inst, Phi, Point, Value, ValueData};
use cranelift_entity::{EntitySet, SecondaryMap, packed_option::PackedOption};
use std::ops::RangeInclusive;

/// Which names are pieces of which values.
pub struct Pieces {
    base: SecondaryMap<Value, PackedOption<Value>>,
    /// Values of which a use may be reached by several names, or by one from another block.
    broken: EntitySet<Value>,
    /// φs that have to be there, wherever else they are: (value, block).
    joins: Vec<(Value, Block)>,
    /// Edges to them over which no name comes, those of each value ascending.
    refilled: Vec<(Value, (Block, Block))>,
}

/// A φ that joins the pieces of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Join {
    pub block: Block,
    /// Its index among the block's φs.
    pub row: usize,
    pub base: Value,
    pub name: Value,
}

impl Pieces {
    /// No value is split.
    pub fn new(function: &Function) -> Self {
        Pieces { base: of_each(function.values.len()), broken: EntitySet::new(), joins: Vec::new(), refilled: Vec::new() }
    }

    /// A name is defined that is a piece of a value.
    pub fn add(&mut self, name: Value, base: Value) {
        self.base[name] = base.into();
    }

    /// The value has names, of which others than the ones in a block reach uses there.
    pub fn reaches_from_outside(&mut self, base: Value) {
        self.broken.insert(base);
    }

    /// The pieces of a value meet at the head of a block, whatever their names.
    pub fn join(&mut self, base: Value, block: Block) {
        self.broken.insert(base);
        self.joins.push((base, block));
    }

    /// The pieces of a value meet at the head of `to`, and on the edge from `from` something else than a name is what arrives:
    /// the φ's argument is undefined. A value's edges are told in ascending order.
    pub fn refilled_on_edge(&mut self, base: Value, from: Block, to: Block) {
        self.join(base, to);
        self.refilled.push((base, (from, to)));
    }

    /// Of each name, what it is a piece of, if that has to be repaired.
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

/// Repairs SSA form; returns the φs that this took, in the order of their blocks and values.
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
    // What is live into blocks that are entered from the middle of others.
    let mut live_into_pads: SecondaryMap<Block, Vec<Value>> = of_each(function.blocks.len());
    // Most functions have no such block, and where they are many, a value lives into few.
    let any_entered = function.blocks.keys().any(|block| is_entered_from_the_middle(function, block));
    let (mut live, mut pending) = (EntitySet::with_capacity(function.blocks.len()), Vec::new());
    let (mut at, mut assigned): (Vec<Block>, Vec<Block>) = Default::default();
    for base in pieces.broken.iter() {
        places.live_in(function, base, refilled.get(base), &mut live, &mut pending);
        let forced = |block: &Block| function.blocks[*block].preds.len() > 1;
        let entered = live.iter().filter(|&block| is_entered_from_the_middle(function, block));
        let pads: Vec<Block> = if any_entered { entered.collect() } else { Vec::new() };
        at.clear();
        at.extend(pads.iter().copied().filter(forced));
        let arrives = |&pad: &Block| function.blocks[pad].preds.iter().all(|&pred| comes_over(refilled.get(base), pred, pad));
        pads.iter().copied().filter(arrives).for_each(|pad| live_into_pads[pad].push(base));
        at.extend(asked.get(base).iter().copied().filter(|&block| live.contains(block)));
        assigned.clear();
        assigned.extend(places.defs.get(base).iter().map(|def| def.block));
        assigned.extend_from_slice(&at);
        // What is entered before the value gets its last name in the block before has another name.
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

/// Whether a name comes over an edge, if none does over some, which are ascending.
fn comes_over(refilled: &[(Block, Block)], from: Block, to: Block) -> bool {
    refilled.binary_search(&(from, to)).is_err()
}

/// Whether control comes from the middle of predecessors.
fn is_entered_from_the_middle(function: &Function, block: Block) -> bool {
    function.blocks[block].landing_pad || function.blocks[block].jump_target
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

/// Of each name, what it is a piece of, if that is to be repaired.
type Bases = SecondaryMap<Value, PackedOption<Value>>;

/// The definitions of a value's names in a block.
#[derive(Clone, Copy)]
struct Def {
    block: Block,
    /// The number of instructions up to behind the first: 0 for a φ.
    first: u32,
    /// Likewise, behind the last.
    last: u32,
}

/// Where values to be repaired are defined, and where they are used without being defined before in the block.
struct Places {
    defs: Grouped<Value, Def>,
    uses: Grouped<Value, Block>,
    /// The blocks whose instructions name any.
    naming: EntitySet<Block>,
}

impl Places {
    fn new(function: &Function, bases: &Bases) -> Self {
        let (mut defs, mut uses) = (Vec::new(), Vec::new());
        // The last block in which each value was found defined.
        let mut defined: SecondaryMap<Value, PackedOption<Block>> = of_each(function.values.len());
        // Of each value, the place of its latest definition in the list.
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
                    let behind = index as u32 + 1;
                    if defined[base] != block.into() {
                        defined[base] = block.into();
                        latest[base] = defs.len();
                        defs.push((base, Def { block, first: behind, last: behind }));
                    }
                    defs[latest[base]].1.last = behind;
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
        let early = is_entered_from_the_middle(function, to);
        self.def(base, from).is_some_and(|def| !early || def.first <= defined_until(function, from, to))
    }

    /// Of a block that is entered from the middle of others: whether control leaves its one predecessor for it before the value
    /// gets its last name there.
    fn has_older_name(&self, function: &Function, base: Value, block: Block) -> bool {
        let [pred] = function.blocks[block].preds[..] else { return false };
        self.def(base, pred).is_some_and(|def| def.last > defined_until(function, pred, block))
    }

    fn def(&self, base: Value, block: Block) -> Option<Def> {
        let defs = self.defs.get(base);
        defs.binary_search_by_key(&block, |def| def.block).ok().map(|found| defs[found])
    }

    /// Makes `live` the blocks that a value is live into, if no name comes over some edges; `pending` is empty before and behind.
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

/// The number of instructions whose definitions are there when control leaves a block for another from its middle: those of inline
/// assembly that jumps are.
fn defined_until(function: &Function, from: Block, to: Block) -> u32 {
    let jumps = function.blocks[to].jump_target && function.jump(from).is_some();
    function.departure(from, to).index + u32::from(jumps)
}

/// The walk of the dominator tree that has every use read the latest name.
struct Renamer<'a> {
    function: &'a mut Function,
    bases: &'a Bases,
    /// [`Places::naming`].
    naming: &'a EntitySet<Block>,
    live_into_pads: SecondaryMap<Block, Vec<Value>>,
    current: SecondaryMap<Value, PackedOption<Value>>,
    /// What `current` was before, to be restored when the walk leaves a subtree.
    undo: Vec<(Value, PackedOption<Value>)>,
    /// The names with which blocks are entered from the middle of others.
    entering: SecondaryMap<Block, Vec<(Value, Value)>>,
}

enum Step {
    Enter(Block),
    /// Undo down to this length.
    Leave(usize),
}

impl Renamer<'_> {
    fn walk(mut self, order: &Order, dominators: &Dominators) {
        let below: Vec<(Block, Block)> =
            order.blocks().iter().filter_map(|&block| Some((dominators.idom(block)?, block))).collect();
        let children = Grouped::new(self.function.blocks.len(), &below);
        let mut steps = vec![Step::Enter(self.function.entry())];
        while let Some(step) = steps.pop() {
            match step {
                Step::Enter(block) => {
                    steps.push(Step::Leave(self.undo.len()));
                    self.block(block);
                    steps.extend(children.get(block).iter().rev().map(|&child| Step::Enter(child)));
                }
                Step::Leave(length) => {
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

    /// The name that is to be read in place of this one.
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
        let (mut early, late): (BlockList, BlockList) =
            succs.into_iter().partition(|&succ| is_entered_from_the_middle(self.function, succ));
        for (index, inst) in self.function.block_insts(block).enumerate() {
            let here = Point { block, index: index as u32 };
            self.debug_uses(here..=here);
            if early.is_empty() {
                self.instruction(inst);
                continue;
            }
            let (here, later): (BlockList, BlockList) =
                early.into_iter().partition(|&succ| self.function.departure(block, succ).index == index as u32);
            early = later;
            // A landing pad has nothing that the call defines; where inline assembly jumps to, there is what that defines.
            let (pads, targets): (BlockList, BlockList) =
                here.into_iter().partition(|&succ| self.function.blocks[succ].landing_pad);
            pads.into_iter().for_each(|succ| self.depart(block, succ));
            self.instruction(inst);
            targets.into_iter().for_each(|succ| self.depart(block, succ));
        }
        self.debug_uses(end..=end);
        early.into_iter().chain(late).for_each(|succ| self.depart(block, succ));
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

    /// Has debug uses at points name what is latest, if they name anything that reaches them.
    fn debug_uses(&mut self, at: RangeInclusive<Point>) {
        let first = self.function.debug_uses.partition_point(|debug| debug.at < *at.start());
        for debug in self.function.debug_uses[first..].iter_mut().take_while(|debug| debug.at <= *at.end()) {
            let latest = self.bases[debug.value].expand().and_then(|base| self.current[base].expand());
            debug.value = latest.unwrap_or(debug.value);
        }
    }

    /// Control may leave a block for another one here.
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
