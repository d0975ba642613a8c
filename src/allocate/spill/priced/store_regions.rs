//! Store regions, and the decisions whether values have been stored in them.
//!
//! A live range is cut into *store regions* of regions ([`super::regions`]), within which it makes little difference where
//! the value is stored. A decision says that its home is not written yet. Only store regions that some cost depends on have
//! one.
//!
//! Ensures: the first block of a store region dominates it, so that a store there serves all of it. It is executed as often
//! as any block of the store region, or not much more often ([`super::regions::similar`]). Control comes to each region of a
//! store region from another one of the same store region, so that storing later costs at least as much as in the coldest
//! block.

use super::excess_pressure::ExcessPressure;
use super::live_out_index::LiveOutIndex;
use super::regions::{Region, Regions};
use crate::allocate::cost;
use crate::allocate::cuts::{Decision, Decisions, push};
use crate::allocate::spill::problem::Problem;
use crate::analysis::grouped::of_each;
use crate::analysis::{Dominators, Liveness};
use crate::machine::{Block, Function, Value};
use cranelift_entity::{EntityRef, EntitySet, PrimaryMap, SecondaryMap, entity_impl, packed_option::PackedOption};
use smallvec::SmallVec;

/// A part of the live range of one value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct StoreRegion(u32);
entity_impl!(StoreRegion);

struct StoreRegionData {
    value: Value,
    first: Block,
    /// The block from which the value is stored at the least frequency known in the store region.
    coldest: Block,
    /// The decision that the value's home is not written yet.
    unwritten: PackedOption<Decision>,
}

/// The store regions of all values.
pub(super) struct StoreRegions<'a> {
    function: &'a Function,
    dominators: &'a Dominators,
    liveness: &'a Liveness,
    pub(super) regions: Regions,
    /// The least frequency of a block, for each execution of its store region's first block.
    similar: f64,
    /// Values that are live in regions that are executed less often than their definitions. All others have one store region
    /// each.
    colder: EntitySet<Value>,
    /// Of values with one store region, the decision that their home is not written yet.
    unwritten: SecondaryMap<Value, PackedOption<Decision>>,
    /// The store regions of colder values, in the order of the regions that they begin in.
    data: Vec<StoreRegionData>,
    /// The number of store regions that have begun by the end of each region that has been visited.
    begun: PrimaryMap<Region, u32>,
    /// The store region of each colder value in the current region.
    current: SecondaryMap<Value, PackedOption<StoreRegion>>,
    /// The values that have one.
    here: Vec<Value>,
    /// The store regions of colder values at the ends of blocks that have been visited, in the order of
    /// [`Liveness::live_out_row`].
    at_ends: Vec<PackedOption<StoreRegion>>,
}

impl<'a> StoreRegions<'a> {
    pub(super) fn new(problem: &'a Problem<'a>, pressure: &ExcessPressure, similar: f64) -> Self {
        let function = &problem.conventional.function;
        let regions = Regions::new(function, problem.order, similar);
        let definitions = cost::definitions(function);
        let mut colder = EntitySet::new();
        for region in regions.iter() {
            let first = regions.blocks(region)[0];
            let frequency = regions.least_from(first);
            let is_colder = |value: &Value| frequency < definitions[*value] && pressure.values.contains(*value);
            colder.extend(problem.liveness.live_in(first).iter().copied().filter(is_colder));
        }
        StoreRegions {
            function,
            dominators: problem.dominators,
            liveness: problem.liveness,
            begun: PrimaryMap::with_capacity(regions.iter().len()),
            regions,
            similar: similar.min(1.0),
            colder,
            unwritten: of_each(function.values.len()),
            data: Vec::new(),
            current: of_each(function.values.len()),
            here: Vec::new(),
            at_ends: vec![None.into(); problem.liveness.all_live_out()],
        }
    }

    /// Begins the next region. Values that are live into it are in store regions that go on, or that begin here.
    pub(super) fn enter_region(&mut self, region: Region) {
        if self.colder.is_empty() {
            return;
        }
        let block = self.regions.blocks(region)[0];
        let liveness = self.liveness;
        let preds = self.function.blocks[block].preds.iter();
        let mut before: SmallVec<[LiveOutIndex; 4]> = preds.map(|&pred| LiveOutIndex::new(liveness, pred)).collect();
        for &value in liveness.live_in(block) {
            if !self.colder.contains(value) {
                continue;
            }
            let mut arriving = before.iter_mut().filter_map(|pred| self.at_ends[pred.index_of(value)?].expand());
            match arriving.find(|&store_region| self.goes_on(store_region, block)) {
                Some(store_region) => self.go_on(block, value, store_region),
                None => self.begin(block, value),
            }
        }
    }

