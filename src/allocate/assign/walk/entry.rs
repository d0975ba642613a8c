//! The registers of values at the head of a block.
//!
//! Live-in values stay where the most frequent predecessor that was walked before has them, so that no code is needed on its
//! edge; or where the immediate dominator has them, if blocks are walked along its tree. The definitions of φs take registers beside them. If that is not possible, all of them are placed anew, by a
//! matching.

use super::DominanceWalk;
use crate::allocate::assign::{BlockOrder, Preference};
use crate::allocate::failure::{Defect, Failure};
use crate::allocate::pressure::matching::{Span, Want, fit};
use crate::analysis::Bundle;
use crate::machine::{Block, Reg, RegSet, Value};
use smallvec::SmallVec;

impl DominanceWalk<'_> {
    /// Places the live-in values and the φs' definitions.
    pub(super) fn enter(&mut self, block: Block) -> Result<(), Failure> {
        self.owner = [None; RegSet::CAPACITY];
        self.taken = RegSet::EMPTY;
        match self.bundles.entry(block) {
            Some(bundle) => self.enter_from_bundle(bundle, block)?,
            None => self.enter_from_walked(block)?,
        }
        let register = |&value: &Value| self.register[value].expect("a live value is in a register");
        self.result.entry.add(block, self.liveness.live_in(block).iter().map(register));
        for phi in &self.function.blocks[block].phis {
            self.result.phi_register[phi.def] = Some(self.at(phi.def));
            if self.liveness.is_dead(phi.def) || self.evicted[phi.def] {
                self.free(phi.def);
            }
        }
        Ok(())
    }

    /// Places all values where they cross the edges without code.
    fn enter_from_bundle(&mut self, bundle: Bundle, block: Block) -> Result<(), Failure> {
        self.meet(bundle)?;
        let phis = self.function.blocks[block].phis.iter().map(|phi| phi.def);
        for value in self.liveness.live_in(block).iter().copied().chain(phis) {
            self.put(value, self.place(bundle, value).expect("what is live at an edge's end crosses it"));
        }
        Ok(())
    }

    /// The block whose end says where the live-in values of a block stay.
    fn source(&self, block: Block) -> Option<Block> {
        let walked = |&&pred: &&Block| self.order.index(pred) < self.order.index(block);
        let frequency = |pred: &Block| self.function.blocks[*pred].frequency;
        match self.policy.order {
            BlockOrder::DominatorTree => self.dominators.idom(block),
            BlockOrder::Frequency => {
                let preds = self.function.blocks[block].preds.iter().filter(walked);
                preds.max_by(|a, b| frequency(a).total_cmp(&frequency(b)).then(b.cmp(a))).copied()
            }
        }
    }

    /// Places the live-in values where a block that was walked before has them, and the definitions of φs beside them.
    fn enter_from_walked(&mut self, block: Block) -> Result<(), Failure> {
        let data = &self.function.blocks[block];
        let live_in = self.liveness.live_in(block);
        let source = self.source(block);
        let occupied = data.live_in_pins | self.pins.at(self.function, self.function.head(block));
        let (mut arriving, mut before) = (std::mem::take(&mut self.arriving), std::mem::take(&mut self.before));
        arriving.clear();
        before.clear();
        let here = live_in.iter().copied().filter(|&value| !self.evicted[value]);
        if let Some(source) = source {
            let registers = self.result.on_exit(self.function, self.liveness, source, block, here.clone());
            arriving.extend(here.zip(registers));
        }
        let values = arriving.iter().map(|&(value, _)| value).chain(data.phis.iter().map(|phi| phi.def));
        before.extend(values.map(|value| (value, self.register[value])));
        let used = self.used;
        for &(value, reg) in &arriving {
            if (self.function.allowed(value) - occupied).contains(reg) {
                self.put(value, reg);
            }
        }
        if self.taken.len() < arriving.len() || !self.place_phis(block, occupied) {
            let wants = self.wants_before(&mut before, used, &arriving, occupied);
            self.place_together(block, occupied, &arriving, wants)?;
        }
        (self.arriving, self.before) = (arriving, before);
        Ok(())
    }

    /// The wants of live-in values, as they were before any value of the block was placed. (Most blocks never ask for them.)
    fn wants_before(
        &mut self,
        before: &mut [(Value, Option<Reg>)],
        mut used: RegSet,
        live_in: &[(Value, Reg)],
        occupied: RegSet,
    ) -> Vec<Want> {
        let mut exchange = |walk: &mut Self| {
            before.iter_mut().for_each(|(value, reg)| std::mem::swap(reg, &mut walk.register[*value]));
            std::mem::swap(&mut used, &mut walk.used);
        };
        exchange(self);
        let wants = live_in.iter().map(|&(value, reg)| self.want(value, Span::Before, occupied, Some(reg))).collect();
        exchange(self);
        wants
    }

    /// Places the definitions of φs one after another, and says whether there was room for all. If preferences go by
    /// frequency, those that have most at stake choose first.
    fn place_phis(&mut self, block: Block, occupied: RegSet) -> bool {
        let phis = &self.function.blocks[block].phis;
        let mut defs: SmallVec<[(f32, Value); 8]> = phis.iter().map(|phi| (0.0, phi.def)).collect();
        if defs.len() > 1 && self.policy.preference == Preference::Frequency {
            for (stake, def) in &mut defs {
                *stake = self.stake(*def, self.function.allowed(*def) - occupied - self.taken);
            }
            defs.sort_by(|a, b| b.0.total_cmp(&a.0));
        }
        defs.into_iter().all(|(_, def)| {
            let domain = self.choices(def, self.function.allowed(def) - occupied, RegSet::EMPTY, true);
            let reg = self.best(def, domain);
            if let Some(reg) = reg {
                self.put(def, reg);
            }
            reg.is_some()
        })
    }

    /// How much more a value gains by the best register of a set than by the second best.
    fn stake(&self, value: Value, domain: RegSet) -> f32 {
        let scores = self.scores(value, domain);
        let (mut best, mut next) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
        for score in domain.iter().map(|reg| scores[reg.index()]) {
            (best, next) = (best.max(score), next.max(score.min(best)));
        }
        if domain.len() > 1 { best - next } else { f32::INFINITY }
    }

    /// Places live-in values and the definitions of φs together, by a matching.
    fn place_together(
        &mut self,
        block: Block,
        occupied: RegSet,
        live_in: &[(Value, Reg)],
        mut wants: Vec<Want>,
    ) -> Result<(), Failure> {
        let phis = self.function.blocks[block].phis.iter().map(|phi| phi.def);
        let values = live_in.iter().map(|&(value, _)| value).chain(phis.clone());
        wants.extend(phis.map(|def| self.want(def, Span::Before, occupied, None)));
        let registers =
            fit(&wants).ok_or_else(|| Defect::Impossible(format!("no registers for the values at the head of {block}")))?;
        self.owner = [None; RegSet::CAPACITY];
        self.taken = RegSet::EMPTY;
        for (value, reg) in values.zip(registers) {
            self.put(value, reg);
        }
        Ok(())
    }
}
