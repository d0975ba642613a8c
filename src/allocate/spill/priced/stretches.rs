//! Where values have not been stored yet.
//!
//! The life of a value is cut into *stretches* of regions ([`super::regions`]), in each of which it makes little difference
//! where the value is stored. A decision says that its home is not written yet; there is one only for stretches that somebody
//! asks about.
//!
//! Ensures: a stretch's first block dominates it, so that what is stored there is stored in all of it. It is executed as often
//! as any block of the stretch, or little more often. Control comes to each region of a stretch from another one of the
//! stretch, so that whoever stores the value later pays for the coldest block at least.

use super::regions::{Region, Regions};
use super::tight::Tight;
use crate::allocate::cost;
use crate::allocate::cuts::{Decision, Decisions};
use crate::allocate::spill::Problem;
use crate::analysis::Dominators;
use crate::analysis::grouped::{Lists, of_each};
use crate::machine::{Block, Function, Value};
use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap, entity_impl, packed_option::PackedOption};

/// A part of the life of one value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch(u32);
entity_impl!(Stretch);

struct StretchData {
    /// None if it is the whole life.
    first: PackedOption<Block>,
    /// How often its coldest block is executed that is known to be one.
    least: f64,
    /// The decision that the value's home is not written yet.
    homeless: PackedOption<Decision>,
}

/// The stretches of all values.
pub(super) struct Stretches<'a> {
    function: &'a Function,
    dominators: &'a Dominators,
    pub(super) regions: Regions,
    /// How often, for each execution of its first block, a block of the same stretch is executed at least.
    similar: f64,
    /// Values that live in regions which are executed less often than their definitions; the others have one stretch each.
    colder: EntitySet<Value>,
    data: PrimaryMap<Stretch, StretchData>,
    /// Of each value, the only one; of a colder value, that in the current region.
    current: SecondaryMap<Value, PackedOption<Stretch>>,
    /// Those of the colder values in the current region.
    here: Vec<(Value, Stretch)>,
    /// Likewise in each region that has been passed, ascending.
    by_region: Lists<Region, (Value, Stretch)>,
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
        let count = regions.iter().len();
        Stretches {
            function,
            dominators: problem.dominators,
            regions,
            similar: similar.min(1.0),
            colder,
            data: PrimaryMap::new(),
            current: of_each(function.values.len()),
            here: Vec::new(),
            by_region: Lists::new(count),
        }
    }

    /// A value lives into a block of the current region, or is defined there.
    pub(super) fn enter(&mut self, block: Block, value: Value) {
        if self.colder.contains(value) && self.current[value].is_none() {
            let stretch = self.arriving(block, value).unwrap_or_else(|| {
                let least = self.regions.least_from(block);
                self.data.push(StretchData { first: block.into(), least, homeless: None.into() })
            });
            self.current[value] = stretch.into();
            self.here.push((value, stretch));
        }
    }

    /// The stretch that goes on into the region that begins with this block.
    fn arriving(&mut self, block: Block, value: Value) -> Option<Stretch> {
        let least = self.regions.least_from(block);
        let goes_on = |&stretch: &Stretch| {
            let first = self.data[stretch].first.expect("the values that are entered live in several regions");
            least >= self.similar * self.function.blocks[first].frequency && self.dominators.dominates(first, block)
        };
        let mut before = self.function.blocks[block].preds.iter().filter_map(|&pred| self.passed(pred, value));
        let stretch = before.find(goes_on)?;
        let data = &mut self.data[stretch];
        data.least = data.least.min(least);
        Some(stretch)
    }

    /// All blocks of a region have been passed.
    pub(super) fn leave_region(&mut self, region: Region) {
        self.here.iter().for_each(|&(value, _)| self.current[value] = None.into());
        self.by_region.add(region, self.here.drain(..)).sort_unstable_by_key(|&(value, _)| value);
    }

    /// The stretch of a colder value in a block of a region that has been passed.
    fn passed(&self, block: Block, value: Value) -> Option<Stretch> {
        let stretches = self.by_region.get(self.regions.of(block));
        Some(stretches[stretches.binary_search_by_key(&value, |&(value, _)| value).ok()?].1)
    }

    /// The stretch of a value in the current region.
    pub(super) fn here(&mut self, value: Value) -> Stretch {
        let whole = || StretchData { first: None.into(), least: f64::INFINITY, homeless: None.into() };
        let stretch = self.current[value].expand().unwrap_or_else(|| self.data.push(whole()));
        self.current[value] = stretch.into();
        stretch
    }

    /// The stretch of a value that is live in a block, now that all have been passed.
    pub(super) fn at(&mut self, block: Block, value: Value) -> Stretch {
        match self.colder.contains(value) {
            true => self.passed(block, value).expect("the value is live there"),
            false => self.here(value),
        }
    }

    /// The decision that a value's home is not written yet in a stretch; it is made if there is none.
    pub(super) fn homeless(&mut self, stretch: Stretch, decisions: &mut Decisions) -> Decision {
        let decision = self.data[stretch].homeless.expand().unwrap_or_else(|| decisions.decide());
        self.data[stretch].homeless = decision.into();
        decision
    }

    /// Such a decision about a value that is defined in this block, if somebody has asked for it, and how often the value is
    /// stored at least if that is done in the same stretch.
    pub(super) fn since_definition(&self, block: Block, value: Value) -> Option<(Decision, f64)> {
        let stretch = if self.colder.contains(value) { self.passed(block, value) } else { self.current[value].expand() }?;
        let StretchData { least, homeless, .. } = self.data[stretch];
        Some((homeless.expand()?, least.min(self.regions.least_from(block))))
    }

    /// The values of which stretches begin with a region, likewise.
    pub(super) fn beginning_with(&self, region: Region) -> impl Iterator<Item = (Value, Decision, f64)> {
        let block = self.regions.blocks(region)[0];
        self.by_region.get(region).iter().filter_map(move |&(value, stretch)| {
            let StretchData { first, least, homeless } = self.data[stretch];
            (first == block.into()).then_some((value, homeless.expand()?, least))
        })
    }
}
