//! Parallel copies in sequence, with as few copies as possible (Algorithm 21.6).
//!
//! Requires: targets are distinct, and no copy's target is its source.
//! Ensures: one copy for each parallel one, and one more, to a further variable, for each cycle of which no value is copied
//! elsewhere.

use cranelift_entity::EntityRef;
use std::collections::BTreeMap;

/// Where a copy in sequence reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// What the parallel copy of this index reads, where that is.
    Own(usize),
    /// What that one has written.
    Written(usize),
    /// The further variable that breaks this cycle.
    Broken(usize),
}

/// A copy in sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// The target of the parallel copy of this index is written.
    Write { copy: usize, from: Source },
    /// A further variable takes what the parallel copy of this index reads, whose target would be overwritten.
    Break { cycle: usize, copy: usize },
}

/// Puts parallel copies, as pairs of target and source, in sequence.
pub(super) fn sequence<V: EntityRef + Ord>(parallel: &[(V, V)]) -> Vec<Step> {
    let mut state = State {
        parallel,
        place: BTreeMap::new(),
        copy_to: BTreeMap::new(),
        done: vec![false; parallel.len()],
        steps: Vec::new(),
    };
    for (index, &(to, from)) in parallel.iter().enumerate() {
        // Any of the copies that read a variable will do.
        state.place.entry(from).or_insert(Source::Own(index));
        state.copy_to.insert(to, index);
    }
    let mut ready: Vec<usize> = (0..parallel.len()).filter(|&index| !state.place.contains_key(&parallel[index].0)).collect();
    let mut cycles = 0;
    for (index, (to, _)) in parallel.iter().enumerate() {
        state.write_all(&mut ready);
        if !state.done[index] {
            // All that are left are cycles. Its target's content is wanted: the copy that reads it will find it elsewhere.
            let reader = state.place[to];
            let Source::Own(copy) = reader else { unreachable!("the target of a copy that is left has its own content") };
            state.steps.push(Step::Break { cycle: cycles, copy });
            state.place.insert(*to, Source::Broken(cycles));
            cycles += 1;
            ready.push(index);
        }
    }
    state.write_all(&mut ready);
    state.steps
}

struct State<'a, V> {
    parallel: &'a [(V, V)],
    /// Where the content is that each source had at first.
    place: BTreeMap<V, Source>,
    /// The copy that writes each target.
    copy_to: BTreeMap<V, usize>,
    done: Vec<bool>,
    steps: Vec<Step>,
}

impl<V: EntityRef + Ord> State<'_, V> {
    /// Makes the copies whose targets' contents are not wanted any more, and those that become such.
    fn write_all(&mut self, ready: &mut Vec<usize>) {
        while let Some(copy) = ready.pop() {
            let source = self.parallel[copy].1;
            let from = self.place.insert(source, Source::Written(copy)).expect("every source is somewhere");
            self.steps.push(Step::Write { copy, from });
            self.done[copy] = true;
            // What the source had is elsewhere now, so it can be overwritten.
            if matches!(from, Source::Own(_))
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

    /// Executes steps on variables that hold their own numbers.
    fn execute(parallel: &[(Value, Value)], steps: &[Step], variables: usize) -> Vec<usize> {
        let mut content: Vec<usize> = (0..variables).collect();
        let mut broken = Vec::new();
        for step in steps {
            match *step {
                Step::Break { cycle, copy } => {
                    assert_eq!(cycle, broken.len());
                    broken.push(content[parallel[copy].1.index()]);
                }
                Step::Write { copy, from } => {
                    content[parallel[copy].0.index()] = match from {
                        Source::Own(other) => content[parallel[other].1.index()],
                        Source::Written(other) => content[parallel[other].0.index()],
                        Source::Broken(cycle) => broken[cycle],
                    }
                }
            }
        }
        content
    }

    /// The cycles of which no variable is copied outside of the cycle, too.
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

    /// All parallel copies among four variables, and as few copies as there can be.
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
