//! Measures how much the join sets of a program's variables have in common \[FA05\].
//!
//! The paper's compiler (ORC) makes SSA form of machine code when that has been optimised: every register that an instruction
//! defines has a worklist, also those that are assigned once. Here, two kinds of code are measured:
//!
//! - *registers*: optimised code, in which each web of φs is a register again, and every other value is one;
//! - *variables*: code as the front end writes it, in which only what the program calls a variable counts.

use super::results::quotient;
use crate::analysis::{Dominators, JoinSet, JoinSets, Order, Reuse, Worklist};
use crate::machine::{Block, Unpromoted};
use std::ops::Add;

/// What the join sets of all variables of a program have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shared {
    /// Variables that some block assigns: each has a worklist.
    pub worklists: u64,
    /// Sets that contain another one.
    pub all: Reuse,
    /// The same among variables that several blocks assign. The others need no φ.
    pub several: Reuse,
    /// The work of the worklists of variables that several blocks assign, in steps.
    pub plain: u64,
    /// The same with reuse, which includes finding out what can be reused.
    pub reusing: u64,
}

impl Shared {
    /// The share of the worklists for which something holds.
    pub fn share(&self, count: u64) -> Option<f64> {
        quotient(count as f64, self.worklists as f64)
    }

    fn new(function: &Unpromoted) -> Self {
        let order = Order::new(&function.graph);
        let dominators = Dominators::new(&function.graph, &order);
        let mut worklist = Worklist::new(&function.graph, &order, &dominators);
        let variables = function.variables.iter().map(|variable| &variable.assigned[..]).filter(|blocks| !blocks.is_empty());
        let temporaries = function.temporaries.iter().map(std::slice::from_ref);
        let all: Vec<&[Block]> = variables.chain(temporaries).collect();
        let several: Vec<&[Block]> = all.iter().copied().filter(|blocks| blocks.len() > 1).collect();
        several.iter().for_each(|assigned| worklist.append(assigned, |_| true, &mut Vec::new()));
        let plain = worklist.steps();
        let sets = JoinSets::new(&several, &mut worklist);
        let reusing = worklist.steps() - plain + sets.finding;
        let all_sets = JoinSets::new(&all, &mut worklist).reuse;
        Shared { worklists: all.len() as u64, all: all_sets, several: sets.reuse, plain, reusing }
    }
}

impl Add for Shared {
    type Output = Shared;

    fn add(self, other: Shared) -> Shared {
        Shared {
            worklists: self.worklists + other.worklists,
            all: self.all + other.all,
            several: self.several + other.several,
            plain: self.plain + other.plain,
            reusing: self.reusing + other.reusing,
        }
    }
}

/// The sum over the functions of a module.
pub fn shared(functions: &[Unpromoted]) -> Shared {
    functions.iter().map(Shared::new).fold(Shared::default(), Add::add)
}

/// Whether a module is still before SSA form: it has more variables in memory that could be in registers than it has φs.
pub fn is_before_ssa(functions: &[Unpromoted]) -> bool {
    let variables: usize = functions.iter().map(|function| function.variables.len()).sum();
    let phis: usize = functions.iter().map(|function| function.phis).sum();
    variables > phis
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::block;
    use crate::machine::{Edges, Variable};

    /// A diamond with two variables that both its sides assign, one that is assigned once, and two temporaries of one block.
    #[test]
    fn what_is_assigned_once_has_a_worklist_but_needs_no_phi() {
        let succs: [&[usize]; 4] = [&[1, 2], &[3], &[3], &[]];
        let graph = Edges::new(succs.iter().map(|succs| succs.iter().map(|&to| block(to)).collect()).collect());
        let variable = |blocks: &[usize]| Variable {
            name: String::new(),
            assigned: blocks.iter().map(|&number| block(number)).collect(),
            exposed: Vec::new(),
        };
        let variables = [&[1, 2][..], &[1, 2], &[1], &[]].map(variable).into();
        let block_names = (0..4).map(|_| String::new()).collect();
        let temporaries = vec![block(1), block(3)];
        let shared = shared(&[Unpromoted { name: "f".into(), graph, block_names, variables, temporaries, phis: 0 }]);
        assert_eq!((shared.worklists, shared.several.sets, shared.several.redundant()), (5, 2, 1));
        assert_eq!(shared.all.redundant(), 3, "{{1}} is there twice, and in {{1, 2}}, which is there twice");
        // Each of the two sides, and the join that it has in its frontier; the join itself has none.
        assert_eq!(shared.plain, 2 * 5);
    }
}
