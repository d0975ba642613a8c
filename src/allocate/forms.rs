//! Which forms two-address instructions take: what a definition overwrites, if there is a choice.
//!
//! A definition that overwrites a value which lives on costs a copy. If the instruction commutes, it can overwrite an operand
//! that dies instead; if it has a form with three addresses, none. What another definition of the instruction overwrites is as good
//! as alive: there is one register with it.
//!
//! Requires: conventional SSA form.
//! Ensures: the same function, in which operands say what has been chosen; the overlay's locations tell the form.

use super::cssa::Conventional;
use crate::analysis::Liveness;
use crate::machine::Inst;

/// Chooses for all instructions.
pub(super) fn choose(conventional: &mut Conventional, liveness: &Liveness) {
    let insts: Vec<Inst> = conventional.function.insts.keys().collect();
    for inst in insts {
        let range = &conventional.function.insts[inst].operands;
        let (first, count) = (range.start as usize, range.len());
        for k in 0..count {
            let operand = conventional.function.operands[first + k];
            if let Some(reuse) = operand.reuse
                && (operand.reuse_instead.is_some() || operand.reuse_none)
            {
                choose_for(conventional, liveness, first, count, k, reuse);
            }
        }
    }
}

/// Chooses for the definition that is the `k`th of an instruction's operands.
fn choose_for(conventional: &mut Conventional, liveness: &Liveness, first: usize, count: usize, k: usize, reuse: u8) {
    let webs = &conventional.webs;
    let operands = &mut conventional.function.operands[first..first + count];
    let value = |of: u8| operands[usize::from(of)].value;
    let dies = |of: u8| (0..count).any(|k| operands[k].value == value(of) && !operands[k].is_def() && liveness.kills(first + k));
    let is_overwritten = |of: u8| {
        let mut others = (0..count).filter(|&other| other != k).filter_map(|other| operands[other].reuse);
        others.any(|other| value(other) == value(of))
    };
    let free = |of: u8| dies(of) && !is_overwritten(of);
    let related = |of: u8| webs[operands[k].value].is_some() && webs[value(of)] == webs[operands[k].value];
    let instead = operands[k].reuse_instead.filter(|&other| free(other) && (!free(reuse) || related(other) && !related(reuse)));
    if let Some(other) = instead {
        operands[k].reuse = Some(other);
        operands[k].reuse_instead = Some(reuse);
        operands.iter_mut().for_each(|operand| operand.foldable = false);
    } else if operands[k].reuse_none && !free(reuse) {
        operands[k].reuse = None;
        operands[k].reuse_instead = None;
        operands[k].reuse_none = false;
        operands.iter_mut().for_each(|operand| operand.foldable = false);
    }
}
