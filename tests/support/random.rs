//! Random functions, valid by construction.
//!
//! A function is made in four steps: the control-flow graph, with edges split as an importer splits them; its dominators;
//! block by block, dominators first, instructions whose uses are drawn from the values defined on every path there; last the
//! φs' arguments, drawn from the values defined at the ends of the predecessors.
//!
//! Every single instruction can be allocated: its operands fit into the registers that are not pinned around it, and in a
//! bank that cannot swap, one more register stays free. The number of values live at once is not bounded.

mod cfg;
mod damage;
mod fill;
mod steps;

pub use damage::damaged;

use chordal::analysis::Liveness;
use chordal::machine::{Function, Goal, RegClass, RegSet, RegisterFile, Value, parse, print};
use fastrand::Rng;

/// The register file that a function is over.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// The built-in one.
    Tiny,
    /// One with more classes.
    Varied,
    /// The built-in one without some of the registers that functions name.
    Excluding,
}

/// Features of real register files that the built-in ones lack: classes of equal registers, of a few and of three, memory
/// forms of registers that cannot swap, memory that is larger than its alignment, and a register that is in no bank.
const VARIED: &str = "target
  bank g exchange
  bank x xor
  bank f never
  registers g a b c d s t u v
  registers x x0 x1 x2 x3
  registers f f0 f1 f2 f3 f4
  registers - flags sp
  class w g 8/8 a c d b u v s t
  class l g 4/4 a c d b u v s t
  class k g 8/8 a c d b s
  class n g 1/1 a b c d
  class p g 8/8 a c d
  class x x 16/16 x0 x1 x2 x3
  class y x 8/8 x0 x1 x2 x3
  class e f 12/4 f0 f1 f2 f3 f4
  class f f 8/4 f0 f1 f2 f3 f4
  class h f 4/4 f0 f1 f2 f3 f4
  callee-saved b s t
  status flags
";

const EXCLUDING: &str = "target
  bank g exchange
  bank x xor
  bank f never
  registers g a b c d s t
  registers x x0 x1 x2 x3
  registers f f0 f1 f2 f3 f4
  registers - flags
  class w g 8/8 b c s t
  class n g 1/1 b c
  class x x 16/16 x0 x1 x2 x3
  class f f 8/8 f0 f1 f2 f3 f4
  callee-saved s t
  excluded a d
  status flags
";

/// The size of a function, and what occurs in it.
#[derive(Clone, Debug)]
pub struct Shape {
    pub target: Target,
    /// Blocks, without those on edges.
    pub blocks: usize,
    /// Instructions in a block, on average.
    pub insts_per_block: usize,
    /// The most φs at a join.
    pub phis_per_block: usize,
    /// The names of the classes of values, the more frequent first.
    pub classes: &'static [&'static str],
    /// Edges backwards, even into the middle of loops.
    pub loops: bool,
    /// Physical registers: arguments, results, intervals of pinned registers, flags.
    pub pins: bool,
    pub calls: bool,
    /// Calls that throw, and critical edges to landing pads.
    pub landing_pads: bool,
    /// Inline assembly that jumps.
    pub jumps: bool,
    /// Several blocks that all go to the same several blocks, over edges without code.
    pub gotos: bool,
    pub debug_uses: bool,
    /// φs whose definitions nobody reads, of which compilers leave hardly any.
    pub dead_phis: bool,
}

impl Default for Shape {
    /// A shape with some of everything.
    fn default() -> Self {
        Shape {
            target: Target::Tiny,
            blocks: 8,
            insts_per_block: 6,
            phis_per_block: 4,
            classes: &["w", "n", "x", "f"],
            loops: true,
            pins: true,
            calls: true,
            landing_pads: true,
            jumps: false,
            gotos: true,
            debug_uses: true,
            dead_phis: true,
        }
    }
}

impl Shape {
    /// Shapes that have less of something.
    pub fn smaller(&self) -> Vec<Shape> {
        let less = |count: usize, least: usize| {
            [count / 2, count.saturating_sub(1)].into_iter().filter(move |&less| less >= least && less < count)
        };
        let mut smaller: Vec<Shape> = less(self.blocks, 1).map(|blocks| Shape { blocks, ..self.clone() }).collect();
        smaller.extend(less(self.insts_per_block, 0).map(|insts_per_block| Shape { insts_per_block, ..self.clone() }));
        smaller.extend(less(self.phis_per_block, 0).map(|phis_per_block| Shape { phis_per_block, ..self.clone() }));
        smaller.extend(less(self.classes.len(), 1).map(|count| Shape { classes: &self.classes[..count], ..self.clone() }));
        let flags: [fn(&mut Shape) -> &mut bool; 8] = [
            |shape| &mut shape.loops,
            |shape| &mut shape.pins,
            |shape| &mut shape.calls,
            |shape| &mut shape.landing_pads,
            |shape| &mut shape.jumps,
            |shape| &mut shape.gotos,
            |shape| &mut shape.debug_uses,
            |shape| &mut shape.dead_phis,
        ];
        for flag in flags {
            let mut without = self.clone();
            if std::mem::take(flag(&mut without)) {
                smaller.push(without);
            }
        }
        smaller
    }

