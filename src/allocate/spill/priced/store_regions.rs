//! Where values have not been stored yet.
//!
//! The life of a value is cut into *stretches* of regions ([`super::regions`]), in each of which it makes little difference
//! where the value is stored. A decision says that its home is not written yet; there is one only for stretches that somebody
//! asks about.
//!
//! Ensures: a stretch's first block dominates it, so that what is stored there is stored in all of it. It is executed as often
//! as any block of the stretch, or not much more often ([`super::regions::similar`]). Control comes to each region of a stretch from
//! another one of the stretch, so that whoever stores the value later pays for the coldest block at least.

use super::before::Before;
use super::excess_pressure::Tight;
use super::regions::{Region, Regions};
use crate::allocate::cost;
use crate::allocate::cuts::{Decision, Decisions, push};
use crate::allocate::spill::problem::Problem;
use crate::analysis::grouped::of_each;
use crate::analysis::{Dominators, Liveness};
use crate::machine::{Block, Function, Value};
use cranelift_entity::{EntityRef, EntitySet, PrimaryMap, SecondaryMap, entity_impl, packed_option::PackedOption};
use smallvec::SmallVec;

/// A part of the life of one value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch(u32);
entity_impl!(Stretch);

struct StretchData {
    value: Value,
    first: Block,
    /// From where the value is stored as seldom as in any block of the stretch that is known to be one.
    coldest: Block,
    /// The decision that the value's home is not written yet.
    homeless: PackedOption<Decision>,
}

/// The stretches of all values.
pub(super) struct Stretches<'a> {
    function: &'a Function,
    dominators: &'a Dominators,
    liveness: &'a Liveness,
    pub(super) regions: Regions,
    /// How often, for each execution of its first block, a block of the same stretch is executed at least.
    similar: f64,
    /// Values that live in regions which are executed less often than their definitions; the others have one stretch each.
    colder: EntitySet<Value>,
    /// Of those others, the decision that their home is not written yet.
    homeless: SecondaryMap<Value, PackedOption<Decision>>,
    /// Of the colder ones, in the order of the regions that they begin in.
    data: Vec<StretchData>,
    /// How many have begun by the end of each region that has been passed.
    begun: PrimaryMap<Region, u32>,
    /// Of each colder value, the stretch in the current region.
    current: SecondaryMap<Value, PackedOption<Stretch>>,
    /// The values that have one.
    here: Vec<Value>,
    /// Of the colder values that are live at the ends of blocks that have been passed, in the order of
    /// [`Liveness::live_out_row`].
    at_ends: Vec<PackedOption<Stretch>>,
}

impl<'a> Stretches<'a> {
    pub(super) fn new(problem: &'a Problem<'a>, tight: &Tight, similar: f64) -> Self {
        let function = &problem.conventional.function;
        let regions = Regions::new(function, problem.order, similar);
        let definitions = cost::definitions(function);
        let mut colder = EntitySet::new();
        for region in regions.iter() {
            let first = regions.blocks(region)[0];
            let frequency = regions.least_from(first);
            let is_colder = |value: &Value| frequency < definitions[*value] && tight.values.contains(*value);
            colder.extend(problem.liveness.live_in(first).iter().copied().filter(is_colder));
        }
        Stretches {
            function,
            dominators: problem.dominators,
            liveness: problem.liveness,
            begun: PrimaryMap::with_capacity(regions.iter().len()),
            regions,
            similar: similar.min(1.0),
            colder,
            homeless: of_each(function.values.len()),
            data: Vec::new(),
            current: of_each(function.values.len()),
            here: Vec::new(),
            at_ends: vec![None.into(); problem.liveness.all_live_out()],
        }
    }

