//! What `chordal explain` says agrees with what is counted, and with itself.

use crate::support::programs::{Program, programs_in};
use assert_cmd::Command;
use chordal::allocate::allocators::Preset;
use chordal::allocate::pipeline::Strategy;
use chordal::explain::allocation::{Subject, explain};
use chordal::explain::schema::{Allocation, Explanation, Part};
use chordal::explain::{Sources, what_if};
use chordal::llvm::{
    self, Allocator, CompileOptions, Compiled, Module, Ours, Output, Pace, RegisterRequest, Relocation, Sections, Source, Stock,
    Tables,
};
use std::path::Path;
use std::process::Command as Process;
use tempfile::TempDir;

const PROGRAMS: [&str; 7] = ["pressure", "interpreter", "exceptions", "vectors", "phi_loops", "delay", "tls_setjmp"];

fn source(program: &Program, folder: &Path) -> Source {
    let module = folder.join(program.name()).with_extension("bc");
    let mut clang = Process::new(program.clang());
    clang.args(program.all_flags("-O2 -w -g -emit-llvm -c")).arg(&program.path).arg("-o").arg(&module);
    assert!(clang.status().expect("clang starts").success(), "{}", program.name());
    Source::read(&module).expect("clang writes modules")
}

fn compiled(source: &Source, allocator: Allocator<'_>, registers: &str) -> Compiled {
    let module = Module::parse(source).expect("it is a module");
    let request: RegisterRequest = registers.parse().unwrap_or_else(|never| match never {});
    let options = CompileOptions {
        allocator,
        output: Output::Assembly,
        sections: Sections::default(),
        relocation: Relocation::default(),
        tables: Tables::default(),
        verify: false,
        registers: request.resolve(module.target()).expect("the list exists"),
        fallback: true,
        sizes: false,
        pace: Pace::default(),
        list: true,
        remarks: false,
        progress: &|_| (),
    };
    llvm::compile(module, &options).expect("it compiles")
}

fn explained(compiled: &Compiled) -> Vec<Allocation> {
    let explain_one = |function: &chordal::measure::stats::Function| {
        let subject = Subject {
            allocator: "",
            options: None,
            registers: None,
            rule: "The rule.",
            fallback: function.fallback.clone(),
            counts: &function.counts,
            code: &compiled.codes[&function.name],
        };
        explain(subject, &mut Sources::default())
    };
    compiled.functions.iter().map(explain_one).collect()
}

/// Every function of the programs, under allocators of all kinds.
#[test]
fn explanations_agree_with_what_is_counted_and_with_themselves() {
    let check = |program: &str, allocation: &Allocation| {
        rows_cost_what_is_counted(program, allocation);
        values_are_where_they_are_read(program, allocation);
        prices_say_who_competes(program, allocation);
    };
    let folder = TempDir::new().expect("there is room for temporary files");
    let preset = |name: &str| Strategy::from(Preset::named(name).expect("it exists")).keeping_prices();
    let ours = ["tuned", "spill-free", "hack", "linear-scan", "out-of-ssa"].map(preset);
    for program in programs_in("programs").iter().filter(|program| PROGRAMS.contains(&program.name())) {
        let source = source(program, folder.path());
        for registers in ["all", "8"] {
            for strategy in &ours {
                let separate_saves = strategy.separate_saves();
                let ours = Ours { allocator: strategy, check: true, graphs: false, separate_saves };
                let of_all = explained(&compiled(&source, Allocator::Ours(ours), registers));
                of_all.iter().for_each(|allocation| check(program.name(), allocation));
            }
            let greedy = Allocator::Llvm(Stock { algorithm: llvm::Algorithm::Greedy, schedule: true });
            explained(&compiled(&source, greedy, registers)).iter().for_each(|allocation| check(program.name(), allocation));
        }
    }
}

/// The rows of a kind together cost what the statistics say.
fn rows_cost_what_is_counted(program: &str, allocation: &Allocation) {
    let sum = |part: Part| -> f64 { allocation.rows.iter().filter(|row| row.part == Some(part)).map(|row| row.cost).sum() };
    let parts = &allocation.verdict.parts;
    let spilled = sum(Part::Reload) + sum(Part::Store) + sum(Part::Folded);
    let of_memory = parts.reloads + parts.stores;
    assert!((spilled - of_memory).abs() < 1e-6 * (1.0 + of_memory), "{program}: {spilled}, {of_memory}");
    for (part, counted) in [
        (Part::Save, parts.saves),
        (Part::Restore, parts.restores),
        (Part::Copy, parts.copies),
        (Part::Exchange, parts.exchanges),
    ] {
        assert!((sum(part) - counted).abs() < 1e-6 * (1.0 + counted), "{program}: {part:?}: {}, {counted}", sum(part));
    }
    let of_blocks: f64 = allocation.blocks.iter().map(|block| block.cost).sum();
    let of_rows: f64 = allocation.rows.iter().map(|row| row.cost).sum();
    assert!((of_blocks - of_rows).abs() < 1e-6 * (1.0 + of_rows), "{program}");
}

