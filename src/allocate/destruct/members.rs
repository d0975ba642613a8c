//! The variables of the isolated program: where each is defined and used, what its value is, and which had better be one.
//!
//! Ensures: the same variables, in the same order, whether the copies that isolate are virtual or inserted: values of the
//! function by their numbers, and behind them what the copies make. Virtual copies stand at places of their own between
//! instructions, so that the liveness of φs' operands is that of Definition 21.2 (copy mode) for those that have copies, and that
//! of Definition 21.1 (multiplexing mode) for what copies make and for non-split operands.

use super::bytes;
use super::isolation::{IsolatingCopy, Isolation, Site, read_copy};
use crate::allocate::cssa::Sharing;
use crate::analysis::grouped::Grouped;
use crate::analysis::{Dominators, Order, Partition};
use crate::machine::{Block, Function, Inserted, Inst, InstFlags, InstKind, Operand, RegClass, RegSet, Role, Value};
use cranelift_entity::{EntityRef, SecondaryMap, packed_option::PackedOption};

/// A place in a block. φs and what is live in are at the beginning, then each instruction has several.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Place {
    pub(super) block: Block,
    pub(super) position: u32,
}

/// Before an instruction: the copies of three stages, each of which reads and then writes; then its own operands.
const EARLY: u32 = 6;
const USE: u32 = 7;
const LATE: u32 = 8;
const DONE: u32 = 9;
const STAGES: u32 = 10;

impl Place {
    fn head(block: Block) -> Self {
        Place { block, position: 0 }
    }

    /// Where φs of successors take their arguments.
    fn end(block: Block) -> Self {
        Place { block, position: u32::MAX }
    }

    fn at(block: Block, index: usize, stage: u32) -> Self {
        Place { block, position: 1 + index as u32 * STAGES + stage }
    }
}

/// Whether the function at hand has the copies that isolate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Copies {
    Virtual,
    Inserted,
}

/// A copy that comes to nothing if both sides are one variable.
#[derive(Clone, Copy)]
pub(super) struct Affinity {
    pub(super) to: Value,
    pub(super) from: Value,
    /// Executions.
    pub(super) weight: f64,
}

/// All variables.
pub(super) struct Members {
    /// Where each is defined.
    pub(super) def: Vec<Place>,
    /// Where each is used, in the order of blocks' numbers and positions.
    pub(super) uses: Grouped<Value, Place>,
    /// The first variable with the same value.
    pub(super) value: Vec<Value>,
    /// What each is a copy of that is as wide.
    pub(super) copy_of: Vec<PackedOption<Value>>,
    /// The registers that each may be in.
    pub(super) allowed: Vec<RegSet>,
    /// All copies.
    pub(super) affinities: Vec<Affinity>,
    /// Sets of variables that have to be one: what is left of a φ, what a two-address instruction reads and writes.
    pub(super) atoms: Partition<Value>,
    /// Of each variable's block, its number in the preorder of the dominator tree.
    preorder: SecondaryMap<Block, u32>,
}

impl Members {
    pub(super) fn new(
        function: &Function,
        isolation: &Isolation,
        order: &Order,
        dominators: &Dominators,
        copies: Copies,
    ) -> Self {
        let count = isolation.values + isolation.copies.len();
        let mut scan = Scan {
            function,
            isolation,
            def: vec![Place::head(function.entry()); count],
            uses: Vec::with_capacity(function.operands.len() + 2 * isolation.copies.len()),
            copy_of: vec![None.into(); count],
            affinities: Vec::with_capacity(isolation.copies.len()),
        };
        match copies {
            Copies::Virtual => scan.with_virtual_copies(),
            Copies::Inserted => function.blocks.keys().for_each(|block| scan.block(block, &mut [].iter().peekable())),
        }
        scan.phis();
        let apart = defined_by_jumps(function, count);
        scan.affinities.retain(|affinity| !apart[affinity.to.index()] && !apart[affinity.from.index()]);
        if isolation.sharing == Sharing::Memory {
            let is_fresh = |variable: Value| variable.index() >= isolation.values;
            scan.affinities.retain(|affinity| is_fresh(affinity.to) || is_fresh(affinity.from));
        }
        let allowed = allowed(function, isolation, count);
        let Scan { def, mut uses, copy_of, affinities, .. } = scan;
        uses.sort_unstable();
        let preorder = function.blocks.keys().map(|block| dominators.preorder(block));
        let mut members = Members {
            value: Vec::new(),
            uses: Grouped::new(count, &uses),
            def,
            copy_of,
            allowed,
            affinities,
            atoms: atoms(isolation, count),
            preorder: SecondaryMap::from_iter(function.blocks.keys().zip(preorder)),
        };
        members.value = members.values(order);
        members
    }

