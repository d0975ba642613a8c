//! Tests of `chordal compile` and `chordal list`, and of rules for all commands.

use super::folder::{Folder, PROGRAM_PRINTS, assert_fails, assert_usage, chordal};
use chordal::allocate::spill::strategies;
use predicates::prelude::*;
use predicates::str::contains;
use std::fs;
use std::path::Path;
use std::process::Command as Process;

/// A program whose `crowded` needs an argument base pointer and has inline assembly that needs more registers than a short
/// list has.
const ARGUMENT_BASE: &str = r#"
#include <alloca.h>
#include <stdio.h>
__attribute__((noinline)) static void look(int *local, char *bytes) {
  printf("%d %d\n", 64 - (int)((unsigned long)local % 64), *local + *bytes);
}
__attribute__((noinline)) void crowded(int n) {
  int local __attribute__((aligned(64))) = n;
  char *bytes = alloca(n + 1);
  long r[16];
  *bytes = 2;
  __asm__ volatile("" : OUTPUTS : "BASE"(n));
  look(&local, bytes);
}
int main(void) { crowded(7); return 0; }
"#;

const IR: &str = "target triple = \"x86_64-pc-linux-gnu\"\ndefine i32 @one() {\n  ret i32 1\n}\n";

#[test]
fn assembly_links_and_runs() {
    let folder = Folder::with_program(&[]);
    folder
        .chordal(&["compile", "p.bc", "-o", "out.s", "--verify-llvm", "--no-fallback"])
        .assert()
        .success()
        .stdout("")
        .stderr("");
    assert_eq!(folder.link_and_run("out.s", &[]), PROGRAM_PRINTS);
}

#[test]
fn object_links_and_runs() {
    let folder = Folder::with_program(&[]);
    folder.chordal(&["compile", "p.bc", "--emit", "obj", "--stats", "out.json"]).assert().success();
    assert_eq!(folder.link_and_run("p.o", &[]), PROGRAM_PRINTS);
    assert!(folder.json("out.json")["total"]["static"]["bytes"].as_u64() > Some(0));
}

#[test]
fn i386_and_optimisation_levels() {
    for flags in [&["-O0"][..], &["-O3", "-g"], &["-m32"], &["-m32", "-fPIC", "-O0"]] {
        let folder = Folder::with_program(flags);
        folder.chordal(&["compile", "p.bc", "--verify-llvm", "--no-fallback", "--stats", "p.json"]).assert().success();
        assert!(!folder.read("p.s").is_empty());
        if !flags.contains(&"-m32") {
            assert_eq!(folder.link_and_run("p.s", &[]), PROGRAM_PRINTS, "{flags:?}");
        }
    }
}

#[test]
fn llvms_allocators_are_counted_in_the_same_way() {
    let folder = Folder::with_program(&[]);
    for allocator in ["spill-free", "llvm-greedy", "llvm-basic", "llvm-pbqp", "llvm-fast"] {
        let stats = format!("{allocator}.json");
        folder.chordal(&["compile", "p.bc", "--allocator", allocator, "-o", "out.s", "--stats", &stats]).assert().success();
        assert_eq!(folder.link_and_run("out.s", &[]), PROGRAM_PRINTS);
    }
    let statistics = |name: &str| folder.json(&format!("{name}.json"));
    assert!(statistics("spill-free")["total"]["time_ns"]["spill"].is_u64());
    for name in ["spill-free", "llvm-greedy", "llvm-basic", "llvm-pbqp", "llvm-fast"] {
        let stats = statistics(name);
        assert_eq!(stats["schema"], "chordal-stats/1");
        assert_eq!(stats["target"], "x86_64-pc-linux-gnu");
        let functions = stats["functions"].as_array().unwrap();
        assert_eq!(functions.len(), 5);
        let bytes: u64 = functions.iter().map(|function| function["static"]["bytes"].as_u64().expect("a size")).sum();
        assert_eq!(stats["total"]["static"]["bytes"].as_u64(), Some(bytes));
        for function in functions.iter().filter(|_| name != "spill-free") {
            assert!(function["time_ns"]["llvm"].as_u64() > Some(0), "{function}");
        }
    }
}

/// Code is small where clang's attributes ask for it: there, a value that is seldom needed after a call waits in a register
/// instead of memory.
#[test]
fn small_code_is_what_is_asked_for() {
    const SELDOM: &str = "
      int name(int a, int (*f)(void)) {
        int r = f();
        if (__builtin_expect(r == 0, 0)) return a * 3;
        if (__builtin_expect(r == 1, 0)) return a ^ 5;
        return r;
      }
    ";
    let folder = Folder::new();
    let program = [("fast", ""), ("cold", "__attribute__((cold))"), ("small", "__attribute__((minsize))")];
    folder.write("p.c", program.map(|(name, attribute)| attribute.to_owned() + &SELDOM.replace("name", name)).concat());
    let assembly = |level: &str| {
        folder.run(Process::new("clang-22").args([level, "-emit-llvm", "-c", "p.c", "-o", "p.bc"]));
        folder.chordal(&["compile", "p.bc", "--verify-llvm"]).assert().success();
        read_text(&folder.path("p.s"))
    };
    let fast_alone_waits_in_memory = assembly("-O2");
    for (name, in_memory) in [("fast", true), ("cold", false), ("small", false)] {
        let code = code_of(&fast_alone_waits_in_memory, name).join("\n");
        assert_eq!((code.contains("(%rsp)"), code.contains("pushq %rbx")), (in_memory, !in_memory), "{name}: {code}");
    }
    assert!(!assembly("-Os").contains("(%rsp)"));
}

