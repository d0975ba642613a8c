//! The places where callee-saved registers are saved and restored, for each register by itself.
//!
//! Whether a register still holds the caller's value is a decision about each point of the program. A save is where the
//! decision is 1 before and 0 after, a restore where it is 0 before and 1 after. So the cheapest places are a minimum cut
//! ([`crate::allocate::cuts`]). LLVM's own shrink wrapping finds one place for all registers; \[Chow88\] finds places for
//! each, but by data flow and not by cost.
//!
//! Requires: the blocks in which each register is in use, in code that has been allocated.
//! Ensures: a register that is in use in a block has been saved on every path to it, and is restored on every path from
//! there to where the function returns, at the least cost.
//! Relies on: the equivalence of such decisions and minimum cuts.

use super::cost::{self, Added, beside_size};
use super::cuts::{Cutter, Decision, Decisions, FORBIDDEN, Network, Residual, Units};
use crate::machine::{Block, Goal};
use cranelift_entity::{EntityRef, PrimaryMap};

/// A function between allocation and its prologue. The first block is the entry.
pub struct Frame {
    pub goal: Goal,
    pub blocks: PrimaryMap<Block, FrameBlock>,
    pub edges: Vec<FrameEdge>,
    /// For each callee-saved register that the program uses, the blocks in which it does.
    pub wanted: Vec<PrimaryMap<Block, bool>>,
    /// How often the prologue and the epilogues would save and restore a register, for each time that the function is
    /// entered.
    pub saves: f64,
    pub restores: f64,
}

pub struct FrameBlock {
    /// Executions for each time that the function is entered.
    pub frequency: f64,
    /// Whether the function returns at its end.
    pub returns: bool,
    /// Whether code can stand before all of the block's own code, and before its terminators.
    pub head: bool,
    pub tail: bool,
}

pub struct FrameEdge {
    pub from: Block,
    pub to: Block,
    pub frequency: f64,
    /// Where control leaves the block, and whether code can stand on the edge.
    pub kind: EdgeKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeKind {
    /// From the block's end; no code can stand on it.
    Plain,
    /// From the block's end; code stands in a block of its own.
    Splittable,
    /// From within the block, as at a call that throws.
    Inner,
}

/// Whether a register is in its saved state where control arrives at a block, within it, and where control leaves it.
pub type Saved = [bool; 3];

const ARRIVING: usize = 0;
const WITHIN: usize = 1;
const LEAVING: usize = 2;

/// For each register, where it has to be saved, by block; `None` if it costs no more to leave it to the prologue.
pub fn wrap(frame: &Frame) -> Vec<Option<PrimaryMap<Block, Saved>>> {
    let usual = usual(frame);
    let (network, costs) = Network::new(state(frame));
    let mut cutter = Cutter::new(&network);
    let solve = |wanted| solve(&network, &costs, &mut cutter, wanted, usual);
    frame.wanted.iter().map(solve).collect()
}

/// The cost of a register that the prologue saves and the epilogues restore.
fn usual(frame: &Frame) -> i64 {
    let units = Units::default();
    let cost = |added: Added, frequency| units.cost(added.with_size(beside_size(frequency, frame.goal)));
    cost(cost::SAVE, frame.saves) + cost(cost::RESTORE, frame.restores)
}

/// The decision whether a register still holds the caller's value at a point of a block.
fn untouched(block: Block, point: usize) -> Decision {
    Decision::new(3 * block.index() + point)
}

/// The decisions for a register that no block uses. For other registers, only their uses have to be added.
fn state(frame: &Frame) -> Decisions {
    let mut stating = Stating { decisions: Decisions::default(), goal: frame.goal };
    (0..3 * frame.blocks.len()).for_each(|_| {
        stating.decisions.decide();
    });
    frame.blocks.iter().for_each(|(block, data)| stating.block(block, data));
    frame.edges.iter().for_each(|edge| stating.edge(edge));
    stating.decisions.charge(untouched(Block::new(0), ARRIVING), false, FORBIDDEN);
    stating.decisions
}

struct Stating {
    decisions: Decisions,
    goal: Goal,
}

impl Stating {
    fn block(&mut self, block: Block, data: &FrameBlock) {
        let [arriving, within, leaving] = [ARRIVING, WITHIN, LEAVING].map(|point| untouched(block, point));
        if data.returns {
            self.decisions.charge(leaving, false, FORBIDDEN);
        }
        self.place(arriving, within, data.head.then_some(data.frequency), None);
        self.place(within, leaving, data.tail.then_some(data.frequency), None);
    }

