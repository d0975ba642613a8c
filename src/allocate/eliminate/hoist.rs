//! Hoists code of edges to before the branches.
//!
//! Code of an edge from a branch to a join has a block of its own, with a jump at its end. Where control mostly takes this
//! edge, as at the end of most loops, the code costs less before the branch. It can stand there if every register that it
//! writes is dead on all other edges.
//!
//! Requires: a whole overlay, and the phases' results that it comes from.
//! Ensures: an overlay in which fewer edges need code. At most one edge's code has been hoisted to each block.

use crate::allocate::assign::Coloured;
use crate::allocate::cost;
use crate::analysis::{Liveness, PinLiveness};
use crate::machine::{Block, BlockData, Edit, Function, Location, Overlay, RegSet, SwapKind};
use cranelift_entity::SecondaryMap;
use std::ops::Range;

/// Hoists the code that costs less before its branch.
pub fn hoist(
    imported: &Function,
    coloured: &Coloured,
    liveness: &Liveness,
    pins: &PinLiveness,
    weigh_size: bool,
    overlay: &mut Overlay,
) {
    // Where loads are redundant, registers hold values for longer than any name lives, which liveness does not say.
    if !coloured.redundant.is_empty() {
        return;
    }
    let hoister = Hoister { imported, coloured, liveness, pins, weigh_size, overlay };
    let codes = hoister.codes();
    if codes.is_empty() {
        return;
    }
    let mut written: SecondaryMap<Block, RegSet> = SecondaryMap::new();
    for code in codes {
        let to = imported.before_terminators(code.to);
        overlay.edits[code.edits].iter_mut().for_each(|(point, _)| *point = to);
        written[code.to] = code.written;
    }
    for (debug, location) in imported.debug_uses.iter().zip(&mut overlay.debug_locations) {
        let at_terminators = debug.at.index >= imported.before_terminators(debug.at.block).index;
        if at_terminators && matches!(*location, Some(Location::Reg(reg)) if written[debug.at.block].contains(reg)) {
            *location = None;
        }
    }
    // Edits that stood there before come first.
    overlay.edits.sort_by_key(|&(point, _)| point);
}

/// An edge's code that is to be hoisted.
struct Code {
    edits: Range<usize>,
    /// The block that the edge leaves.
    to: Block,
    written: RegSet,
    /// The cost that this saves.
    saved: f64,
}

struct Hoister<'a> {
    imported: &'a Function,
    coloured: &'a Coloured,
    liveness: &'a Liveness,
    pins: &'a PinLiveness,
    weigh_size: bool,
    overlay: &'a Overlay,
}

impl Hoister<'_> {
    /// The code to hoist, by the blocks that it goes to: at most one edge's each.
    fn codes(&self) -> Vec<Code> {
        let mut codes = Vec::new();
        let mut start = 0;
        for edits in self.overlay.edits.chunk_by(|(a, _), (b, _)| a.block == b.block) {
            let range = start..start + edits.len();
            start = range.end;
            let block = edits[0].0.block;
            codes.extend(self.imported.blocks[block].on_edge.then(|| self.code(block, range)).flatten());
        }
        codes.sort_by(|a: &Code, b: &Code| a.to.cmp(&b.to).then(b.saved.total_cmp(&a.saved)));
        codes.dedup_by_key(|code| code.to);
        codes
    }

    /// The code of an edge's block, if hoisting it is possible and saves something.
    fn code(&self, block: Block, edits: Range<usize>) -> Option<Code> {
        let [to] = self.imported.blocks[block].preds[..] else { return None };
        let mut written = RegSet::EMPTY;
        let mut added = Vec::with_capacity(edits.len());
        for &(_, edit) in &self.overlay.edits[edits.clone()] {
            added.push(match edit {
                Edit::Move { to, .. } => {
                    written.insert(to);
                    cost::COPY
                }
                Edit::Swap { a, b, kind: SwapKind::Exchange, .. } => {
                    written |= RegSet::from_iter([a, b]);
                    cost::EXCHANGE
                }
                Edit::Load { to, .. } => {
                    written.insert(to);
                    cost::RELOAD
                }
                _ => return None,
            });
        }
        let frequency = |block: Block| self.coloured.function.blocks[block].frequency;
        let cost = |block: Block| added.iter().map(|it| it.cost(frequency(block), self.weigh_size)).sum::<f64>();
        let saved = cost(block) + cost::JUMP.cost(frequency(block), self.weigh_size) - cost(to);
        let is_harmless = || self.can_take_code(to) && !written.intersects(self.needed(to, block));
        (saved > 0.0 && is_harmless()).then_some(Code { edits, to, written, saved })
    }

    /// Whether control leaves a block only after the point before its terminators, and these write nothing.
    fn can_take_code(&self, block: Block) -> bool {
        let data = &self.imported.blocks[block];
        if data.throws.is_some() || data.succs.len() > cost::WAYS {
            return false;
        }
        let writes = |inst| {
            let pins = self.imported.pins(inst);
            let by_name = pins.defs | pins.early_defs | pins.clobbers;
            !by_name.is_empty() || self.imported.operands(inst).iter().any(|operand| operand.is_def())
        };
        let tail = self.imported.before_terminators(block);
        !self.imported.block_insts(block).skip(tail.index as usize).any(writes)
    }

    /// The registers that are read after the point before a block's terminators, other than along this edge.
    fn needed(&self, block: Block, edge: Block) -> RegSet {
        let Coloured { function, colours, .. } = self.coloured;
        let by_name = self.pins.at(function, function.before_terminators(block));
        let tail = self.imported.before_terminators(block);
        let terminators = self.imported.block_insts(block).skip(tail.index as usize);
        let locations = terminators.flat_map(|inst| self.overlay.operands(self.imported, inst));
        let read = locations.filter_map(|location| match location {
            Some(Location::Reg(reg)) => Some(*reg),
            _ => None,
        });
        let others = function.blocks[block].succs.iter().filter(|&&succ| succ != edge);
        let elsewhere = others.map(|&succ| {
            let BlockData { phis, live_in_pins, .. } = &function.blocks[succ];
            let column = function.column(block, succ);
            let taken = phis.iter().filter_map(|phi| phi.args[column].expand());
            let live = self.liveness.live_in(succ).iter().copied().chain(taken);
            live.map(|name| colours.of(name)).collect::<RegSet>() | *live_in_pins
        });
        elsewhere.fold(by_name | read.collect(), |all, needed| all | needed)
    }
}