/// Of LLVM's allocators only greedy knows matrix tiles; with the others, LLVM would emit wrong code or crash.
#[test]
fn tiles_are_greedys() {
    let folder = Folder::new();
    let tiles = "\
#include <immintrin.h>
__attribute__((target(\"amx-tile\"))) void copy(char *from, char *to) {
  __tile1024i tile = {16, 64};
  __tile_loadd(&tile, from, 64);
  __tile_stored(to, 64, tile);
}
";
    folder.write("tile.c", tiles);
    folder.run(Process::new("clang-22").args(["-O2", "-emit-llvm", "-c", "tile.c"]));
    let compile = |allocator| folder.chordal(&["compile", "tile.bc", "-o", "out.s", "--allocator", allocator]).assert();
    compile("llvm-greedy").success().stderr("");
    let expected = folder.read("out.s");
    for allocator in ["llvm-basic", "llvm-pbqp"] {
        compile(allocator)
            .success()
            .stderr(contains("function copy: left to LLVM's greedy allocator: a value of register class"));
        assert_eq!(folder.read("out.s"), expected, "{allocator}");
    }
    assert_fails(compile("llvm-fast"), "chordal: error: tile.bc: function copy: ", "a value of register class TILE");
}

#[test]
fn default_output_is_beside_the_input() {
    let folder = Folder::with_program(&[]);
    folder.chordal(&["compile", "p.bc"]).assert().success();
    assert_eq!(folder.files(), ["p.bc", "p.c", "p.s"]);
    fs::rename(folder.path("p.bc"), folder.path("p.o")).unwrap();
    assert_usage(&mut folder.chordal(&["compile", "p.o", "--emit", "obj"]), "would overwrite the input p.o");
}

#[test]
fn standard_input_and_output() {
    let folder = Folder::new();
    folder.chordal(&["compile", "-"]).write_stdin(IR).assert().success().stdout(contains("one:")).stderr("");
    folder
        .chordal(&["compile", "-", "-o", "out.s", "--stats", "-"])
        .write_stdin(IR)
        .assert()
        .success()
        .stdout(contains("\"name\": \"one\""));
    assert_usage(folder.chordal(&["compile", "-", "--stats", "-"]).write_stdin(IR), "cannot go to the same place");
    assert_eq!(folder.files(), ["out.s"]);
}

#[test]
fn bitcode_in_a_wrapper() {
    let folder = Folder::with_program(&[]);
    let bitcode = folder.read("p.bc");
    let fields = [0x0B17_C0DE, 0, 20, bitcode.len() as u32, 0];
    let mut wrapped: Vec<u8> = fields.iter().flat_map(|field: &u32| field.to_le_bytes()).collect();
    wrapped.extend(bitcode);
    folder.write("wrapped.bc", wrapped);
    folder.chordal(&["compile", "wrapped.bc"]).assert().success();
    assert_eq!(folder.link_and_run("wrapped.s", &[]), PROGRAM_PRINTS);
}

#[test]
fn equal_runs_give_equal_bytes() {
    let folder = Folder::with_program(&["-g"]);
    for run in ["1", "2"] {
        let (output, stats) = (format!("{run}.s"), format!("{run}.json"));
        folder.chordal(&["compile", "p.bc", "-o", &output, "--no-times", "--stats", &stats]).assert().success();
    }
    assert_eq!(folder.read("1.s"), folder.read("2.s"));
    assert_eq!(folder.read("1.json"), folder.read("2.json"));
    assert!(folder.json("1.json")["total"].get("time_ns").is_none());
}

/// Removes the numbers of LLVM's labels, which depend on the order in which the labels are made.
fn without_numbers(assembly: &[u8]) -> String {
    let mut parts = std::str::from_utf8(assembly).expect("text").split(".Ltmp");
    let first = parts.next().expect("there is one").to_owned();
    parts.fold(first, |text, part| text + ".Ltmp" + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

#[test]
fn equal_bytes_with_any_number_of_threads() {
    let folder = Folder::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/programs/exceptions.cpp");
    folder.run(Process::new("clang-22").args(["-O1", "-g", "-emit-llvm", "-c", source, "-o", "p.bc"]));
    let compile = |output: &str, arguments: &[&str]| {
        folder.chordal(&["compile", "p.bc", "-o", output]).args(arguments).assert().success();
        folder.read(output)
    };
    let [one, two, many] = ["1", "2", "9"].map(|jobs| compile("p.s", &["--jobs", jobs]));
    assert!(one == two && two == many && many == compile("p.s", &[]));
    let in_turn = compile("p.s", &["--in-turn"]);
    assert_ne!(in_turn, one);
    assert_eq!(without_numbers(&in_turn), without_numbers(&one));
    assert_eq!(in_turn, compile("p.s", &["--stats", "p.json"]));
    assert_eq!(one, compile("p.s", &["--stats", "p.json", "--no-times"]));
}

/// LLVM adds thunks for indirect calls after all other functions, once these have been allocated.
#[test]
fn thunks_come_last() {
    let folder = Folder::new();
    for feature in ["+lvi-cfi", "+retpoline-indirect-calls"] {
        let function = format!("define void @f(ptr %g) \"target-features\"=\"{feature}\" {{\n  call void %g()\n  ret void\n}}\n");
        folder.write("thunk.ll", IR.to_owned() + &function);
        let compile = |arguments: &[&str]| {
            let command = ["compile", "thunk.ll", "-o", "out.s", "--verify-llvm", "--no-fallback"];
            folder.chordal(&command).args(arguments).assert().success().stderr("");
            String::from_utf8(folder.read("out.s")).expect("text")
        };
        let ahead = compile(&[]);
        assert!(ahead.contains("\n__llvm_"), "{ahead}");
        assert_eq!(ahead, compile(&["--in-turn"]));
    }
}

#[test]
fn output_to_what_is_not_a_file() {
    let folder = Folder::with_program(&[]);
    folder
        .chordal(&["compile", "p.bc", "-o", "/dev/null", "--stats", "/dev/stdout"])
        .assert()
        .success()
        .stdout(contains("schema"));
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn output_through_a_link() {
    let folder = Folder::with_program(&[]);
    folder.write("real.s", "");
    std::os::unix::fs::symlink("real.s", folder.path("link.s")).unwrap();
    folder.chordal(&["compile", "p.bc", "-o", "link.s"]).assert().success();
    assert!(fs::symlink_metadata(folder.path("link.s")).unwrap().is_symlink());
    assert!(!folder.read("real.s").is_empty());
}

#[test]
fn closed_standard_output() {
    let folder = Folder::with_program(&[]);
    let script = format!("set -o pipefail; {} compile p.bc -o - | true", assert_cmd::cargo::cargo_bin("chordal").display());
    folder.run(Process::new("bash").args(["-c", &script]));
}

/// Output to a standard output that is closed is a failure, since nobody gets it.
#[test]
fn standard_output_that_is_not_open() {
    let folder = Folder::with_program(&[]);
    for arguments in ["compile p.bc -o -", "compile p.bc -o p.s --stats -", "list", "--help"] {
        let script = format!("exec {} {arguments} >&-", assert_cmd::cargo::cargo_bin("chordal").display());
        let output = Process::new("bash").args(["-c", &script]).current_dir(folder.path("")).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments}");
        assert_eq!(
            String::from_utf8_lossy(&output.stderr),
            "chordal: error: standard output: Bad file descriptor (os error 9)\n"
        );
    }
}

/// The lines of code of a function without branches.
fn code_of(assembly: &str, function: &str) -> Vec<String> {
    let (_, rest) = assembly.split_once(&format!("\n{function}:")).unwrap();
    let lines = rest.lines().take_while(|line| !line.starts_with(".Lfunc_end"));
    lines
        .filter_map(|line| line.strip_prefix('\t'))
        .filter(|line| !line.starts_with('.'))
        .map(|line| line.replace('\t', " "))
        .collect()
}

/// Forms that LLVM finds for its own allocators: bytes in `lea`, even if the flags of the same sum are needed; conditions
/// without a zeroed register, and inverted conditional moves; constants in registers that cannot be allocated.
#[test]
fn forms_that_llvm_finds_with_virtual_registers() {
    let folder = Folder::new();
    let functions = "define void @sum(i8 %a, ptr %p, ptr %q) {\n  %s = add i8 %a, 7\n  store volatile i8 %s, ptr %p\n  \
                     store volatile i8 %a, ptr %q\n  ret void\n}\n\
                     define i32 @condition(i32 %a, i32 %b) {\n  %c = icmp slt i32 %a, %b\n  %z = zext i1 %c to i32\n  ret i32 %z\n}\n\
                     define i32 @chosen(i32 %a, i32 %b, i32 %k, ptr %p) {\n  %s = add i32 %a, %b\n  %c = icmp sgt i32 %s, 100\n  \
                     %r = select i1 %c, i32 %s, i32 %k\n  store volatile i32 %k, ptr %p\n  ret i32 %r\n}\n\
                     declare { i16, i1 } @llvm.sadd.with.overflow.i16(i16, i16)\n\
                     define i16 @overflow(i16 %a, i16 %b, ptr %p) {\n  \
                     %r = call { i16, i1 } @llvm.sadd.with.overflow.i16(i16 %a, i16 %b)\n  \
                     %s = extractvalue { i16, i1 } %r, 0\n  %o = extractvalue { i16, i1 } %r, 1\n  %t = ashr i16 %s, 15\n  \
                     %x = xor i16 %t, -32768\n  %v = select i1 %o, i16 %x, i16 %s\n  store volatile i16 %b, ptr %p\n  \
                     ret i16 %v\n}\n\
                     declare void @g(i32)\ndefine void @constant() {\n  call void @g(i32 7)\n  call void @g(i32 7)\n  ret void\n}\n";
    folder.write("forms.ll", format!("{IR}{functions}"));
    let compiled = |options: &[&str]| {
        folder
            .chordal(&["compile", "forms.ll", "-o", "out.s", "--verify-llvm", "--no-fallback"])
            .args(options)
            .assert()
            .success();
        String::from_utf8(folder.read("out.s")).unwrap()
    };
    let assembly = compiled(&["--registers", "rax,rcx,rdx,rbx"]);
    let condition = code_of(&assembly, "condition");
    assert!(condition.iter().all(|line| !line.starts_with("xorl") && !line.starts_with("movb")), "{condition:?}");
    assert_eq!(condition[condition.len() - 2], "movzbl %al, %eax");
    let sum = code_of(&assembly, "sum");
    assert!(sum.iter().any(|line| line.starts_with("leal 7(")), "{sum:?}");
    let constant = code_of(&assembly, "constant");
    assert_eq!(constant.iter().filter(|line| *line == "movl $7, %edi").count(), 2, "{constant:?}");
    assert!(constant.iter().all(|line| !line.starts_with("movl %")), "{constant:?}");

    let assembly = compiled(&[]);
    let chosen = code_of(&assembly, "chosen");
    assert!(chosen.contains(&"cmovll %edx, %eax".to_owned()), "{chosen:?}");
    let overflow = code_of(&assembly, "overflow");
    assert!(overflow.iter().all(|line| !line.starts_with("movl %")), "{overflow:?}");
    assert!(overflow.iter().any(|line| line.starts_with("leal (")), "{overflow:?}");
}

/// A variable that the debugger computes from two values has no location once one of them is gone, as from a register that a call
/// destroys. (On x86-64, debug
/// instructions name instructions rather than values.)
#[test]
fn debug_values_of_which_one_is_gone_are_gone() {
    let folder = Folder::new();
    let function = "target triple = \"i386-pc-linux-gnu\"\n\
                    declare void @g()\ndefine i8 @f(ptr %p, ptr %q) !dbg !3 {\n  %a = load volatile i8, ptr %p, !dbg !6\n  \
                    %b = load i8, ptr %q, !dbg !6\n  call void @g(), !dbg !6\n    \
                    #dbg_value(!DIArgList(i8 %a, i8 %b), !7, !DIExpression(DW_OP_LLVM_arg, 0, DW_OP_LLVM_arg, 1, DW_OP_plus, DW_OP_stack_value), !6)\n  \
                    %r = and i8 %b, 1, !dbg !6\n  ret i8 %r, !dbg !6\n}\n\
                    !llvm.dbg.cu = !{!0}\n!llvm.module.flags = !{!2}\n\
                    !0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, isOptimized: true, emissionKind: FullDebug)\n\
                    !1 = !DIFile(filename: \"f.c\", directory: \"\")\n!2 = !{i32 2, !\"Debug Info Version\", i32 3}\n\
                    !3 = distinct !DISubprogram(name: \"f\", file: !1, line: 1, type: !4, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)\n\
                    !4 = !DISubroutineType(types: !5)\n!5 = !{null}\n!6 = !DILocation(line: 1, scope: !3)\n\
                    !7 = !DILocalVariable(name: \"sum\", scope: !3, file: !1, line: 1, type: !8)\n\
                    !8 = !DIBasicType(name: \"char\", size: 8, encoding: DW_ATE_signed)\n";
    folder.write("gone.ll", function);
    for allocator in ["tuned", "irc", "linear-scan"] {
        let arguments = ["compile", "gone.ll", "-o", "out.s", "--verify-llvm", "--no-fallback", "--allocator", allocator];
        folder.chordal(&arguments).assert().success();
        let assembly = String::from_utf8(folder.read("out.s")).unwrap();
        assert!(assembly.contains(".debug_info") && !assembly.contains(".debug_loc"), "{allocator}: {assembly}");
    }
}

/// On i386, regalloc2 moves bytes through registers whose lowest eight bits have no name. The debugger is not told of those.
#[test]
fn the_debugger_is_told_of_registers_that_have_names() {
    let folder = Folder::new();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/programs/parser.c");
    let flags = ["-m32", "-march=x86-64-v4", "-O3", "-g", "-emit-llvm", "-c", program, "-o", "p.bc"];
    folder.run(Process::new("clang-22").args(flags));
    let arguments = ["--allocator", "regalloc2", "--registers", "5", "--verify-llvm", "--no-fallback"];
    folder.chordal(&["compile", "p.bc", "-o", "p.s"]).args(arguments).assert().success();
}

/// On its way to a landing pad, the unwinder writes registers that the calling convention of the call preserves.
#[test]
fn nothing_is_kept_in_registers_that_the_unwinder_writes() {
    let folder = Folder::new();
    let function = "declare coldcc i64 @callee()\ndeclare i32 @__gxx_personality_v0(...)\n\
                    define <2 x i64> @caller(i128 %a) personality ptr @__gxx_personality_v0 {\nentry:\n  \
                    %b = mul i128 %a, 295147905179352838201\n  \
                    %c = invoke coldcc i64 @callee() to label %out unwind label %pad\npad:\n  \
                    %d = landingpad { ptr, i32 } catch ptr null\n  br label %out\nout:\n  \
                    %e = bitcast i128 %b to <2 x i64>\n  ret <2 x i64> %e\n}\n";
    folder.write("unwound.ll", format!("{IR}{function}"));
    for allocator in ["spill-free", "tuned", "regalloc2", "irc", "linear-scan"] {
        let arguments = ["--allocator", allocator, "--registers", "8", "--verify-llvm", "--no-fallback"];
        folder.chordal(&["compile", "unwound.ll", "-o", "out.s"]).args(arguments).assert().success();
    }
}

/// The unwinder restores the registers that C's convention preserves and no others, even if the callee preserves more.
/// (LLVM's own allocators keep values in such registers, and lose them.)
#[test]
fn values_survive_a_call_that_throws_and_preserves_most() {
    const PROGRAM: &str = "
        __attribute__((noinline)) void plain(int x) { if (x > 3) throw x * 7; }
        __attribute__((noinline, preserve_most)) void preserving(int x) { if (x > 3) throw x * 7; }
        #define CALLER(NAME, CALLEE)                                                                            \\
            __attribute__((noinline)) long NAME(long a, long b, long c, long d, long e, long g, int x) {        \\
                long p = a * b + 1, q = b * c + 2, r = c * d + 3, s = d * e + 4, t = e * g + 5, u = g * a + 6;  \\
                try { CALLEE(x); } catch (int y) {                                                              \\
                    return p + 2 * q + 3 * r + 5 * s + 7 * t + 11 * u + a + b + c + d + e + g + y;              \\
                }                                                                                               \\
                return p ^ q ^ r ^ s ^ t ^ u;                                                                   \\
            }
        CALLER(expected, plain)
        CALLER(actual, preserving)
        int main(int n, char **) {
            for (int x = 0; x < 8; ++x)
                if (actual(n, n + 1, n + 2, n + 3, n + 4, n + 5, x) != expected(n, n + 1, n + 2, n + 3, n + 4, n + 5, x))
                    return 1;
        }";
    let folder = Folder::new();
    folder.write("p.cpp", PROGRAM);
    folder.run(Process::new("clang++-22").args(["-O2", "-emit-llvm", "-c", "p.cpp", "-o", "p.bc"]));
    for allocator in ["tuned", "spill-free", "ch-o3", "linear-scan", "out-of-ssa", "irc", "regalloc2"] {
        let arguments = ["--allocator", allocator, "--verify-llvm", "--no-fallback"];
        folder.chordal(&["compile", "p.bc", "-o", "p.s"]).args(arguments).assert().success();
        folder.run(Process::new("g++").args(["p.s", "-o", "p"]));
        folder.run(&mut Process::new(folder.path("p")));
    }
}

/// LLVM takes the result of a call in Swift's error register to be defined where the call throws, too. There, the register
/// still has its old value.
#[test]
fn landing_pads_read_the_error_that_was_there_before_the_call() {
    const CALLER: &str = "declare swiftcc void @callee(ptr swiftself, ptr swifterror)\ndeclare i32 @__gxx_personality_v0(...)\n\
        declare ptr @__cxa_begin_catch(ptr)\ndeclare void @__cxa_end_catch()\n\
        define ptr @caller(ptr %old, ptr %self) personality ptr @__gxx_personality_v0 {\nentry:\n  \
        %error = alloca swifterror ptr\n  store ptr %old, ptr %error\n  \
        invoke swiftcc void @callee(ptr swiftself null, ptr swifterror %error) to label %next unwind label %pad\nnext:\n  \
        invoke swiftcc void @callee(ptr swiftself %self, ptr swifterror %error) to label %out unwind label %pad\npad:\n  \
        %thrown = landingpad { ptr, i32 } catch ptr null\n  %object = extractvalue { ptr, i32 } %thrown, 0\n  \
        %caught = call ptr @__cxa_begin_catch(ptr %object)\n  call void @__cxa_end_catch()\n  br label %out\nout:\n  \
        %result = load ptr, ptr %error\n  ret ptr %result\n}\n";
    const PROGRAM: &str = "
        extern \"C\" char *caller(char *old, void *self);
        extern \"C\" __attribute__((swiftcall)) void callee(__attribute__((swift_context)) void *self,
                                                         __attribute__((swift_error_result)) char **error) {
            if (self)
                throw 1;
            ++*error;
        }
        int main() {
            char errors[3];
            return caller(errors, 0) != errors + 2 || caller(errors, errors) != errors + 1;
        }";
    let folder = Folder::new();
    folder.write("caller.ll", format!("target triple = \"x86_64-pc-linux-gnu\"\n{CALLER}"));
    folder.write("main.cpp", PROGRAM);
    for allocator in ["tuned", "spill-free", "ch-o3", "linear-scan", "out-of-ssa", "irc", "regalloc2"] {
        let arguments = ["--allocator", allocator, "--verify-llvm", "--no-fallback"];
        folder.chordal(&["compile", "caller.ll", "-o", "caller.s"]).args(arguments).assert().success();
        folder.run(Process::new("clang++-22").args(["-O1", "-no-pie", "main.cpp", "caller.s", "-o", "program"]));
        folder.run(&mut Process::new(folder.path("program")));
    }
}

/// A constant that a statepoint keeps is computed after its call, and is read even where the call has thrown.
#[test]
fn landing_pads_read_constants_that_statepoints_keep() {
    let folder = Folder::new();
    let function = "declare void @callee()\ndeclare i32 @__gxx_personality_v0(...)\n\
        declare token @llvm.experimental.gc.statepoint.p0(i64, i32, ptr, i32, i32, ...)\n\
        declare ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token, i32, i32)\n\
        define ptr addrspace(1) @kept() gc \"statepoint-example\" personality ptr @__gxx_personality_v0 {\nentry:\n  \
        %constant = inttoptr i64 15 to ptr addrspace(1)\n  %token = invoke token (i64, i32, ptr, i32, i32, ...) @llvm.experimental.gc.statepoint.p0(i64 0, i32 0, \
        ptr elementtype(void ()) @callee, i32 0, i32 0, i32 0, i32 0) \
        [\"gc-live\"(ptr addrspace(1) %constant)] to label %out unwind label %pad\nout:\n  \
        %a = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %token, i32 0, i32 0)\n  ret ptr addrspace(1) %a\npad:\n  \
        %thrown = landingpad token cleanup\n  \
        %b = call ptr addrspace(1) @llvm.experimental.gc.relocate.p1(token %thrown, i32 0, i32 0)\n  ret ptr addrspace(1) %b\n}\n";
    folder.write("kept.ll", format!("target triple = \"x86_64-pc-linux-gnu\"\n{function}"));
    folder.chordal(&["compile", "kept.ll", "-o", "kept.s", "--verify-llvm", "--no-fallback"]).assert().success();
    assert!(
        String::from_utf8_lossy(&folder.read("kept.s")).contains("movl\t$15, %eax"),
        "the constant is what the landing pad returns"
    );
}

/// More values are recorded than there are registers. Those in memory are recorded there, and nothing is loaded for it: the code in
/// front of the stack map reads the argument only.
#[test]
fn stack_maps_record_values_in_memory() {
    let folder = Folder::new();
    let of_each = |line: fn(usize) -> String| (0..20).map(line).collect::<String>();
    let loads = of_each(|k| format!("  %p{k} = getelementptr i64, ptr %p, i64 {k}\n  %v{k} = load volatile i64, ptr %p{k}\n"));
    let values = of_each(|k| format!(", i64 %v{k}"));
    let sums = of_each(|k| format!("  %s{} = xor i64 %s{k}, %v{k}\n", k + 1));
    let text = format!(
        "target triple = \"x86_64-pc-linux-gnu\"\ndeclare void @llvm.experimental.stackmap(i64, i32, ...)\n\
         declare i64 @llvm.experimental.patchpoint.i64(i64, i32, ptr, i32, ...)\n\
         define i64 @map(ptr %p) {{\n{loads}  call void (i64, i32, ...) @llvm.experimental.stackmap(i64 1, i32 0{values})\n\
         \x20 %s0 = add i64 0, 0\n{sums}  ret i64 %s20\n}}\n\
         define i64 @patch(ptr %p) {{\n{loads}  %s0 = call i64 (i64, i32, ptr, i32, ...) \
         @llvm.experimental.patchpoint.i64(i64 2, i32 15, ptr null, i32 0{values})\n{sums}  ret i64 %s20\n}}\n"
    );
    folder.write("maps.ll", text);
    for options in [
        "",
        "--registers 4",
        "--allocator spill-free",
        "--allocator linear-scan",
        "--allocator out-of-ssa",
        "--allocator regalloc2",
    ] {
        let arguments = ["compile", "maps.ll", "-o", "maps.s", "--verify-llvm", "--no-fallback"];
        let arguments: Vec<&str> = arguments.into_iter().chain(options.split_whitespace()).collect();
        folder.chordal(&arguments).assert().success().stderr("");
        let assembly = String::from_utf8(folder.read("maps.s")).expect("assembly is text");
        let (_, map) = assembly.split_once("\nmap:").expect("the function is there");
        let (until_map, _) = map.split_once(".Ltmp").expect("the map has a label");
        let is_reload = |line: &&str| line.contains("(%rbp), %") || line.contains("(%rsp), %");
        assert_eq!(until_map.lines().filter(is_reload).count(), 0, "{options}: {until_map}");
    }
}

/// Matrix tiles are allocated. On a processor without them the program prints so, whoever compiled it.
#[test]
fn matrix_tiles_are_allocated() {
    let folder = Folder::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/support/tiles.c");
    folder.run(Process::new("clang-22").args(["-O2", "-mamx-int8", source, "-emit-llvm", "-c", "-o", "tiles.bc"]));
    folder.run(Process::new("clang-22").args(["-O2", "tiles.bc", "-o", "program"]));
    let expected = folder.run(&mut Process::new(folder.path("program")));
    for options in ["", "--spill belady", "--allocator spill-free", "--allocator ch-o3", "--allocator irc"] {
        let arguments = ["compile", "tiles.bc", "-o", "tiles.s", "--verify-llvm", "--no-fallback"];
        folder.chordal(&arguments).args(options.split_whitespace()).assert().success();
        folder.run(Process::new("clang-22").args(["tiles.s", "-o", "program"]));
        assert_eq!(folder.run(&mut Process::new(folder.path("program"))), expected, "{options}");
    }
}

/// The instruction that makes a zero cannot write the registers of APX, although values of its class may be in them.
#[test]
fn zeroes_are_made_in_registers_that_their_instruction_can_write() {
    let folder = Folder::new();
    let function = "target triple = \"x86_64-pc-linux-gnu\"\n\
                    define preserve_mostcc i64 @f(i64 %a, i128 %unused, i128 %by) \"target-features\"=\"+egpr\" {\n  \
                    %shifted = shl i128 1, %by\n  %low = trunc i128 %shifted to i64\n  %r = or i64 %a, %low\n  ret i64 %r\n}\n";
    folder.write("apx.ll", function);
    folder.chordal(&["compile", "apx.ll", "-o", "out.s", "--verify-llvm", "--no-fallback"]).assert().success();
}

/// A constant of which one reader needs a byte, for which i386 has few registers, may be computed in another register for
/// another reader.
#[test]
fn constants_are_computed_in_registers_outside_of_their_classes() {
    let folder = Folder::new();
    let function = "target triple = \"i386-pc-linux-gnu\"\n\
                    define i32 @f() noinline optnone {\nentry:\n  %a = sub i8 0, 0\n  %b = trunc i64 0 to i32\n  br label %next\nnext:\n  \
                    %c = zext i8 %a to i64\n  %d = call i32 asm \"\", \"={ebx},{eax},{edi}\"(i32 0, i32 %b)\n  ret i32 %d\n}\n";
    folder.write("class.ll", function);
    for registers in ["all", "5"] {
        folder
            .chordal(&["compile", "class.ll", "-o", "out.s", "--verify-llvm", "--no-fallback", "--registers", registers])
            .assert()
            .success();
        let f = code_of(&String::from_utf8(folder.read("out.s")).unwrap(), "f");
        assert!(f.contains(&"xorl %edi, %edi".to_owned()), "{f:?}");
    }
}

/// Six values are in registers at once, although only four registers have a second byte, and that byte is read of all of
/// them.
#[test]
fn what_is_read_by_its_second_byte_may_be_anywhere_before() {
    let folder = Folder::new();
    let names = ["a", "b", "c", "d", "e", "f"];
    let of_each = |lines: &str| names.map(|name| lines.replace('V', name)).concat();
    let loads = of_each("  %V = load volatile i32, ptr %p\n");
    let stores = of_each("  store volatile i32 %V, ptr %p\n");
    let bytes =
        of_each("  %V1 = lshr i32 %V, 8\n  %V2 = and i32 %V1, 255\n  %V3 = add i32 %V2, 1\n  store volatile i32 %V3, ptr %p\n");
    folder.write("bytes.ll", format!("{IR}define void @f(ptr %p) {{\n{loads}{stores}{bytes}  ret void\n}}\n"));
    folder.chordal(&["compile", "bytes.ll", "-o", "out.s", "--verify-llvm", "--no-fallback"]).assert().success();
    let f = code_of(&String::from_utf8(folder.read("out.s")).unwrap(), "f");
    assert_eq!(f.iter().filter(|line| line.starts_with("movzbl")).count(), 6, "{f:?}");
    assert!(f.iter().all(|line| !line.contains("(%rsp)")), "{f:?}");
}

/// After the call, neither the argument that came on the stack nor the constant is in a register: readers access the memory
/// where each is.
#[test]
fn arguments_and_constants_are_read_where_they_are() {
    let folder = Folder::new();
    let functions = "declare void @look()\n\
                     define i64 @f(i64, i64, i64, i64, i64, i64, i64 %g) {\n  \
                     call void asm sideeffect \"\", \"r\"(i64 %g)\n  %s = add i64 %g, 1\n  call void @look()\n  \
                     %r = xor i64 %s, %g\n  ret i64 %r\n}\n\
                     define double @k(double %x) {\n  \
                     call void asm sideeffect \"\", \"x\"(double 1.5)\n  %a = fmul double %x, 1.5\n  call void @look()\n  \
                     %b = fsub double %a, 1.5\n  ret double %b\n}\n";
    folder.write("in_place.ll", IR.to_owned() + functions);
    for (option, reads) in [("all", true), ("spilled", false)] {
        let compile = ["compile", "in_place.ll", "-o", "out.s", "--verify-llvm", "--no-fallback", "--memory-operands", option];
        // Without `delay=off`, the sums would be computed after the call.
        folder.chordal(&compile).args(["--registers", "rax,rcx,rdx,rsi", "--set", "delay=off"]).assert().success();
        let text = String::from_utf8(folder.read("out.s")).unwrap();
        let does = |name: &str, what: &str| code_of(&text, name).iter().any(|line| line.starts_with(what));
        let found = (does("f", "xorq 16(%rsp)"), does("k", "subsd .LCPI"));
        assert_eq!(found, (reads, reads), "{text}");
    }
}

/// Reads in place are not accesses to spill slots, even if the instruction that loaded the value is gone.
#[test]
fn what_is_read_in_place_is_no_spill_access() {
    let folder = Folder::new();
    let function = "target triple = \"i386-pc-linux-gnu\"\n\
                    define i32 @f(ptr %p, ptr %q) {\n  %a = icmp ne ptr %p, null\n  %b = icmp ne ptr %q, null\n  \
                    %c = and i1 %a, %b\n  br i1 %c, label %yes, label %no\nyes:\n  %g = getelementptr i8, ptr %q, i32 12\n  \
                    %r = load i32, ptr %g\n  br label %no\nno:\n  %s = phi i32 [ %r, %yes ], [ 0, %0 ]\n  ret i32 %s\n}\n";
    folder.write("gone.ll", function);
    folder.chordal(&["compile", "gone.ll", "-o", "out.s", "--verify-llvm", "--stats", "out.json"]).assert().success();
    let f = code_of(&String::from_utf8(folder.read("out.s")).unwrap(), "f");
    assert!(f.contains(&"cmpl $0, 8(%esp)".to_owned()), "{f:?}");
    let total = &folder.json("out.json")["total"];
    assert_eq!((&total["spill"]["reloads"], &total["overhead_parts"]["reloads"]), (&0.into(), &0.0.into()));
}

/// An address computed from one value, as base, index or both, is recomputed where one register is left for two values.
#[test]
fn addresses_of_one_value_are_computed_again() {
    let folder = Folder::new();
    let clobbers = ["ax", "cx", "dx", "si", "di", "bp"].map(|reg| format!("~{{r{reg}}},")).concat();
    let numbered = (8..16).map(|number| format!("~{{r{number}}},")).collect::<String>();
    let function = |name: &str, factor: u32| {
        format!(
            "define i64 @{name}(i64 %v) {{\n  %m = mul i64 %v, {factor}\n  %a = add i64 %m, 24\n  \
             call void asm sideeffect \"\", \"r\"(i64 %a)\n  \
             call void asm sideeffect \"\", \"{clobbers}{numbered}~{{memory}}\"()\n  \
             call void asm sideeffect \"\", \"r\"(i64 %a)\n  ret i64 %v\n}}\n"
        )
    };
    folder.write("again.ll", format!("{IR}{}{}", function("both", 2), function("index", 4)));
    folder.chordal(&["compile", "again.ll", "-o", "out.s", "--verify-llvm", "--no-fallback"]).assert().success();
    let assembly = String::from_utf8(folder.read("out.s")).unwrap();
    for (name, address) in [("both", "leaq 24(%rbx,%rbx)"), ("index", "leaq 24(,%rbx,4)")] {
        let code = code_of(&assembly, name);
        assert!(code.iter().any(|line| line.starts_with(address)), "{code:?}");
        assert!(code.iter().all(|line| !line.contains("(%rsp)")), "{code:?}");
    }
}

/// A zero that selected code computes by two instructions is a constant for chordal; memory gets it without a register.
#[test]
fn zeroes_of_all_widths_are_constants() {
    let folder = Folder::new();
    let functions = "declare void @wide(i64, ptr)\ndeclare i8 @narrow(i8)\n\
                     define void @call() {\n  call void @wide(i64 0, ptr null)\n  call void @wide(i64 0, ptr null)\n  ret void\n}\n\
                     define i64 @kept(i64 %n, ptr %p) {\nentry:\n  %c = icmp eq ptr %p, null\n  \
                     br i1 %c, label %out, label %in\nin:\n  %v = load i64, ptr %p\n  br label %out\nout:\n  \
                     %r = phi i64 [0, %entry], [%v, %in]\n  \
                     call void asm sideeffect \"\", \"~{rax},~{rcx},~{rdx},~{rbx},~{rsi},~{rdi},~{rbp},~{r8},~{r9},~{r10},~{r11},~{r12},~{r13},~{r14},~{r15}\"()\n  \
                     ret i64 %r\n}\n";
    folder.write("zeroes.ll", format!("{IR}{functions}"));
    folder.chordal(&["compile", "zeroes.ll", "-o", "out.s", "--verify-llvm", "--no-fallback"]).assert().success();
    let assembly = String::from_utf8(folder.read("out.s")).unwrap();
    let call = code_of(&assembly, "call");
    assert_eq!(call.iter().filter(|line| line.starts_with("xorl %e")).count(), 4, "{call:?}");
    assert!(call.iter().all(|line| !line.starts_with("mov")), "{call:?}");
    let kept = code_of(&assembly, "kept");
    assert!(kept.iter().any(|line| line.starts_with("movq $0, ")), "{kept:?}");
    assert!(kept.iter().all(|line| !line.starts_with("xor")), "{kept:?}");
}

#[test]
fn bad_inputs() {
    let folder = Folder::with_program(&[]);
    fs::create_dir(folder.path("folder")).unwrap();
    folder.write("empty.bc", "");
    folder.write("zeroes", [0; 100]);
    folder.write("syntax.ll", "define i32 @f() {\n  ret i33 %\n}\n");
    folder.write(
        "broken.ll",
        format!("{IR}declare void @g() personality i32 0\ndefine void @h() {{\n  call i32 @g()\n  ret void\n}}\n"),
    );
    folder.write("arm.ll", IR.replace("x86_64", "aarch64"));
    folder.write("windows.ll", IR.replace("linux-gnu", "windows-msvc"));
    folder.write("no-triple.ll", "define void @f() {\n  ret void\n}\n");
    let bitcode = folder.read("p.bc");
    folder.write("truncated.bc", &bitcode[..bitcode.len() / 2]);
    folder.assert_refused("missing.bc", "no such file");
    folder.assert_refused("folder", "is a directory");
    folder.assert_refused("empty.bc", "is empty");
    folder.assert_refused("zeroes", "neither LLVM bitcode nor textual LLVM IR");
    folder.assert_refused("syntax.ll", "invalid IR: line 2, column 11: expected");
    folder.assert_refused("broken.ll", "broken module: ");
    folder.assert_refused("arm.ll", "the target `aarch64-pc-linux-gnu` is not supported");
    folder.assert_refused("windows.ll", "the target `x86_64-pc-windows-msvc` is not supported");
    folder.assert_refused("no-triple.ll", "names no target triple");
    folder.assert_refused("truncated.bc", "invalid bitcode: ");
}

/// LLVM's reader is not hardened; whatever it does, there is one message and no output.
#[test]
fn corrupted_bitcode_never_crashes() {
    let folder = Folder::with_program(&[]);
    let bitcode = folder.read("p.bc");
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    for _ in 0..60 {
        let mut bytes = bitcode.clone();
        if random(3) == 0 {
            bytes.truncate(random(bytes.len() - 1) + 1);
        } else {
            for _ in 0..=random(4) {
                let at = random(bytes.len());
                bytes[at] ^= 1 << random(8);
            }
        }
        folder.write("bad.bc", &bytes);
        let output = folder.chordal(&["compile", "bad.bc", "-o", "out.s"]).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            // The change may not matter; or it may be in a name that LLVM remarks upon.
            Some(0) => fs::remove_file(folder.path("out.s")).unwrap(),
            Some(1) => {
                assert!(message.starts_with("chordal: error: bad.bc: ") && message.trim_end().lines().count() == 1, "{message}");
                assert!(!folder.path("out.s").exists());
            }
            status => panic!("{status:?}: {message}"),
        }
    }
}

/// A crash in LLVM's reader is reported as LLVM's, by every command that reads modules.
#[test]
fn a_crash_of_llvms_reader_is_told_as_such() {
    const DEPTH: usize = 3_000_000;
    let folder = Folder::new();
    folder.write("deep.ll", format!("@x = external global {}i8{}\n", "[1 x ".repeat(DEPTH), "]".repeat(DEPTH)));
    folder.assert_refused("deep.ll", "deep.ll: LLVM's reader crashed (segmentation fault): the file is damaged");
    let paper = folder.chordal(&["paper", "join-sets", "deep.ll"]).assert();
    assert_fails(paper, "chordal: error: deep.ll: LLVM's reader crashed", "");
}

#[test]
fn unwritable_outputs() {
    let folder = Folder::with_program(&[]);
    fs::create_dir(folder.path("folder")).unwrap();
    let before = folder.files();
    let compile = |output: &str, stats: &str| folder.chordal(&["compile", "p.bc", "-o", output, "--stats", stats]).assert();
    assert_fails(compile("folder", "out.json"), "chordal: error: folder: cannot be written: ", "directory");
    assert_fails(compile("nowhere/out.s", "out.json"), "chordal: error: nowhere/out.s: cannot be written: ", "No such file");
    assert_fails(compile("out.s", "nowhere/out.json"), "chordal: error: nowhere/out.json: cannot be written: ", "No such file");
    assert_fails(compile("/dev/full", "out.json"), "chordal: error: /dev/full: cannot be written: ", "No space");
    assert_eq!(folder.files(), before);
}

#[test]
fn failed_work_keeps_the_old_output() {
    let folder = Folder::new();
    folder.write("bad.bc", "");
    folder.write("bad.s", "precious");
    folder.chordal(&["compile", "bad.bc"]).assert().code(1);
    assert_eq!(folder.read("bad.s"), b"precious");
}

#[test]
fn functions_that_cannot_be_allocated() {
    let folder = Folder::with_crowded_program(&["-g"]);
    for allocator in ["spill-free", "llvm-greedy", "llvm-basic", "llvm-pbqp"] {
        let compile = ["compile", "p.bc", "-o", "out.s", "--registers", "4", "--stats", "out.json"];
        let compile = || folder.chordal(&[&compile[..], &["--verify-llvm", "--allocator", allocator]].concat());
        let warning = "chordal: warning: p.bc: function crowded: left to LLVM's greedy allocator: ";
        compile().assert().success().stderr(predicate::str::starts_with(warning));
        assert_eq!(folder.link_and_run("out.s", &[]), PROGRAM_PRINTS, "{allocator}");
        for function in folder.json("out.json")["functions"].as_array().unwrap() {
            assert_eq!(function["fallback"].is_string(), function["name"] == "crowded", "{allocator}: {function}");
        }
        for file in ["out.s", "out.json"] {
            fs::remove_file(folder.path(file)).unwrap();
        }
        let assert = compile().arg("--no-fallback").assert();
        assert_fails(assert, "chordal: error: p.bc: function crowded: ", "registers");
        assert!(!folder.path("out.s").exists() && !folder.path("out.json").exists());
    }
}

/// An instruction that takes none of the listed registers may use the others that it takes: for example, the callee of a
/// tail call cannot be in a register that the callee saves.
#[test]
fn lists_without_a_register_for_an_instruction() {
    let folder = Folder::with_program(&[]);
    let compile = ["compile", "p.bc", "--registers", "rbx,rbp,r12,r13", "--verify-llvm", "--no-fallback"];
    folder.chordal(&compile).assert().success().stderr("");
    assert_eq!(folder.link_and_run("p.s", &[]), PROGRAM_PRINTS);
}

/// Falls back if the operand of such an instruction comes from a listed register and no class has both that and the others.
#[test]
fn what_no_class_moves_falls_back() {
    let folder = Folder::new();
    let program = "typedef long (*F)(long);\n\
        static long half(long n) { return n / 2; }\nstatic long twice(long n) { return n * 2; }\n\
        F functions[] = {half, twice};\n\
        __attribute__((noinline)) long last(long n) {\n\
            F f = half;\n\
            for (int i = 0; i < 5; i++) f = f(n) > 4 ? functions[i & 1] : half;\n\
            return f(n);\n\
        }\n\
        int printf(const char *, ...);\nint main(void) { printf(\"%ld\\n\", last(10)); }\n";
    folder.write("p.c", program);
    folder.run(Process::new("clang-22").args(["-O2", "-emit-llvm", "-c", "p.c", "-o", "p.bc"]));
    for allocator in ["tuned", "spill-free", "irc"] {
        let compile = ["compile", "p.bc", "-o", "out.s", "--registers", "rbx,rbp,r12,r13", "--allocator", allocator];
        let warning = "function last: left to LLVM's greedy allocator: no class moves what ";
        folder.chordal(&compile).assert().success().stderr(contains(warning));
        assert_eq!(folder.link_and_run("out.s", &[]), "5\n", "{allocator}");
    }
}

/// Functions with an argument base pointer can fall back, although frame lowering looks for its definition in the function
/// that was emptied.
#[test]
fn functions_with_an_argument_base_pointer_fall_back() {
    for (arch, base, limit, wanted) in [("-m64", "b", "12", 11), ("-m32", "S", "5", 5)] {
        let folder = Folder::new();
        let outputs: Vec<String> = (0..wanted).map(|k| format!("\"=&r\"(r[{k}])")).collect();
        folder.write("p.c", ARGUMENT_BASE.replace("OUTPUTS", &outputs.join(", ")).replace("BASE", base));
        folder.run(Process::new("clang-22").args(["-O2", arch, "-emit-llvm", "-c", "p.c", "-o", "p.bc"]));
        for allocator in ["spill-free", "linear-scan", "irc", "regalloc2", "regalloc2-fast", "llvm-greedy", "llvm-basic"] {
            let compile = ["compile", "p.bc", "-o", "out.s", "--registers", limit, "--verify-llvm", "--allocator", allocator];
            let warning = "function crowded: left to LLVM's greedy allocator: ";
            folder.chordal(&compile).assert().success().stderr(contains(warning));
            assert_eq!(folder.link_and_run("out.s", &[arch]), "64 9\n", "{allocator}");
        }
    }
}

#[test]
fn all_registers_are_no_restriction() {
    let folder = Folder::with_program(&[]);
    for allocator in ["spill-free", "llvm-greedy", "llvm-fast"] {
        let compile = ["compile", "p.bc", "-o", "-", "--allocator", allocator];
        let without = folder.chordal(&compile).output().expect("it ran").stdout;
        let all = folder.chordal(&[&compile[..], &["--registers", "all"]].concat()).assert().success();
        assert_eq!(all.get_output().stdout, without, "{allocator}");
    }
    folder.chordal(&["compile", "p.bc", "--registers", "all", "--stats", "p.json"]).assert().success();
    assert!(folder.json("p.json")["registers"].is_null());
}

/// A way of eliminating φs that moves memory to memory implies that slots are not shared.
#[test]
fn elimination_decides_whether_slots_are_shared() {
    let folder = Folder::with_program(&[]);
    for how in ["spare-register", "on-demand", "brisk"] {
        let compile = ["compile", "p.bc", "--phi-memory", &format!("eliminate={how}"), "--stats", "p.json"];
        folder.chordal(&compile).assert().success();
        let options = &folder.json("p.json")["options"];
        assert_eq!((&options["frugal"], &options["spill"]), (&false.into(), &"weight".into()), "{how}");
        let unshared = [&compile[..], &["--phi-memory", "store-hoist=on"]].concat();
        assert_usage(&mut folder.chordal(&unshared), "it is for allocators that spill values for all their lives");
    }
}

/// The function that a bug in chordal leaves in a file can be allocated alone.
#[test]
fn functions_in_text_form() {
    let folder = Folder::new();
    let text = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/functions/fold_to_fit.txt");
    let allocate = ["allocate", text, "--allocator"];
    let allocate = |allocator: &[&str]| folder.chordal(&[&allocate[..], allocator].concat());
    allocate(&["spill-free"]).assert().success().stdout(contains("allocated, and the checker accepts it"));
    assert_fails(
        allocate(&["spill-free", "--memory-operands", "none"]).assert(),
        "chordal: error: ",
        "needs more registers than there are",
    );
    assert_usage(&mut allocate(&["llvm-greedy"]), "llvm-greedy allocates in LLVM only");
    assert_usage(&mut allocate(&["linear-scan", "--pins", "repair"]), "--pins has no effect on linear-scan");
    folder.write("bad.txt", "target tiny\nfunction f\nb0:\n  v0:w = no such thing\n");
    assert_fails(folder.chordal(&["allocate", "bad.txt"]).assert(), "chordal: error: bad.txt: ", "line 4");
    folder.write("twice.txt", "target tiny\nfunction f\nb0:\n  v0:w = op\n  v0:w = op\n");
    assert_fails(folder.chordal(&["allocate", "twice.txt"]).assert(), "chordal: error: twice.txt: ", "second definition");
    // Import leaves no unreachable block, and every phase relies on that.
    folder.write("unreachable.txt", "target tiny\nfunction f\nb0:\n  op terminator\nb1:\n  op terminator\n");
    let start = "chordal: error: unreachable.txt: b1: ";
    assert_fails(folder.chordal(&["allocate", "unreachable.txt"]).assert(), start, "no way leads there from the entry");
    assert_fails(folder.chordal(&["allocate", "none.txt"]).assert(), "chordal: error: none.txt: ", "no such file");
}

#[test]
fn registers_are_respected() {
    let folder = Folder::with_program(&[]);
    folder.chordal(&["compile", "p.bc", "--registers", "4", "--stats", "p.json", "--verify-llvm"]).assert().success();
    assert_eq!(folder.json("p.json")["registers"], serde_json::json!(["rax", "rcx", "rbx", "rbp"]));
    let text = String::from_utf8(folder.read("p.s")).unwrap();
    for register in ["%r8", "%r9", "%r10", "%r11", "%r12", "%r13", "%r14", "%r15"] {
        assert!(!text.contains(register), "{register} is used");
    }
    assert_eq!(folder.link_and_run("p.s", &[]), PROGRAM_PRINTS);
}

#[test]
fn wrong_usage() {
    let folder = Folder::with_program(&[]);
    let with = |option: &str, value: &str, text: &str| {
        assert_usage(&mut folder.chordal(&["compile", "p.bc", option, value]), text);
    };
    with("--allocator", "spil-free", "the nearest is `spill-free`");
    with("--allocator", "greedy", "the nearest is `llvm-greedy`");
    with("--registers", "5", "there is no published list of 5 registers for x86-64, only of 4, 6, 8, 12, 15");
    with("--registers", "rax,rbx,rcx,eax", "x86-64 has no general-purpose register `eax`");
    with("--registers", "rax,rbx,rcx", "x86-64 code needs at least 4 registers, not 3");
    with("--registers", "r8,r9,r10,r11", "at least one of rax rbx rcx rdx is needed");
    with("--emit", "elf", "[possible values: asm, obj]");
    with("--swap", "mov", "[possible values: auto, xchg, xor]");
    let strategies = strategies::ALL.map(|strategy| strategy.name).join(", ");
    with("--spill", "none", &format!("[possible values: {strategies}]"));
    if !chordal::allocate::HAS_SOLVER {
        with("--spill", "optimal", "built without a solver for integer programs; `make optimal` builds one");
        with("--coalesce", "optimal", "built without a solver");
        with("--allocator", "optimal", "built without a solver");
        let paper = folder.chordal(&["paper", "optimality", "./p.bc"]);
        assert_usage(&mut { paper }, "built without a solver");
    }
    with("--frobnicate", "1", "--frobnicate");
    assert_usage(&mut folder.chordal(&["compile"]), "<IN>");
    let allocator = |name: &str, option: &str, value: &str, text: &str| {
        assert_usage(&mut folder.chordal(&["compile", "p.bc", "--allocator", name, option, value]), text);
    };
    allocator("llvm-greedy", "--prepare", "none", "--prepare is for chordal's own allocators, not for llvm-greedy");
    allocator(
        "regalloc2",
        "--phi-memory",
        "eliminate=on-demand",
        "--phi-memory is for chordal's own allocators, not for regalloc2",
    );
    allocator("llvm-fast", "--registers", "4", "llvm-fast cannot be held to registers");
    allocator("llvm-fast", "--llvm-schedule", "on", "--llvm-schedule is not for LLVM's fast allocator");
    allocator("ch-o1", "--llvm-schedule", "off", "--llvm-schedule is for LLVM's allocators, not for ch-o1");
    assert_eq!(folder.files(), ["p.bc", "p.c"]);
}

/// An option that an allocator does not read is refused, and it is said why.
#[test]
fn options_without_effect_are_refused() {
    let folder = Folder::with_program(&[]);
    let refused = |options: &str, text: &str| {
        let arguments = ["compile", "p.bc", "--allocator"].into_iter().chain(options.split(' '));
        assert_usage(&mut folder.chordal(&arguments.collect::<Vec<_>>()), text);
    };
    let whole = "it is for allocators that spill values for all their lives";
    refused("tuned --phi-memory store-hoist=off", &format!("--phi-memory store-hoist has no effect on tuned: {whole}"));
    refused("tuned --set load-lower=on", &format!("--set load-lower has no effect on tuned: {whole}"));
    refused("tuned --effort 0 --spill weight", "--effort has no effect on tuned: it is for allocators that spill by prices");
    refused(
        "tuned --solver-seconds 1",
        "--solver-seconds has no effect on tuned: it is for allocators that solve integer programs",
    );
    refused(
        "spill-free --memory-operands all",
        "--memory-operands all turns on read-in-place, which has no effect on spill-free",
    );
    for option in ["--spill min", "--splits none", "--pins repair", "--coalesce none", "--cssa value", "--swap xor"] {
        refused(&format!("linear-scan {option}"), "no effect on linear-scan: it is for SSA-based allocators");
    }
    refused("irc --phi-memory eliminate=spill-free", "--phi-memory eliminate has no effect on irc");
    refused("linear-scan --out-of-ssa merge=weight", "--out-of-ssa merge has no effect on linear-scan: it is for out-of-ssa");
    refused(
        "tuned --spill min --phi-memory eliminate=on-demand",
        "`--spill min` needs slots that phis share, which `--phi-memory eliminate=on-demand` does without",
    );
    assert_eq!(folder.files(), ["p.bc", "p.c"]);
}

/// Options of earlier versions are refused with the name of what there is now.
#[test]
fn old_options_are_told_their_new_names() {
    let folder = Folder::with_program(&[]);
    let refused = |option: &str, value: &str, text: &str| {
        assert_usage(&mut folder.chordal(&["compile", "p.bc", option, value]), text);
    };
    refused("--forms", "off", "`--forms` is now part of `--prepare none|copies|all`; by itself, it is `--set forms=on|off`");
    refused("--load-lower", "on", "`--load-lower` is now `--phi-memory load-lower=off|on|weighted`");
    refused("--after", "irc", "`--after` is now `--out-of-ssa after=linear-scan|graph-colouring`");
    refused("--virtualize", "off", "`--virtualize` is now `--out-of-ssa virtualise=on|off`");
    refused("--frugal", "off", "`--frugal` is gone: whether slots are shared follows from `--phi-memory eliminate=HOW`");
    refused("--weigh-size", "off", "`--weigh-size` is no longer an option; for experiments, there is `--set weigh-size=on|off`");
    let compared = ["compare", "p.bc", "--allocators", "tuned --park off"];
    assert_usage(&mut folder.chordal(&compared), "`--park` is now part of `--prepare none|copies|all`");
}

/// Keys and values that there are not are told which there are; American spellings are understood.
#[test]
fn keys_and_values() {
    let folder = Folder::with_program(&[]);
    let refused = |option: &str, value: &str, text: &str| {
        assert_usage(&mut folder.chordal(&["compile", "p.bc", option, value]), text);
    };
    refused("--phi-memory", "hoist=on", "there is no `hoist`, only eliminate, store-hoist, load-lower, memory-coalesce");
    refused("--phi-memory", "eliminate", "NAME=VALUE is needed");
    refused("--phi-memory", "load-lower=always", "`load-lower` takes off|on|weighted, not `always`");
    refused("--out-of-ssa", "after=tuned", "`after` takes linear-scan|graph-colouring, not `tuned`");
    refused("--set", "foo=on", "there is no `foo`, only spill, effort, solver-seconds");
    refused("--set", "solver-seconds=0", "`solver-seconds` takes SECONDS, not `0`");
    let options = |arguments: &[&str]| {
        folder.chordal(&["compile", "p.bc", "--stats", "p.json"]).args(arguments).assert().success();
        folder.json("p.json")["options"].clone()
    };
    assert_eq!(options(&["--coalesce", "recolor"])["coalesce"], "recolour");
    let destruction = ["--allocator", "out-of-ssa", "--out-of-ssa", "after=graph-coloring,virtualize=off"];
    let destruction = options(&destruction);
    assert_eq!((&destruction["after"], &destruction["virtualize"]), (&"graph-colouring".into(), &false.into()));
    // What is said of one switch goes before what is said of several.
    let finer = options(&["--set", "forms=on", "--prepare", "none"]);
    assert_eq!((&finer["forms"], &finer["sink"]), (&true.into(), &false.into()));
}

#[test]
fn help_teaches() {
    let mentions = |text: &'static str| contains(text);
    chordal().arg("--help").assert().success().stdout(mentions("compile")).stdout(mentions("Exit status")).stderr("");
    let help = chordal().args(["compile", "--help"]).assert().success();
    help.stdout(mentions("--allocator"))
        .stdout(mentions("Examples:"))
        .stdout(mentions("Exit status"))
        .stdout(mentions("llvm-greedy"));
    chordal().arg("--version").assert().success().stdout(contains(env!("CARGO_PKG_VERSION")));
    chordal().assert().code(2);
}

#[test]
fn list_shows_what_there_is() {
    let list = chordal().arg("list").assert().success();
    list.stdout(contains("spill-free"))
        .stdout(contains("phases:  regalloc2, check\n"))
        .stdout(contains("options: --spill weight --rematerialise off"))
        .stdout(contains("\n                 --spill priced --effort 1 --rematerialise on"))
        .stdout(contains("llvm-greedy"))
        .stdout(contains("4  rax rcx rbx rbp\n"))
        .stdout(contains("5  eax ecx edx ebx esi\n"));
}

/// Statistics name all options: those that were given, and the allocator's own choice for the rest.
#[test]
fn statistics_name_the_options() {
    let folder = Folder::with_program(&[]);
    let given = ["--spill", "everywhere", "--phi-memory", "eliminate=on-demand,load-lower=weighted", "--pins", "avoid"];
    folder.chordal(&["compile", "p.bc", "--stats", "p.json"]).args(given).assert().success();
    let options = &folder.json("p.json")["options"];
    let expected =
        [("spill", "everywhere"), ("eliminate", "on-demand"), ("load_lower", "weighted"), ("pins", "avoid"), ("swap", "auto")];
    for (name, value) in expected {
        assert_eq!(options[name], value, "{name}");
    }
    assert_eq!((&options["frugal"], &options["store_hoist"]), (&false.into(), &true.into()));
    for (allocator, given, scheduled) in [
        ("llvm-greedy", &[][..], true),
        ("llvm-pbqp", &["--llvm-schedule", "off"], false),
        ("llvm-basic", &["--llvm-schedule", "on"], true),
        ("llvm-fast", &[], false),
    ] {
        folder.chordal(&["compile", "p.bc", "--stats", "p.json", "--allocator", allocator]).args(given).assert().success();
        assert_eq!(folder.json("p.json")["options"], serde_json::json!({ "llvm_schedule": scheduled }), "{allocator}");
    }
}

/// regalloc2 goes through the same checker and counting; only two of its phases are timed.
#[test]
fn statistics_of_regalloc2() {
    let folder = Folder::with_program(&[]);
    for allocator in ["regalloc2", "regalloc2-fast"] {
        let arguments = ["compile", "p.bc", "--stats", "p.json", "--allocator", allocator, "--registers", "4"];
        folder.chordal(&arguments).assert().success();
        let stats = folder.json("p.json");
        assert!(stats["options"].is_null() && stats["total"]["spill"]["values"].as_u64() > Some(0));
        let phases = &stats["total"]["time_ns"];
        assert!(["regalloc2", "check", "apply"].iter().all(|phase| phases[phase].as_u64() > Some(0)), "{phases}");
        folder.chordal(&[&arguments[..], &["--no-check"]].concat()).assert().success();
        assert!(folder.json("p.json")["total"]["time_ns"]["check"].is_null());
    }
}

/// Virtual copies and liveness checks change nothing but time and memory; notions of interference change how many copies
/// remain.
#[test]
fn statistics_of_ssa_destruction() {
    let folder = Folder::with_program(&[]);
    let counted = |options: &[&str]| {
        let arguments = ["compile", "p.bc", "--stats", "p.json", "--allocator", "out-of-ssa"];
        folder.chordal(&[&arguments[..], options].concat()).assert().success();
        folder.json("p.json")
    };
    let left = |json: &serde_json::Value| {
        let counts = &json["total"]["destruction"];
        ["isolating", "isolating_left", "ties", "ties_left", "tests"].map(|field| counts[field].as_u64().expect("a count"))
    };
    let refined = counted(&[]);
    assert_eq!(refined["options"]["interference"], "value");
    assert_eq!(refined["options"]["after"], "linear-scan");
    let same = counted(&["--out-of-ssa", "virtualise=off,liveness=sets,after=graph-colouring"]);
    assert_eq!(left(&refined), left(&same));
    let bytes = |json: &serde_json::Value| json["total"]["destruction"]["bytes"].as_u64().expect("a size");
    assert!(bytes(&refined) < bytes(&same), "inserted copies and sets take memory");
    let coarse = counted(&["--out-of-ssa", "interference=intersection"]);
    let [isolating, isolating_left, ..] = left(&coarse);
    assert!(left(&refined)[1] < isolating_left && isolating_left < isolating, "{isolating_left} of {isolating} copies are left");
    assert!(refined["total"]["time_ns"]["destruct"].as_u64().expect("a time") > 0);
}

/// If φ-related values share only slots, the way of taking back copies that isolate φs decides how many remain.
#[test]
fn copies_of_phi_isolation_are_taken_back_in_several_ways() {
    let folder = Folder::with_program(&[]);
    let arguments = ["compile", "p.bc", "--stats", "p.json", "--cssa"];
    let left = ["none", "phi-mem", "pairwise", "value"].map(|how| {
        folder.chordal(&[&arguments[..], &[how, "--allocator", "spill-free"]].concat()).assert().success();
        let json = folder.json("p.json");
        assert_eq!(json["options"]["cssa"], how);
        json["total"]["conversion"]["copies_after"].as_u64().expect("a count")
    });
    assert!(left[1..].iter().all(|&copies| copies < left[0]), "{left:?}");
    for allocator in ["linear-scan", "irc", "out-of-ssa"] {
        let refused = folder.chordal(&[&arguments[..], &["value", "--allocator", allocator]].concat()).assert().failure();
        refused.stderr(contains("--cssa has no effect on")).stderr(contains("it is for SSA-based allocators"));
    }
}

/// The numbers that the papers' tables need are counted, and differ between the allocators as expected.
#[test]
fn statistics_of_the_papers() {
    let folder = Folder::with_program(&[]);
    let mut totals = Vec::new();
    for allocator in ["ch-o1", "ch-o3"] {
        folder.chordal(&["compile", "p.bc", "--stats", "p.json", "--allocator", allocator]).assert().success();
        totals.push(folder.json("p.json")["total"].clone());
    }
    let count = |which: usize, group: &str, field: &str| totals[which][group][field].as_u64().expect("a count");
    for which in 0..2 {
        assert!(count(which, "graphs", "value_register") > 0 && count(which, "graphs", "interference") > 0);
        assert!(count(which, "elimination", "fixed_points") <= count(which, "elimination", "edges"));
        assert_eq!(count(which, "elimination", "spills"), 0);
    }
    assert!(count(0, "conversion", "copies_before") > 0, "the program has phis");
    assert_eq!(count(0, "conversion", "copies_after"), count(0, "conversion", "copies_before"));
    assert!(count(1, "conversion", "copies_after") < count(1, "conversion", "copies_before"));
    assert!(count(1, "conversion", "classes_after") <= count(1, "conversion", "classes_before"));
    assert!(folder.json("p.json")["compilation_ns"].as_u64().expect("a time") > 0);
}

/// Statistics agree with the structs of the schema: reading them back loses nothing.
#[test]
fn statistics_round_trip() {
    let folder = Folder::with_program(&[]);
    for allocator in ["spill-free", "llvm-basic"] {
        folder.chordal(&["compile", "p.bc", "--stats", "p.json", "--allocator", allocator]).assert().success();
        let text = read_text(&folder.path("p.json"));
        let statistics: chordal::measure::stats::Statistics = serde_json::from_str(&text).expect("the schema");
        assert_eq!(serde_json::to_string_pretty(&statistics).unwrap() + "\n", text);
    }
}

fn read_text(path: &Path) -> String {
    fs::read_to_string(path).expect("a text file")
}