    fn edge(&mut self, edge: &FrameEdge) {
        let point = if edge.kind == EdgeKind::Inner { WITHIN } else { LEAVING };
        let frequency = (edge.kind == EdgeKind::Splittable).then_some(edge.frequency);
        self.place(untouched(edge.from, point), untouched(edge.to, ARRIVING), frequency, Some(cost::JUMP));
    }

    /// Lets the register be saved or restored between two points, at the cost of the instructions there, or forbids it.
    fn place(&mut self, before: Decision, after: Decision, frequency: Option<f64>, besides: Option<Added>) {
        let units = self.decisions.units;
        let cost = |added: Added| {
            let cost = |frequency| added.with_size(frequency) + besides.map_or(0.0, |it| it.with_size(frequency));
            frequency.map_or(FORBIDDEN, |frequency| units.cost(cost(beside_size(frequency, self.goal))))
        };
        self.decisions.pair(before, after, cost(cost::SEPARATE_SAVE));
        self.decisions.pair(after, before, cost(cost::SEPARATE_RESTORE));
    }
}

/// The cheapest places for a register that is used in some blocks, if they cost less than `usual`.
fn solve(
    network: &Network,
    costs: &Residual,
    cutter: &mut Cutter<'_>,
    wanted: &PrimaryMap<Block, bool>,
    usual: i64,
) -> Option<PrimaryMap<Block, Saved>> {
    let mut residual = costs.clone();
    for (block, _) in wanted.iter().filter(|&(_, &wanted)| wanted) {
        *residual.excess_mut(network.node(untouched(block, WITHIN))) -= FORBIDDEN;
    }
    let is_one = cutter.cut_all(&mut residual);
    let is_untouched = |decision| is_one[network.node(decision)];
    let cost = network.components().map(|component| costs.cost(network, component, |node| is_one[node]));
    // Where no code can stand on some path, the cheapest solution contains something forbidden.
    let is_possible = wanted.iter().all(|(block, &wanted)| !wanted || !is_untouched(untouched(block, WITHIN)))
        && network.all_nodes().all(|node| costs.excess(node) == 0 || is_one[node]);
    let saved = |block| [ARRIVING, WITHIN, LEAVING].map(|point| !is_untouched(untouched(block, point)));
    (is_possible && cost.sum::<i64>() < usual).then(|| wanted.keys().map(saved).collect())
}

#[cfg(test)]
mod tests {
    use super::super::cuts::testing;
    use super::*;

    fn block(frequency: f64, returns: bool) -> FrameBlock {
        FrameBlock { frequency, returns, head: true, tail: true }
    }

    fn edge(from: usize, to: usize, frequency: f64, kind: EdgeKind) -> FrameEdge {
        FrameEdge { from: Block::new(from), to: Block::new(to), frequency, kind }
    }

    /// The places of one register that is used in these blocks, by block.
    fn wrapped(frame: &mut Frame, wanted: &[usize]) -> Option<Vec<Saved>> {
        frame.wanted = vec![(0..frame.blocks.len()).map(|block| wanted.contains(&block)).collect()];
        wrap(frame).remove(0).map(|saved| saved.values().copied().collect())
    }

    const NEVER: Saved = [false; 3];
    const ALWAYS: Saved = [true; 3];

    /// A path from the entry to the return, with a detour that is seldom taken.
    fn detour() -> Frame {
        Frame {
            goal: Goal::Speed,
            blocks: [block(1.0, false), block(0.1, false), block(1.0, true)].into_iter().collect(),
            edges: vec![
                edge(0, 1, 0.1, EdgeKind::Plain),
                edge(0, 2, 0.9, EdgeKind::Splittable),
                edge(1, 2, 0.1, EdgeKind::Plain),
            ],
            wanted: Vec::new(),
            saves: 1.0,
            restores: 1.0,
        }
    }

    #[test]
    fn what_is_wanted_on_a_detour_is_saved_there() {
        assert_eq!(wrapped(&mut detour(), &[1]), Some(vec![NEVER, [false, true, false], NEVER]));
    }

