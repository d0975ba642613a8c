//! The result of assignment: a register for every value in one, at every point.

use crate::analysis::Liveness;
use crate::analysis::grouped::{Lists, of_each};
use crate::machine::{Block, Function, Inst, Reg, Value};
use cranelift_entity::{EntitySet, SecondaryMap};

/// The values that move to other registers together, just before an instruction. Their live ranges are split there.
pub struct Repair {
    pub before: Inst,
    pub splits: Vec<Split>,
}

/// A value that gets into another register, or a copy of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Split {
    pub value: Value,
    pub to: Reg,
    /// `None` if the value moves. Otherwise only this operand, by its index in the instruction, reads the value there: the
    /// instruction overwrites it, and the value itself stays where it was.
    pub operand: Option<usize>,
}

/// A register for every value in one, at every point. [`split_at_repairs`](super::split_at_repairs) turns it into
/// [`Colours`](super::Colours).
pub struct Assignment {
    /// The register of each operand, indexed like [`Function::operands`].
    pub(in crate::allocate) operands: Vec<Option<Reg>>,
    /// In program order.
    pub(in crate::allocate) repairs: Vec<Repair>,
    /// The names of reloads that are superfluous, because the register has the slot's content already.
    pub(in crate::allocate) redundant: EntitySet<Value>,
    /// For each block, the registers of its live-in values, parallel to [`Liveness::live_in`].
    pub(in crate::allocate) entry: Lists<Block, Reg>,
    /// For each block, the registers of its live-out values, parallel to [`Liveness::live_out`]. For edges to landing pads,
    /// see `at_throw`.
    pub(in crate::allocate) exit: Lists<Block, Reg>,
    /// For each block with landing pads, the values that live on past its [`throws`](crate::machine::BlockData::throws),
    /// ascending, and their registers.
    pub(in crate::allocate) at_throw: SecondaryMap<Block, (Vec<Value>, Vec<Reg>)>,
    /// For the definition of each φ, its register at the head of the block.
    pub(in crate::allocate) phi_register: SecondaryMap<Value, Option<Reg>>,
    /// For each debug use, the register of its value then, if it is in one.
    pub(in crate::allocate) debug: Vec<Option<Reg>>,
}

impl Assignment {
    /// Nothing is assigned yet.
    pub(super) fn empty(function: &Function) -> Self {
        Assignment {
            operands: vec![None; function.operands.len()],
            repairs: Vec::new(),
            redundant: EntitySet::new(),
            entry: Lists::new(function.blocks.len()),
            exit: Lists::new(function.blocks.len()),
            at_throw: SecondaryMap::new(),
            phi_register: of_each(function.values.len()),
            debug: vec![None; function.debug_uses.len()],
        }
    }

    /// The registers of some `values` when control leaves `from` for `to`, or at the end of `from` if that only dominates `to`.
    /// They are live into `to`, and come in ascending order.
    pub(super) fn on_exit<'a>(
        &'a self,
        function: &Function,
        liveness: &'a Liveness,
        from: Block,
        to: Block,
        values: impl Iterator<Item = Value> + 'a,
    ) -> impl Iterator<Item = Reg> + 'a {
        let is_thrown = function.blocks[to].landing_pad && function.blocks[to].preds.contains(&from);
        let (leaving, registers) = match &self.at_throw[from] {
            (values, registers) if is_thrown => (&values[..], &registers[..]),
            _ => (liveness.live_out(from), self.exit.get(from)),
        };
        let mut leaving = leaving.iter().zip(registers);
        values.map(move |value| *leaving.find(|&(&other, _)| other == value).expect("the value is live on the edge").1)
    }
}
