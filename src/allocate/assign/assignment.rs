//! The result of the walk, or the scan: a register for everything, at every point.

use crate::analysis::Liveness;
use crate::analysis::grouped::{Lists, of_each};
use crate::machine::{Block, Function, Inst, Reg, Value};
use cranelift_entity::{EntitySet, SecondaryMap};

/// Values that go to other registers together, just before an instruction: where live ranges are split.
pub struct Repair {
    pub before: Inst,
    pub splits: Vec<Split>,
}

/// A value gets into another register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Split {
    pub value: Value,
    pub to: Reg,
    /// The operand, by its index in the instruction, that alone reads it there: it is overwritten, and the value lives on
    /// where it was. `None`: the value moves.
    pub operand: Option<usize>,
}

/// A register for everything, at every point: what the walk, or the scan, has found. [`split_at_repairs`] turns it into a
/// [`Colours`].
pub struct Assignment {
    /// Indexed like [`Function::operands`].
    pub(in crate::allocate) operands: Vec<Option<Reg>>,
    /// In program order.
    pub(in crate::allocate) repairs: Vec<Repair>,
    /// Loaded names whose registers have the slot's content already.
    pub(in crate::allocate) redundant: EntitySet<Value>,
    /// Of each block, the registers of its live-in values, parallel to [`Liveness::live_in`].
    pub(in crate::allocate) entry: Lists<Block, Reg>,
    /// Of each block, the registers of its live-out values, parallel to [`Liveness::live_out`]. For an edge to a landing
    /// pad, see `at_throw`.
    pub(in crate::allocate) exit: Lists<Block, Reg>,
    /// Of a block with landing pads, the values that live on past its [`throws`](crate::machine::BlockData::throws),
    /// ascending, and their registers.
    pub(in crate::allocate) at_throw: SecondaryMap<Block, (Vec<Value>, Vec<Reg>)>,
    /// Of each φ's definition, its register at the head of the block.
    pub(in crate::allocate) phi_register: SecondaryMap<Value, Option<Reg>>,
    /// One a debug use: the value's register then, if it is in one.
    pub(in crate::allocate) debug: Vec<Option<Reg>>,
}

impl Assignment {
    /// Nothing assigned yet.
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

    /// Where values are when control leaves `from` for `to`: some of those live into `to`, ascending.
    pub(super) fn on_exit<'a>(
        &'a self,
        function: &Function,
        liveness: &'a Liveness,
        from: Block,
        to: Block,
        values: impl Iterator<Item = Value> + 'a,
    ) -> impl Iterator<Item = Reg> + 'a {
        let (leaving, registers) = match &self.at_throw[from] {
            (values, registers) if function.blocks[to].landing_pad => (&values[..], &registers[..]),
            _ => (liveness.live_out(from), self.exit.get(from)),
        };
        let mut leaving = leaving.iter().zip(registers);
        values.map(move |value| *leaving.find(|&(&other, _)| other == value).expect("the value is live on the edge").1)
    }
}
