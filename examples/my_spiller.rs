//! A spiller of one's own: every value that lives across blocks is in memory, and within a block the value whose next use is
//! farthest away leaves its register first. All other phases are chordal's.
//!
//! ```text
//! cargo run --release --example my_spiller testdata/functions/too_many.txt
//! ```

use anyhow::{Context as _, anyhow};
use chordal::allocate::allocators::Preset;
use chordal::allocate::failure::Unsupported;
use chordal::allocate::pipeline::{self, Allocate as _, WithSpiller};
use chordal::allocate::spill::{Abilities, Plan, PlanBuilder, Problem, SpillSet, Spiller};
use chordal::analysis::{NEVER, next_uses_in_blocks};
use chordal::machine::{Point, Value, parse};
use cranelift_entity::SecondaryMap;

pub struct Farthest;

impl Spiller for Farthest {
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    fn plan(&self, problem: &Problem, requested: &SecondaryMap<Value, bool>) -> Result<Plan, Unsupported> {
        let function = problem.function();
        let next_use = next_uses_in_blocks(function);
        let mut plan = PlanBuilder::new(problem);
        let crossing = function.blocks.keys().flat_map(|block| problem.liveness().live_out(block).iter().copied());
        let phis = function.blocks.values().flat_map(|data| data.phis.iter().map(|phi| phi.def));
        let set = SpillSet::anyway(problem, requested)?;
        let anyway = function.values.keys().filter(|&value| set.spilled[value]);
        crossing.chain(phis).chain(anyway).for_each(|value| plan.in_memory(value));
        for block in function.blocks.keys() {
            // The values in registers, and for each the next instruction that uses it.
            let mut registers: Vec<(Value, u32)> = Vec::new();
            for (index, inst) in function.block_insts(block).enumerate() {
                // Nothing can stand between terminators.
                let at = Point { block, index: index as u32 }.min(function.before_terminators(block));
                let first = function.insts[inst].operands.start as usize;
                let operands = || function.operands(inst).iter().zip(&next_use[first..]);
                for (operand, &next) in operands().filter(|(operand, _)| !operand.is_def()) {
                    match registers.iter_mut().find(|(value, _)| *value == operand.value) {
                        Some(resident) => resident.1 = next,
                        None => {
                            plan.reload(at, operand.value);
                            registers.push((operand.value, next));
                        }
                    }
                }
                registers.retain(|&(_, next)| next != NEVER);
                loop {
                    let after: Vec<Value> = registers.iter().map(|&(value, _)| value).collect();
                    let Some(shortage) = problem.shortage(block, inst, &after, None) else { break };
                    let leaves = |value: Value| shortage.is_relieved_by(value) && problem.can_be_in_memory(value);
                    let candidates = registers.iter().copied().filter(|&(value, _)| leaves(value));
                    let (farthest, _) = candidates
                        .max_by_key(|&(value, next)| (next, value))
                        .ok_or_else(|| Unsupported(format!("{inst} of {block} needs more registers than there are")))?;
                    plan.in_memory(farthest);
                    registers.retain(|&(value, _)| value != farthest);
                }
                let defined = operands().filter(|(operand, next)| operand.is_def() && **next != NEVER);
                registers.extend(defined.map(|(operand, &next)| (operand.value, next)));
            }
        }
        plan.finish()
    }
}

fn main() -> anyhow::Result<()> {
    let file = std::env::args().nth(1).context("usage: my_spiller FILE (a function in text form, as in testdata/functions)")?;
    let function =
        parse(&std::fs::read_to_string(&file).with_context(|| file.clone())?).map_err(|error| anyhow!("{file}: {error}"))?;
    let preset = Preset::named("spill-free").expect("chordal has this allocator");
    let (overlay, report) = WithSpiller { preset, spiller: &Farthest }.allocate(&function)?;
    pipeline::check(&function, &overlay)?;
    println!("{}: {} values spilled, and the checker accepts the allocation", function.name, report.spill.values);
    Ok(())
}
