//! What one more register would save, found by allocating once more with it.
//!
//! Requires: an allocation of ours, and the allocator that made it.
//! Ensures: both costs are counted in the same way, from overlays alone ([`overhead()`]), so they can be compared with each other
//! and not with the statistics.

use super::schema::{Allocation, Counterfactual};
use crate::allocate::overhead::overhead;
use crate::allocate::pipeline::{Allocate, Report};
use crate::analysis::{Dominators, Loops, Order};
use crate::machine::{Bank, Block, Function, Overlay, PinSets, Pins, Reg, RegInfo, RegSet};
use cranelift_entity::{EntityRef, EntitySet, PrimaryMap};
use std::sync::Arc;

/// How many loops are tried.
const LOOPS: usize = 3;

/// What saves less than this part of the cost is left out.
const LEAST: f64 = 1e-3;

/// Where there is one more register: in these blocks, or everywhere.
struct Question {
    bank: Bank,
    region: Option<(Block, EntitySet<Block>)>,
    preserved: bool,
}

/// Answers for each bank with values in memory: one more register everywhere, whether calls preserve it or not, and in the loops
/// where memory costs most. The greatest savings come first; what saves nothing is left out.
pub fn what_if(function: &Function, overlay: &Overlay, allocator: &dyn Allocate, allocation: &Allocation) -> Vec<Counterfactual> {
    let cost = overhead(function, overlay);
    let questions = questions(function, allocation);
    let answer = |question: &Question| {
        let (with, _): (Overlay, Report) = allocator.allocate(&enlarged(function, question)?).ok()?;
        Some(overhead(function, &with))
    };
    let answers: Vec<Option<f64>> = std::thread::scope(|scope| {
        let running: Vec<_> = questions.iter().map(|question| scope.spawn(move || answer(question))).collect();
        running.into_iter().map(|thread| thread.join().ok().flatten()).collect()
    });
    let mut found: Vec<Counterfactual> = questions
        .iter()
        .zip(answers)
        .filter_map(|(question, with)| {
            let with = with.filter(|&with| cost - with > LEAST * cost)?;
            Some(Counterfactual {
                bank: question.bank.index(),
                loop_header: question.region.as_ref().map(|(header, _)| header.to_string()),
                preserved: question.preserved,
                cost,
                with,
            })
        })
        .collect();
    found.sort_by(|a, b| a.with.total_cmp(&b.with));
    found
}

fn questions(function: &Function, allocation: &Allocation) -> Vec<Question> {
    let is_short = |bank: Bank| {
        let in_memory = |value: &&super::schema::Value| value.bank == bank.index() && value.why.is_some();
        allocation.values.iter().filter(in_memory).any(|value| value.cost > 0.0)
    };
    let loops = dearest_loops(function, allocation);
    let mut questions = Vec::new();
    for bank in function.file.banks.keys().filter(|&bank| is_short(bank)) {
        questions.extend([true, false].map(|preserved| Question { bank, region: None, preserved }));
        questions.extend(loops.iter().map(|it| Question { bank, region: Some(it.clone()), preserved: true }));
    }
    questions
}

/// The loops in which spilling costs most, with their blocks.
fn dearest_loops(function: &Function, allocation: &Allocation) -> Vec<(Block, EntitySet<Block>)> {
    let order = Order::new(function);
    let loops = Loops::new(function, &order, &Dominators::new(function, &order));
    let mut costs: PrimaryMap<Block, f64> = function.blocks.keys().map(|_| 0.0).collect();
    let spilled = |row: &&super::schema::Row| row.part.is_some() && !row.values.is_empty();
    let cost = |block: &super::schema::Block| -> f64 {
        allocation.rows[block.rows[0]..block.rows[1]].iter().filter(spilled).map(|row| row.cost).sum()
    };
    let named = |name: &str| function.blocks.keys().find(|block| block.to_string() == name);
    for (block, listed) in allocation.blocks.iter().filter_map(|listed| Some((named(&listed.name)?, listed))) {
        if let Some(header) = loops.innermost(block) {
            costs[header] += cost(listed);
        }
    }
    let mut headers: Vec<Block> = costs.keys().filter(|&header| costs[header] > 0.0).collect();
    headers.sort_by(|&a, &b| costs[b].total_cmp(&costs[a]));
    headers.truncate(LOOPS);
    let within = |header: Block| {
        let is_within =
            |&block: &Block| std::iter::successors(loops.innermost(block), |&at| loops.around(at)).any(|it| it == header);
        let mut blocks = EntitySet::new();
        blocks.extend(function.blocks.keys().filter(is_within));
        (header, blocks)
    };
    headers.into_iter().map(within).collect()
}

/// The function with one more register, if there is room in the description of registers.
fn enlarged(function: &Function, question: &Question) -> Option<Function> {
    let mut function = function.clone();
    let more = Reg::new(function.file.regs.len());
    if more.index() >= RegSet::CAPACITY {
        return None;
    }
    let file = Arc::make_mut(&mut function.file);
    let (bank, calls) = (question.bank, file.allocatable(question.bank));
    file.regs.push(RegInfo { name: "more".into(), bank: Some(bank) });
    for class in file.classes.values_mut().filter(|class| class.bank == bank && !class.regs.is_empty()) {
        class.regs.insert(more);
        class.order.push(more);
    }
    // Where there is none more, instructions destroy it.
    let destroyed: Vec<PinSets> =
        function.pins.iter().map(|(_, &sets)| PinSets { clobbers: sets.clobbers | RegSet::only(more), ..sets }).collect();
    let first = function.pins.len();
    Arc::make_mut(&mut function.pins).extend(destroyed);
    for block in function.blocks.keys() {
        let is_outside = question.region.as_ref().is_some_and(|(_, blocks)| !blocks.contains(block));
        for inst in function.block_insts(block) {
            let pins = function.insts[inst].pins;
            let is_call = function.pins[pins].clobbers.intersects(calls);
            if is_outside || is_call && !question.preserved {
                function.insts[inst].pins = Pins::new(first + pins.index());
            }
        }
    }
    Some(function)
}
