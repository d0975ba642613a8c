//! Functions before SSA form, as far as it matters for getting there.

use super::Block;
use cranelift_entity::{EntitySet, PrimaryMap};

/// A function whose variables are to be put into SSA form.
pub struct Unpromoted {
    pub name: String,
    /// The blocks that the entry reaches.
    pub graph: Edges,
    /// Names of the blocks, empty where the module has none.
    pub block_names: PrimaryMap<Block, String>,
    pub variables: Vec<Variable>,
    /// Of a function in SSA form, the blocks of the instructions whose values are in no web: each is assigned once.
    pub temporaries: Vec<Block>,
    /// How many φs there are already.
    pub phis: usize,
}

/// A variable that LLVM's mem2reg would promote: an `alloca` in the entry that is only loaded and stored, as a whole. Or, of
/// a function in SSA form, the web of values that φs relate.
pub struct Variable {
    pub name: String,
    /// Blocks that store it, ascending.
    pub assigned: Vec<Block>,
    /// Blocks that load it before they store it, ascending.
    pub exposed: Vec<Block>,
}

impl Unpromoted {
    /// The blocks that a variable is live into.
    pub fn live_in(&self, variable: &Variable) -> EntitySet<Block> {
        let mut live = EntitySet::with_capacity(self.graph.block_count());
        let mut pending = variable.exposed.clone();
        while let Some(block) = pending.pop() {
            if live.insert(block) {
                let preds = self.graph.preds(block).iter();
                pending.extend(preds.filter(|pred| variable.assigned.binary_search(pred).is_err()));
            }
        }
        live
    }
}

/// The edges of a control-flow graph.
#[derive(Default)]
pub struct Edges(PrimaryMap<Block, Neighbours>);

struct Neighbours {
    preds: Vec<Block>,
    succs: Vec<Block>,
}

impl Edges {
    /// The graph in which blocks, numbered from the entry on, have these successors.
    pub fn new(succs: Vec<Vec<Block>>) -> Self {
        let mut blocks: PrimaryMap<Block, Neighbours> = PrimaryMap::with_capacity(succs.len());
        for succs in succs {
            blocks.push(Neighbours { preds: Vec::new(), succs });
        }
        for from in blocks.keys() {
            for index in 0..blocks[from].succs.len() {
                let to = blocks[from].succs[index];
                blocks[to].preds.push(from);
            }
        }
        Edges(blocks)
    }

    pub fn block_count(&self) -> usize {
        self.0.len()
    }

    pub fn preds(&self, block: Block) -> &[Block] {
        &self.0[block].preds
    }

    pub fn succs(&self, block: Block) -> &[Block] {
        &self.0[block].succs
    }
}
