//! Values that are in memory before any spiller decides: those that assignment asks for, and those that cross edges where no
//! code can stand and no register is left.

use super::crossing::{self, Head};
use super::problem::Problem;
use crate::allocate::failure::Unsupported;
use crate::allocate::ssa::conventional::Web;
use crate::analysis::grouped::of_each;
use crate::machine::{Inst, Operand, Value};
use cranelift_entity::{EntitySet, SecondaryMap};

/// Values that are spilled.
pub struct SpillSet {
    /// In memory, or computed again, wherever they live.
    pub spilled: SecondaryMap<Value, bool>,
    /// Those of them that are computed again for each use; the others are in memory.
    pub rematerialised: SecondaryMap<Value, bool>,
    /// Others, which are in memory only where they cross a bundle of jumps that can take no code, or are live beside it.
    pub off_bundles: SecondaryMap<Value, bool>,
    /// Values that exist only to cross edges without code.
    without_code: EntitySet<Value>,
}

impl SpillSet {
    /// The values that assignment asks for.
    ///
    /// # Errors
    /// If one of them cannot be in memory.
    pub fn requested(problem: &Problem, requested: &SecondaryMap<Value, bool>) -> Result<Self, Unsupported> {
        let count = problem.conventional.function.values.len();
        let mut without_code = EntitySet::new();
        without_code.extend(problem.conventional.without_code.iter().copied());
        let mut set =
            SpillSet { spilled: of_each(count), rematerialised: of_each(count), off_bundles: SecondaryMap::new(), without_code };
        for (value, _) in requested.iter().filter(|&(_, &requested)| requested) {
            if problem.unspillable.contains(value) {
                return Err(Unsupported("what inline assembly that jumps defines finds no register".into()));
            }
            set.spill(problem, value);
        }
        Ok(set)
    }

    /// Adds values that cross edges at which no code can stand: those that have nowhere to meet in registers, and those for which
    /// there is no register where they meet.
    ///
    /// # Errors
    /// If one of them cannot be in memory.
    pub fn add_crossing(&mut self, problem: &Problem) -> Result<(), Unsupported> {
        self.add_without_meeting(problem)?;
        for value in crossing::excess(problem, &self.spilled) {
            self.keep_off_bundles(problem, value)?;
        }
        Ok(())
    }

    /// Whether a value is in memory from its definition on.
    pub fn is_in_memory(&self, value: Value) -> bool {
        self.spilled[value] && !self.rematerialised[value]
    }

    /// Whether an instruction with these operands is not executed where it stands, but where its value is used.
    pub fn drops(&self, operands: &[Operand]) -> bool {
        operands.iter().any(|operand| operand.is_def() && self.rematerialised[operand.value])
    }

    /// Spills a value. Those that φs relate to it over edges without code are in memory there from then on.
    pub fn spill(&mut self, problem: &Problem, value: Value) {
        self.spilled[value] = true;
        self.rematerialised[value] = problem.policy.rematerialise && problem.constants[value].is_some();
        for &related in problem.bundles.related(value).iter().filter(|&&related| related != value) {
            self.leave_bundles(problem, related);
        }
    }

    /// Spills the constant that an instruction defines, if it defines one. The constant is computed again whatever the policy:
    /// it finds no register here.
    pub fn drop_constant(&mut self, problem: &Problem, inst: Inst) -> Option<()> {
        let is_constant = |o: &&Operand| o.is_def() && problem.constants[o.value].is_some();
        let def = problem.conventional.function.operands(inst).iter().find(is_constant)?;
        self.spilled[def.value] = true;
        self.rematerialised[def.value] = true;
        Some(())
    }

    /// Has those constants computed again whose instruction finds all of their registers taken by the program.
    pub fn drop_constants_without_register(&mut self, problem: &Problem, of: impl Fn(&Self, Value) -> bool) {
        let function = &problem.conventional.function;
        for &block in problem.order.blocks() {
            for inst in function.block_insts(block).filter(|&inst| function.insts[inst].rematerialisable) {
                let taken = problem.pins.occupancy(function, block, inst).after;
                let defs = function.operands(inst).iter().filter(|o| o.is_def() && of(self, o.value));
                if defs.into_iter().any(|o| function.allowed(o.value).is_subset(taken)) {
                    self.drop_constant(problem, inst);
                }
            }
        }
    }

    /// A value that crosses an edge where no code can stand may be in different registers at its two ends. If it cannot meet in
    /// one, it is in memory (only there, if live ranges are split and no bundle of jumps begins or ends there), and so are the φs
    /// there, with all of their webs.
    fn add_without_meeting(&mut self, problem: &Problem) -> Result<(), Unsupported> {
        let Problem { conventional, liveness, bundles, abilities, .. } = problem;
        let mut webs: SecondaryMap<Web, bool> = SecondaryMap::new();
        for (block, data) in &conventional.function.blocks {
            if crossing::head(problem, block) == Head::Nothing {
                let jumps_meet = !data.landing_pad && bundles.entry(block).is_some();
                for &value in liveness.live_in(block) {
                    require_spillable(problem, value)?;
                    if !abilities.splits || jumps_meet {
                        self.spill(problem, value);
                    }
                }
                for phi in &data.phis {
                    webs[conventional.webs[phi.def].expect("a φ's definition is in a web")] = true;
                }
            }
        }
        for &value in &conventional.without_code {
            if webs[conventional.webs[value].expect("a φ's values are in a web")] {
                self.spill(problem, value);
            }
        }
        Ok(())
    }

    /// Has a value, and those that φs relate it to over edges without code, be in memory at bundles.
    fn keep_off_bundles(&mut self, problem: &Problem, value: Value) -> Result<(), Unsupported> {
        if !problem.abilities.splits {
            require_spillable(problem, value)?;
            self.spill(problem, value);
            return Ok(());
        }
        let related = problem.bundles.related(value).iter().copied();
        for member in related.filter(|&related| related != value).chain([value]) {
            require_spillable(problem, member)?;
            self.leave_bundles(problem, member);
        }
        Ok(())
    }

    /// Has a value be in memory at bundles: only there, if live ranges are split and it lives elsewhere, too.
    fn leave_bundles(&mut self, problem: &Problem, value: Value) {
        if problem.abilities.splits && !self.without_code.contains(value) {
            self.off_bundles[value] = true;
        } else {
            self.spilled[value] = true;
        }
    }
}

fn require_spillable(problem: &Problem, value: Value) -> Result<(), Unsupported> {
    match problem.unspillable.contains(value) {
        true => Err(Unsupported("what inline assembly that jumps defines would have to be in memory after it".into())),
        false => Ok(()),
    }
}
