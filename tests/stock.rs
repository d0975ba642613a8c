//! LLVM's allocators: with all registers they give llc's code, and held to fewer they use only those, as chordal's own do.

use crate::support::assembly;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use tempfile::TempDir;

const PROGRAMS: &[&str] = &["hash_table", "many_arguments", "numeric", "parser", "pressure", "sha256"];
const TARGETS: &[(&str, &[&str])] = &[("-m64", &["4", "8", "12"]), ("-m32", &["5", "6"])];

/// A target, the numbers of registers that allocators are held to, and the programs as bitcode.
type Situation = (&'static str, &'static [&'static str], Vec<PathBuf>);

static SITUATIONS: LazyLock<Vec<Situation>> =
    LazyLock::new(|| TARGETS.iter().map(|&(target, counts)| (target, counts, bitcode(target, PROGRAMS))).collect());

/// Compiles programs to bitcode.
fn bitcode(target: &str, programs: &[&str]) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("stock{target}"));
    fs::create_dir_all(&folder).expect("a folder can be made");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/programs");
    let compile = |name: &&str| {
        let module = folder.join(name).with_extension("bc");
        let source = sources.join(name).with_extension("c");
        let mut clang = Command::new("clang-22");
        run(clang.args(["-O2", "-w", target, "-emit-llvm", "-c"]).arg(source).arg("-o").arg(&module));
        module
    };
    programs.iter().map(compile).collect()
}

/// The assembly that chordal makes of a module.
fn chordal(module: &Path, arguments: &[&str]) -> String {
    let mut chordal = Command::new(env!("CARGO_BIN_EXE_chordal"));
    run(chordal.arg("compile").arg(module).args(["-o", "-", "--no-fallback"]).args(arguments))
}

/// The assembly that llc makes of a module.
fn llc(module: &Path, arguments: &[&str]) -> String {
    let mut llc = Command::new("llc-22");
    run(llc.args(["-O2", "-relocation-model=pic", "-asm-verbose=0", "-o", "-"]).args(arguments).arg(module))
}

/// The output of a command that must succeed.
fn run(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    assert!(status.success(), "{command:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).expect("text")
}

#[test]
fn with_all_registers_they_write_what_llc_writes() {
    let same = [
        (&["--allocator", "llvm-greedy"][..], &[][..]),
        (&["--allocator", "llvm-basic"], &["-regalloc=basic"]),
        (&["--allocator", "llvm-pbqp"], &["-regalloc=pbqp"]),
        (&["--allocator", "llvm-fast"], &["-optimize-regalloc=0"]),
        (&["--allocator", "llvm-greedy", "--llvm-schedule", "off"], &["-enable-misched=0"]),
    ];
    for (target, _, modules) in &*SITUATIONS {
        for module in modules {
            for (ours, theirs) in same {
                assert!(chordal(module, ours) == llc(module, theirs), "{} {target} {ours:?}", module.display());
            }
        }
    }
}

/// The `static` counts of the sum of all functions in a JSON document.
fn totals(document: &Value, place: &str) -> Value {
    let total = document.pointer(place).unwrap_or_else(|| panic!("there is no {place}"));
    total["static"].clone()
}

#[test]
fn compare_counts_what_a_disassembly_of_llcs_object_counts() {
    let folder = TempDir::new().expect("a temporary folder");
    for (target, _, modules) in &*SITUATIONS {
        for module in modules {
            let object = folder.path().join("llc.o");
            let mut llc = Command::new("llc-22");
            run(llc.args(["-O2", "-relocation-model=pic", "-filetype=obj", "-o"]).arg(&object).arg(module));
            let json = |arguments: &[&str], file: &Path| -> Value {
                let mut chordal = Command::new(env!("CARGO_BIN_EXE_chordal"));
                let text = run(chordal.args(arguments).args(["--format", "json"]).arg(file));
                serde_json::from_str(&text).expect("JSON")
            };
            let compared = json(&["compare", "--allocators", "llvm-greedy"], module);
            let counted = json(&["count"], &object);
            let ours = totals(&compared, "/summary/groups/0/rows/0/total");
            assert!(ours["loads"].as_u64() > Some(0), "{ours}");
            assert_eq!(ours, totals(&counted, "/total"), "{} {target}", module.display());
        }
    }
}

/// A call takes five registers of five: basic reports that it has run out, but PBQP would not.
#[test]
fn conflicts_that_pbqp_does_not_report_are_noticed() {
    let modules = bitcode("-m32", &["conventions"]);
    for allocator in ["llvm-basic", "llvm-pbqp"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chordal"));
        command.arg("compile").arg(&modules[0]).args(["-o", "-", "--registers", "5", "--verify-llvm", "--allocator", allocator]);
        let output = command.output().expect("chordal starts");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{message}");
        assert!(message.contains("function live: left to LLVM's greedy allocator: ran out of registers"), "{message}");
    }
}

/// All breaches of the rule on unlisted registers by an allocator, over all programs and numbers of registers.
fn breaches(allocator: &str, held: bool) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for (target, counts, modules) in &*SITUATIONS {
        for count in *counts {
            let excluded = assembly::excluded(target, count);
            let mut breaches = Vec::new();
            for module in modules {
                let mut arguments = vec!["--allocator", allocator];
                if held {
                    arguments.extend(["--registers", count]);
                }
                breaches.extend(assembly::breaches(&chordal(module, &arguments), &excluded));
            }
            found.push((format!("{target} --registers {count}"), breaches));
        }
    }
    found
}

