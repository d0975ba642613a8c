//! Times the ways into SSA form and out of it on functions of growing size: for near-linear algorithms, the time per block
//! hardly grows.
//!
//! The functions are artificial: a row of loops, each with a branch, over two variables that every loop changes and passes
//! on, and one that all loops read. So there are as many names as blocks.

use anyhow::{Context as _, Result, anyhow};
use chordal::allocate::destruct::{Merging, Notion, Policy, Source, destruct};
use chordal::analysis::{Dominators, JoinSet as _, Order, Worklist};
use chordal::machine::{Block, Function, parse};
use clap::Parser;
use cranelift_entity::EntityRef;
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The number of blocks of a loop: its header, two for the branch, and the latch.
const LOOP: usize = 4;

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// Time the ways into SSA form and out of it, by size
#[derive(Parser)]
struct Arguments {
    /// How many times everything is computed
    #[arg(short = 'n', long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,

    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

/// The algorithms that are timed, in the order of the table.
const WAYS: [(&str, Way); 5] = [
    ("join sets", Way::In),
    ("out of SSA form", Way::Out(BEST)),
    ("  merged at once", Way::Out(Policy { merging: Merging::AtOnce, ..BEST })),
    ("  liveness by sets", Way::Out(Policy { liveness: Source::Sets, ..BEST })),
    ("  copies inserted", Way::Out(Policy { virtualize: false, ..BEST })),
];

#[derive(Clone, Copy)]
enum Way {
    In,
    Out(Policy),
}

const BEST: Policy = Policy { notion: Notion::Value, virtualize: true, liveness: Source::Check, merging: Merging::ByWeight };

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let functions = SIZES.map(|blocks| parse(&text(blocks / LOOP)).map_err(|error| anyhow!("{error}")));
    let functions: Vec<Function> = functions.into_iter().collect::<Result<_>>()?;
    print!("{:<20}", "nanoseconds a block");
    functions.iter().for_each(|function| print!(" {:>10}", format!("{} blocks", function.blocks.len())));
    println!();
    for (name, way) in WAYS {
        print!("{name:<20}");
        for function in &functions {
            let times = (0..arguments.repetitions).map(|_| time(function, way)).collect::<Result<Vec<Duration>>>()?;
            let least = times.into_iter().min().context("there is at least one repetition")?;
            print!(" {:>10.0}", least.as_nanos() as f64 / function.blocks.len() as f64);
        }
        println!();
    }
    Ok(())
}

fn time(function: &Function, way: Way) -> Result<Duration> {
    let order = Order::new(function);
    let dominators = Dominators::new(function, &order);
    let start = Instant::now();
    match way {
        Way::In => {
            let mut algorithm = Worklist::new(function, &order, &dominators);
            let mut joins = Vec::new();
            for header in (1..function.blocks.len() - 1).step_by(LOOP) {
                for assigned in [[header + 1, header + 2], [header, header + 3]] {
                    joins.clear();
                    algorithm.append(&assigned.map(Block::new), |_| true, &mut joins);
                    black_box(&joins);
                }
            }
        }
        Way::Out(policy) => {
            let (conventional, _) = destruct(function, &order, &dominators, policy, true)?;
            black_box(conventional);
        }
    }
    Ok(start.elapsed())
}

/// The text form of a function with this number of loops, one after the other.
fn text(loops: usize) -> String {
    let mut text = "target wide\nfunction loops\nb0: -> b1\n  v0:w = op\n  v1:w = op\n  v2:w = op\n".to_owned();
    let mut value = 3;
    let (mut carried, mut kept) = (1, 2);
    for header in (0..loops).map(|number| 1 + LOOP * number) {
        let [before, left, right, latch, next] = [header - 1, header + 1, header + 2, header + 3, header + 4];
        let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5].map(|k| value + k);
        value += 6;
        let lines = [
            format!("b{header}: preds=b{before},b{latch} freq=10 -> b{left} b{right}"),
            format!("  v{a}:w = phi b{before}:v{carried} b{latch}:v{f}"),
            format!("  v{b}:w = phi b{before}:v{kept} b{latch}:v{a}"),
            "  op terminator".to_owned(),
            format!("b{left}: freq=5 -> b{latch}"),
            format!("  v{c}:w = op v{a} v0"),
            format!("b{right}: freq=5 -> b{latch}"),
            format!("  v{d}:w = op v{b}"),
            format!("b{latch}: freq=10 -> b{header} b{next}"),
            format!("  v{e}:w = phi b{left}:v{c} b{right}:v{d}"),
            format!("  v{f}:w(reuse=1) = op v{e}"),
            format!("  op v{e} terminator"),
        ];
        lines.iter().for_each(|line| writeln!(text, "{line}").expect("a string takes everything"));
        (carried, kept) = (f, b);
    }
    writeln!(text, "b{}:\n  op v{carried} v{kept} terminator", 1 + LOOP * loops).expect("a string takes everything");
    text
}
