//! The variables of the isolated program: where each is defined and used, its value, and the affinities between them.
//!
//! Requires: strict SSA form, and its isolating copies, virtual or inserted.
//! Ensures: the same variables in the same order either way: the function's values, and after them the fresh values of the
//! copies. Virtual copies have points of their own between instructions. So the operands of φs are live as [Bo09, Definition
//! 21.2] has it (copy mode) if they have copies. Fresh values and non-split operands are live as in Definition 21.1
//! (multiplexing mode).
//!
//! A virtual copy has a variable of its own, as an inserted one has. The text has the φ stand for all of its copies [Bo09,
//! Algorithm 21.5], which takes less memory.

use super::bytes;
use super::isolation::{IsolatedOperand, IsolatingCopy, Isolation, read_copy};
use crate::allocate::ssa::conventional::Sharing;
use crate::analysis::grouped::Grouped;
use crate::analysis::{Dominators, Order, Partition};
use crate::machine::{Block, Function, Inserted, Inst, InstKind, Operand, RegClass, RegSet, Role, Value};
use cranelift_entity::{EntityRef, SecondaryMap, packed_option::PackedOption};

/// A point at which an operand is read or written. φs and live-in values are at the head of a block; then each instruction
/// has several points.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct OperandPoint {
    pub(super) block: Block,
    pub(super) position: u32,
}

/// The points of an instruction. The first six are for copies before it: in each of three stages, they read and then write.
/// Then come its own operands.
const EARLY: u32 = 6;
const USE: u32 = 7;
const LATE: u32 = 8;
const DONE: u32 = 9;
const STAGES: u32 = 10;

impl OperandPoint {
    fn head(block: Block) -> Self {
        OperandPoint { block, position: 0 }
    }

    /// The point at which φs of successors take their arguments.
    fn end(block: Block) -> Self {
        OperandPoint { block, position: u32::MAX }
    }

    fn at(block: Block, index: usize, stage: u32) -> Self {
        OperandPoint { block, position: 1 + index as u32 * STAGES + stage }
    }
}

/// Whether the isolating copies have been inserted into the function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Copies {
    Virtual,
    Inserted,
}

/// A copy that disappears if both sides are one variable.
#[derive(Clone, Copy)]
pub(super) struct Affinity {
    pub(super) to: Value,
    pub(super) from: Value,
    /// The executions of the copy.
    pub(super) weight: f64,
}

/// All variables.
pub(super) struct Members {
    /// The definition of each.
    pub(super) def: Vec<OperandPoint>,
    /// The uses of each, by block number and position.
    pub(super) uses: Grouped<Value, OperandPoint>,
    /// The first variable with the same value.
    pub(super) value: Vec<Value>,
    /// The variable of which each is a copy, if that is as wide.
    pub(super) copy_of: Vec<PackedOption<Value>>,
    /// The registers that each may be in.
    pub(super) allowed: Vec<RegSet>,
    /// All copies.
    pub(super) affinities: Vec<Affinity>,
    /// Sets of variables that have to be one: those of an isolated φ, and the two sides of a tie.
    pub(super) atoms: Partition<Value>,
    /// The number of each block in the preorder of the dominator tree.
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
        let mut scan = OperandScan {
            function,
            isolation,
            def: vec![OperandPoint::head(function.entry()); count],
            uses: Vec::with_capacity(function.operands.len() + 2 * isolation.copies.len()),
            copy_of: vec![None.into(); count],
            affinities: Vec::with_capacity(isolation.copies.len()),
        };
        match copies {
            Copies::Virtual => scan.with_virtual_copies(),
            Copies::Inserted => function.blocks.keys().for_each(|block| scan.block(block, &mut [].iter().peekable())),
        }
        scan.phis();
        let apart = defined_by_terminators(function, count);
        scan.affinities.retain(|affinity| !apart[affinity.to.index()] && !apart[affinity.from.index()]);
        if isolation.sharing == Sharing::Memory {
            let is_fresh = |variable: Value| variable.index() >= isolation.values;
            scan.affinities.retain(|affinity| is_fresh(affinity.to) || is_fresh(affinity.from));
        }
        let allowed = allowed(function, isolation, count);
        let OperandScan { def, mut uses, copy_of, affinities, .. } = scan;
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

