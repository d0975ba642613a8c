//! Which values to spill: along the dominance order, wherever too many values are live, the one of least weight.

use super::demand::{Counts, Demand, Excess, Limits, Residence, folded_operand};
use super::feasible;
use crate::analysis::{Liveness, Occupancy, Order, PinLiveness};
use crate::cssa::Conventional;
use crate::machine::{Block, EdgePlace, Function, Inst, Value};
use cranelift_entity::SecondaryMap;

/// Chooses the values to spill.
pub(super) fn choose(
    conventional: &Conventional,
    order: &Order,
    liveness: &Liveness,
    pins: &PinLiveness,
    limits: &Limits,
    weights: &SecondaryMap<Value, f64>,
) -> Result<SecondaryMap<Value, bool>, String> {
    let function = &conventional.function;
    let mut chooser = Chooser {
        function,
        liveness,
        limits,
        weights,
        spilled: SecondaryMap::with_capacity(function.values.len()),
        live: Vec::new(),
        place: SecondaryMap::with_capacity(function.values.len()),
        counts: Counts::default(),
        nested: limits.are_nested(),
    };
    chooser.spilled.resize(function.values.len());
    for &value in &conventional.in_memory {
        chooser.spilled[value] = true;
    }
    chooser.spill_across_edges_without_code();
    for &block in order.blocks() {
        chooser.enter(block, pins)?;
        for inst in function.block_insts(block) {
            chooser.pass(block, inst, pins)?;
        }
    }
    Ok(chooser.spilled)
}

struct Chooser<'a> {
    function: &'a Function,
    liveness: &'a Liveness,
    limits: &'a Limits,
    weights: &'a SecondaryMap<Value, f64>,
    spilled: SecondaryMap<Value, bool>,
    /// The values live at the current point in registers, in no order.
    live: Vec<Value>,
    /// Of each of them, its index in `live`.
    place: SecondaryMap<Value, u32>,
    counts: Counts,
    /// Whether classes confine some values more than others.
    nested: bool,
}

impl Chooser<'_> {
    /// A value that crosses an edge where no code can stand may have to be elsewhere at its two ends: it is in memory.
    fn spill_across_edges_without_code(&mut self) {
        for (block, data) in &self.function.blocks {
            if data.preds.iter().any(|&pred| self.function.edge_place(pred, block) == EdgePlace::Nowhere) {
                for &value in self.liveness.live_in(block) {
                    self.spilled[value] = true;
                }
            }
        }
    }

    fn add(&mut self, value: Value) {
        if !self.spilled[value] {
            self.place[value] = self.live.len() as u32;
            self.live.push(value);
            self.limits.count(&mut self.counts, self.function.values[value].class, 1);
        }
    }

    fn remove(&mut self, value: Value) {
        let place = self.place[value] as usize;
        if self.live.get(place) == Some(&value) {
            self.live.swap_remove(place);
            if let Some(&moved) = self.live.get(place) {
                self.place[moved] = place as u32;
            }
            self.limits.count(&mut self.counts, self.function.values[value].class, -1);
        }
    }

    /// Starts a block with what is live at its head.
    fn enter(&mut self, block: Block, pins: &PinLiveness) -> Result<(), String> {
        self.live.clear();
        self.counts = Counts::default();
        for &value in self.liveness.live_in(block) {
            self.add(value);
        }
        for phi in &self.function.blocks[block].phis {
            self.add(phi.def);
        }
        let occupied = pins.at(self.function, self.function.head(block)) | self.function.blocks[block].live_in_pins;
        while let Some(set) = self.limits.exceeded(&[&self.counts], occupied) {
            self.spill_lightest(set, |_| true).ok_or_else(|| format!("too many pinned registers at the head of {block}"))?;
        }
        for phi in &self.function.blocks[block].phis {
            if self.liveness.is_dead(phi.def) {
                self.remove(phi.def);
            }
        }
        Ok(())
    }

    /// Passes an instruction, spilling until it fits.
    fn pass(&mut self, block: Block, inst: Inst, pins: &PinLiveness) -> Result<(), String> {
        let function = self.function;
        let operands = function.operands(inst);
        let occupancy = pins.occupancy(function, block, inst);
        loop {
            let demand = self.demand(inst);
            let mut through = self.counts;
            for (count, dying) in through.iter_mut().zip(&demand.dying) {
                *count -= dying;
            }
            let excess = demand.excess(self.limits, &through, &occupancy);
            let Some(Excess { set, while_reading }) = excess.or_else(|| self.misfit(inst, &occupancy)) else { break };
            let first = function.insts[inst].operands.start as usize;
            let helps = |value: Value| {
                !operands
                    .iter()
                    .enumerate()
                    .any(|(k, o)| o.value == value && !o.is_def() && (while_reading || self.liveness.kills(first + k)))
            };
            self.spill_lightest(set, helps).ok_or_else(|| {
                let index = inst.as_u32() - function.blocks[block].insts.start;
                format!("instruction {index} of {block} needs more registers than there are")
            })?;
        }
        self.advance(inst);
        Ok(())
    }

    fn demand(&self, inst: Inst) -> Demand {
        Demand::of(self.function, self.limits, inst, self.folded(inst), |k| self.residence(inst, k))
    }

    fn folded(&self, inst: Inst) -> Option<usize> {
        let operands = self.function.operands(inst);
        folded_operand(self.function, inst, |k| self.spilled[operands[k].value])
    }

    /// Where the value of an instruction's use is.
    fn residence(&self, inst: Inst, k: usize) -> Residence {
        let data = &self.function.insts[inst];
        match self.liveness.kills(data.operands.start as usize + k) {
            _ if self.spilled[self.function.operands(inst)[k].value] => Residence::Loaded,
            true => Residence::Dies,
            false => Residence::LivesOn,
        }
    }

    /// Where counting finds registers enough, but there is no way to distribute them.
    fn misfit(&self, inst: Inst, occupancy: &Occupancy) -> Option<Excess> {
        if !self.nested || (occupancy.is_empty() && self.function.operands(inst).iter().all(|o| o.reuse.is_none())) {
            return None;
        }
        let residence = |k: usize| self.residence(inst, k);
        let class = feasible::misfit(self.function, inst, occupancy, &self.live, self.folded(inst), residence)?;
        Some(Excess { set: self.limits.widest(self.limits.set_of(class)), while_reading: false })
    }

    /// Updates the live values to those behind the instruction.
    fn advance(&mut self, inst: Inst) {
        let first = self.function.insts[inst].operands.start as usize;
        for (k, operand) in self.function.operands(inst).iter().enumerate() {
            if !operand.is_def() && self.liveness.kills(first + k) {
                self.remove(operand.value);
            } else if operand.is_def() && !self.liveness.kills(first + k) {
                self.add(operand.value);
            }
        }
    }

    /// Spills the live value of least weight that is confined to a register set; `None` if there is no candidate.
    fn spill_lightest(&mut self, set: usize, candidate: impl Fn(Value) -> bool) -> Option<()> {
        let confined = |&value: &Value| self.limits.is_confined(self.function.values[value].class, set);
        let lightest = self
            .live
            .iter()
            .copied()
            .filter(confined)
            .filter(|&value| candidate(value))
            .min_by(|&a, &b| self.weights[a].total_cmp(&self.weights[b]).then(a.cmp(&b)))?;
        self.remove(lightest);
        self.spilled[lightest] = true;
        Some(())
    }
}