    #[test]
    fn what_is_wanted_on_every_way_is_left_to_the_prologue() {
        assert_eq!(wrapped(&mut detour(), &[0]), None);
        assert_eq!(wrapped(&mut detour(), &[1, 2]), None);
    }

    #[test]
    fn where_the_prologue_is_as_well_placed_it_stays() {
        let mut frame = detour();
        (frame.saves, frame.restores) = (0.1, 0.1);
        assert_eq!(wrapped(&mut frame, &[1]), None);
    }

    #[test]
    fn the_smallest_code_leaves_all_to_the_prologue() {
        let mut frame = Frame { goal: Goal::LeastSize, ..detour() };
        assert_eq!(wrapped(&mut frame, &[1]), None);
    }

    #[test]
    fn a_register_stays_saved_all_through_a_loop() {
        let mut frame = detour();
        frame.blocks[Block::new(1)].frequency = 5.0;
        frame.edges.push(edge(1, 1, 4.9, EdgeKind::Splittable));
        frame.edges[2].kind = EdgeKind::Splittable;
        // The detour is a loop, so the register is saved on the edge to it.
        frame.edges[0].kind = EdgeKind::Splittable;
        assert_eq!(wrapped(&mut frame, &[1]), Some(vec![NEVER, ALWAYS, NEVER]));
    }

    #[test]
    fn where_the_function_does_not_return_nothing_is_restored() {
        let mut frame = detour();
        frame.blocks[Block::new(0)].returns = false;
        frame.edges.truncate(2);
        assert_eq!(wrapped(&mut frame, &[1]), Some(vec![NEVER, [false, true, true], NEVER]));
    }

    /// The cost of a labelling that has a bit for each decision; `None` if it is none.
    fn cost(frame: &Frame, wanted: &PrimaryMap<Block, bool>, labels: u32) -> Option<i64> {
        let is_untouched = |decision: Decision| labels >> decision.index() & 1 != 0;
        let at = |block, point| is_untouched(untouched(block, point));
        let fits = frame.blocks.iter().all(|(block, data)| {
            !(wanted[block] && at(block, WITHIN))
                && (!data.returns || at(block, LEAVING))
                && (block.index() > 0 || at(block, ARRIVING))
        });
        testing::cost(&state(frame), labels, 0).filter(|&cost| fits && cost < FORBIDDEN)
    }

    #[test]
    fn of_random_graphs_nothing_is_cheaper() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut wrapped = 0;
        for _ in 0..300 {
            let count = rng.usize(1..5);
            let any = |rng: &mut fastrand::Rng| Block::new(rng.usize(..count));
            let mut frame = Frame {
                goal: [Goal::Speed, Goal::Size, Goal::LeastSize][rng.usize(..3)],
                blocks: (0..count)
                    .map(|_| FrameBlock {
                        frequency: rng.f64() * 3.0,
                        returns: rng.u8(..3) == 0,
                        head: rng.u8(..4) > 0,
                        tail: rng.u8(..4) > 0,
                    })
                    .collect(),
                edges: (0..rng.usize(..2 * count))
                    .map(|_| FrameEdge {
                        from: any(&mut rng),
                        to: any(&mut rng),
                        frequency: rng.f64(),
                        kind: [EdgeKind::Plain, EdgeKind::Splittable, EdgeKind::Inner][rng.usize(..3)],
                    })
                    .collect(),
                wanted: Vec::new(),
                saves: rng.f64() * 3.0,
                restores: rng.f64() * 3.0,
            };
            frame.wanted = (0..2).map(|_| (0..count).map(|_| rng.bool()).collect()).collect();
            let usual = usual(&frame);
            for (wanted, answer) in frame.wanted.iter().zip(wrap(&frame)) {
                let least = (0..1 << (3 * count)).filter_map(|labels| cost(&frame, wanted, labels)).min();
                let found = answer.map(|saved| {
                    let labels = saved.iter().flat_map(|(block, points)| {
                        (0..3).filter(|&point| !points[point]).map(move |point| 1 << untouched(block, point).index())
                    });
                    cost(&frame, wanted, labels.sum()).expect("it is a labelling")
                });
                assert_eq!(found, least.filter(|&least| least < usual));
                wrapped += usize::from(found.is_some());
            }
        }
        assert!(wrapped > 50, "{wrapped}");
    }
}