    pub(super) fn count(&self) -> usize {
        self.def.len()
    }

    pub(super) fn bytes(&self) -> usize {
        let each = bytes(&self.def) + bytes(&self.value) + bytes(&self.copy_of) + bytes(&self.allowed);
        each + self.uses.bytes() + bytes(&self.affinities) + self.count() * size_of::<Value>()
    }

    /// Dominance order: by the dominator tree's preorder, then by position.
    fn key(&self, variable: Value) -> (u32, u32, Value) {
        let Place { block, position } = self.def[variable.index()];
        (self.preorder[block], position, variable)
    }

    pub(super) fn in_dominance_order(&self, variables: &mut [Value]) {
        variables.sort_unstable_by_key(|&variable| self.key(variable));
    }

    /// Two lists in dominance order as one.
    pub(super) fn merged(&self, a: &[Value], b: &[Value]) -> Vec<Value> {
        let (mut a, mut b) = (a.iter().copied().peekable(), b.iter().copied().peekable());
        let next = || match (a.peek(), b.peek()) {
            (Some(&x), Some(&y)) if self.key(y) < self.key(x) => b.next(),
            (Some(_), _) => a.next(),
            _ => b.next(),
        };
        std::iter::from_fn(next).collect()
    }

    /// The value of each variable. A copy has that of what it copies, which is defined before it in dominance order.
    fn values(&self, order: &Order) -> Vec<Value> {
        let mut values: Vec<Value> = (0..self.count()).map(Value::new).collect();
        let mut copies: Vec<Value> = values.iter().copied().filter(|value| self.copy_of[value.index()].is_some()).collect();
        copies.sort_unstable_by_key(|value| {
            let Place { block, position } = self.def[value.index()];
            (order.index(block), position)
        });
        for copy in copies {
            let from = self.copy_of[copy.index()].expect("only copies are listed");
            values[copy.index()] = values[from.index()];
        }
        values
    }
}

/// What inline assembly defines that jumps cannot be stored, so it had better be alone.
fn defined_by_jumps(function: &Function, count: usize) -> Vec<bool> {
    let mut defined = vec![false; count];
    for inst in function.insts.keys().filter(|&inst| function.insts[inst].is(InstFlags::JUMPS)) {
        for def in function.operands(inst).iter().filter(|operand| operand.is_def()) {
            defined[def.value.index()] = true;
        }
    }
    defined
}

/// The registers of each variable's class; memory suits all.
fn allowed(function: &Function, isolation: &Isolation, count: usize) -> Vec<RegSet> {
    if isolation.sharing == Sharing::Memory {
        return vec![RegSet::ALL; count];
    }
    let registers = |class: RegClass| function.file.classes[class].regs;
    let mut allowed = vec![RegSet::EMPTY; count];
    function.values.keys().take(isolation.values).for_each(|value| allowed[value.index()] = function.allowed(value));
    isolation.copies.iter().for_each(|copy| allowed[copy.fresh().index()] = registers(copy.class));
    allowed
}

/// Unites what is left of each φ with its non-split operands, and each two-address definition with what it overwrites
/// (pinned φ-webs, Algorithm 21.2).
fn atoms(isolation: &Isolation, count: usize) -> Partition<Value> {
    let mut atoms = Partition::discrete(count);
    let mut unite = |a: Value, b: Value| {
        let (a, b) = (atoms.find(a), atoms.find(b));
        if a != b {
            atoms.attach(b, a);
        }
    };
    let of_phi = definitions(isolation);
    for copy in &isolation.copies {
        match copy.site {
            Site::Definition { .. } => {}
            Site::Argument { block, row, .. } => unite(of_phi[block][row], copy.to),
            Site::Tie { overwritten_by, .. } => unite(overwritten_by, copy.to),
        }
    }
    for operand in &isolation.non_split {
        unite(of_phi[operand.block][operand.row], operand.value);
    }
    atoms
}

/// What each φ of a block defines, by row.
fn definitions(isolation: &Isolation) -> SecondaryMap<Block, Vec<Value>> {
    let mut definitions: SecondaryMap<Block, Vec<Value>> = SecondaryMap::new();
    for copy in &isolation.copies {
        if let Site::Definition { block, row } = copy.site {
            debug_assert_eq!(definitions[block].len(), row, "rows come in order");
            definitions[block].push(copy.from);
        }
    }
    definitions
}

struct Scan<'a> {
    function: &'a Function,
    isolation: &'a Isolation,
    def: Vec<Place>,
    uses: Vec<(Value, Place)>,
    copy_of: Vec<PackedOption<Value>>,
    affinities: Vec<Affinity>,
}

