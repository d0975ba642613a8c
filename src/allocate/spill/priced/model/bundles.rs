//! Values that cross bundles of jumps: one decision for all ends.
//!
//! Nothing can move a value on such an edge, so wherever it is live at an end of the bundle, it is in the same place. Its
//! register costs a reload before each jump at which it is in none, and is worth one after each label that reads it. All of
//! that meets in one decision, and the registers of a bundle are one pressure constraint.

use super::{Builder, Known, Residence};
use crate::allocate::cuts::MOST_BOUGHT;
use crate::allocate::pressure::limits::Counts;
use crate::allocate::spill::crossing::is_decided_by_spiller;
use crate::allocate::spill::problem::Problem;
use crate::analysis::{Bundle, Meeting};
use crate::machine::{Block, Value};
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};

impl Builder<'_> {
    /// The residence of an open value where it crosses a bundle of jumps, at one of its ends.
    pub(super) fn cross(&mut self, bundle: Bundle, value: Value) -> Residence {
        let Problem { bundles, unspillable, .. } = self.problem;
        let is_unspillable = |value: &Value| unspillable.contains(*value);
        if !is_decided_by_spiller(self.problem, bundles.meeting(bundle))
            || !unspillable.is_empty() && bundles.related(value).iter().any(is_unspillable)
        {
            return Residence::REGISTER;
        }
        let representative = bundles.representative(value);
        let known = self.model.residences.at_bundles[representative].expand();
        let decision = known.unwrap_or_else(|| self.model.decisions.decide());
        self.model.residences.at_bundles[representative] = decision.into();
        self.need_home_for(value, decision);
        Residence::decided_by(decision)
    }

    /// A value that crosses a bundle in a register, from the terminators of a block on, is in one before them, or refilled.
    /// (Where it is open how it crosses, it need not be in its home for that, which makes the bound no higher.)
    pub(super) fn need_to_cross(&mut self, block: Block, value: Value, before: Residence) {
        let frequency = self.function.blocks[block].frequency;
        match self.residence[value] {
            Residence::REGISTER => self.need_in_register(value, before, None, frequency),
            crosses => {
                let refill = self.cost(self.problem.cost_of_refill(self.refill(value), frequency));
                self.model.only_in(crosses, before, refill);
            }
        }
    }

    /// States that values that cross a bundle of jumps in registers find one each.
    pub(super) fn constrain_bundles(&mut self) {
        let problem = self.problem;
        let mut executed: SecondaryMap<Bundle, f64> = SecondaryMap::new();
        let mut entered: SecondaryMap<Bundle, PackedOption<Block>> = SecondaryMap::new();
        for (block, data) in &self.function.blocks {
            problem.bundles.exit(block).into_iter().for_each(|bundle| executed[bundle] += data.frequency);
            problem.bundles.entry(block).into_iter().for_each(|bundle| entered[bundle] = block.into());
        }
        self.has_excess = true;
        for (bundle, meeting) in problem.bundles.iter().filter(|(_, meeting)| is_decided_by_spiller(problem, meeting)) {
            self.constraints.iter_mut().for_each(|it| it.begin_block());
            for &value in &meeting.crossing {
                self.change(value, Residence::MEMORY, self.residence_at_bundles(value));
            }
            let head = entered[bundle].expect("a bundle enters some block");
            self.constrain_bundle(meeting, executed[bundle], head);
            for &value in &meeting.crossing {
                self.change(value, self.residence_at_bundles(value), Residence::MEMORY);
            }
        }
    }

    fn constrain_bundle(&mut self, meeting: &Meeting, frequency: f64, head: Block) {
        let Problem { limits, pins, .. } = self.problem;
        let mut read = Counts::default();
        meeting.read.iter().for_each(|&class| limits.count(&mut read, class, 1));
        let occupied = meeting.occupied | pins.kept();
        for set in limits.sets() {
            // No callee-saved registers are for sale in functions with such bundles.
            let left = [limits.room(set, occupied) - read[set]; MOST_BOUGHT + 1];
            self.constraints[set].constrain(left, frequency, (head, None));
        }
    }

    /// The residence at bundles of the values that a representative stands for.
    fn residence_at_bundles(&self, representative: Value) -> Residence {
        if self.known[representative] == Known::Memory || self.chosen.off_bundles[representative] {
            return Residence::MEMORY;
        }
        self.model.residences.at_bundles(representative)
    }
}
