//! The registers that a value can be given, and the best of them.

use super::DominanceWalk;
use crate::allocate::assign::Preference;
use crate::allocate::assign::preferences::Partner;
use crate::allocate::cost;
use crate::allocate::pressure::matching::{Span, Want};
use crate::machine::{Reg, RegSet, Value};

impl DominanceWalk<'_> {
    /// The registers of a set that a value can be given: those that are free, or will be once the dying values are gone.
    ///
    /// The latter do not count if the register is needed `at_once`. If pins are avoided, only registers that the value can
    /// keep all its life count. If there are none, the value or a lighter one is evicted.
    pub(super) fn choices(&mut self, value: Value, allowed: RegSet, dying: RegSet, at_once: bool) -> RegSet {
        let busy = if at_once { self.taken } else { self.taken - dying };
        let free = allowed - busy;
        let lasting = allowed - self.preferences.contested(value);
        if self.policy.pins.moves() || self.evicted[value] {
            return free;
        }
        if lasting.intersects(free) {
            return lasting & free;
        }
        let owners = (lasting - dying).iter().filter_map(|reg| self.owner[reg.index()]);
        let weighed = owners.chain([value]).filter_map(|candidate| Some((self.evictable.weight(candidate)?, candidate)));
        let Some((_, lightest)) = weighed.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))) else { return free };
        self.evicted[lightest] = true;
        if lightest == value {
            return free;
        }
        self.free(lightest);
        RegSet::only(self.at(lightest))
    }

    pub(super) fn want(&self, value: Value, span: Span, occupied: RegSet, current: Option<Reg>) -> Want {
        let domain = self.function.allowed(value) - occupied;
        Want { span, domain, current, order: self.ranked(value, domain).into() }
    }

    /// The registers of a set, best first.
    pub(super) fn ranked(&self, value: Value, domain: RegSet) -> Vec<Reg> {
        let scores = self.scores(value, domain);
        let class = &self.function.file.classes[self.function.values[value].class];
        let mut order: Vec<Reg> = class.order.iter().copied().filter(|&reg| domain.contains(reg)).collect();
        order.sort_by(|a, b| scores[b.index()].total_cmp(&scores[a.index()]));
        order
    }

    /// The registers of a set, best first for a representative and all values that it stands for. Among equals, the register
    /// in which one of them is at present comes first.
    pub(super) fn ranked_together(&self, representative: Value, domain: RegSet) -> Vec<Reg> {
        let mut scores = self.scores(representative, domain);
        let mut current = self.is_live(representative).then(|| self.at(representative));
        for &related in self.bundles.related(representative) {
            current = current.or_else(|| self.is_live(related).then(|| self.at(related)));
            for &(partner, gain) in self.preferences.partners(related) {
                if let Partner::Value(other) = partner {
                    // The partner cannot keep this register, so it would have to move in order to meet.
                    self.preferences.contested(other).iter().for_each(|reg| scores[reg.index()] -= gain);
                }
            }
        }
        let order = &self.function.file.classes[self.function.values[representative].class].order;
        let mut order: Vec<Reg> = order.iter().copied().filter(|&reg| domain.contains(reg)).collect();
        order.sort_by(|a, b| {
            scores[b.index()].total_cmp(&scores[a.index()]).then((current == Some(*b)).cmp(&(current == Some(*a))))
        });
        order
    }

    /// The best register of a set for a value.
    pub(super) fn best(&self, value: Value, domain: RegSet) -> Option<Reg> {
        if domain.is_empty() {
            return None;
        }
        let scores = self.scores(value, domain);
        let class = &self.function.file.classes[self.function.values[value].class];
        let candidates = class.order.iter().rev().copied().filter(|&reg| domain.contains(reg));
        candidates.max_by(|a, b| scores[a.index()].total_cmp(&scores[b.index()]))
    }

    /// The gain of each register of a set for a value, in executions of moves that it saves.
    pub(super) fn scores(&self, value: Value, domain: RegSet) -> [f32; RegSet::CAPACITY] {
        let mut scores = [0.0; RegSet::CAPACITY];
        // Punctual coalescing looks at this point only. Whether a register is contested later decides only among equals.
        let contested = if self.policy.preference == Preference::Punctual { f32::MIN_POSITIVE } else { cost::CONTESTED };
        for reg in (self.preferences.contested(value) & domain).iter() {
            scores[reg.index()] -= contested;
        }
        let by_frequency = self.policy.preference == Preference::Frequency;
        if by_frequency {
            let entered = self.function.blocks[self.function.entry()].frequency as f32;
            for reg in ((self.function.file.callee_saved - self.used) & domain).iter() {
                scores[reg.index()] -= cost::SAVE_AND_RESTORE * entered;
            }
        }
        for &(partner, gain) in self.preferences.partners(value) {
            match partner {
                Partner::Pin(reg) => scores[reg.index()] += gain,
                Partner::Value(other) => match self.register[other] {
                    Some(reg) => scores[reg.index()] += gain,
                    None if !by_frequency => {}
                    // The partner has no register yet. It is likely to get one of the pinned ones from or to which it is
                    // copied.
                    None => {
                        for &(partner, further) in self.preferences.partners(other) {
                            if let Partner::Pin(reg) = partner {
                                scores[reg.index()] += gain.min(further) / 2.0;
                            }
                        }
                    }
                },
            }
        }
        scores
    }
}
