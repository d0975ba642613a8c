//! The registers in which values meet on edges without code.
//!
//! They are chosen when the walk comes upon the first end of a bundle. From then on, values move there before each
//! instruction that takes such an edge, or earlier in the block, as soon as their registers are free.

use super::DominanceWalk;
use crate::allocate::failure::{Defect, Failure};
use crate::allocate::pressure::matching::fit;
use crate::allocate::pressure::meeting;
use crate::analysis::{Bundle, Occupancy};
use crate::machine::{Block, Inst, InstFlags, InstKind, Reg, RegSet, Value};

/// Where the values that leave a block over the edges of a bundle are going to meet.
#[derive(Default)]
pub(super) struct Expected {
    pub(super) places: Vec<(Value, Reg)>,
    /// For each instruction of the block, the registers that the program takes there or later in the block.
    pub(super) occupied: Vec<RegSet>,
}

impl DominanceWalk<'_> {
    /// The bundle of the edges that an instruction takes, if any.
    pub(super) fn leaving_at(&self, block: Block, inst: Inst) -> Option<Bundle> {
        match self.function.insts[inst].is(InstFlags::TERMINATOR) {
            true => self.bundles.exit(block),
            false => self.bundles.throw(block).filter(|_| self.throws(block, inst)),
        }
    }

    /// Whether all values that cross the bundle of the next instruction, if it has one, are where they meet.
    pub(super) fn is_in_place(&mut self, block: Block) -> Result<bool, Failure> {
        let Some(bundle) = self.leaving else { return Ok(true) };
        self.meet(bundle)?;
        let mut live = self.liveness.live_out(block).iter();
        // (The results of a call that throws are not live yet.)
        let in_place = |&value: &Value| {
            let place = self.place(bundle, value);
            place.is_none_or(|place| !self.is_live(value) || place == self.at(value))
        };
        Ok(live.all(in_place))
    }

    /// Notes where the values that leave a block over a bundle are going to meet, if that is known before the block is
    /// walked.
    pub(super) fn expect(&mut self, block: Block) {
        self.expected = Expected::default();
        let Some(bundle) = self.bundles.exit(block).filter(|&bundle| self.places[bundle].is_some()) else { return };
        let crossing = self.liveness.live_out(block).iter();
        self.expected.places = crossing.filter_map(|&value| Some((value, self.place(bundle, value)?))).collect();
        let mut occupied = RegSet::EMPTY;
        for inst in self.function.block_insts(block).rev() {
            let Occupancy { before, after, clobbers } = self.pins.occupancy(self.function, block, inst);
            occupied |= before | after | clobbers;
            self.expected.occupied.push(occupied);
            self.expected.places.extend(self.expected_by_copy(bundle, inst));
        }
        self.expected.occupied.reverse();
        // No code can stand before the block's labels.
        let head = self.function.head(block).index as usize;
        self.expected.occupied[..head].fill(RegSet::from_bits(u128::MAX));
    }

    /// The source of a copy that dies there, if the target crosses a bundle, with the register in which the target does.
    fn expected_by_copy(&self, bundle: Bundle, inst: Inst) -> Option<(Value, Reg)> {
        let data = &self.function.insts[inst];
        let dies = data.kind == InstKind::Copy && self.liveness.kills(data.operands.start as usize + 1);
        let [def, copied] = self.function.operands(inst).first_chunk().filter(|_| dies)?;
        let place = self.place(bundle, def.value)?;
        self.function.allowed(copied.value).contains(place).then_some((copied.value, place))
    }

    /// The values that can move before an instruction to where they are going to meet, since nothing takes these registers
    /// any more.
    ///
    /// That costs no more than moving at the end of the block, and leaves their registers to values that are computed
    /// meanwhile.
    pub(super) fn early(&self, inst: Inst, index: usize) -> impl Iterator<Item = (Value, Reg)> {
        let Expected { places, occupied } = &self.expected;
        let free = move |reg: Reg| !self.taken.contains(reg) && !occupied[index].contains(reg);
        let elsewhere =
            move |&&(value, place): &&(Value, Reg)| free(place) && self.is_live(value) && !self.stays_held(inst, value);
        places.iter().filter(elsewhere).copied()
    }

    /// Finds registers in which the values that cross a bundle meet, unless that has been done.
    pub(super) fn meet(&mut self, bundle: Bundle) -> Result<(), Failure> {
        if self.places[bundle].is_some() {
            return Ok(());
        }
        let meeting = self.bundles.meeting(bundle);
        // Values that are most often in danger of being destroyed choose first.
        let mut values: Vec<Value> = meeting.crossing.iter().chain(&meeting.beside).copied().collect();
        values.sort_by(|&a, &b| self.endangered_together(b).total_cmp(&self.endangered_together(a)));
        let mut wants = Vec::with_capacity(values.len() + meeting.read.len());
        for &value in &values {
            let domain = meeting::domain(self.function, self.bundles, meeting, value);
            wants.push(meeting::want(domain, self.ranked_together(value, domain).into()));
        }
        wants.extend(meeting::read(self.function, meeting));
        let registers = fit(&wants).ok_or_else(|| Defect::Impossible(format!("no registers for what crosses {bundle}")))?;
        let crosses = |value: Value| meeting.crossing.binary_search(&value).is_ok();
        let mut places: Vec<(Value, Reg)> = values.into_iter().zip(registers).filter(|&(value, _)| crosses(value)).collect();
        places.sort_unstable_by_key(|&(value, _)| value);
        for &(value, reg) in &places {
            // Values that are copied from or to these will prefer the register.
            for &related in self.bundles.related(value) {
                if !self.is_live(related) {
                    self.register[related] = Some(reg);
                }
            }
        }
        self.places[bundle] = Some(places);
        Ok(())
    }

    /// How often the values for which a representative stands are live where registers are destroyed.
    fn endangered_together(&self, representative: Value) -> f64 {
        match self.bundles.related(representative) {
            [] => self.endangered[representative],
            related => related.iter().map(|&value| self.endangered[value]).sum(),
        }
    }

    /// The register in which a value crosses a bundle, if it does.
    pub(super) fn place(&self, bundle: Bundle, value: Value) -> Option<Reg> {
        let places = self.places[bundle].as_ref().expect("the bundle was come upon");
        let value = self.bundles.representative(value);
        let found = places.binary_search_by_key(&value, |&(crossing, _)| crossing);
        found.ok().map(|index| places[index].1)
    }
}
