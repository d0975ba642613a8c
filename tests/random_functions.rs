//! Random functions are valid, and survive their text form.

use crate::support::fixture::fixture;
use crate::support::interpret::compare;
use crate::support::presets::variants;
use crate::support::random::{Shape, damaged, jumping, random_function, shapes};
use crate::support::reach::reached;
use chordal::allocate::HAS_SOLVER;
use chordal::allocate::allocators::{AssignmentStrategy, Preset};
use chordal::allocate::cssa::Coalescing;
use chordal::allocate::failure::Failure;
use chordal::allocate::pipeline::allocate;
use chordal::allocate::spill::strategies::{self, PRICED};
use chordal::analysis::{Bundles, Liveness, PinLiveness};
use chordal::machine::{
    Block, BlockData, Function, Inst, InstData, InstFlags, InstKind, Operand, Phi, Role, parse, print, validate,
};

fn all_shapes() -> Vec<Shape> {
    [shapes(), jumping()].concat()
}

#[test]
fn random_functions_are_valid_and_survive_their_text() {
    for shape in all_shapes() {
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

/// A damaged text is refused or read. If it is read, it survives printing, and the validator returns.
#[test]
fn damaged_texts_do_no_harm() {
    let mut read = 0;
    for seed in 0..1500 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let shape = Shape { blocks: 4, insts_per_block: 2, ..Shape::default() };
        let text = print(&random_function(seed % 20, &shape));
        if let Ok(function) = parse(&damaged(&text, &mut rng)) {
            read += 1;
            let text = print(&function);
            let again = parse(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
            assert_eq!(print(&again), text, "seed {seed}");
            assert_eq!(validate(&function), validate(&again), "seed {seed}");
        }
    }
    assert!(read > 100, "the damage is such that the parser accepts some of it");
}

/// The validator's notion of dominance agrees with the definition: no path from the entry to the use avoids the definition.
#[test]
fn uses_without_a_definition_before_them_are_found() {
    let shape = Shape { blocks: 12, insts_per_block: 2, classes: &["w"], landing_pads: false, jumps: false, ..Shape::default() };
    let (mut good, mut bad) = (0, 0);
    for seed in 0..600 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut function = random_function(seed, &shape);
        let uses: Vec<usize> = (0..function.operands.len()).filter(|&o| !function.operands[o].is_def()).collect();
        let defs: Vec<usize> = (0..function.operands.len()).filter(|&o| function.operands[o].is_def()).collect();
        let (Some(used), Some(def)) = (rng.choice(uses), rng.choice(defs)) else { continue };
        function.operands[used].value = function.operands[def].value;
        let (from, to) = (place(&function, def), place(&function, used));
        let reaches =
            if from.0 == to.0 { from.1 < to.1 } else { !reached(&function, function.entry(), Some(from.0)).contains(&to.0) };
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

/// Every register that is read holds something, and nothing destroys it in between.
#[test]
fn random_pins_make_sense() {
    for shape in all_shapes() {
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

/// The features for which the generator exists do occur.
#[test]
fn random_functions_have_everything() {
    let functions: Vec<Function> = (0..200).map(|seed| random_function(seed, &Shape::default())).collect();
    let edge = |holds: fn(&Function, Block, Block) -> bool| {
        let holds = move |f: &Function| f.blocks.iter().any(|(from, data)| data.succs.iter().any(|&to| holds(f, from, to)));
        functions.iter().filter(|f| holds(f)).count()
    };
    assert!(edge(|f, _, to| f.blocks[to].on_edge) > 50);
    assert!(edge(|f, from, to| f.takes_no_code(from, to) && !f.blocks[to].phis.is_empty()) > 20);
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
        f.insts.keys().filter(|&inst| pins.held(inst).iter().any(|held| !held.after)).count()
    };
    assert!(functions.iter().map(held).sum::<usize>() > 100);
    assert!(inst(|_, data, operands| data.is(InstFlags::TERMINATOR) && !operands.is_empty()) > 100);
    assert!(inst(|_, data, _| data.is(InstFlags::REMATERIALISABLE)) > 200);
    assert!(inst(|_, data, _| data.is(InstFlags::RECOMPUTABLE)) > 200);
    assert!(functions.iter().all(|f| f.insts.len() < 400));

    let overwrites_early = |o: &Operand| o.role == Role::EarlyDef && o.reuse.is_some();
    let early = |f: &&Function| f.operands.iter().any(overwrites_early);
    assert!(functions.iter().filter(early).count() > 20);
    assert!(inst(|_, _, operands| operands.iter().filter(|o| !o.is_def()).count() > 3) > 50);
    assert!(inst(|_, _, operands| operands.iter().filter(|o| o.is_def()).count() > 2) > 50);
    assert!(inst(|f, data, _| data.is(InstFlags::MOVABLE) && !f.pins[data.pins].defs.is_empty()) > 100);
    assert!(inst(|_, data, _| data.is(InstFlags::MOVABLE) && data.kind == InstKind::Copy) > 50);
    assert!(inst(|_, data, _| data.is(InstFlags::MOVABLE) && data.is(InstFlags::READS)) > 50);
    assert!(inst(|_, data, _| data.is(InstFlags::WRITES)) > 100);
    assert!(inst(|f, data, _| (f.pins[data.pins].uses & (f.pins[data.pins].defs - f.file.status)).len() > 1) > 50);
    assert!(inst(|f, data, _| data.is(InstFlags::TERMINATOR) && !f.pins[data.pins].clobbers.is_empty()) > 10);
    assert!(functions.iter().filter(|f| f.returns_twice).count() > 5);

    let functions: Vec<Function> = jumping().iter().flat_map(|shape| (0..100).map(|seed| random_function(seed, shape))).collect();
    let with_jump = |holds: fn(&[Operand]) -> bool| {
        let jumps = |f: &&Function| f.blocks.keys().flat_map(|block| f.terminators(block)).any(|inst| holds(f.operands(inst)));
        functions.iter().filter(jumps).count()
    };
    assert!(with_jump(|operands| operands.iter().any(Operand::is_def)) > 30);
    assert!(with_jump(|operands| operands.iter().any(|operand| operand.reuse.is_some())) > 5);
}

/// Every allocator allocates every random function with every option, and the checker, which shares no code with it, accepts
/// every allocation.
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

/// If values do not move, values that jumping inline assembly defines cannot cross edges without code, however others are
/// spilled.
#[test]
fn what_a_jump_defines_crosses_edges_without_code_only_where_values_move() {
    let function = fixture("jump_and_goto");
    for strategy in strategies::ALL.into_iter().filter(|&strategy| HAS_SOLVER || strategy != strategies::OPTIMAL) {
        for (name, is_refused) in [("ch-o3", true), ("tuned", false)] {
            let mut preset = Preset::named(name).expect("it exists");
            let AssignmentStrategy::DominanceOrder(dominance) = &mut preset.assignment else {
                unreachable!("both choose what to spill")
            };
            dominance.spilling = strategy;
            match allocate(&function, preset) {
                Ok(_) => assert!(!is_refused, "{preset:?}"),
                Err(Failure::Unsupported(_)) => assert!(is_refused, "{preset:?}"),
                Err(failure) => panic!("{preset:?}: {failure}"),
            }
        }
    }
}

/// At landing pads, values that jumping inline assembly defines take the registers that they need before other values do;
/// the function is refused if there are none.
#[test]
fn what_a_jump_defines_meets_others_at_landing_pads() {
    for name in ["spill-free", "tuned"] {
        let mut preset = Preset::named(name).expect("it exists");
        let AssignmentStrategy::DominanceOrder(dominance) = &mut preset.assignment else {
            unreachable!("both choose what to spill")
        };
        dominance.spilling = PRICED;
        let function = fixture("beside_outputs_at_pads");
        let (overlay, _) = allocate(&function, preset).unwrap_or_else(|failure| panic!("{preset:?}: {failure}"));
        for path in 0..4 {
            compare(&function, &overlay, path, 10).unwrap_or_else(|found| panic!("{preset:?}: {found}"));
        }
        let refused = allocate(&fixture("outputs_without_register"), preset);
        assert!(matches!(refused, Err(Failure::Unsupported(_))), "{preset:?}: {:?}", refused.err());
    }
}

/// Out of SSA form, the value that a terminator defines may be in a register after it, but no store can stand there.
#[test]
fn what_a_terminator_defines_is_in_memory_nowhere() {
    let text = "target tiny
function defined_by_a_terminator
b0: -> b1 b2
  v0:w = op terminator
  op terminator
b1: -> b2
  op clobbers=a,b,c,d,s,t
  op v0
b2:
";
    let function = parse(text).expect("it is well-formed");
    match allocate(&function, Preset::named("out-of-ssa").expect("it exists")) {
        Err(Failure::Unsupported(reason)) => {
            assert_eq!(reason.0, "no registers for what instruction 0 of b0 takes from memory, puts there, or defines last");
        }
        other => panic!("{:?}", other.map(drop)),
    }
}

/// Reduced functions on which some allocator once failed.
#[test]
fn what_random_functions_found_is_allocated() {
    let names = [
        "bundle_without_terminators",
        "confined_at_throw",
        "copy_behind_throw",
        "copy_with_more_registers",
        "dead_early",
        "debug_behind_copy",
        "early_copy",
        "evicted_where_full",
        "few_registers",
        "forms_beside_memory",
        "held_to_meet",
        "held_over_throws",
        "in_memory_anyway",
        "nothing_meets",
        "off_bundle_in_loop",
        "overwritten_in_web",
        "overwritten_once",
        "parked",
        "read_at_terminator",
        "read_twice_and_changed",
        "read_where_bundled",
        "stored_at_head",
        "stored_where_computed",
        "sunk_behind_dropped",
        "thrown_from_memory",
        "wider_carrier",
        "wider_copies",
        "widths_in_one_home",
        "x87_copy_written_twice",
    ];
    for name in names {
        let function = fixture(name);
        for preset in variants() {
            let (overlay, _) = allocate(&function, preset).unwrap_or_else(|failure| panic!("{name}, {preset:?}: {failure}"));
            for path in 0..4 {
                compare(&function, &overlay, path, 10).unwrap_or_else(|found| panic!("{name}, {preset:?}: {found}"));
            }
        }
    }
}

/// A value that a terminator defines cannot be moved on its way to a φ: they have to share a register.
#[test]
fn phis_of_what_a_terminator_defines_are_refused_in_ssa_form() {
    let text = "target tiny\nfunction f\nb0: -> b1 b2\n  v0:w = op terminator\nb1:\nb2:\n  v1:w = phi b0:v0\n  op v1\n";
    let function = parse(text).expect("it is well-formed");
    for preset in variants() {
        match allocate(&function, preset) {
            Ok(_) => assert!(matches!(preset.coalescing, Coalescing::Destruction(_)), "{preset:?}"),
            Err(refused) => assert!(
                matches!(&refused, Failure::Unsupported(reason) if reason.0.starts_with("a terminator of b0 defines")),
                "{refused}"
            ),
        }
    }
}

/// What inline assembly that jumps defines can nowhere be stored. Functions in which it finds no register are refused; the others
/// are allocated correctly.
#[test]
fn random_functions_that_jump_are_allocated_or_refused() {
    let (mut allocated, mut refused) = (0, 0);
    for preset in variants() {
        for shape in jumping() {
            for seed in 0..40 {
                let function = random_function(seed, &shape);
                match allocate(&function, preset) {
                    Ok(_) => allocated += 1,
                    Err(Failure::Unsupported(_)) => refused += 1,
                    Err(failure) => panic!("seed {seed}, {shape:?}, {preset:?}: {failure}\n{}", print(&function)),
                }
            }
        }
    }
    assert!(allocated > refused, "{allocated} allocated, {refused} refused");
}
