//! Join sets on real programs: they contain all places where LLVM's mem2reg puts φs, and hardly any others [FA05].

use crate::support::programs::{Program, programs};
use chordal::analysis::{DjGraph, Dominators, JoinSet, JoinSets, Order, Worklist};
use chordal::llvm::{Module, Source, unpromoted};
use chordal::machine::{Block, Unpromoted};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Function, block and variable.
type Place = (String, String, String);

fn output(command: &mut Command) -> Vec<u8> {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// A program's textual IR before SSA form, in which every block and variable has a name.
fn before_ssa(program: &Program, folder: &Path) -> Vec<u8> {
    let ir = folder.join("before.ll");
    let mut clang = Command::new(program.clang());
    clang.args(program.all_flags("-O0")).args(["-Xclang", "-disable-O0-optnone", "-fno-discard-value-names", "-w"]);
    output(clang.args(["-S", "-emit-llvm", "-o"]).arg(&ir).arg(&program.path));
    std::fs::read(ir).expect("clang wrote it")
}

/// The places of the φs that mem2reg makes: it names them after the variables, followed by a number.
fn llvms_phis(folder: &Path) -> BTreeSet<Place> {
    let text = output(Command::new("opt-22").args(["-passes=mem2reg", "-S"]).arg(folder.join("before.ll")));
    let text = String::from_utf8(text).expect("IR is text");
    let (mut function, mut block) = (String::new(), String::new());
    let mut phis = BTreeSet::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("define ") {
            let name = rest.split('@').nth(1).and_then(|rest| rest.split('(').next()).expect("a function has a name");
            name.trim_matches('"').clone_into(&mut function);
        } else if let Some((label, _)) = line.split_once(':').filter(|_| !line.starts_with([' ', ';', '!', '}'])) {
            label.trim_matches('"').clone_into(&mut block);
        } else if let Some((name, _)) = line.trim().split_once(" = phi ") {
            let name = name.trim_start_matches('%').trim_matches('"');
            let variable = name.rsplit_once('.').filter(|(_, number)| number.bytes().all(|byte| byte.is_ascii_digit()));
            phis.extend(variable.map(|(variable, _)| (function.clone(), block.clone(), variable.to_owned())));
        }
    }
    phis
}

/// The places where variables of a function need φs if these are pruned: those where the variable is live.
fn our_phis(function: &Unpromoted) -> BTreeSet<Place> {
    let order = Order::new(&function.graph);
    let dominators = Dominators::new(&function.graph, &order);
    let mut worklist = Worklist::new(&function.graph, &order, &dominators);
    let assigned: Vec<&[Block]> = function.variables.iter().map(|variable| &variable.assigned[..]).collect();
    let sets = JoinSets::new(&assigned, &mut DjGraph::new(&function.graph, &order, &dominators));
    let mut phis = BTreeSet::new();
    for (index, variable) in function.variables.iter().enumerate() {
        let live = function.live_in(variable);
        let mut pruned = Vec::new();
        worklist.append(&variable.assigned, |block| live.contains(block), &mut pruned);
        pruned.sort_unstable();
        let joins: Vec<Block> = sets.get(index).iter().copied().filter(|&block| live.contains(block)).collect();
        assert_eq!(pruned, joins, "{} in {}: pruned while or after it is computed", variable.name, function.name);
        let place = |block| (function.name.clone(), function.block_names[block].clone(), variable.name.clone());
        phis.extend(joins.into_iter().map(place));
    }
    phis
}

#[test]
fn join_sets_are_where_mem2reg_puts_phis() {
    let (mut ours_total, mut llvms_total) = (0, 0);
    for program in programs().into_iter().filter(|program| program.has("-O0")) {
        let folder = TempDir::new().expect("a folder can be made");
        let source = Source::new(program.name().into(), before_ssa(&program, folder.path())).expect("it is not empty");
        let module = Module::parse(&source).expect("clang wrote it");
        let functions = unpromoted(&module);
        let ours: BTreeSet<Place> = functions.iter().flat_map(our_phis).collect();
        let variables: BTreeMap<&str, BTreeSet<&str>> = functions
            .iter()
            .map(|function| (&function.name[..], function.variables.iter().map(|variable| &variable.name[..]).collect()))
            .collect();
        // Other φs existed before.
        let of_variable = |(function, _, variable): &Place| {
            variables.get(&function[..]).is_some_and(|variables| variables.contains(&variable[..]))
        };
        let llvms: BTreeSet<Place> = llvms_phis(folder.path()).into_iter().filter(of_variable).collect();
        let missing: Vec<&Place> = llvms.difference(&ours).collect();
        assert!(missing.is_empty(), "{}: mem2reg has φs that we have not: {missing:?}", program.name());
        ours_total += ours.len();
        llvms_total += llvms.len();
    }
    // mem2reg then removes φs that it can fold: those of one value, or of one value and undefined ones.
    assert!(llvms_total > 0, "nothing was tried");
    assert!(ours_total * 95 < llvms_total * 100, "{ours_total} of ours, {llvms_total} of LLVM's");
}
