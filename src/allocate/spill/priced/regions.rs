//! Regions: blocks among which it makes little difference where a value is stored.
//!
//! Ensures: each block is in one region. Control enters a region by its first block, or comes back to a loop in it. No block
//! is executed much less often than an earlier one of the same region.

use super::grouping::Grouping;
use super::thoroughness::Thoroughness;
use super::tuning::{HOT, SIMILAR, SIMILAR_IN_COOL};
use crate::allocate::spill::problem::Problem;
use crate::analysis::Order;
use crate::analysis::grouped::{Grouped, of_each};
use crate::machine::{Block, Function};
use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl, packed_option::PackedOption};

/// A region of blocks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Region(u32);
entity_impl!(Region);

/// The regions of a function.
pub(super) struct Regions {
    of: SecondaryMap<Block, PackedOption<Region>>,
    /// The highest frequency in each region.
    most: PrimaryMap<Region, f64>,
    blocks: Grouped<Region, Block>,
    /// Of each block, the lowest frequency among itself and the later blocks of its region.
    least: SecondaryMap<Block, f64>,
}

/// No block is similar to another: each is a region of its own.
const NONE_SIMILAR: f64 = f64::INFINITY;

/// The least frequency of a block for each execution of an earlier block of the same region.
pub(super) fn similar(thoroughness: Thoroughness, problem: &Problem, grouping: &Grouping) -> f64 {
    match thoroughness {
        Thoroughness { exact: true, .. } => NONE_SIMILAR,
        _ if matches!(grouping, Grouping::AllBut(_)) && !is_hot(&problem.conventional.function) => SIMILAR_IN_COOL,
        _ => SIMILAR,
    }
}

/// Whether the instructions of a function are executed as often as those of a [`HOT`] one.
pub(super) fn is_hot(function: &Function) -> bool {
    let executed = function.blocks.iter().map(|(block, data)| data.frequency * function.block_insts(block).len() as f64);
    executed.sum::<f64>() >= HOT * function.blocks[function.entry()].frequency * function.insts.len() as f64
}

impl Regions {
    /// Blocks that are executed less than `similar` times for each execution of an earlier one are in other regions.
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

    /// The region that all predecessors of a block are in, among those that have one.
    fn before(&self, function: &Function, block: Block) -> Option<Region> {
        let mut before = function.blocks[block].preds.iter().filter_map(|&pred| self.of[pred].expand());
        let first = before.next()?;
        before.all(|region| region == first).then_some(first)
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = Region> + ExactSizeIterator + use<> {
        self.most.keys()
    }

    /// The region of a reachable block.
    pub(super) fn of(&self, block: Block) -> Region {
        self.of[block].expand().expect("the block can be reached")
    }

    /// The blocks of a region, earlier ones first.
    pub(super) fn blocks(&self, region: Region) -> &[Block] {
        self.blocks.get(region)
    }

    /// The frequency of the coldest block in which a value can be stored that is defined in this block, or enters the region
    /// here: the blocks that this one dominates come later.
    pub(super) fn least_from(&self, block: Block) -> f64 {
        self.least[block]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{block, graph};
    use crate::machine::parse;

    /// Two arms that are equally likely are in regions of their own in hot functions only.
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