    /// The key of dominance order: the dominator tree's preorder, then the position.
    fn key(&self, variable: Value) -> (u32, u32, Value) {
        let OperandPoint { block, position } = self.def[variable.index()];
        (self.preorder[block], position, variable)
    }

    pub(super) fn in_dominance_order(&self, variables: &mut [Value]) {
        variables.sort_unstable_by_key(|&variable| self.key(variable));
    }

    /// Merges two lists in dominance order into one.
    pub(super) fn merged(&self, a: &[Value], b: &[Value]) -> Vec<Value> {
        let (mut a, mut b) = (a.iter().copied().peekable(), b.iter().copied().peekable());
        let next = || match (a.peek(), b.peek()) {
            (Some(&x), Some(&y)) if self.key(y) < self.key(x) => b.next(),
            (Some(_), _) => a.next(),
            _ => b.next(),
        };
        std::iter::from_fn(next).collect()
    }

    /// The value of each variable. A copy has the value of its source, which comes before it in dominance order.
    fn values(&self, order: &Order) -> Vec<Value> {
        let mut values: Vec<Value> = (0..self.count()).map(Value::new).collect();
        let mut copies: Vec<Value> = values.iter().copied().filter(|value| self.copy_of[value.index()].is_some()).collect();
        copies.sort_unstable_by_key(|value| {
            let OperandPoint { block, position } = self.def[value.index()];
            (order.index(block), position)
        });
        for copy in copies {
            let from = self.copy_of[copy.index()].expect("only copies are listed");
            values[copy.index()] = values[from.index()];
        }
        values
    }
}

/// The variables that terminators define. They cannot be stored, so it is better not to coalesce them.
fn defined_by_terminators(function: &Function, count: usize) -> Vec<bool> {
    let mut defined = vec![false; count];
    let values = function.blocks.keys().flat_map(|block| function.defined_by_terminators(block));
    values.for_each(|value| defined[value.index()] = true);
    defined
}

/// The registers in which each variable may be. Variables that share memory are not restricted.
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

/// Unites the variables of each isolated φ with its non-split operands, and each two-address definition with the copy that
/// it overwrites (pinned φ-webs, [Bo09, Algorithm 21.2]).
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
        match copy.isolates {
            IsolatedOperand::Definition { .. } => {}
            IsolatedOperand::Argument { block, row, .. } => unite(of_phi[block][row], copy.to),
            IsolatedOperand::Tie { overwritten_by, .. } => unite(overwritten_by, copy.to),
        }
    }
    for operand in &isolation.non_split {
        unite(of_phi[operand.block][operand.row], operand.value);
    }
    atoms
}

/// The fresh definition of each φ of a block, by row.
fn definitions(isolation: &Isolation) -> SecondaryMap<Block, Vec<Value>> {
    let mut definitions: SecondaryMap<Block, Vec<Value>> = SecondaryMap::new();
    for copy in &isolation.copies {
        if let IsolatedOperand::Definition { block, row } = copy.isolates {
            debug_assert_eq!(definitions[block].len(), row, "rows come in order");
            definitions[block].push(copy.from);
        }
    }
    definitions
}

struct OperandScan<'a> {
    function: &'a Function,
    isolation: &'a Isolation,
    def: Vec<OperandPoint>,
    uses: Vec<(Value, OperandPoint)>,
    copy_of: Vec<PackedOption<Value>>,
    affinities: Vec<Affinity>,
}

