//! Random functions are valid, and survive their text form.

use crate::support::presets::variants;
use crate::support::random::{Shape, random_function, shapes};
use chordal::allocate::pipeline::allocate;
use chordal::analysis::{Bundles, Liveness, PinLiveness};
use chordal::machine::{
    Block, BlockData, EdgePlace, Function, Inst, InstData, InstKind, Operand, Phi, Role, parse, print, validate,
};
use std::collections::HashSet;

#[test]
fn random_functions_are_valid_and_survive_their_text() {
    for shape in shapes() {
        for seed in 0..60 {
            let function = random_function(seed, &shape);
            let text = print(&function);
            if let Err(found) = validate(&function) {
                let found: Vec<String> = found.iter().map(ToString::to_string).collect();
                panic!("seed {seed}, {shape:?}:\n{}\n{text}", found.join("\n"));
            }
            let again = parse(&text).unwrap_or_else(|error| panic!("seed {seed}, {shape:?}: {error}\n{text}"));
            validate(&again).unwrap_or_else(|found| panic!("seed {seed}, {shape:?}: {found:?}\n{text}"));
            assert_eq!(print(&again), text, "seed {seed}, {shape:?}");
        }
    }
}

/// A damaged text is refused or read; what is read is printed as it is read, and the validator says what it thinks.
#[test]
fn damaged_texts_do_no_harm() {
    let mut read = 0;
    for seed in 0..1500 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let shape = Shape { blocks: 4, insts_per_block: 2, ..Shape::default() };
        let text = print(&random_function(seed % 20, &shape));
        let mut words: Vec<&str> = text.split_inclusive([' ', '\n', ',', '(', ')', ':', '=']).collect();
        for _ in 0..rng.usize(1..4) {
            let (to, from) = (rng.usize(..words.len()), rng.usize(..words.len()));
            words[to] = if rng.bool() { words[from] } else { "" };
        }
        if let Ok(function) = parse(&words.concat()) {
            read += 1;
            let text = print(&function);
            let again = parse(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
            assert_eq!(print(&again), text, "seed {seed}");
            assert_eq!(validate(&function), validate(&again), "seed {seed}");
        }
    }
    assert!(read > 100, "the damage is such that the parser accepts some of it");
}

/// The validator's idea of dominance against its definition: no way from the entry to the use avoids the definition.
#[test]
fn uses_without_a_definition_before_them_are_found() {
    let shape = Shape { blocks: 12, insts_per_block: 2, classes: &["w"], landing_pads: false, ..Shape::default() };
    let (mut good, mut bad) = (0, 0);
    for seed in 0..600 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut function = random_function(seed, &shape);
        let uses: Vec<usize> = (0..function.operands.len()).filter(|&o| !function.operands[o].is_def()).collect();
        let defs: Vec<usize> = (0..function.operands.len()).filter(|&o| function.operands[o].is_def()).collect();
        let (Some(used), Some(def)) = (rng.choice(uses), rng.choice(defs)) else { continue };
        function.operands[used].value = function.operands[def].value;
        let (from, to) = (place(&function, def), place(&function, used));
        let reaches = if from.0 == to.0 { from.1 < to.1 } else { !reachable_without(&function, from.0).contains(&to.0) };
        assert_eq!(validate(&function).is_ok(), reaches, "seed {seed}: {from:?}, {to:?}\n{function}");
        *if reaches { &mut good } else { &mut bad } += 1;
    }
    assert!(good > 100 && bad > 100, "{good} and {bad}");
}

/// The block and the instruction of an operand.
fn place(function: &Function, operand: usize) -> (Block, Inst) {
    let inst = function.insts.iter().find(|(_, data)| data.operands.contains(&(operand as u32))).unwrap().0;
    let block = function.blocks.iter().find(|(_, data)| data.insts.contains(&inst.as_u32())).unwrap().0;
    (block, inst)
}

fn reachable_without(function: &Function, removed: Block) -> HashSet<Block> {
    let mut reached = HashSet::new();
    let mut stack = vec![function.entry()];
    while let Some(block) = stack.pop() {
        if block != removed && reached.insert(block) {
            stack.extend(&function.blocks[block].succs);
        }
    }
    reached
}

/// Every register that is read holds something, and nothing destroys it in between.
#[test]
fn random_pins_make_sense() {
    for shape in shapes() {
        for seed in 0..60 {
            let function = random_function(seed, &shape);
            for (block, data) in &function.blocks {
                let mut held = data.live_in_pins;
                for inst in function.block_insts(block) {
                    let pins = function.pins(inst);
                    assert!(pins.uses.is_subset(held), "seed {seed}, {shape:?}: {inst}\n{function}");
                    held = (held - pins.clobbers) | pins.defs | pins.early_defs;
                }
                for &succ in data.succs.iter().filter(|&&succ| !function.blocks[succ].landing_pad) {
                    assert!(function.blocks[succ].live_in_pins.is_subset(held), "seed {seed}, {shape:?}: {succ}\n{function}");
                }
            }
        }
    }
}

