//! Values that are in memory before any spiller decides.
//!
//! Assignment asks for some of them. Others cross edges without code for which no register is left.

use super::crossing::{self, Head};
use super::problem::Problem;
use crate::allocate::failure::Unsupported;
use crate::allocate::ssa::conventional::Web;
use crate::analysis::grouped::of_each;
use crate::machine::{Inst, InstFlags, Operand, Value};
use cranelift_entity::{EntitySet, SecondaryMap};

/// Values that are spilled.
pub struct SpillSet {
    /// Values that are in memory wherever they live, or rematerialised.
    pub spilled: SecondaryMap<Value, bool>,
    /// Those of them that are rematerialised for each use. The others are in memory.
    pub rematerialised: SecondaryMap<Value, bool>,
    /// Further values, which are in memory only where they cross a bundle of jumps, or are live beside it.
    pub off_bundles: SecondaryMap<Value, bool>,
    /// Values that exist only to cross edges without code.
    without_code: EntitySet<Value>,
}

impl SpillSet {
    /// The values that are in memory, or computed again, whoever decides: those that assignment asks for, and those that cross edges
    /// where no code can stand and find no register there.
    ///
    /// # Errors
    /// If one of them cannot be in memory.
    pub fn anyway(problem: &Problem, requested: &SecondaryMap<Value, bool>) -> Result<Self, Unsupported> {
        let mut set = SpillSet::requested(problem, requested)?;
        set.add_crossing(problem)?;
        Ok(set)
    }

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
                return Err(Unsupported("what a terminator defines finds no register".into()));
            }
            set.spill(problem, value);
        }
        Ok(set)
    }

    /// Adds values that cross edges without code: those that cannot be in one register at both ends, and those for which no
    /// register is left there.
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

    /// Adds the values that cross bundles of jumps in memory because the spiller has decided so, or because no register is
    /// left for them after all.
    ///
    /// # Errors
    /// If one of them cannot be in memory.
    pub(super) fn add_decided_crossing(
        &mut self,
        problem: &Problem,
        crosses_in_register: impl Fn(Value) -> bool,
    ) -> Result<(), Unsupported> {
        for value in crossing::decided_excess(problem, &self.spilled, crosses_in_register) {
            self.keep_off_bundles(problem, value)?;
        }
        Ok(())
    }

    /// Whether a value is in memory from its definition on.
    pub fn is_in_memory(&self, value: Value) -> bool {
        self.spilled[value] && !self.rematerialised[value]
    }

    /// Whether an instruction with these operands is executed where its value is used, and not where it stands.
    pub fn drops(&self, operands: &[Operand]) -> bool {
        operands.iter().any(|operand| operand.is_def() && self.rematerialised[operand.value])
    }

    /// Spills a value. The values that φs relate to it across edges without code are in memory there from now on.
    pub fn spill(&mut self, problem: &Problem, value: Value) {
        self.spilled[value] = true;
        self.rematerialised[value] = problem.policy.rematerialise && problem.constants[value].is_some();
        for &related in problem.bundles.related(value).iter().filter(|&&related| related != value) {
            self.leave_bundles(problem, related);
        }
    }

    /// Spills the constant that an instruction defines, if it defines one. The constant is rematerialised, even if the
    /// policy says otherwise, since no register is left for it here.
    pub fn drop_constant(&mut self, problem: &Problem, inst: Inst) -> Option<()> {
        let is_constant = |o: &&Operand| o.is_def() && problem.constants[o.value].is_some();
        let def = problem.conventional.function.operands(inst).iter().find(is_constant)?;
        self.spilled[def.value] = true;
        self.rematerialised[def.value] = true;
        Some(())
    }

    /// Has constants rematerialised whose instructions have no register left, because the program occupies all of them.
    pub fn drop_constants_without_register(&mut self, problem: &Problem, of: impl Fn(&Self, Value) -> bool) {
        let function = &problem.conventional.function;
        for &block in problem.order.blocks() {
            for inst in function.block_insts(block).filter(|&inst| function.insts[inst].is(InstFlags::REMATERIALISABLE)) {
                let taken = problem.pins.occupancy(function, block, inst).after;
                let defs = function.operands(inst).iter().filter(|o| o.is_def() && of(self, o.value));
                if defs.into_iter().any(|o| function.allowed(o.value).is_subset(taken)) {
                    self.drop_constant(problem, inst);
                }
            }
        }
    }

    /// Adds values that cannot be in one register at both ends of an edge without code. Such a value is in memory, and so
    /// are the φs there with all of their webs. If live ranges are split and no bundle of jumps begins or ends there, the
    /// value is in memory only there.
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

    /// Has a value, and those that φs relate to it across edges without code, be in memory at bundles.
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

    /// Has a value be in memory at bundles. If live ranges are split and it lives elsewhere too, it is in memory only there.
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
        true => Err(Unsupported("what a terminator defines would have to be in memory after it".into())),
        false => Ok(()),
    }
}
