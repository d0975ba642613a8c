//! Whether live ranges of SSA values intersect, without an interference graph.
//!
//! Requires: strict SSA.
//! Relies on: two values' live ranges intersect if and only if one is live just behind the other's definition, which
//! the first one's definition then dominates (`ssa-register-allocator.txt`, Lemma 2; `ssa-destruction-for-machine-code.txt`,
//! section 21.3, "Interference Check").
//!
//! What shares a register has to keep apart a little more than what shares memory: a definition that overwrites a use's
//! register occupies it from where the operands are read (see [`Interference::live_while_defining`]).

use super::grouped::{Grouped, each, of_each};
use super::{Dominators, Liveness};
use crate::machine::{Block, Function, Point, Role, Value};
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};

/// Where a value is defined. Definitions are ordered by the dominator tree's preorder and then by position, so that the
/// definitions dominated by one follow it consecutively.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DefPoint {
    /// The block's preorder number.
    preorder: u32,
    /// Within the block: φs at 0, then for each instruction its early definitions, uses and late definitions.
    position: u32,
}

/// Behind what the instruction before defines.
const BEFORE: u32 = 0;
const EARLY: u32 = 1;
const USE: u32 = 2;
const LATE: u32 = 3;

impl DefPoint {
    /// Where the φs of the block with this number in preorder are defined.
    pub fn head_of(preorder: u32) -> Self {
        DefPoint { preorder, position: 0 }
    }

    fn at(preorder: u32, index: usize, stage: u32) -> Self {
        DefPoint { preorder, position: index as u32 * 3 + stage }
    }

    /// Behind everything in the block with this preorder number.
    pub fn end_of(preorder: u32) -> Self {
        DefPoint { preorder, position: u32::MAX }
    }
}

/// Answers interference queries.
pub struct Interference<'a> {
    dominators: &'a Dominators,
    liveness: &'a Liveness,
    defs: SecondaryMap<Value, (Block, u32)>,
    /// Of a two-address definition, the value whose register it overwrites.
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

    /// Where the value is defined.
    pub fn def_point(&self, value: Value) -> DefPoint {
        let (block, position) = self.defs[value];
        DefPoint { preorder: self.dominators.preorder(block), position }
    }

    /// The block that defines the value.
    pub fn def_block(&self, value: Value) -> Block {
        self.defs[value].0
    }

    /// Whether `value` is live behind the definition of `other`, which its own definition dominates; values that are
    /// defined together count as live behind each other's definitions, dead or not.
    pub fn live_behind(&self, value: Value, other: Value) -> bool {
        let at = self.defs[other];
        self.defined_together(value, other) || self.live_behind_point(value, at)
    }

    /// Whether `value` is live while `other` is being defined, whose definition its own dominates: they cannot share a
    /// register. A definition that overwrites a use's register is there before the instruction has read its other operands.
    pub fn live_while_defining(&self, value: Value, other: Value) -> bool {
        let (block, position) = self.defs[other];
        let overwrites_another = self.overwritten[other].expand().is_some_and(|overwritten| overwritten != value);
        let since = if overwrites_another { (position.div_ceil(3) - 1) * 3 + EARLY } else { position };
        self.defined_together(value, other) || self.live_behind_point(value, (block, since))
    }

    /// Whether one instruction, or the φs of one block, define both.
    fn defined_together(&self, a: Value, b: Value) -> bool {
        let place = |value: Value| {
            let (block, position) = self.defs[value];
            (block, position.div_ceil(3))
        };
        place(a) == place(b)
    }

    /// Whether `value` is live before the φs of a block.
    pub fn live_in(&self, value: Value, block: Block) -> bool {
        self.liveness.live_in(block).binary_search(&value).is_ok()
    }

    /// Whether `value` is live at the end of a block.
    fn live_out(&self, value: Value, block: Block) -> bool {
        self.liveness.live_out(block).binary_search(&value).is_ok()
    }

    /// Whether `value` is live at a point, or is defined or read between it and the end of its block.
    pub fn live_from(&self, value: Value, point: Point) -> bool {
        let position = DefPoint::at(0, point.index as usize, BEFORE).position;
        let (block, defined) = self.defs[value];
        self.live_behind_point(value, (point.block, position)) || block == point.block && defined > position
    }

    fn live_behind_point(&self, value: Value, (block, position): (Block, u32)) -> bool {
        let uses = self.uses.get(value);
        let next = uses.partition_point(|&(b, p)| (b, p) <= (block, position));
        uses.get(next).is_some_and(|&(b, _)| b == block) || self.live_out(value, block)
    }
}