    /// A value is defined in a block of the current region.
    pub(super) fn define(&mut self, block: Block, value: Value) {
        if self.colder.contains(value) {
            self.begin(block, value);
        }
    }

    fn begin(&mut self, first: Block, value: Value) {
        let store_region = StoreRegion::new(self.data.len());
        push(&mut self.data, StoreRegionData { value, first, coldest: first, unwritten: None.into() });
        self.is_in(value, store_region);
    }

    fn go_on(&mut self, block: Block, value: Value, store_region: StoreRegion) {
        let coldest = &mut self.data[store_region.index()].coldest;
        if self.regions.least_from(block) < self.regions.least_from(*coldest) {
            *coldest = block;
        }
        self.is_in(value, store_region);
    }

    fn is_in(&mut self, value: Value, store_region: StoreRegion) {
        self.current[value] = store_region.into();
        self.here.push(value);
    }

    /// Whether a store region that reaches the first block of a region goes on there.
    fn goes_on(&self, store_region: StoreRegion, block: Block) -> bool {
        let first = self.data[store_region.index()].first;
        self.regions.least_from(block) >= self.similar * self.function.blocks[first].frequency
            && self.dominators.dominates(first, block)
    }

    /// Ends a block of the current region.
    pub(super) fn leave(&mut self, block: Block) {
        if self.here.is_empty() {
            return;
        }
        for (index, &value) in self.liveness.live_out_row(block).zip(self.liveness.live_out(block)) {
            debug_assert_eq!(self.colder.contains(value), self.current[value].is_some());
            self.at_ends[index] = self.current[value];
        }
    }

    /// Ends the current region.
    pub(super) fn leave_region(&mut self) {
        self.here.drain(..).for_each(|value| self.current[value] = None.into());
        self.begun.push(self.data.len() as u32);
    }

    /// The store region of a colder value at the end of a block that has been visited.
    fn at_end(&self, block: Block, value: Value) -> Option<StoreRegion> {
        let index = self.liveness.live_out(block).binary_search(&value).ok()?;
        self.at_ends[self.liveness.live_out_row(block).start + index].expand()
    }

    /// The decision that the home of a live value is not written yet in the current region. It is made if there is none.
    pub(super) fn unwritten_here(&mut self, value: Value, decisions: &mut Decisions) -> Decision {
        self.unwritten_in(self.current[value].expand(), value, decisions)
    }

    /// The decision that a value's home is not written yet at the end of a block, once all blocks have been visited.
    pub(super) fn unwritten_at_end(&mut self, block: Block, value: Value, decisions: &mut Decisions) -> Decision {
        self.unwritten_in(self.at_end(block, value), value, decisions)
    }

    fn unwritten_in(&mut self, store_region: Option<StoreRegion>, value: Value, decisions: &mut Decisions) -> Decision {
        debug_assert_eq!(self.colder.contains(value), store_region.is_some(), "the value is live there");
        let unwritten =
            store_region.map_or(&mut self.unwritten[value], |store_region| &mut self.data[store_region.index()].unwritten);
        let decision = unwritten.expand().unwrap_or_else(|| decisions.decide());
        *unwritten = decision.into();
        decision
    }

    /// The decision that the home of a value defined in this block is not written yet, if some cost depends on it; and the
    /// least frequency at which a store in the same store region is executed.
    pub(super) fn since_definition(&self, block: Block, value: Value) -> Option<(Decision, f64)> {
        let least = self.regions.least_from(block);
        if !self.colder.contains(value) {
            return Some((self.unwritten[value].expand()?, least));
        }
        let StoreRegionData { coldest, unwritten, .. } = self.data[self.at_end(block, value)?.index()];
        Some((unwritten.expand()?, least.min(self.regions.least_from(coldest))))
    }

    /// The values whose store regions begin in a region, with decisions and least frequencies as from
    /// [`Self::since_definition`].
    pub(super) fn beginning_in(&self, region: Region) -> impl Iterator<Item = (Value, Decision, f64)> {
        let since = region.as_u32().checked_sub(1).map_or(0, |before| self.begun[Region::from_u32(before)]);
        let begun = (since..self.begun[region]).map(StoreRegion::from_u32);
        begun.filter_map(|store_region| {
            let StoreRegionData { value, coldest, unwritten, .. } = self.data[store_region.index()];
            Some((value, unwritten.expand()?, self.regions.least_from(coldest)))
        })
    }
}