impl Scan<'_> {
    fn with_virtual_copies(&mut self) {
        let mut copies = self.isolation.copies.iter().peekable();
        for block in self.function.blocks.keys() {
            self.block(block, &mut copies);
        }
    }

    /// Notes a block's definitions and uses, and those of the copies that come next in the program and stand there.
    fn block<'c>(&mut self, block: Block, copies: &mut std::iter::Peekable<impl Iterator<Item = &'c IsolatingCopy>>) {
        let function = self.function;
        let mut operands = Vec::new();
        for (index, inst) in function.block_insts(block).enumerate() {
            operands.clear();
            operands.extend_from_slice(function.operands(inst));
            while let Some(copy) = copies.next_if(|copy| copy.at.block == block && copy.at.index <= index as u32) {
                self.virtual_copy(copy);
                if let Site::Tie { operand, .. } = copy.site {
                    read_copy(&mut operands, operand, copy.to);
                }
            }
            self.instruction(block, index, inst, &operands);
        }
        while let Some(copy) = copies.next_if(|copy| copy.at.block == block) {
            self.virtual_copy(copy);
        }
    }

    fn virtual_copy(&mut self, copy: &IsolatingCopy) {
        let (point, stage) = copy.place();
        let at = |stage| Place::at(point.block, point.index as usize, stage);
        let width = |class: RegClass| self.function.file.classes[class].slot_size;
        let same = width(copy.class) == width(self.function.values[copy.old()].class);
        self.copy(copy.to, copy.from, same, point.block);
        self.uses.push((copy.from, at(2 * stage)));
        self.def[copy.to.index()] = at(2 * stage + 1);
    }

    /// Notes an instruction with these operands.
    fn instruction(&mut self, block: Block, index: usize, inst: Inst, operands: &[Operand]) {
        let function = self.function;
        for (k, &Operand { value, role, .. }) in operands.iter().enumerate() {
            match role {
                // It goes where the definition comes.
                Role::Use if is_overwritten_early(operands, k) => self.uses.push((value, Place::at(block, index, EARLY))),
                Role::Use => self.uses.push((value, Place::at(block, index, USE))),
                Role::Def => self.def[value.index()] = Place::at(block, index, LATE),
                Role::EarlyDef => {
                    self.def[value.index()] = Place::at(block, index, EARLY);
                    // Nothing that is written later is where it is, though nobody may ever read it.
                    self.uses.push((value, Place::at(block, index, DONE)));
                }
            }
        }
        let width = |value: Value| function.slot_for(value).size;
        let same = |pair: &[Operand]| width(pair[0].value) == width(pair[1].value);
        match function.insts[inst].kind {
            InstKind::Inserted(Inserted::Parallel) => {
                operands.chunks(2).for_each(|pair| self.copy(pair[0].value, pair[1].value, same(pair), block));
            }
            // What is copied into a wider value leaves the rest of its register to chance; memory does not.
            InstKind::Copy if same(operands) => self.copy(operands[0].value, operands[1].value, true, block),
            _ => {}
        }
    }

    /// Notes a copy; what it copies has the same content if it is as wide.
    fn copy(&mut self, to: Value, from: Value, as_wide: bool, block: Block) {
        if as_wide {
            self.copy_of[to.index()] = from.into();
        }
        self.affinities.push(Affinity { to, from, weight: self.function.blocks[block].frequency });
    }

    /// Notes what is left of the φs.
    fn phis(&mut self) {
        for copy in &self.isolation.copies {
            match copy.site {
                Site::Definition { block, .. } => self.def[copy.from.index()] = Place::head(block),
                Site::Argument { block, column, .. } => {
                    let pred = self.function.blocks[block].preds[column];
                    self.uses.push((copy.to, Place::end(pred)));
                }
                Site::Tie { .. } => {}
            }
        }
        let arguments = self.isolation.non_split.iter();
        self.uses.extend(arguments.map(|operand| (operand.value, Place::end(operand.pred))));
        for &block in &self.isolation.left {
            let data = &self.function.blocks[block];
            for phi in &data.phis {
                self.def[phi.def.index()] = Place::head(block);
                let arguments = phi.args.iter().zip(&data.preds);
                self.uses.extend(arguments.filter_map(|(arg, &pred)| Some((arg.expand()?, Place::end(pred)))));
            }
        }
    }
}

/// Whether an early definition overwrites an operand, while others are still being read.
fn is_overwritten_early(operands: &[Operand], operand: usize) -> bool {
    operands.iter().any(|def| def.role == Role::EarlyDef && def.reuse.map(usize::from) == Some(operand))
}