    fn classes(&self, file: &RegisterFile) -> Vec<RegClass> {
        let class = |name: &&str| file.classes.iter().find(|(_, c)| c.name == *name).map(|(class, _)| class);
        self.classes.iter().map(|name| class(name).expect("a class of the file")).collect()
    }

    /// The registers with these names, separated by blanks, as far as the shape's values can be moved there.
    fn registers(&self, file: &RegisterFile, names: &str) -> RegSet {
        let banks: Vec<_> = self.classes(file).into_iter().map(|class| Some(file.classes[class].bank)).collect();
        let regs = names.split_whitespace().map(|name| file.by_name(name).expect("a register of the file"));
        regs.filter(|&reg| banks.contains(&file.bank(reg))).collect()
    }
}

/// A random shape, small enough to go through many allocators.
pub fn random_shape(rng: &mut Rng) -> Shape {
    let shapes = [shapes(), jumping()].concat();
    let Shape { target, classes, .. } = shapes[rng.usize(..shapes.len())];
    Shape {
        target,
        classes,
        blocks: rng.usize(1..24).min(rng.usize(1..24)),
        insts_per_block: rng.usize(1..12).min(rng.usize(1..12)),
        phis_per_block: rng.usize(..8),
        loops: rng.u8(..4) != 0,
        pins: rng.u8(..4) != 0,
        calls: rng.bool(),
        landing_pads: rng.bool(),
        jumps: rng.bool(),
        gotos: rng.bool(),
        debug_uses: rng.bool(),
        dead_phis: rng.bool(),
    }
}

/// Shapes small and large, plain and with everything.
pub fn shapes() -> Vec<Shape> {
    let all = Shape::default();
    let none = Shape {
        loops: false,
        pins: false,
        calls: false,
        landing_pads: false,
        gotos: false,
        debug_uses: false,
        dead_phis: false,
        ..all.clone()
    };
    vec![
        Shape { blocks: 1, insts_per_block: 40, ..all.clone() },
        Shape { blocks: 3, insts_per_block: 1, ..all.clone() },
        Shape { blocks: 30, insts_per_block: 3, phis_per_block: 8, ..all.clone() },
        Shape { classes: &["w"], ..none.clone() },
        Shape { classes: &["w", "n"], loops: true, pins: true, ..none.clone() },
        Shape { landing_pads: true, calls: true, loops: true, ..none.clone() },
        Shape { gotos: true, loops: true, phis_per_block: 12, classes: &["w"], ..none.clone() },
        varied(),
        Shape { target: Target::Excluding, ..all.clone() },
        Shape { blocks: 12, gotos: true, calls: true, loops: true, pins: true, ..none.clone() },
        none,
        all,
    ]
}

/// A shape over more classes of registers.
fn varied() -> Shape {
    Shape { target: Target::Varied, classes: &["w", "l", "k", "n", "p", "x", "y", "e", "f", "h"], ..Shape::default() }
}

/// Shapes with jumping inline assembly. Not every function of these can be allocated: [`may_be_refused`].
pub fn jumping() -> Vec<Shape> {
    vec![Shape { jumps: true, ..Shape::default() }, Shape { jumps: true, blocks: 12, ..varied() }]
}

/// Whether the function may be refused: what inline assembly that jumps defines can nowhere be stored.
pub fn may_be_refused(function: &Function) -> bool {
    function.blocks.keys().any(|block| function.defined_by_terminators(block).next().is_some())
}

/// A valid function, always the same one for the same arguments.
pub fn random_function(seed: u64, shape: &Shape) -> Function {
    let mut rng = Rng::with_seed(seed);
    let target = match shape.target {
        Target::Tiny => "target tiny\n",
        Target::Varied => VARIED,
        Target::Excluding => EXCLUDING,
    };
    let mut function = parse(&format!("{target}function random_{seed}\n")).expect("an empty function is well-formed");
    function.returns_twice = shape.calls && rng.u8(..8) == 0;
    cfg::add_blocks(&mut function, shape, &mut rng);
    fill::fill_blocks(&mut function, shape, &mut rng);
    function.goal = match rng.u8(..8) {
        0 => Goal::Size,
        1 => Goal::LeastSize,
        _ => Goal::Speed,
    };
    if shape.dead_phis { function } else { without_dead_phis(function) }
}

/// Removes the φs whose definitions nobody reads.
fn without_dead_phis(mut function: Function) -> Function {
    loop {
        let liveness = Liveness::new(&function);
        let is_dead = |value: Value| liveness.is_dead(value);
        let mut dead: Vec<Value> = Vec::new();
        for data in function.blocks.values_mut() {
            dead.extend(data.phis.extract_if(.., |phi| is_dead(phi.def)).map(|phi| phi.def));
        }
        if dead.is_empty() {
            return parse(&print(&function)).expect("its text is well-formed");
        }
        function.debug_uses.retain(|debug| !dead.contains(&debug.value));
    }
}
