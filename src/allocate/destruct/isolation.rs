//! Which copies isolate φs and two-address operands (Algorithm 21.1, and Figure 21.4 for operands).
//!
//! Ensures: every argument of a φ has a copy where control departs for the φ's block, every definition of one at the head of its
//! block; but an argument that is defined behind that point is taken as it is: a *non-split operand*. What a two-address
//! definition overwrites is a copy made before its instruction. All copies of one place are parallel.

use super::bytes;
use crate::allocate::cssa::{Sharing, is_entered_without_code};
use crate::machine::{Block, Function, Inserted, Inst, InstFlags, InstKind, Operand, Point, RegClass, Rewriter, Value};
use cranelift_entity::EntityRef;
use smallvec::SmallVec;

/// A copy that isolates: of a value of the function, or to one.
#[derive(Clone, Copy, Debug)]
pub(super) struct IsolatingCopy {
    pub(super) to: Value,
    pub(super) from: Value,
    /// Of the side that only the copy makes.
    pub(super) class: RegClass,
    pub(super) at: Point,
    pub(super) site: Site,
}

/// What a copy isolates. In the order in which copies stand between two instructions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Site {
    /// The φ in this row of the block.
    Definition { block: Block, row: usize },
    /// What it takes in a column.
    Argument { block: Block, row: usize, column: usize },
    /// A use, by its index among the instruction's operands, and the definition that overwrites it.
    Tie { inst: Inst, operand: usize, overwritten_by: Value },
}

impl Site {
    /// Copies of one stage, between the same two instructions, are parallel.
    fn stage(&self) -> u32 {
        match self {
            Site::Definition { .. } => 0,
            Site::Argument { .. } => 1,
            Site::Tie { .. } => 2,
        }
    }
}

impl IsolatingCopy {
    /// The side that only the copy makes.
    pub(super) fn fresh(&self) -> Value {
        if matches!(self.site, Site::Definition { .. }) { self.from } else { self.to }
    }

    /// The side that the function has.
    pub(super) fn old(&self) -> Value {
        if matches!(self.site, Site::Definition { .. }) { self.to } else { self.from }
    }

    /// Where it stands: equal for parallel copies, ascending in program order.
    pub(super) fn place(&self) -> (Point, u32) {
        (self.at, self.site.stage())
    }
}

/// An argument that a φ takes without a copy.
pub(super) struct NonSplit {
    pub(super) value: Value,
    /// Over the edge from this block.
    pub(super) pred: Block,
    /// By the φ in this row of the block.
    pub(super) block: Block,
    pub(super) row: usize,
}

/// The copies that isolate a function's φs and two-address operands.
pub(super) struct Isolation {
    /// In program order.
    pub(super) copies: Vec<IsolatingCopy>,
    pub(super) non_split: Vec<NonSplit>,
    /// Blocks whose φs are not isolated.
    pub(super) left: Vec<Block>,
    /// What the variables of a class are to share.
    pub(super) sharing: Sharing,
    /// How many values the function has; what only copies make is numbered from there on.
    pub(super) values: usize,
}

impl Isolation {
    /// What shares memory need not know about two-address instructions; and where an edge can take no code, it is no matter of
    /// copies whether what a φ relates is in memory.
    pub(super) fn new(function: &Function, sharing: Sharing) -> Self {
        let (copies, non_split, left) = (Vec::new(), Vec::new(), Vec::new());
        let mut isolation = Isolation { copies, non_split, left, sharing, values: function.values.len() };
        for block in function.blocks.keys() {
            if sharing == Sharing::Memory && is_entered_without_code(function, block) {
                isolation.left.push(block);
            } else {
                isolation.phis(function, block);
            }
            if sharing == Sharing::Register {
                function.block_insts(block).for_each(|inst| isolation.ties(function, block, inst));
            }
        }
        isolation.copies.sort_by_key(IsolatingCopy::place);
        isolation
    }

    pub(super) fn bytes(&self) -> usize {
        bytes(&self.copies) + bytes(&self.non_split)
    }

    fn fresh(&self) -> Value {
        Value::new(self.values + self.copies.len())
    }

    fn phis(&mut self, function: &Function, block: Block) {
        let class = |value: Value| function.values[value].class;
        let data = &function.blocks[block];
        for (row, phi) in data.phis.iter().enumerate() {
            let site = Site::Definition { block, row };
            let (from, class_of_phi) = (self.fresh(), class(phi.def));
            self.copies.push(IsolatingCopy { to: phi.def, from, class: class_of_phi, at: function.head(block), site });
            for (column, (arg, &pred)) in phi.args.iter().zip(&data.preds).enumerate() {
                let Some(value) = arg.expand() else { continue };
                let at = function.departure(pred, block);
                if is_defined_behind(function, value, at) {
                    self.non_split.push(NonSplit { value, pred, block, row });
                    continue;
                }
                // A copy holds all of what it copies, also where the φ is narrower.
                let class = function.file.wider(class_of_phi, class(value));
                let site = Site::Argument { block, row, column };
                self.copies.push(IsolatingCopy { to: self.fresh(), from: value, class, at, site });
            }
        }
    }

