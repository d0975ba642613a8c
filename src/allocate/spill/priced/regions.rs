//! Blocks among which it makes little difference where a value is stored.
//!
//! Ensures: each block is in one region. Control enters a region by its first block, or goes back to a loop of it, and no block
//! of it is executed much less often than another one before it.

use crate::analysis::Order;
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
}

struct RegionData {
    blocks: Vec<Block>,
    /// How often its blocks are executed, at least and at most.
    least: f64,
    most: f64,
}

/// A block that is executed less often than this, for each execution of one before it, is in another region.
const SIMILAR: f64 = 0.5;

impl Regions {
    pub(super) fn new(function: &Function, order: &Order) -> Self {
        let mut regions = Regions { of: SecondaryMap::with_capacity(function.blocks.len()), data: PrimaryMap::new() };
        for &block in order.blocks() {
            let frequency = function.blocks[block].frequency;
            let region = regions.before(function, block).filter(|&region| frequency >= SIMILAR * regions.data[region].most);
            let region = region.unwrap_or_else(|| {
                let (least, most) = (frequency, frequency);
                regions.data.push(RegionData { blocks: Vec::new(), least, most })
            });
            let data = &mut regions.data[region];
            data.blocks.push(block);
            (data.least, data.most) = (data.least.min(frequency), data.most.max(frequency));
            regions.of[block] = region.into();
        }
        regions
    }

    /// The region of all of a block's predecessors that have one.
    fn before(&self, function: &Function, block: Block) -> Option<Region> {
        let mut before = function.blocks[block].preds.iter().filter_map(|&pred| self.of[pred].expand());
        let first = before.next()?;
        before.all(|region| region == first).then_some(first)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Region> + use<> {
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

    /// How often its blocks are executed at least.
    pub(super) fn least(&self, region: Region) -> f64 {
        self.data[region].least
    }
}
