//! Whether a variable is live after a point, by a check or by sets.
//!
//! Requires: the definition of the variable dominates the point.
//! Relies on: \[Boi08\], in its form for reducible graphs. A variable that is live into a loop without its definition is live
//! throughout the loop. So it is live in a block if one of its uses can be reached, without back edges, from the header of
//! the outermost loop around the block that does not contain the definition. For irreducible graphs, sets are computed
//! instead.

use super::Source;
use super::members::{Members, OperandPoint};
use crate::analysis::grouped::{Grouped, of_each};
use crate::analysis::{Dominators, Loops, Order, Reach};
use crate::machine::{Block, Function, Value};
use cranelift_entity::{EntityRef, SecondaryMap, packed_option::PackedOption};

/// Answers whether variables are live.
pub(super) struct LiveOut<'a> {
    members: &'a Members,
    dominators: &'a Dominators,
    answers: Answers<'a>,
}

enum Answers<'a> {
    /// For each block, the variables live at its end, ascending.
    Sets(Grouped<Block, Value>),
    Check(Box<(Loops, Reach<'a, Function>)>),
}

impl<'a> LiveOut<'a> {
    pub(super) fn new(
        function: &'a Function,
        order: &'a Order,
        dominators: &'a Dominators,
        members: &'a Members,
        source: Source,
    ) -> Self {
        let check = || {
            let reach = Reach::new(function, order, dominators)?;
            Some(Answers::Check(Box::new((Loops::new(function, order, dominators), reach))))
        };
        let answers = Some(source).filter(|&source| source == Source::Check).and_then(|_| check());
        LiveOut { members, dominators, answers: answers.unwrap_or_else(|| Answers::Sets(sets(function, members))) }
    }

    pub(super) fn bytes(&self) -> usize {
        match &self.answers {
            Answers::Sets(sets) => sets.bytes(),
            Answers::Check(check) => check.1.bytes(),
        }
    }

    pub(super) fn dominators(&self) -> &'a Dominators {
        self.dominators
    }

    /// Whether a variable is live just after a point that its definition dominates.
    pub(super) fn live_after(&mut self, variable: Value, place: OperandPoint) -> bool {
        let uses = self.members.uses.get(variable);
        let next = uses.partition_point(|&other| other <= place);
        uses.get(next).is_some_and(|other| other.block == place.block) || self.live_out(variable, place.block)
    }

    /// Whether a variable is live at the end of a block that its definition dominates.
    fn live_out(&mut self, variable: Value, block: Block) -> bool {
        let def = self.members.def[variable.index()].block;
        let uses = self.members.uses.get(variable).chunk_by(|a, b| a.block == b.block).map(|uses| uses[0].block);
        let (loops, reach) = match &mut self.answers {
            Answers::Sets(sets) => return sets.get(block).binary_search(&variable).is_ok(),
            Answers::Check(check) => (&check.0, &mut check.1),
        };
        let mut uses = uses.filter(|&other| other != def);
        if block == def {
            return uses.next().is_some();
        }
        let around = std::iter::successors(loops.innermost(block), |&header| loops.around(header));
        match around.take_while(|&header| !self.dominators.dominates(header, def)).last() {
            Some(header) => uses.any(|other| reach.reaches(header, other)),
            None => uses.any(|other| other != block && reach.reaches(block, other)),
        }
    }
}

/// The variables live at each block's end, found by walking up from uses to definitions.
fn sets(function: &Function, members: &Members) -> Grouped<Block, Value> {
    let mut pairs: Vec<(Block, Value)> = Vec::new();
    // For each block, the last variable that was found to be live at its head, and the last at its end.
    let mut live_in: SecondaryMap<Block, PackedOption<Value>> = of_each(function.blocks.len());
    let mut live_out = live_in.clone();
    let mut open = Vec::new();
    for variable in (0..members.count()).map(Value::new) {
        let def = members.def[variable.index()].block;
        open.extend(members.uses.get(variable).iter().map(|place| place.block));
        while let Some(block) = open.pop() {
            if block == def || live_in[block] == variable.into() {
                continue;
            }
            live_in[block] = variable.into();
            for &pred in &function.blocks[block].preds {
                if live_out[pred] != variable.into() {
                    live_out[pred] = variable.into();
                    pairs.push((pred, variable));
                }
                open.push(pred);
            }
        }
    }
    Grouped::new(function.blocks.len(), &pairs)
}