impl OperandScan<'_> {
    fn with_virtual_copies(&mut self) {
        let mut copies = self.isolation.copies.iter().peekable();
        for block in self.function.blocks.keys() {
            self.block(block, &mut copies);
        }
    }

    /// Notes the definitions and uses in a block. `copies` are the virtual copies that come next in the program; those that
    /// stand in the block are consumed.
    fn block<'c>(&mut self, block: Block, copies: &mut std::iter::Peekable<impl Iterator<Item = &'c IsolatingCopy>>) {
        let function = self.function;
        let mut operands = Vec::new();
        for (index, inst) in function.block_insts(block).enumerate() {
            operands.clear();
            operands.extend_from_slice(function.operands(inst));
            while let Some(copy) = copies.next_if(|copy| copy.at.block == block && copy.at.index <= index as u32) {
                self.virtual_copy(copy);
                if let IsolatedOperand::Tie { operand, .. } = copy.isolates {
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
        let at = |stage| OperandPoint::at(point.block, point.index as usize, stage);
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
                // It is read until the early definition that overwrites it comes.
                Role::Use if is_overwritten_early(operands, k) => self.uses.push((value, OperandPoint::at(block, index, EARLY))),
                Role::Use => self.uses.push((value, OperandPoint::at(block, index, USE))),
                Role::Def => self.def[value.index()] = OperandPoint::at(block, index, LATE),
                Role::EarlyDef => {
                    self.def[value.index()] = OperandPoint::at(block, index, EARLY);
                    // Even if nobody reads it, it keeps its location until the other definitions have been written.
                    self.uses.push((value, OperandPoint::at(block, index, DONE)));
                }
            }
        }
        let width = |value: Value| function.slot_for(value).size;
        let same = |pair: &[Operand]| width(pair[0].value) == width(pair[1].value);
        match function.insts[inst].kind {
            InstKind::Inserted(Inserted::Parallel) => {
                operands.chunks(2).for_each(|pair| self.copy(pair[0].value, pair[1].value, same(pair), block));
            }
            // A copy to a wider value leaves the rest of a register to chance, but not the rest of a slot. So that is no
            // affinity.
            InstKind::Copy if same(operands) => self.copy(operands[0].value, operands[1].value, true, block),
            _ => {}
        }
    }

    /// Notes a copy. It has the value of its source if it is as wide.
    fn copy(&mut self, to: Value, from: Value, as_wide: bool, block: Block) {
        if as_wide {
            self.copy_of[to.index()] = from.into();
        }
        self.affinities.push(Affinity { to, from, weight: self.function.blocks[block].frequency });
    }

    /// Notes the definitions and uses of isolated φs, and those of φs that are not isolated.
    fn phis(&mut self) {
        for copy in &self.isolation.copies {
            match copy.isolates {
                IsolatedOperand::Definition { block, .. } => self.def[copy.from.index()] = OperandPoint::head(block),
                IsolatedOperand::Argument { block, column, .. } => {
                    let pred = self.function.blocks[block].preds[column];
                    self.uses.push((copy.to, OperandPoint::end(pred)));
                }
                IsolatedOperand::Tie { .. } => {}
            }
        }
        let arguments = self.isolation.non_split.iter();
        self.uses.extend(arguments.map(|operand| (operand.value, OperandPoint::end(operand.pred))));
        for &block in &self.isolation.left {
            let data = &self.function.blocks[block];
            for phi in &data.phis {
                self.def[phi.def.index()] = OperandPoint::head(block);
                let arguments = phi.args.iter().zip(&data.preds);
                self.uses.extend(arguments.filter_map(|(arg, &pred)| Some((arg.expand()?, OperandPoint::end(pred)))));
            }
        }
    }
}

/// Whether an early definition overwrites an operand, while other operands are still to be read.
fn is_overwritten_early(operands: &[Operand], operand: usize) -> bool {
    operands.iter().any(|def| def.role == Role::EarlyDef && def.reuse.map(usize::from) == Some(operand))
}
