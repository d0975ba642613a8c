//! Conversion to conventional SSA form.
//!
//! Requires: strict SSA; every critical edge either split or one that can take no code ([`EdgePlace::Nowhere`]).
//! Ensures: the values of a φ-web do not interfere, so that one memory location can hold all of them (frugality); φs with an
//! argument over an edge that can take no code form webs of their own that are marked to live in memory.
//! Relies on: `spill-free-ssa-elimination.txt`, section 3 (Sreedhar's Method I, Budimlić's coalescing) and Theorem 6 (the
//! copies do not raise the pressure); `ssa-destruction-for-machine-code.txt`, section 21.3: the copies of Method I are
//! virtual, and only those that cannot be coalesced are ever inserted.

mod classes;
mod isolate;

use crate::analysis::{Dominators, Interference, Order};
use crate::machine::{Block, EdgePlace, Function, Value};
use classes::Classes;
use cranelift_entity::{SecondaryMap, entity_impl, packed_option::PackedOption};

/// A φ-web: values related by φs, none of which interferes with another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Web(u32);
entity_impl!(Web, "web");

/// A function in conventional SSA form.
pub struct Conventional {
    pub function: Function,
    /// The web of each value that a φ defines or takes.
    pub webs: SecondaryMap<Value, PackedOption<Web>>,
    /// The number of webs.
    pub web_count: usize,
    /// Values that have to live in memory because an edge on their web can take no code.
    pub in_memory: Vec<Value>,
}

/// How the arguments of one φ reach it.
struct Isolation {
    block: Block,
    row: usize,
    /// The definition gets a copy at the head of the block, and every argument one in its predecessor.
    whole: bool,
    /// The columns whose arguments get a copy.
    columns: Vec<usize>,
}

/// Converts a function.
pub fn conventional(function: &Function, order: &Order, dominators: &Dominators, interference: &Interference) -> Conventional {
    let mut classes = Classes::new(function, dominators, interference);
    let mut isolations = Vec::new();
    for &block in order.blocks() {
        for row in 0..function.blocks[block].phis.len() {
            isolations.extend(coalesce(function, interference, &mut classes, block, row));
        }
    }
    isolate::insert(function, &mut classes, &isolations)
}

/// Coalesces a φ's arguments with its definition as far as their webs do not interfere.
fn coalesce(
    function: &Function,
    interference: &Interference,
    classes: &mut Classes,
    block: Block,
    row: usize,
) -> Option<Isolation> {
    let data = &function.blocks[block];
    let phi = &data.phis[row];
    let whole = Isolation { block, row, whole: true, columns: (0..phi.args.len()).collect() };
    if data.preds.iter().any(|&pred| function.edge_place(pred, block) == EdgePlace::Nowhere) {
        return Some(whole);
    }
    let mut columns = Vec::new();
    for (column, arg) in phi.args.iter().enumerate() {
        let Some(value) = arg.value.expand() else { continue };
        if !classes.merge(phi.def, value) {
            columns.push(column);
        }
    }
    // A copy at the end of a predecessor shares the web's memory with whatever of the web lives there.
    let collides = |classes: &mut Classes, column: &usize| classes.lives_out(phi.def, data.preds[*column], interference);
    if columns.iter().any(|column| collides(classes, column)) {
        return Some(whole);
    }
    for &column in &columns {
        classes.add_tail(phi.def, data.preds[column]);
    }
    (!columns.is_empty()).then_some(Isolation { block, row, whole: false, columns })
}
