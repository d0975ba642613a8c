//! Random control-flow graphs, and dominance in them.

use super::Shape;
use chordal::machine::{Block, BlockData, BlockList, Function, RegSet};
use cranelift_entity::EntityRef;
use fastrand::Rng;

/// Adds the blocks and edges. This decides which blocks throw, but not at which instruction.
pub fn add_blocks(function: &mut Function, shape: &Shape, rng: &mut Rng) {
    let count = shape.blocks.max(1);
    for index in 0..count {
        let mut block = empty_block(rng);
        block.landing_pad = shape.landing_pads && index > 0 && rng.u8(..6) == 0;
        function.blocks.push(block);
    }
    // A tree from the entry reaches every block; the rest is random.
    for to in 1..count {
        let near = to.saturating_sub(4);
        let from = if rng.bool() { to - 1 } else { rng.usize(near..to) };
        add_edge(function, from, to);
    }
    if count > 1 {
        for _ in 0..count.div_ceil(2) + rng.usize(..count) {
            let from = rng.usize(..count);
            let to = rng.usize(1..count);
            if shape.loops || from < to {
                add_edge(function, from, to);
            }
        }
    }
    give_pads_an_alternative(function);
    let dispatch = if shape.gotos && count > 3 { add_dispatch(function, rng) } else { Vec::new() };
    split_critical_edges(function, &dispatch, rng);
    order_preds(function, rng);
}

fn empty_block(rng: &mut Rng) -> BlockData {
    BlockData {
        phis: Vec::new(),
        insts: 0..0,
        preds: BlockList::new(),
        succs: BlockList::new(),
        frequency: [0.0, 0.125, 0.3, 1.0, 7.5, 1000.0][rng.usize(..6)],
        live_in_pins: RegSet::EMPTY,
        landing_pad: false,
        throws: None.into(),
        on_edge: false,
    }
}

fn add_edge(function: &mut Function, from: usize, to: usize) {
    let (from, to) = (Block::new(from), Block::new(to));
    if !function.blocks[from].succs.contains(&to) {
        function.blocks[from].succs.push(to);
        function.blocks[to].preds.push(from);
    }
}

/// Gives every throwing block an ordinary successor, since a call that may throw may also return: if all are landing pads,
/// the first becomes ordinary.
fn give_pads_an_alternative(function: &mut Function) {
    for block in function.blocks.keys() {
        let succs = &function.blocks[block].succs;
        if let Some(&first) = succs.first()
            && succs.iter().all(|&succ| function.blocks[succ].landing_pad)
        {
            function.blocks[first].landing_pad = false;
        }
    }
}

/// Adds the edges of computed goto: from each of some blocks to each of some others, none of which can be split. Returns
/// them.
fn add_dispatch(function: &mut Function, rng: &mut Rng) -> Vec<(Block, Block)> {
    let ordinary: Vec<usize> = (1..function.blocks.len()).filter(|&b| !function.blocks[Block::new(b)].landing_pad).collect();
    let mut choose = |least: usize| rng.choose_multiple(ordinary.iter().copied(), least + rng.clone().usize(..3));
    let (sources, targets) = (choose(1), choose(2));
    let mut edges = Vec::new();
    for &from in &sources {
        for &to in &targets {
            add_edge(function, from, to);
            edges.push((Block::new(from), Block::new(to)));
        }
    }
    edges
}

/// Splits critical edges as an importer does: with blocks after all others, but not where control leaves the middle of a
/// block.
fn split_critical_edges(function: &mut Function, unsplit: &[(Block, Block)], rng: &mut Rng) {
    let edges: Vec<(Block, Block)> =
        function.blocks.iter().flat_map(|(b, data)| data.succs.iter().map(move |&s| (b, s))).collect();
    for (from, to) in edges {
        let critical = function.blocks[from].succs.len() > 1 && function.blocks[to].preds.len() > 1;
        if !critical || function.blocks[to].landing_pad || unsplit.contains(&(from, to)) {
            continue;
        }
        let block = BlockData { preds: vec![from].into(), succs: vec![to].into(), on_edge: true, ..empty_block(rng) };
        let middle = function.blocks.push(block);
        replace(&mut function.blocks[from].succs, to, middle);
        replace(&mut function.blocks[to].preds, from, middle);
    }
}

fn replace(blocks: &mut [Block], old: Block, new: Block) {
    blocks.iter_mut().filter(|block| **block == old).for_each(|block| *block = new);
}

/// Shuffles predecessors, so that the columns of φs come in any order.
fn order_preds(function: &mut Function, rng: &mut Rng) {
    for data in function.blocks.values_mut() {
        if rng.bool() {
            rng.shuffle(&mut data.preds);
        } else {
            data.preds.sort();
        }
    }
}

/// Whether an exceptional edge leaves the block.
pub fn throws(function: &Function, block: Block) -> bool {
    function.blocks[block].succs.iter().any(|&succ| function.blocks[succ].landing_pad)
}

/// Half of a block: up to where it throws (`2 * block`), or after that (`2 * block + 1`).
pub type Half = usize;

/// The half of its source that an edge leaves from.
pub fn exit(function: &Function, from: Block, to: Block) -> Half {
    2 * from.index() + usize::from(!function.blocks[to].landing_pad)
}

/// The immediate dominator of every half, and the blocks in an order in which dominators come first.
pub struct Dominators {
    pub idom: Vec<Option<Half>>,
    pub order: Vec<Block>,
}

/// Computes dominators by iterated intersection of sets; good enough for small graphs.
pub fn dominators(function: &Function) -> Dominators {
    let halves = 2 * function.blocks.len();
    let preds = |half: Half| -> Vec<Half> {
        let block = Block::new(half / 2);
        let preds = &function.blocks[block].preds;
        if half.is_multiple_of(2) { preds.iter().map(|&pred| exit(function, pred, block)).collect() } else { vec![half - 1] }
    };
    let mut sets = vec![vec![true; halves]; halves];
    sets[0] = (0..halves).map(|half| half == 0).collect();
    loop {
        let before = sets.clone();
        for half in 1..halves {
            let preds = preds(half);
            sets[half] = (0..halves).map(|d| d == half || preds.iter().all(|&pred| sets[pred][d])).collect();
        }
        if sets == before {
            break;
        }
    }
    let depth = |half: Half| sets[half].iter().filter(|&&dominates| dominates).count();
    let strict = |half: Half| (0..halves).filter(move |&d| d != half);
    let idom = (0..halves).map(|half| strict(half).filter(|&d| sets[half][d]).max_by_key(|&d| depth(d))).collect();
    let mut order: Vec<Block> = function.blocks.keys().collect();
    order.sort_by_key(|block| depth(2 * block.index()));
    Dominators { idom, order }
}
