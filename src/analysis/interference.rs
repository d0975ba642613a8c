//! Whether live ranges of SSA values intersect, without building an interference graph.
//!
//! Requires: strict SSA form.
//! Relies on: two live ranges intersect if and only if one value is live just after the definition of the other. The
//! former's definition then dominates the latter's [PP05, Lemma 2; Bo09, §21.3 "Interference Check"].
//!
//! Values that share a register have to be kept apart a little more than values that share memory: a two-address definition
//! occupies its register from the moment that the operands are read ([`Interference::live_while_defining`]).

use super::grouped::{Grouped, each, of_each};
use super::{Dominators, Liveness};
use crate::machine::{Block, Function, Point, Role, Value};
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};

/// Where a value is defined. Definitions are ordered by the dominator tree's preorder, then by position in the block, so
/// those that a definition dominates follow it consecutively.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DefPoint {
    /// The preorder number of the block.
    preorder: u32,
    /// Position in the block: φs are at 0; then come each instruction's early definitions, uses and late definitions.
    position: u32,
}

/// The stages of an instruction. `BEFORE` is also the place of the previous one's late definitions.
const BEFORE: u32 = 0;
const EARLY: u32 = 1;
const USE: u32 = 2;
const LATE: u32 = 3;

impl DefPoint {
    /// Where φs of the block with this preorder number are defined.
    pub fn head_of(preorder: u32) -> Self {
        DefPoint { preorder, position: 0 }
    }

    fn at(preorder: u32, index: usize, stage: u32) -> Self {
        DefPoint { preorder, position: index as u32 * 3 + stage }
    }

    /// After everything in the block with this preorder number.
    pub fn end_of(preorder: u32) -> Self {
        DefPoint { preorder, position: u32::MAX }
    }
}

/// Answers questions about interference.
pub struct Interference<'a> {
    dominators: &'a Dominators,
    liveness: &'a Liveness,
    defs: SecondaryMap<Value, (Block, u32)>,
    /// For a two-address definition, the value whose register it overwrites.
    overwritten: SecondaryMap<Value, PackedOption<Value>>,
    /// The uses of each value by instructions, in layout order.
    uses: Grouped<Value, (Block, u32)>,
}

impl<'a> Interference<'a> {
    pub fn new(function: &Function, dominators: &'a Dominators, liveness: &'a Liveness) -> Self {
        let mut defs = each(function.values.len(), (function.entry(), 0));
        let mut overwritten = of_each(function.values.len());
        let mut uses = Vec::with_capacity(function.operands.len());
        for (block, data) in &function.blocks {
            for phi in &data.phis {
                defs[phi.def] = (block, 0);
            }
            for (index, inst) in function.block_insts(block).enumerate() {
                let operands = function.operands(inst);
                for operand in operands.iter() {
                    if let Some(reused) = operand.reuse {
                        overwritten[operand.value] = operands[usize::from(reused)].value.into();
                    }
                    match operand.role {
                        Role::Use => uses.push((operand.value, (block, DefPoint::at(0, index, USE).position))),
                        Role::Def => defs[operand.value] = (block, DefPoint::at(0, index, LATE).position),
                        Role::EarlyDef => defs[operand.value] = (block, DefPoint::at(0, index, EARLY).position),
                    }
                }
            }
        }
        Interference { dominators, liveness, defs, overwritten, uses: Grouped::new(function.values.len(), &uses) }
    }

    pub fn def_point(&self, value: Value) -> DefPoint {
        let (block, position) = self.defs[value];
        DefPoint { preorder: self.dominators.preorder(block), position }
    }

    pub fn def_block(&self, value: Value) -> Block {
        self.defs[value].0
    }

    /// Whether `value` is live just after the definition of `other`.
    ///
    /// Requires: the definition of `value` dominates that of `other`.
    ///
    /// Values that are defined together count as live after each other's definitions, even if they are dead.
    pub fn live_after(&self, value: Value, other: Value) -> bool {
        let at = self.defs[other];
        self.defined_together(value, other) || self.live_after_point(value, at)
    }

    /// Whether `value` is live while `other` is being defined, so that they cannot share a register.
    ///
    /// Requires: the definition of `value` dominates that of `other`.
    ///
    /// A two-address definition takes its register before the instruction has read its other operands.
    pub fn live_while_defining(&self, value: Value, other: Value) -> bool {
        let (block, position) = self.defs[other];
        let overwrites_another = self.overwritten[other].expand().is_some_and(|overwritten| overwritten != value);
        let since = if overwrites_another { (position.div_ceil(3) - 1) * 3 + EARLY } else { position };
        self.defined_together(value, other) || self.live_after_point(value, (block, since))
    }

    /// Whether one instruction, or the φs of one block, define both values.
    fn defined_together(&self, a: Value, b: Value) -> bool {
        let place = |value: Value| {
            let (block, position) = self.defs[value];
            (block, position.div_ceil(3))
        };
        place(a) == place(b)
    }

    pub fn live_in(&self, value: Value, block: Block) -> bool {
        self.liveness.live_in(block).binary_search(&value).is_ok()
    }

    fn live_out(&self, value: Value, block: Block) -> bool {
        self.liveness.live_out(block).binary_search(&value).is_ok()
    }

    /// Whether `value` is live at a point, or defined or read between there and the end of the block.
    pub fn live_from(&self, value: Value, point: Point) -> bool {
        let position = DefPoint::at(0, point.index as usize, BEFORE).position;
        let (block, defined) = self.defs[value];
        self.live_after_point(value, (point.block, position)) || block == point.block && defined > position
    }

    fn live_after_point(&self, value: Value, (block, position): (Block, u32)) -> bool {
        let uses = self.uses.get(value);
        let next = uses.partition_point(|&(b, p)| (b, p) <= (block, position));
        uses.get(next).is_some_and(|&(b, _)| b == block) || self.live_out(value, block)
    }
}
