//! Inserting the copies of Method I that could not be coalesced.

use super::{Conventional, ConversionCounts, Isolation, Web, classes::Classes, is_held};
use crate::machine::{Function, InstKind, Operand, Point, RegClass, Rewriter, Value};
use cranelift_entity::{EntityRef, SecondaryMap, packed_option::PackedOption};
use std::cmp::Reverse;

/// A copy to insert: `to := from`.
struct InsertedCopy {
    at: Point,
    /// For an argument, at the end of a block; otherwise for a definition, at the head: heads come first.
    tail: bool,
    to: Value,
    from: Value,
}

/// Inserts the copies and numbers the webs.
pub(super) fn insert(function: &Function, classes: &mut Classes, isolations: &[Isolation]) -> Conventional {
    let mut rewriter = Rewriter::new(function);
    let mut webs = Webs::default();
    for data in function.blocks.values() {
        for phi in &data.phis {
            webs.of_root(classes.find(phi.def));
        }
    }
    for value in function.values.keys() {
        webs.webs[value] = webs.by_root[classes.find(value)];
    }
    let mut copies = Vec::new();
    for isolation in isolations {
        isolate(function, &mut rewriter, &mut webs, isolation, &mut copies);
    }
    write(function, &mut rewriter, copies);
    Conventional {
        function: rewriter.new,
        webs: webs.webs,
        web_count: webs.count,
        in_memory: webs.in_memory,
        counts: ConversionCounts::default(),
    }
}

#[derive(Default)]
struct Webs {
    webs: SecondaryMap<Value, PackedOption<Web>>,
    by_root: SecondaryMap<Value, PackedOption<Web>>,
    count: usize,
    in_memory: Vec<Value>,
}

impl Webs {
    fn fresh(&mut self) -> Web {
        self.count += 1;
        Web::new(self.count - 1)
    }

    fn of_root(&mut self, root: Value) {
        if self.by_root[root].is_none() {
            self.by_root[root] = self.fresh().into();
        }
    }
}

/// Gives the φ its new names and lists the copies to them.
fn isolate(function: &Function, rewriter: &mut Rewriter, webs: &mut Webs, isolation: &Isolation, copies: &mut Vec<InsertedCopy>) {
    let Isolation { block, row, whole, columns } = isolation;
    let data = &function.blocks[*block];
    let phi = &data.phis[*row];
    let class = function.values[phi.def].class;
    let web = if *whole { webs.fresh().into() } else { webs.webs[phi.def] };
    let held = is_held(function, *block);
    let name = |rewriter: &mut Rewriter, webs: &mut Webs, class: RegClass| {
        let value = rewriter.value(class);
        webs.webs[value] = web;
        if held {
            webs.in_memory.push(value);
        }
        value
    };
    for &column in columns {
        let Some(from) = phi.args[column].value.expand() else { continue };
        // A copy holds all of what it copies, also where the φ is narrower.
        let to = name(rewriter, webs, function.file.wider(class, function.values[from].class));
        copies.push(InsertedCopy { at: function.departure(data.preds[column], *block), tail: true, to, from });
        rewriter.new.blocks[*block].phis[*row].args[column].value = to.into();
    }
    if *whole {
        let from = name(rewriter, webs, class);
        copies.push(InsertedCopy { at: function.head(*block), tail: false, to: phi.def, from });
        rewriter.new.blocks[*block].phis[*row].def = from;
    }
}

/// Writes the function with the copies in their places.
fn write(function: &Function, rewriter: &mut Rewriter, mut copies: Vec<InsertedCopy>) {
    // Of the φs that take one value, the first one's copy comes last, so that the value's live range may end there: that
    // copy, which is the first one to be looked at, can be taken back.
    copies.sort_by_key(|copy| (copy.at, copy.tail.then_some(Reverse(copy.to))));
    let mut copies = copies.into_iter().peekable();
    let mut insert_up_to = |rewriter: &mut Rewriter, point: Point| {
        while let Some(copy) = copies.next_if(|copy| copy.at <= point) {
            rewriter.insert(InstKind::Copy, &[Operand::defining(copy.to), Operand::using(copy.from)]);
        }
    };
    for block in function.blocks.keys() {
        rewriter.begin(block);
        for (index, inst) in function.block_insts(block).enumerate() {
            insert_up_to(rewriter, Point { block, index: index as u32 });
            rewriter.copy(inst, function.operands(inst));
        }
        insert_up_to(rewriter, Point { block, index: function.blocks[block].insts.len() as u32 });
        rewriter.end();
    }
}