/// Whatever a row reads from a register or from memory is there before it.
fn values_are_where_they_are_read(program: &str, allocation: &Allocation) {
    for (number, value) in allocation.values.iter().enumerate() {
        for pair in value.pieces.windows(2) {
            assert!(pair[0].rows[1] <= pair[1].rows[0], "{program}: {}: {pair:?}", value.name);
        }
        for &row in &value.read {
            let is_there = value.pieces.iter().any(|piece| (piece.rows[0]..piece.rows[1]).contains(&row));
            assert!(is_there, "{program}: {} is not at row {row}: {:?}", value.name, allocation.rows[row].text);
        }
        let cost: f64 = allocation.rows.iter().filter(|row| row.values.contains(&number)).map(|row| row.cost).sum();
        assert!(value.cost <= cost + 1e-9, "{program}: {}", value.name);
    }
    // Somebody is to blame for each reload and store of an allocator that is part of chordal.
    if !allocation.values.is_empty() {
        for row in allocation.rows.iter().filter(|row| matches!(row.part, Some(Part::Reload | Part::Store | Part::Remat))) {
            assert!(!row.values.is_empty(), "{program}: {:?}", row.text);
        }
    }
}

/// A value in memory has a reason, and prices have competitors: at least as many as there are registers.
fn prices_say_who_competes(program: &str, allocation: &Allocation) {
    for value in &allocation.values {
        let is_away = value.pieces.iter().any(|piece| piece.registers.is_empty());
        assert_eq!(is_away, value.why.is_some(), "{program}: {}", value.name);
    }
    for (rank, price) in allocation.prices.iter().enumerate() {
        assert!(price.price > 0.0 && price.row < allocation.rows.len(), "{program}");
        assert!(rank >= 400 || !price.competitors.is_empty(), "{program}: nobody competes at row {}", price.row);
    }
    let is_sorted = allocation.prices.is_sorted_by(|a, b| a.price >= b.price);
    assert!(is_sorted, "{program}");
}

/// The hottest loop of `pressure.c` lacks registers, and with one more it costs less.
#[test]
fn one_more_register_saves_something() {
    let folder = TempDir::new().expect("there is room for temporary files");
    let programs = programs_in("programs");
    let pressure = programs.iter().find(|program| program.name() == "pressure").expect("it is there");
    let source = source(pressure, folder.path());
    let strategy = Strategy::from(Preset::named("tuned").expect("it exists")).keeping_prices();
    let ours = Ours { allocator: &strategy, check: true, graphs: false, separate_saves: true };
    let compiled = compiled(&source, Allocator::Ours(ours), "all");
    let at = compiled.functions.iter().position(|function| function.name == "ints").expect("it is not inlined");
    let allocation = explained(&compiled).swap_remove(at);
    let model = compiled.codes["ints"].model.as_ref().expect("the allocator is ours");
    let found = what_if::what_if(&model.function, &model.overlay, &strategy, &allocation);
    assert!(found.iter().any(|it| it.loop_header.is_some()) && found.iter().any(|it| it.loop_header.is_none()), "{found:?}");
    assert!(found.iter().all(|it| it.with < it.cost), "{found:?}");
    let row = &allocation.rows[allocation.verdict.dearest[0]];
    assert_eq!(row.part, Some(Part::Reload));
    let value = &allocation.values[row.values[0]];
    assert!(!value.variables.is_empty() && value.why.as_ref().is_some_and(|why| why.contains("general registers")), "{value:?}");
}

/// The command writes the same bytes each time, and what it writes can be read.
#[test]
fn an_explanation_is_json_that_can_be_read_again() {
    let folder = TempDir::new().expect("there is room for temporary files");
    let programs = programs_in("programs");
    let program = programs.iter().find(|program| program.name() == "phi_loops").expect("it is there");
    source(program, folder.path());
    let explain = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("chordal").expect("the binary is built");
        command.current_dir(folder.path()).arg("explain").arg("phi_loops.bc").args(arguments);
        command.assert().success().stderr("").get_output().stdout.clone()
    };
    let index: serde_json::Value = serde_json::from_slice(&explain(&["--format", "json"])).expect("it is JSON");
    for entry in index["functions"].as_array().expect("functions are listed") {
        let name = entry["name"].as_str().expect("each has a name");
        let json = explain(&["--function", name, "--format", "json", "--against", "spill-free"]);
        assert_eq!(json, explain(&["--function", name, "--format", "json", "--against", "spill-free"]));
        let read: Explanation = serde_json::from_slice(&json).expect("it follows the schema");
        assert_eq!(read.allocation.verdict.overhead, entry["overhead"].as_f64().expect("it is a number"));
        assert_eq!(read.against.map(|it| it.allocator).as_deref(), Some("spill-free"));
        let text = String::from_utf8(explain(&["--function", name])).expect("it is text");
        assert!(text.starts_with(&format!("function {name} of phi_loops.bc")), "{text}");
    }
}

#[test]
fn wrong_usage_is_told() {
    let folder = TempDir::new().expect("there is room for temporary files");
    let programs = programs_in("programs");
    source(programs.iter().find(|program| program.name() == "phi_loops").expect("it is there"), folder.path());
    let explain = |arguments: &[&str], code: i32, message: &'static str| {
        let mut command = Command::cargo_bin("chordal").expect("the binary is built");
        command.current_dir(folder.path()).args(["explain", "phi_loops.bc"]).args(arguments);
        command.assert().code(code).stdout("").stderr(predicates::str::contains(message));
    };
    explain(&["--function", "nothing"], 1, "phi_loops.bc: no function is called nothing");
    explain(&["-o", "page.html"], 2, "-o names a folder");
    explain(&["--format", "html"], 2, "need a folder");
    explain(&["-o", "phi_loops.bc", "--function", "main"], 2, "would overwrite the input");
    explain(&["--against", "nobody"], 2, "nobody");
}
