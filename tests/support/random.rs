//! Random functions over the `tiny` register file, valid by construction.
//!
//! A function is made in four steps: the control-flow graph, with edges split as an importer splits them; its
//! dominators; block by block, dominators first, instructions whose uses are drawn from what is defined on every
//! way there; last the φs' arguments, drawn from what is defined at the ends of the predecessors.
//!
//! Every single instruction can be allocated: its operands fit into the registers that are not pinned around it,
//! and in a bank that cannot swap one register more stays free. How many values are alive at once is not bounded.

mod cfg;
mod fill;
mod steps;

use chordal::machine::{Function, RegClass, RegSet, RegisterFile, parse};
use fastrand::Rng;

/// How large a function is and what occurs in it.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Blocks, those on edges not counted.
    pub blocks: usize,
    /// Instructions a block, on average.
    pub insts_per_block: usize,
    /// φs at a join, at most.
    pub phis_per_block: usize,
    /// Classes that values are of, by name; more often those that come first.
    pub classes: &'static [&'static str],
    /// Edges backwards, into the middle of loops, too.
    pub loops: bool,
    /// Physical registers: arguments, results, intervals of pinned registers, flags.
    pub pins: bool,
    pub calls: bool,
    /// Calls that throw, and critical edges to where they do.
    pub landing_pads: bool,
    /// Several blocks that all go to the same several blocks over edges that can take no code.
    pub gotos: bool,
    pub debug_uses: bool,
}

impl Default for Shape {
    /// Some of everything.
    fn default() -> Self {
        Shape {
            blocks: 8,
            insts_per_block: 6,
            phis_per_block: 4,
            classes: &["w", "n", "x", "f"],
            loops: true,
            pins: true,
            calls: true,
            landing_pads: true,
            gotos: true,
            debug_uses: true,
        }
    }
}

impl Shape {
    fn classes(&self, file: &RegisterFile) -> Vec<RegClass> {
        let class = |name: &&str| file.classes.iter().find(|(_, c)| c.name == *name).map(|(class, _)| class);
        self.classes.iter().map(|name| class(name).expect("a class of the file")).collect()
    }

    /// The registers of these names, which are separated by blanks, as far as the shape's values can be moved there.
    fn registers(&self, file: &RegisterFile, names: &str) -> RegSet {
        let banks: Vec<_> = self.classes(file).into_iter().map(|class| Some(file.classes[class].bank)).collect();
        let regs = names.split_whitespace().map(|name| file.by_name(name).expect("a register of the file"));
        regs.filter(|&reg| banks.contains(&file.bank(reg))).collect()
    }
}

/// Small and large, plain and with everything.
pub fn shapes() -> Vec<Shape> {
    let all = Shape::default();
    let none =
        Shape { loops: false, pins: false, calls: false, landing_pads: false, gotos: false, debug_uses: false, ..all.clone() };
    vec![
        Shape { blocks: 1, insts_per_block: 40, ..all.clone() },
        Shape { blocks: 3, insts_per_block: 1, ..all.clone() },
        Shape { blocks: 30, insts_per_block: 3, phis_per_block: 8, ..all.clone() },
        Shape { classes: &["w"], ..none.clone() },
        Shape { classes: &["w", "n"], loops: true, pins: true, ..none.clone() },
        Shape { landing_pads: true, calls: true, loops: true, ..none.clone() },
        Shape { gotos: true, loops: true, classes: &["w"], ..none.clone() },
        Shape { blocks: 12, gotos: true, calls: true, loops: true, pins: true, ..none.clone() },
        none,
        all,
    ]
}

/// A valid function, the same one for the same arguments.
pub fn random_function(seed: u64, shape: &Shape) -> Function {
    let mut rng = Rng::with_seed(seed);
    let mut function = parse("target tiny\nfunction random\n").expect("an empty function over a built-in file is well-formed");
    function.name = format!("random_{seed}");
    cfg::add_blocks(&mut function, shape, &mut rng);
    fill::fill_blocks(&mut function, shape, &mut rng);
    function
}