    /// The next region begins. What is live into it comes in stretches that go on, or begin.
    pub(super) fn enter_region(&mut self, region: Region) {
        if self.colder.is_empty() {
            return;
        }
        let block = self.regions.blocks(region)[0];
        let liveness = self.liveness;
        let preds = self.function.blocks[block].preds.iter();
        let mut before: SmallVec<[Before; 4]> = preds.map(|&pred| Before::new(liveness, pred)).collect();
        for &value in liveness.live_in(block) {
            if !self.colder.contains(value) {
                continue;
            }
            let mut arriving = before.iter_mut().filter_map(|pred| self.at_ends[pred.row_of(value)?].expand());
            match arriving.find(|&stretch| self.goes_on(stretch, block)) {
                Some(stretch) => self.go_on(block, value, stretch),
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
        let stretch = Stretch::new(self.data.len());
        push(&mut self.data, StretchData { value, first, coldest: first, homeless: None.into() });
        self.is_in(value, stretch);
    }

    fn go_on(&mut self, block: Block, value: Value, stretch: Stretch) {
        let coldest = &mut self.data[stretch.index()].coldest;
        if self.regions.least_from(block) < self.regions.least_from(*coldest) {
            *coldest = block;
        }
        self.is_in(value, stretch);
    }

    fn is_in(&mut self, value: Value, stretch: Stretch) {
        self.current[value] = stretch.into();
        self.here.push(value);
    }

    /// Whether a stretch that comes to the first block of a region goes on there.
    fn goes_on(&self, stretch: Stretch, block: Block) -> bool {
        let first = self.data[stretch.index()].first;
        self.regions.least_from(block) >= self.similar * self.function.blocks[first].frequency
            && self.dominators.dominates(first, block)
    }

    /// A block of the current region has been passed.
    pub(super) fn leave(&mut self, block: Block) {
        if self.here.is_empty() {
            return;
        }
        for (row, &value) in self.liveness.live_out_row(block).zip(self.liveness.live_out(block)) {
            debug_assert_eq!(self.colder.contains(value), self.current[value].is_some());
            self.at_ends[row] = self.current[value];
        }
    }

    /// All blocks of the current region have been passed.
    pub(super) fn leave_region(&mut self) {
        self.here.drain(..).for_each(|value| self.current[value] = None.into());
        self.begun.push(self.data.len() as u32);
    }

    /// The stretch of a colder value that is live at the end of a block that has been passed.
    fn at_end(&self, block: Block, value: Value) -> Option<Stretch> {
        let index = self.liveness.live_out(block).binary_search(&value).ok()?;
        self.at_ends[self.liveness.live_out_row(block).start + index].expand()
    }

    /// The decision that a value's home is not written yet in the current region, where the value is live; it is made if there is
    /// none.
    pub(super) fn homeless_here(&mut self, value: Value, decisions: &mut Decisions) -> Decision {
        self.homeless_in(self.current[value].expand(), value, decisions)
    }

    /// Such a decision about a value that is live at the end of a block, now that all have been passed.
    pub(super) fn homeless_at_end(&mut self, block: Block, value: Value, decisions: &mut Decisions) -> Decision {
        self.homeless_in(self.at_end(block, value), value, decisions)
    }

    fn homeless_in(&mut self, stretch: Option<Stretch>, value: Value, decisions: &mut Decisions) -> Decision {
        debug_assert_eq!(self.colder.contains(value), stretch.is_some(), "the value is live there");
        let homeless = stretch.map_or(&mut self.homeless[value], |stretch| &mut self.data[stretch.index()].homeless);
        let decision = homeless.expand().unwrap_or_else(|| decisions.decide());
        *homeless = decision.into();
        decision
    }

    /// Such a decision about a value that is defined in this block, if somebody has asked for it, and how often the value is
    /// stored at least if that is done in the same stretch.
    pub(super) fn since_definition(&self, block: Block, value: Value) -> Option<(Decision, f64)> {
        let least = self.regions.least_from(block);
        if !self.colder.contains(value) {
            return Some((self.homeless[value].expand()?, least));
        }
        let StretchData { coldest, homeless, .. } = self.data[self.at_end(block, value)?.index()];
        Some((homeless.expand()?, least.min(self.regions.least_from(coldest))))
    }

    /// The values of which stretches begin in a region, likewise.
    pub(super) fn beginning_in(&self, region: Region) -> impl Iterator<Item = (Value, Decision, f64)> {
        let since = region.as_u32().checked_sub(1).map_or(0, |before| self.begun[Region::from_u32(before)]);
        let begun = (since..self.begun[region]).map(Stretch::from_u32);
        begun.filter_map(|stretch| {
            let StretchData { value, coldest, homeless, .. } = self.data[stretch.index()];
            Some((value, homeless.expand()?, self.regions.least_from(coldest)))
        })
    }
}
