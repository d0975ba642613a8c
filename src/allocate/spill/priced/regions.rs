//! Blocks among which it makes little difference where a value is stored.
//!
//! Ensures: each block is in one region. Control enters a region by its first block, or goes back to a loop of it, and no block
//! of it is executed much less often than another one before it.

use crate::analysis::Order;
use crate::analysis::grouped::of_each;
use crate::machine::{Block, Function};
use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl, packed_option::PackedOption};

/// A region.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Region(u32);
entity_impl!(Region);

/// All regions.
pub(super) struct Regions {
    of: SecondaryMap<Block, PackedOption<Region>>,
    data: PrimaryMap<Region, RegionData>,
    /// How often a block is executed at least, of one and those of its region that come behind it.
    least: SecondaryMap<Block, f64>,
}

struct RegionData {
    blocks: Vec<Block>,
    /// How often its blocks are executed at most.
    most: f64,
}

/// How often, for each execution of one before it, a block of the same region is executed at least. That is more than where two
/// ways are as likely, or where pointers are compared (5 of 8 are estimated to differ): with 0.5, such
/// stores were half of what certificates left open.
pub(super) const SIMILAR: f64 = 0.64;

/// With this in its place, each block is a region of its own.
pub(super) const NONE_SIMILAR: f64 = f64::INFINITY;

impl Regions {
    /// A block that is executed less than `similar` times for each execution of one before it is in another region.
    pub(super) fn new(function: &Function, order: &Order, similar: f64) -> Self {
        let count = function.blocks.len();
        let (of, least) = (of_each(count), of_each(count));
        let mut regions = Regions { of, data: PrimaryMap::new(), least };
        for &block in order.blocks() {
            let frequency = function.blocks[block].frequency;
            let region = regions.before(function, block).filter(|&region| frequency >= similar * regions.data[region].most);
            let region = region.unwrap_or_else(|| regions.data.push(RegionData { blocks: Vec::new(), most: frequency }));
            let data = &mut regions.data[region];
            data.blocks.push(block);
            data.most = data.most.max(frequency);
            regions.of[block] = region.into();
        }
        for data in regions.data.values() {
            let mut least = f64::INFINITY;
            for &block in data.blocks.iter().rev() {
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
        self.data.keys()
    }

    /// The region of a block that can be reached.
    pub(super) fn of(&self, block: Block) -> Region {
        self.of[block].expand().expect("the block can be reached")
    }

    /// Its blocks, those first that come before others.
    pub(super) fn blocks(&self, region: Region) -> &[Block] {
        &self.data[region].blocks
    }

    /// How often the coldest block is executed in which a value can be stored that is defined in this one, or enters the region
    /// here: what it dominates comes behind.
    pub(super) fn least_from(&self, block: Block) -> f64 {
        self.least[block]
    }
}