    /// What inline assembly that jumps overwrites is left to allocation: its results cannot be stored, so nothing is to be in a
    /// web with them.
    fn ties(&mut self, function: &Function, block: Block, inst: Inst) {
        let data = &function.insts[inst];
        if data.is(InstFlags::JUMPS) {
            return;
        }
        let operands = function.operands(inst);
        let at = Point { block, index: inst.as_u32() - function.blocks[block].insts.start };
        for def in operands {
            let Some(operand) = def.reuse.map(usize::from) else { continue };
            let from = operands[operand].value;
            let site = Site::Tie { inst, operand, overwritten_by: def.value };
            let class = function.values[from].class;
            self.copies.push(IsolatingCopy { to: self.fresh(), from, class, at, site });
        }
    }

    /// The function with all copies in their places.
    pub(super) fn insert(&self, function: &Function) -> Function {
        let mut rewriter = Rewriter::new(function);
        let mut classes: Vec<(Value, RegClass)> = self.copies.iter().map(|copy| (copy.fresh(), copy.class)).collect();
        classes.sort_unstable_by_key(|&(value, _)| value);
        for (_, class) in classes {
            rewriter.value(class);
        }
        for copy in &self.copies {
            match copy.site {
                Site::Definition { block, row } => rewriter.new.blocks[block].phis[row].def = copy.from,
                Site::Argument { block, row, column } => rewriter.new.blocks[block].phis[row].args[column] = copy.to.into(),
                Site::Tie { .. } => {}
            }
        }
        self.write(function, &mut rewriter, |rewriter, parallel, operands| {
            let pairs = parallel.iter().flat_map(|copy| [Operand::defining(copy.to), Operand::using(copy.from)]);
            rewriter.insert(InstKind::Inserted(Inserted::Parallel), &pairs.collect::<Vec<_>>());
            for copy in parallel {
                if let Site::Tie { operand, .. } = copy.site {
                    read_copy(operands, operand, copy.to);
                }
            }
        });
        rewriter.new
    }

    /// Writes the function's instructions, and what `parallel` writes for each set of parallel copies. It may change the operands
    /// of the instruction behind them.
    pub(super) fn write(
        &self,
        function: &Function,
        rewriter: &mut Rewriter,
        mut parallel: impl FnMut(&mut Rewriter, &[IsolatingCopy], &mut Vec<Operand>),
    ) {
        let mut groups = self.copies.chunk_by(|a, b| a.place() == b.place()).peekable();
        let mut operands = Vec::new();
        for block in function.blocks.keys() {
            rewriter.begin(block);
            for (index, inst) in function.block_insts(block).enumerate() {
                let point = Point { block, index: index as u32 };
                operands.clear();
                operands.extend_from_slice(function.operands(inst));
                while let Some(group) = groups.next_if(|group| group[0].at <= point) {
                    parallel(rewriter, group, &mut operands);
                }
                rewriter.copy(inst, &operands);
            }
            let end = Point { block, index: function.blocks[block].insts.len() as u32 };
            while let Some(group) = groups.next_if(|group| group[0].at <= end) {
                parallel(rewriter, group, &mut operands);
            }
            rewriter.end();
        }
    }
}

/// Has an operand that is overwritten read a copy of its value, and with it all others that read the value and are not overwritten
/// themselves: the value need not be in a register for them.
pub(super) fn read_copy(operands: &mut [Operand], overwritten: usize, copy: Value) {
    let value = std::mem::replace(&mut operands[overwritten].value, copy);
    for k in 0..operands.len() {
        let tied = operands.iter().any(|def| def.reuse.map(usize::from) == Some(k));
        if operands[k].value == value && !operands[k].is_def() && !tied {
            operands[k].value = copy;
        }
    }
    if operands.iter().any(|operand| operand.value == value && !operand.is_def()) {
        stay_in_registers(operands, [value, copy]);
    }
}

/// An instruction that reads one value by two names has neither in memory, and changes neither there.
fn stay_in_registers(operands: &mut [Operand], names: [Value; 2]) {
    let reads: SmallVec<[bool; 8]> = operands.iter().map(|operand| !operand.is_def() && names.contains(&operand.value)).collect();
    for (operand, reads_it) in operands.iter_mut().zip(&reads) {
        let overwrites_it = operand.reuse.is_some_and(|reused| reads[usize::from(reused)]);
        operand.foldable &= !reads_it && !overwrites_it;
    }
}

/// Whether an instruction of the point's block, from the point on, defines a value.
pub(super) fn is_defined_behind(function: &Function, value: Value, point: Point) -> bool {
    let mut behind = function.block_insts(point.block).skip(point.index as usize);
    behind.any(|inst| function.operands(inst).iter().any(|operand| operand.is_def() && operand.value == value))
}