fn keeps_to_its_registers(allocator: &str) {
    for (situation, breaches) in breaches(allocator, true) {
        assert!(breaches.is_empty(), "{allocator} {situation}:\n{}", breaches.join("\n"));
    }
}

#[test]
fn spill_free_keeps_to_its_registers() {
    keeps_to_its_registers("spill-free");
}

#[test]
fn linear_scan_keeps_to_its_registers() {
    keeps_to_its_registers("linear-scan");
}

#[test]
fn irc_keeps_to_its_registers() {
    keeps_to_its_registers("irc");
}

#[test]
fn greedy_keeps_to_its_registers() {
    keeps_to_its_registers("llvm-greedy");
}

#[test]
fn basic_keeps_to_its_registers() {
    keeps_to_its_registers("llvm-basic");
}

#[test]
fn pbqp_keeps_to_its_registers() {
    keeps_to_its_registers("llvm-pbqp");
}

/// An allocator with all registers is caught using more than each of the lists has.
#[test]
fn the_rule_notices_other_registers() {
    for allocator in ["spill-free", "llvm-greedy"] {
        for (situation, breaches) in breaches(allocator, false) {
            assert!(!breaches.is_empty(), "{allocator} does without the registers beyond {situation}");
        }
    }
}

#[test]
fn what_the_rule_says() {
    let excluded = assembly::excluded("-m64", "4");
    let breaches = |lines: &[&str]| assembly::breaches(&format!("f:\n\t{}\n", lines.join("\n\t")), &excluded).len();
    let fine = [
        &["movq (%rdi), %rax", "addl %esi, %eax", "retq"][..],   // arguments
        &["movl $1, %edi", "leaq (%rax,%rcx), %rsi", "callq g"], // arguments of a call
        &["movq 8(%rsp), %rdi", "movq %rdi, (%rsp)", "callq g"],
        &["callq g", "addq %rdx, %rax"],                              // its results
        &["xorl %edx, %edx", "divl %ecx", "movl %edx, %eax", "retq"], // fixed operands
        &["movq %rax, %rdi", "rep;movsq (%rsi), %es:(%rdi)"],
        &["testl %eax, %eax", "je .L1", "addl %esi, %eax", ".L1:", "movl %esi, %eax"], // LLVM moves copies down
        &["leaq (%rax,%rcx), %rsi", "addq $64, %rsi", "callq g"],                      // and takes additions apart
    ];
    let wrong = [
        &["movl $1, %edi", "addl %edi, %eax"][..], // a value of its own
        &["movl $1, %edi", "addl %edi, %eax", "movl $1, %edi", "callq g"],
        &["addl $1, %edi"],                                 // a changed argument
        &["movq %rax, %r12", "callq g", "movq %r12, %rax"], // kept across a call
        &[".L1:", "addq (%rdi,%rax,8), %rcx"],              // an argument that stays
        &["callq g", "jmp .L1", ".L1:", "cmpl $1, %edx"],
        &["sete %sil", "movzbl %sil, %eax"], // under another name
        &["xchgq %rax, %rdi"],
    ];
    for lines in fine {
        assert_eq!(breaches(lines), 0, "{lines:?}");
    }
    for lines in wrong {
        assert_eq!(breaches(lines), 1, "{lines:?}");
    }
}