/// What the generator exists for does occur.
#[test]
fn random_functions_have_everything() {
    let functions: Vec<Function> = (0..200).map(|seed| random_function(seed, &Shape::default())).collect();
    let edge = |holds: fn(&Function, Block, Block) -> bool| {
        let holds = move |f: &Function| f.blocks.iter().any(|(from, data)| data.succs.iter().any(|&to| holds(f, from, to)));
        functions.iter().filter(|f| holds(f)).count()
    };
    assert!(edge(|f, _, to| f.blocks[to].on_edge) > 50);
    assert!(edge(|f, from, to| f.edge_place(from, to) == EdgePlace::Nowhere && !f.blocks[to].phis.is_empty()) > 20);
    let bundled = |f: &&Function| {
        let bundles = Bundles::new(f, &Liveness::new(f), &PinLiveness::new(f));
        bundles.iter().any(|(_, meeting)| !meeting.crossing.is_empty())
    };
    assert!(functions.iter().filter(bundled).count() > 100);
    assert!(edge(|f, from, to| f.blocks[from].on_edge && f.blocks[to].live_in_pins.intersects(f.file.status)) > 20);

    let phi = |holds: fn(&Function, &BlockData, &Phi) -> bool| {
        functions
            .iter()
            .flat_map(|f| f.blocks.values().map(move |b| (f, b)))
            .filter(|(f, b)| b.phis.iter().any(|p| holds(f, b, p)))
            .count()
    };
    assert!(phi(|_, _, p| p.args.iter().any(|arg| arg.is_none())) > 50);
    assert!(phi(|_, b, p| p.args.iter().any(|arg| b.phis.iter().any(|q| q.def != p.def && *arg == q.def.into()))) > 50);
    assert!(phi(|_, b, p| (0..p.args.len()).any(|c| b.phis.iter().any(|q| q.def != p.def && q.args[c] == p.args[c]))) > 50);
    assert!(phi(|f, _, p| p.args.iter().filter_map(|a| a.expand()).any(|v| f.values[v].class != f.values[p.def].class)) > 20);

    let inst = |holds: fn(&Function, &InstData, &[Operand]) -> bool| {
        functions
            .iter()
            .flat_map(|f| f.insts.keys().map(move |i| (f, i)))
            .filter(|&(f, i)| holds(f, &f.insts[i], f.operands(i)))
            .count()
    };
    assert!(inst(|_, _, operands| operands.iter().any(|o| o.reuse.is_some())) > 200);
    assert!(inst(|_, _, operands| operands.iter().any(|o| o.role == Role::EarlyDef)) > 100);
    assert!(inst(|_, _, operands| operands.iter().filter(|o| o.foldable).count() > 1) > 100);
    assert!(inst(|_, _, operands| operands.iter().filter(|o| o.is_def()).count() > 1) > 200);
    assert!(
        inst(|_, _, operands| operands.iter().take_while(|o| !o.is_def()).count() < operands.len() && !operands[0].is_def()) > 50
    );
    assert!(inst(|_, data, _| matches!(data.kind, InstKind::CopyTo(_))) > 200);
    assert!(inst(|_, data, _| matches!(data.kind, InstKind::CopyFrom(_))) > 200);
    assert!(inst(|f, data, _| f.pins[data.pins].clobbers.len() > 8) > 100);
    let held = |f: &Function| {
        let pins = PinLiveness::new(f).holding(f, &Liveness::new(f));
        f.insts.keys().filter(|&inst| pins.held(inst).iter().any(|held| !held.behind)).count()
    };
    assert!(functions.iter().map(held).sum::<usize>() > 100);
    assert!(inst(|_, data, operands| data.terminator && !operands.is_empty()) > 100);
    assert!(inst(|_, data, _| data.rematerialisable) > 200);
    assert!(functions.iter().all(|f| f.insts.len() < 400));
}

/// Every allocator, with every option, allocates every random function, and the checker, which shares no code with it, accepts every allocation.
#[test]
fn random_functions_are_allocated() {
    for preset in variants() {
        for shape in shapes() {
            for seed in 0..40 {
                let function = random_function(seed, &shape);
                allocate(&function, preset)
                    .unwrap_or_else(|failure| panic!("seed {seed}, {shape:?}, {preset:?}: {failure}\n{}", print(&function)));
            }
        }
    }
}
