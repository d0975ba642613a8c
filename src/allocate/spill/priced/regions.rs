//! Blocks among which it makes little difference where a value is stored.
//!
//! Ensures: each block is in one region. Control enters a region by its first block, or goes back to a loop of it, and no block
//! of it is executed much less often than another one before it.

use super::Priced;
use crate::allocate::spill::problem::Problem;
use crate::analysis::Order;
use crate::analysis::grouped::{Grouped, of_each};
use crate::machine::{Block, Function};
use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl, packed_option::PackedOption};

/// A region.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Region(u32);
entity_impl!(Region);

/// All regions.
pub(super) struct Regions {
    of: SecondaryMap<Block, PackedOption<Region>>,
    /// How often the blocks of each are executed at most.
    most: PrimaryMap<Region, f64>,
    blocks: Grouped<Region, Block>,
    /// How often a block is executed at least, of one and those of its region that come behind it.
    least: SecondaryMap<Block, f64>,
}

/// How often, for each execution of one before it, a block of the same region is executed at least. That is more than where two
/// ways are as likely, or where pointers are compared (5 of 8 are estimated to differ): with 0.5, such
/// stores were half of what certificates left open.
const SIMILAR: f64 = 0.64;

/// The same in functions that are not [`HOT`], where stores are little of what a program spends: half of all decisions of
/// SQLite would be about these.
const SIMILAR_IN_COOL: f64 = 0.2;

/// How often an instruction is executed, in the mean, for each time that the function is entered.
const HOT: f64 = 3.0;

/// Where each block is a region of its own.
const NONE_SIMILAR: f64 = f64::INFINITY;

/// How often, for each execution of one before it, a block of the same region is to be executed at least.
pub(super) fn similar(priced: &Priced, problem: &Problem) -> f64 {
    match priced {
        Priced { exact: true, .. } => NONE_SIMILAR,
        _ if !priced.considers_all() && !is_hot(&problem.conventional.function) => SIMILAR_IN_COOL,
        _ => SIMILAR,
    }
}

/// Whether a function's instructions are executed as often as those of a [`HOT`] one.
pub(super) fn is_hot(function: &Function) -> bool {
    let executed = function.blocks.iter().map(|(block, data)| data.frequency * function.block_insts(block).len() as f64);
    executed.sum::<f64>() >= HOT * function.blocks[function.entry()].frequency * function.insts.len() as f64
}

impl Regions {
    /// A block that is executed less than `similar` times for each execution of one before it is in another region.
    pub(super) fn new(function: &Function, order: &Order, similar: f64) -> Self {
        let count = function.blocks.len();
        let (of, least) = (of_each(count), of_each(count));
        let mut regions = Regions { of, most: PrimaryMap::new(), blocks: Grouped::new(0, &[]), least };
        for &block in order.blocks() {
            let frequency = function.blocks[block].frequency;
            let region = regions.before(function, block).filter(|&region| frequency >= similar * regions.most[region]);
            let region = region.unwrap_or_else(|| regions.most.push(frequency));
            regions.most[region] = regions.most[region].max(frequency);
            regions.of[block] = region.into();
        }
        let members = order.blocks().iter().map(|&block| (regions.of(block), block));
        regions.blocks = Grouped::from_pairs(regions.most.len(), members);
        for region in regions.iter() {
            let mut least = f64::INFINITY;
            for &block in regions.blocks.get(region).iter().rev() {
                least = least.min(function.blocks[block].frequency);
                regions.least[block] = least;
            }
        }
        regions
    }

    /// The region of all of a block's predecessors that have one.
    fn before(&self, function: &Function, block: Block) -> Option<Region> {
        let mut before = function.blocks[block].preds.iter().filter_map(|&pred| self.of[pred].expand());
        let first = before.next()?;
        before.all(|region| region == first).then_some(first)
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = Region> + ExactSizeIterator + use<> {
        self.most.keys()
    }

    /// The region of a block that can be reached.
    pub(super) fn of(&self, block: Block) -> Region {
        self.of[block].expand().expect("the block can be reached")
    }

    /// Its blocks, those first that come before others.
    pub(super) fn blocks(&self, region: Region) -> &[Block] {
        self.blocks.get(region)
    }

    /// How often the coldest block is executed in which a value can be stored that is defined in this one, or enters the region
    /// here: what it dominates comes behind.
    pub(super) fn least_from(&self, block: Block) -> f64 {
        self.least[block]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{block, graph};
    use crate::machine::parse;

    /// Two ways that are as likely are apart in hot functions only.
    #[test]
    fn regions_end_where_blocks_are_executed_less_often() {
        let mut function = graph(&[&[1, 2], &[3], &[3], &[]]);
        [1.0, 0.5, 0.5, 1.0].into_iter().enumerate().for_each(|(index, it)| function.blocks[block(index)].frequency = it);
        let order = Order::new(&function);
        let regions = |similar: f64| {
            let regions = Regions::new(&function, &order, similar);
            [0, 1, 2, 3].map(|index| regions.of(block(index)).as_u32())
        };
        assert_eq!(regions(SIMILAR_IN_COOL), [0, 0, 0, 0]);
        let apart = regions(SIMILAR);
        assert_eq!(apart.iter().collect::<std::collections::BTreeSet<_>>().len(), 4, "{apart:?}");
    }

    #[test]
    fn functions_are_hot_by_the_executions_of_their_instructions() {
        let mut function = parse(include_str!("../../../../testdata/functions/loop_weights.txt")).unwrap();
        function.blocks.values_mut().for_each(|data| data.frequency = 8.0);
        assert!(!is_hot(&function), "the function is entered as often");
        let entry = function.entry();
        function.blocks[entry].frequency = 2.0;
        assert!(is_hot(&function));
    }
}
