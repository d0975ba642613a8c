//! Parallel copies in sequence, with as few copies as possible.
//!
//! The graph of a parallel copy is made of cycles with trees (windmills). Copies to the tips of trees come first. A cycle
//! from which a tree grows can be opened at its root, because the tree has saved the root's value. A bare cycle takes one
//! more variable.
//!
//! Requires: targets are distinct, and no copy's target is its source.
//! Ensures: one copy for each parallel one, and one more for each cycle of which no value is copied out of the cycle.
//! Relies on: [Bo09, Algorithm 21.6].

use cranelift_entity::EntityRef;
use std::collections::BTreeMap;

/// The place from which a sequential copy reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CopySource {
    /// The source of the parallel copy with this index, which has not been overwritten.
    Own(usize),
    /// The target of the parallel copy with this index, which has been written.
    Written(usize),
    /// The additional variable that breaks this cycle.
    Broken(usize),
}

/// A sequential copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CopyStep {
    /// Writes the target of the parallel copy with this index.
    Write { copy: usize, from: CopySource },
    /// Saves the source of the parallel copy with this index in an additional variable, before it is overwritten.
    Break { cycle: usize, copy: usize },
}

/// Puts parallel copies, which are pairs of target and source, in sequence.
pub(super) fn sequence<V: EntityRef + Ord>(parallel: &[(V, V)]) -> Vec<CopyStep> {
    let mut sequencer = Sequencer {
        parallel,
        place: BTreeMap::new(),
        copy_to: BTreeMap::new(),
        done: vec![false; parallel.len()],
        steps: Vec::new(),
    };
    for (index, &(to, from)) in parallel.iter().enumerate() {
        // The index of any copy that reads the variable will do.
        sequencer.place.entry(from).or_insert(CopySource::Own(index));
        sequencer.copy_to.insert(to, index);
    }
    let mut ready: Vec<usize> = (0..parallel.len()).filter(|&index| !sequencer.place.contains_key(&parallel[index].0)).collect();
    let mut cycles = 0;
    for (index, (to, _)) in parallel.iter().enumerate() {
        sequencer.write_all(&mut ready);
        if !sequencer.done[index] {
            // Only bare cycles are left. The target's content is saved, so that the copy that reads it finds it there.
            let reader = sequencer.place[to];
            let CopySource::Own(copy) = reader else { unreachable!("the target of a copy that is left has its own content") };
            sequencer.steps.push(CopyStep::Break { cycle: cycles, copy });
            sequencer.place.insert(*to, CopySource::Broken(cycles));
            cycles += 1;
            ready.push(index);
        }
    }
    sequencer.write_all(&mut ready);
    sequencer.steps
}

struct Sequencer<'a, V> {
    parallel: &'a [(V, V)],
    /// The place of the content that each source had at first.
    place: BTreeMap<V, CopySource>,
    /// The copy that writes each target.
    copy_to: BTreeMap<V, usize>,
    done: Vec<bool>,
    steps: Vec<CopyStep>,
}

impl<V: EntityRef + Ord> Sequencer<'_, V> {
    /// Writes the copies that are ready, because nobody needs the contents of their targets, and those that become ready by
    /// that.
    fn write_all(&mut self, ready: &mut Vec<usize>) {
        while let Some(copy) = ready.pop() {
            let source = self.parallel[copy].1;
            let from = self.place.insert(source, CopySource::Written(copy)).expect("every source is somewhere");
            self.steps.push(CopyStep::Write { copy, from });
            self.done[copy] = true;
            // The source's content has another place now, so the source can be overwritten.
            if matches!(from, CopySource::Own(_))
                && let Some(&next) = self.copy_to.get(&source)
            {
                ready.push(next);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Value;

    /// Executes steps on variables that contain their own numbers.
    fn execute(parallel: &[(Value, Value)], steps: &[CopyStep], variables: usize) -> Vec<usize> {
        let mut content: Vec<usize> = (0..variables).collect();
        let mut broken = Vec::new();
        for step in steps {
            match *step {
                CopyStep::Break { cycle, copy } => {
                    assert_eq!(cycle, broken.len());
                    broken.push(content[parallel[copy].1.index()]);
                }
                CopyStep::Write { copy, from } => {
                    content[parallel[copy].0.index()] = match from {
                        CopySource::Own(other) => content[parallel[other].1.index()],
                        CopySource::Written(other) => content[parallel[other].0.index()],
                        CopySource::Broken(cycle) => broken[cycle],
                    }
                }
            }
        }
        content
    }

    /// The number of cycles of which no variable is also copied out of the cycle.
    fn bare_cycles(parallel: &[(Value, Value)], variables: usize) -> usize {
        let source = |v: usize| parallel.iter().find(|(to, _)| to.index() == v).map(|(_, from)| from.index());
        let readers = |v: usize| parallel.iter().filter(|(_, from)| from.index() == v).count();
        let mut cycles = 0;
        for start in 0..variables {
            let mut around = vec![start];
            while let Some(next) = source(around[around.len() - 1]).filter(|next| !around.contains(next)) {
                around.push(next);
            }
            let closes = source(around[around.len() - 1]) == Some(start);
            let least = around.iter().all(|&v| v >= start);
            cycles += usize::from(closes && least && around.iter().all(|&v| readers(v) == 1));
        }
        cycles
    }

    /// Every parallel copy among four variables takes as few copies as possible.
    #[test]
    fn every_parallel_copy_of_four_variables() {
        const VARIABLES: usize = 4;
        let mut seen = 0;
        for code in 0..(VARIABLES + 1).pow(VARIABLES as u32) {
            let from = |to: usize| code / (VARIABLES + 1).pow(to as u32) % (VARIABLES + 1);
            // A variable that is its own source, or has the source that does not exist, is not copied to.
            let targets = (0..VARIABLES).filter(|&to| from(to) < VARIABLES && from(to) != to);
            let parallel: Vec<(Value, Value)> = targets.map(|to| (Value::new(to), Value::new(from(to)))).collect();
            let steps = sequence(&parallel);
            let mut expected: Vec<usize> = (0..VARIABLES).collect();
            parallel.iter().for_each(|(to, from)| expected[to.index()] = from.index());
            assert_eq!(execute(&parallel, &steps, VARIABLES), expected, "{parallel:?}: {steps:?}");
            assert_eq!(steps.len(), parallel.len() + bare_cycles(&parallel, VARIABLES), "{parallel:?}: {steps:?}");
            seen += 1;
        }
        assert_eq!(seen, 625);
    }
}
