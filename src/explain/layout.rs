//! Lays the code of a function out as rows, and finds the rows of what the model says.

use super::listing::{Listing, Origin};
use super::schema::{self, Part, Row};
use crate::analysis::{Dominators, Loops, Order};
use crate::machine::{Block, Edges, Function, Inst};
use crate::measure::stats::Place;
use cranelift_entity::{EntityRef, SecondaryMap};
use indexmap::IndexMap;
use std::collections::{BTreeSet, HashMap};

/// The files that rows refer to, with the lines.
#[derive(Default)]
pub struct Sources(pub IndexMap<String, BTreeSet<u32>>);

impl Sources {
    fn number(&mut self, place: &Place) -> (usize, u32) {
        let entry = self.0.entry(place.file.clone());
        let index = entry.index();
        entry.or_default().insert(place.line);
        (index, place.line)
    }
}

/// The rows and blocks of a listing.
pub(super) struct Layout {
    pub(super) rows: Vec<Row>,
    pub(super) blocks: Vec<schema::Block>,
    of_inst: HashMap<Inst, usize>,
    of_edit: HashMap<usize, usize>,
}

impl Layout {
    pub(super) fn new(listing: &Listing, sources: &mut Sources) -> Self {
        let names = names(listing);
        let loops = nesting(listing);
        let mut layout = Layout { rows: Vec::new(), blocks: Vec::new(), of_inst: HashMap::new(), of_edit: HashMap::new() };
        for (index, block) in listing.blocks.iter().enumerate() {
            let first = layout.rows.len();
            for inst in &block.insts {
                match inst.origin {
                    Origin::Program(origin) => _ = layout.of_inst.insert(origin, layout.rows.len()),
                    Origin::Edit(edit) => _ = layout.of_edit.entry(edit).or_insert(layout.rows.len()),
                    Origin::Other => {}
                }
                let place = inst.place.as_ref().map(|place| sources.number(place));
                let inlined_at = inst.inlined.as_ref().map(|place| sources.number(place));
                let (text, part, cost) = (inst.text.clone(), inst.part, inst.cost);
                layout.rows.push(Row { text, place, inlined_at, part, cost, ..Row::default() });
            }
            let (depth, header) = loops[index];
            layout.blocks.push(schema::Block {
                name: names[index].clone(),
                frequency: block.frequency,
                depth,
                header: header.map(|header| names[header].clone()),
                succs: block.succs.iter().map(|&succ| names[succ].clone()).collect(),
                rows: [first, layout.rows.len()],
                cost: 0.0,
            });
        }
        layout
    }

    pub(super) fn row_of_inst(&self, inst: Inst) -> Option<usize> {
        self.of_inst.get(&inst).copied()
    }

    pub(super) fn row_of_edit(&self, edit: usize) -> Option<usize> {
        self.of_edit.get(&edit).copied()
    }

    /// The index of each block of a function among those listed.
    pub(super) fn find(&self, function: &Function) -> SecondaryMap<Block, Option<usize>> {
        let by_name: HashMap<&str, usize> =
            self.blocks.iter().enumerate().map(|(index, block)| (block.name.as_str(), index)).collect();
        let mut found = SecondaryMap::with_capacity(function.blocks.len());
        for block in function.blocks.keys() {
            found[block] = by_name.get(name(function, block).as_str()).copied();
        }
        found
    }

    /// Sums up what rows cost.
    pub(super) fn sum_costs(&mut self) {
        for block in &mut self.blocks {
            block.cost = self.rows[block.rows[0]..block.rows[1]].iter().map(|row| row.cost).sum();
        }
    }

    /// Marks a row as one that executes an instruction of the program again, or stores its result.
    pub(super) fn mark(&mut self, row: usize, part: Part, cost: f64) {
        let row = &mut self.rows[row];
        if row.part.is_none() {
            (row.part, row.cost) = (Some(part), cost);
        }
    }
}

/// The name of a block of the model.
pub(super) fn name(function: &Function, block: Block) -> String {
    let data = &function.blocks[block];
    match (&data.preds[..], &data.succs[..]) {
        ([from], [to]) if data.on_edge => format!("{from}>{to}"),
        _ => block.to_string(),
    }
}

/// The names of a listing's blocks.
fn names(listing: &Listing) -> Vec<String> {
    let mut preds: Vec<Vec<usize>> = vec![Vec::new(); listing.blocks.len()];
    for (from, block) in listing.blocks.iter().enumerate() {
        block.succs.iter().for_each(|&to| preds[to].push(from));
    }
    let selected = |index: usize| listing.blocks[index].position.map(|position| format!("b{position}"));
    let name = |(index, block): (usize, &super::listing::ListedBlock)| {
        let on_edge = || match (&preds[index][..], &block.succs[..]) {
            (&[from], &[to]) => Some(format!("{}>{}", selected(from)?, selected(to)?)),
            _ => None,
        };
        selected(index).or_else(on_edge).unwrap_or_else(|| format!("new{index}"))
    };
    listing.blocks.iter().enumerate().map(name).collect()
}

/// For each block, the number of loops around it, and the header of the innermost one.
fn nesting(listing: &Listing) -> Vec<(u32, Option<usize>)> {
    let mut number: Vec<Option<Block>> = vec![None; listing.blocks.len()];
    let mut reached = Vec::new();
    let mut pending = vec![0];
    while let Some(index) = pending.pop() {
        if index < listing.blocks.len() && number[index].is_none() {
            number[index] = Some(Block::new(reached.len()));
            reached.push(index);
            pending.extend(listing.blocks[index].succs.iter().rev());
        }
    }
    if reached.is_empty() {
        return Vec::new();
    }
    let succs = |&index: &usize| {
        let mut succs: Vec<Block> = listing.blocks[index].succs.iter().filter_map(|&succ| number[succ]).collect();
        succs.sort_unstable();
        succs.dedup();
        succs
    };
    let graph = Edges::new(reached.iter().map(succs).collect());
    let order = Order::new(&graph);
    let loops = Loops::new(&graph, &order, &Dominators::new(&graph, &order));
    let of_block = |block: &Option<Block>| match *block {
        Some(block) => (loops.depth(block), loops.innermost(block).map(|header| reached[header.index()])),
        None => (0, None),
    };
    number.iter().map(of_block).collect()
}
