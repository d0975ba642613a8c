//! The values that each move carries.
//!
//! regalloc2 moves registers of its three classes; its answer does not say how wide one of our moves has to be. This file
//! finds out what places are for. On a walk backwards, a place is *for* the values that are read there before anything else
//! is put there.
//!
//! Requires: the locations of all operands, and moves in the order of their points.
//! Ensures: for each move, the values that its target is for (none if the move is useless); for each debug use, a place that
//! is for its value.
//! Relies on: nothing about the allocation being right. If it is right, a move that carries everything that its target is
//! for is as good as one that carries the whole register.

use crate::analysis::Order;
use crate::machine::{Block, BlockData, Function, Inst, Location, Phi, Point, Value};
use cranelift_entity::SecondaryMap;
use std::collections::BTreeSet;
use std::ops::Range;

/// A move between places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Transfer {
    pub(super) at: Point,
    pub(super) from: Location,
    pub(super) to: Location,
}

/// The results of the walk.
pub(super) struct Carried {
    /// For each move, the values that it carries.
    pub(super) values: Vec<Vec<Value>>,
    /// For each of [`Function::debug_uses`], a place where its value is.
    pub(super) debug: Vec<Option<Location>>,
}

/// Places, and the values that they are for.
type Purposes = BTreeSet<(Location, Value)>;

/// Finds the values that each move carries.
pub(super) fn carried(function: &Function, order: &Order, locations: &[Location], transfers: &[Transfer]) -> Carried {
    let mut walk = CarriedWalk {
        function,
        locations,
        transfers,
        entries: SecondaryMap::new(),
        found: Carried { values: vec![Vec::new(); transfers.len()], debug: vec![None; function.debug_uses.len()] },
    };
    let mut work: BTreeSet<usize> = (0..order.blocks().len()).collect();
    while let Some(position) = work.pop_last() {
        let block = order.blocks()[position];
        let purposes = walk.block(block);
        if purposes != walk.entries[block] {
            walk.entries[block] = purposes;
            work.extend(function.blocks[block].preds.iter().map(|&pred| order.index(pred)));
        }
    }
    walk.found
}

struct CarriedWalk<'a> {
    function: &'a Function,
    locations: &'a [Location],
    transfers: &'a [Transfer],
    /// The purposes at the heads of blocks, after the φs.
    entries: SecondaryMap<Block, Purposes>,
    /// The results as of the last walk through each block.
    found: Carried,
}

impl CarriedWalk<'_> {
    /// The purposes of places at the head of a block, given those at the heads of its successors.
    fn block(&mut self, block: Block) -> Purposes {
        let data = &self.function.blocks[block];
        let mut purposes = Purposes::new();
        self.enter_from(block, |to| !to.landing_pad, &mut purposes);
        let mut transfers = self.transfers_of(block);
        let mut debug_uses = self.debug_uses_of(block);
        for index in (0..=data.insts.len() as u32).rev() {
            if index < data.insts.len() as u32 {
                self.instruction(block, Inst::from_u32(data.insts.start + index), &mut purposes);
            }
            while !debug_uses.is_empty() && self.function.debug_uses[debug_uses.end - 1].at.index == index {
                debug_uses.end -= 1;
                let value = self.function.debug_uses[debug_uses.end].value;
                self.found.debug[debug_uses.end] = purposes.iter().find(|(_, v)| *v == value).map(|&(place, _)| place);
            }
            while !transfers.is_empty() && self.transfers[transfers.end - 1].at.index == index {
                transfers.end -= 1;
                self.transfer(transfers.end, &mut purposes);
            }
        }
        purposes
    }

    fn transfers_of(&self, block: Block) -> Range<usize> {
        let start = self.transfers.partition_point(|transfer| transfer.at.block < block);
        start..self.transfers.partition_point(|transfer| transfer.at.block <= block)
    }

    fn debug_uses_of(&self, block: Block) -> Range<usize> {
        let uses = &self.function.debug_uses;
        uses.partition_point(|debug| debug.at.block < block)..uses.partition_point(|debug| debug.at.block <= block)
    }

    /// Adds the purposes of places along the edges to some successors.
    fn enter_from(&self, block: Block, wanted: fn(&BlockData) -> bool, purposes: &mut Purposes) {
        let blocks = &self.function.blocks;
        for &to in blocks[block].succs.iter().filter(|&&to| wanted(&blocks[to])) {
            let column = self.function.column(block, to);
            let phi = |value: Value| blocks[to].phis.iter().find(|phi| phi.def == value);
            let along = |value: Value| match phi(value) {
                Some(Phi { args, .. }) => args[column].expand(),
                None => Some(value),
            };
            purposes.extend(self.entries[to].iter().filter_map(|&(place, value)| Some((place, along(value)?))));
        }
    }

    fn instruction(&self, block: Block, inst: Inst, purposes: &mut Purposes) {
        let operands = self.function.insts[inst].operands.clone();
        let operands = || operands.clone().map(|k| (&self.function.operands[k as usize], self.locations[k as usize]));
        for (operand, place) in operands().filter(|(operand, _)| operand.is_def()) {
            purposes.remove(&(place, operand.value));
        }
        if self.function.blocks[block].throws == inst.into() {
            self.enter_from(block, |to| to.landing_pad, purposes);
        }
        purposes.extend(operands().filter(|(operand, _)| !operand.is_def()).map(|(operand, place)| (place, operand.value)));
    }

    fn transfer(&mut self, number: usize, purposes: &mut Purposes) {
        let Transfer { from, to, .. } = self.transfers[number];
        let first = Value::from_u32(0);
        let values: Vec<Value> = purposes.range((to, first)..).take_while(|(place, _)| *place == to).map(|(_, v)| *v).collect();
        for &value in &values {
            purposes.remove(&(to, value));
        }
        purposes.extend(values.iter().map(|&value| (from, value)));
        self.found.values[number] = values;
    }
}
