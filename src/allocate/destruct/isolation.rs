//! The copies that isolate φs [Bo09, Algorithm 21.1] and two-address operands [Bo09, Figure 21.4].
//!
//! Requires: strict SSA form.
//! Ensures: every argument of a φ has a copy where control departs for the φ's block, and every definition has one at the
//! head of its block. An argument that is defined after the point of departure has none: it is a *non-split operand*. A
//! two-address definition overwrites a copy that is made before its instruction. Copies in one place are parallel.
//!
//! The algorithm's line 16 excepts definitions with a use before their copy, too. Here there are none, since nothing that
//! reads a value can stand between the φs and the head of their block.

use super::bytes;
use crate::allocate::ssa::conventional::{Sharing, is_entered_without_code};
use crate::machine::{Block, Function, Inserted, Inst, InstKind, Operand, Point, RegClass, Rewriter, Value};
use cranelift_entity::EntityRef;
use smallvec::SmallVec;

/// An isolating copy. One of its sides is a value of the function; the other one, which is *fresh*, exists only for the
/// copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct IsolatingCopy {
    pub(super) to: Value,
    pub(super) from: Value,
    /// The class of the fresh side.
    pub(super) class: RegClass,
    pub(super) at: Point,
    pub(super) isolates: IsolatedOperand,
}

/// The operand that a copy isolates. The order of the variants is that of copies between two instructions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum IsolatedOperand {
    /// The definition of the φ in this row of the block.
    Definition { block: Block, row: usize },
    /// The argument of such a φ in a column.
    Argument { block: Block, row: usize, column: usize },
    /// A use, by its index among the instruction's operands, that a two-address definition overwrites.
    Tie { inst: Inst, operand: usize, overwritten_by: Value },
}

impl IsolatedOperand {
    /// Copies between the same two instructions are parallel if they are of one stage.
    fn stage(&self) -> u32 {
        match self {
            IsolatedOperand::Definition { .. } => 0,
            IsolatedOperand::Argument { .. } => 1,
            IsolatedOperand::Tie { .. } => 2,
        }
    }
}

impl IsolatingCopy {
    /// The side that exists only for the copy.
    pub(super) fn fresh(&self) -> Value {
        if matches!(self.isolates, IsolatedOperand::Definition { .. }) { self.from } else { self.to }
    }

    /// The side that is a value of the function.
    pub(super) fn old(&self) -> Value {
        if matches!(self.isolates, IsolatedOperand::Definition { .. }) { self.to } else { self.from }
    }

    /// The place of the copy: equal for parallel copies, and ascending in program order.
    pub(super) fn place(&self) -> (Point, u32) {
        (self.at, self.isolates.stage())
    }
}

/// A non-split operand: an argument that a φ takes without a copy.
pub(super) struct NonSplit {
    pub(super) value: Value,
    /// The predecessor from which it is taken.
    pub(super) pred: Block,
    /// The block of the φ.
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
    pub(super) sharing: Sharing,
    /// The number of the function's values. Fresh values are numbered from there on.
    pub(super) values: usize,
}

impl Isolation {
    /// The copies for variables that are to share a register, or a slot.
    ///
    /// Two-address instructions do not concern variables that share a slot. Nor are φs on edges without code isolated for them:
    /// whether such a φ is in memory does not depend on copies.
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
            let isolates = IsolatedOperand::Definition { block, row };
            let (from, class_of_phi) = (self.fresh(), class(phi.def));
            self.copies.push(IsolatingCopy { to: phi.def, from, class: class_of_phi, at: function.head(block), isolates });
            for (column, (arg, &pred)) in phi.args.iter().zip(&data.preds).enumerate() {
                let Some(value) = arg.expand() else { continue };
                let at = function.departure(pred, block);
                if is_defined_from(function, value, at) {
                    self.non_split.push(NonSplit { value, pred, block, row });
                    continue;
                }
                // A copy holds the whole of its source, even if the φ is narrower.
                let class = function.file.wider(class_of_phi, class(value));
                let isolates = IsolatedOperand::Argument { block, row, column };
                self.copies.push(IsolatingCopy { to: self.fresh(), from: value, class, at, isolates });
            }
        }
    }

    /// Isolates the operands that an instruction overwrites.
    fn ties(&mut self, function: &Function, block: Block, inst: Inst) {
        let operands = function.operands(inst);
        let at = Point { block, index: inst.as_u32() - function.blocks[block].insts.start };
        for def in operands {
            let Some(operand) = def.reuse.map(usize::from) else { continue };
            let from = operands[operand].value;
            let isolates = IsolatedOperand::Tie { inst, operand, overwritten_by: def.value };
            let class = function.values[from].class;
            self.copies.push(IsolatingCopy { to: self.fresh(), from, class, at, isolates });
        }
    }

    /// The function with all copies inserted.
    pub(super) fn insert(&self, function: &Function) -> Function {
        let mut rewriter = Rewriter::new(function);
        let mut classes: Vec<(Value, RegClass)> = self.copies.iter().map(|copy| (copy.fresh(), copy.class)).collect();
        classes.sort_unstable_by_key(|&(value, _)| value);
        for (_, class) in classes {
            rewriter.value(class);
        }
        for copy in &self.copies {
            match copy.isolates {
                IsolatedOperand::Definition { block, row } => rewriter.new.blocks[block].phis[row].def = copy.from,
                IsolatedOperand::Argument { block, row, column } => {
                    rewriter.new.blocks[block].phis[row].args[column] = copy.to.into()
                }
                IsolatedOperand::Tie { .. } => {}
            }
        }
        self.write(function, &mut rewriter, |rewriter, parallel, operands| {
            let pairs = parallel.iter().flat_map(|copy| [Operand::defining(copy.to), Operand::using(copy.from)]);
            rewriter.insert(InstKind::Inserted(Inserted::Parallel), &pairs.collect::<Vec<_>>());
            for copy in parallel {
                if let IsolatedOperand::Tie { operand, .. } = copy.isolates {
                    read_copy(operands, operand, copy.to);
                }
            }
        });
        rewriter.new
    }

    /// Writes the function's instructions, and calls `parallel` to write each set of parallel copies in its place. It may
    /// change the operands of the instruction that follows.
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

/// Makes an operand that is overwritten read a copy of its value. So do all other operands that read the value and are not
/// overwritten themselves, so that the value need not be in a register for them.
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

/// Forbids an instruction that reads one value under two names to read or change either of them in memory.
fn stay_in_registers(operands: &mut [Operand], names: [Value; 2]) {
    let reads: SmallVec<[bool; 8]> = operands.iter().map(|operand| !operand.is_def() && names.contains(&operand.value)).collect();
    for (operand, reads_it) in operands.iter_mut().zip(&reads) {
        let overwrites_it = operand.reuse.is_some_and(|reused| reads[usize::from(reused)]);
        operand.foldable &= !reads_it && !overwrites_it;
    }
}

/// Whether an instruction from the point to the end of its block defines a value.
pub(super) fn is_defined_from(function: &Function, value: Value, point: Point) -> bool {
    let mut from_here = function.block_insts(point.block).skip(point.index as usize);
    from_here.any(|inst| function.operands(inst).iter().any(|operand| operand.is_def() && operand.value == value))
}
