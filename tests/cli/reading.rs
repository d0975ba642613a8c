//! Reading modules that say little about themselves, or something odd.

use super::folder::{Folder, assert_fails};
use predicates::prelude::*;
use predicates::str::{contains, starts_with};
use std::process::Command as Process;

const TRIPLE: &str = "target triple = \"x86_64-unknown-linux-gnu\"\n";

/// The instruction needs an i128 at a multiple of sixteen bytes; without the target's layout, LLVM would align it to eight.
const WIDE: &str = "
@said = constant [3 x i8] c\"ok\\00\"
declare i32 @puts(ptr)
define i32 @main() {
  %flag = alloca i8
  %wide = alloca i128
  call void @exchange(ptr %flag, ptr %wide)
  %n = call i32 @puts(ptr @said)
  ret i32 0
}
define void @exchange(ptr %flag, ptr %p) noinline \"target-features\"=\"+cx16\" {
  store i8 0, ptr %flag
  %old = cmpxchg ptr %p, i128 0, i128 1 seq_cst seq_cst
  ret void
}
";

/// The layout is the target's, whether the module states none or another.
#[test]
fn the_layout_is_the_targets() {
    let folder = Folder::new();
    folder.write("none.ll", format!("{TRIPLE}{WIDE}"));
    folder.write("other.ll", format!("target datalayout = \"e-i64:64-i128:64\"\n{TRIPLE}{WIDE}"));
    for module in ["none.ll", "other.ll"] {
        folder.chordal(&["compile", module, "-o", "out.s", "--verify-llvm"]).assert().success().stderr("");
        assert_eq!(folder.link_and_run("out.s", &[]), "ok\n", "{module}");
    }
}

/// Code that does not say where it will be loaded can be anywhere, as the system's linker expects.
#[test]
fn code_is_position_independent_unless_something_says_otherwise() {
    let folder = Folder::new();
    let functions = "@number = dso_local global i32 5\ndefine dso_local ptr @address() noinline {\n  ret ptr @number\n}\n\
                     define i32 @main() {\n  %p = call ptr @address()\n  %n = load i32, ptr %p\n  \
                     %r = sub i32 %n, 5\n  ret i32 %r\n}\n";
    folder.write("silent.ll", format!("{TRIPLE}{functions}"));
    let flag = |name: &str, value: u32| format!("!llvm.module.flags = !{{!0}}\n!0 = !{{i32 1, !\"{name}\", i32 {value}}}\n");
    folder.write("not.ll", format!("{TRIPLE}{functions}{}", flag("PIC Level", 0)));
    folder.write("kernel.ll", format!("{TRIPLE}{functions}{}", flag("Code Model", 2)));
    let is_static = |arguments: &[&str]| {
        folder.chordal(&[&["compile", "-o", "out.s"], arguments].concat()).assert().success().stderr("");
        String::from_utf8(folder.read("out.s")).expect("assembly is text").contains("$number")
    };
    assert!(!is_static(&["silent.ll"]));
    folder.run(Process::new("clang-22").args(["-pie", "out.s", "-o", "p"]));
    folder.run(&mut Process::new(folder.path("p")));
    assert!(is_static(&["silent.ll", "--relocation-model", "static"]));
    assert!(is_static(&["not.ll"]));
    assert!(!is_static(&["not.ll", "--relocation-model", "pic"]));
    assert!(is_static(&["kernel.ll"]));
    let compared = |model: &str| {
        let options = ["--allocators", "tuned", "--format", "json", "--relocation-model", model];
        let assert = folder.chordal(&[&["compare", "silent.ll"][..], &options].concat()).assert().success();
        let json: serde_json::Value = serde_json::from_slice(&assert.get_output().stdout).expect("JSON");
        json["summary"]["groups"][0]["modules"][0]["sums"][0]["static"]["bytes"].as_u64().expect("a size")
    };
    assert!(compared("static") < compared("pic"), "an address that is known takes fewer bytes than one that is computed");
}

/// `chordal cc` passes on what bitcode cannot express.
#[test]
fn cc_hands_on_that_code_need_not_be_position_independent() {
    let folder = Folder::new();
    folder.write("p.c", "static int number; int *f(void) { return &number; }\n");
    for (flag, is_independent) in [("-fno-pic", false), ("-fPIC", true)] {
        folder.chordal(&["cc", "-O2", "-S", flag, "p.c", "-o", "p.s"]).assert().success().stderr("");
        assert_eq!(String::from_utf8(folder.read("p.s")).expect("text").contains("rip"), is_independent, "{flag}");
    }
}

/// As with LLVM's tools, there is a warning, and code without the debug information.
#[test]
fn invalid_debug_information_is_ignored() {
    let folder = Folder::new();
    let unit = "!1 = distinct !DICompileUnit(language: DW_LANG_C99, file: !2, producer: \"by hand\", emissionKind: FullDebug)\n\
                !2 = !DIFile(filename: \"twice.c\", directory: \"/\")\n!3 = !DISubroutineType(types: !{})\n\
                !4 = distinct !DISubprogram(name: \"twice\", file: !2, line: 1, type: !3, spFlags: DISPFlagDefinition, unit: !1)\n\
                !7 = !DILocation(line: 1, scope: !4)\n";
    let module = |version: u32| {
        format!(
            "{TRIPLE}define i32 @twice(i32 %n) !dbg !4 {{\n  %r = shl i32 %n, 1, !dbg !7\n  ret i32 %r, !dbg !7\n}}\n\
             !llvm.module.flags = !{{!0}}\n!0 = !{{i32 2, !\"Debug Info Version\", i32 {version}}}\n{unit}"
        )
    };
    folder.write("unlisted.ll", module(3));
    folder.write("older.ll", module(1) + "!llvm.dbg.cu = !{!1}\n");
    folder.write("valid.ll", module(3) + "!llvm.dbg.cu = !{!1}\n");
    let expected = [
        ("unlisted.ll", "debug information is ignored: DICompileUnit not listed in llvm.dbg.cu"),
        ("older.ll", "debug information is ignored: its version is 1, not 3"),
    ];
    for (name, reason) in expected {
        let assert = folder.chordal(&["compile", name, "-o", "out.s"]).assert().success();
        assert.stderr(format!("chordal: warning: {name}: {reason}\n"));
        assert!(!String::from_utf8(folder.read("out.s")).expect("text").contains(".debug_info"), "{name}");
    }
    folder.chordal(&["compile", "valid.ll", "-o", "out.s"]).assert().success().stderr("");
    assert!(String::from_utf8(folder.read("out.s")).expect("text").contains(".debug_info"));
}

/// Each unknown name is reported once, whether it is to be compiled for or tuned for; on x86-64, LLVM itself would give up.
#[test]
fn unknown_processors_are_ignored() {
    let folder = Folder::new();
    let functions = "define double @one(double %a) #0 {\n  %r = fadd double %a, %a\n  ret double %r\n}\n\
                     define i32 @two(i32 %n) #0 {\n  ret i32 %n\n}\ndefine i32 @three(i32 %n) #1 {\n  ret i32 %n\n}\n\
                     attributes #0 = { \"target-cpu\"=\"abacus\" }\nattributes #1 = { \"tune-cpu\"=\"soroban\" }\n";
    for triple in [TRIPLE.to_owned(), TRIPLE.replace("x86_64", "i386")] {
        folder.write("p.ll", format!("{triple}{functions}"));
        let assert = folder.chordal(&["compile", "p.ll", "-o", "out.s"]).assert().success();
        assert.stderr(
            "chordal: warning: p.ll: function one: LLVM does not know the processor `abacus`, which is ignored\n\
             chordal: warning: p.ll: function three: LLVM does not know the processor `soroban`, which is ignored\n",
        );
        assert!(!String::from_utf8(folder.read("out.s")).expect("text").contains("call"), "there is hardware for it");
    }
}

/// Two modules of OCaml are distinguished by symbols that LLVM derives from their names.
#[test]
fn modules_keep_their_names() {
    let folder = Folder::new();
    let function = |name: &str| format!("{TRIPLE}define void @{name}() gc \"ocaml\" {{\n  ret void\n}}\n");
    folder.write("first.ll", function("f"));
    folder.write("second.ll", function("g"));
    for name in ["first", "second"] {
        let (module, object) = (format!("{name}.ll"), format!("{name}.o"));
        folder.chordal(&["compile", &module, "--emit", "obj", "-o", &object]).assert().success().stderr("");
    }
    folder.run(Process::new("ld").args(["-r", "first.o", "second.o", "-o", "both.o"]));
    let symbols = folder.run(Process::new("nm").arg("both.o"));
    assert!(symbols.contains("camlFirst__frametable") && symbols.contains("camlSecond__frametable"), "{symbols}");
    folder.chordal(&["compile", "first.ll", "-o", "out.s"]).assert().success();
    assert!(String::from_utf8(folder.read("out.s")).expect("text").starts_with("\t.file\t\"first.ll\"\n"));
    folder.chordal(&["compile", "-", "--name", "third.ml", "-o", "out.s"]).write_stdin(function("h")).assert().success();
    assert!(String::from_utf8(folder.read("out.s")).expect("text").contains("camlThird__frametable"));
}

/// Indexes of all modules, or of what one imports: both contain no code.
#[test]
fn indexes_of_thin_lto_are_named() {
    let folder = Folder::new();
    folder.write("p.c", "int f(void) { return 1; }\n");
    folder.run(Process::new("clang-22").args(["-O2", "-flto=thin", "-c", "p.c", "-o", "p.bc"]));
    folder.run(Process::new("llvm-lto-22").args(["-thinlto-action=thinlink", "p.bc", "-o", "all.index.bc"]));
    folder.run(Process::new("llvm-lto-22").args(["-thinlto-action=distributedindexes", "-thinlto-index=all.index.bc", "p.bc"]));
    for name in ["all.index.bc", "p.bc.thinlto.bc"] {
        folder.assert_refused(name, "is an index of ThinLTO: it holds summaries of modules, and no code");
    }
    folder.chordal(&["compile", "p.bc", "-o", "out.s"]).assert().success().stderr("");
}

/// Where LLVM gives up and where it crashes, the message names its pass and the function.
#[test]
fn llvms_last_words_say_where() {
    let folder = Folder::new();
    folder.write(
        "unknown.ll",
        format!(
            "{TRIPLE}declare i64 @llvm.x86.bmi.pdep.64(i64, i64)\ndefine i64 @f(i64 %n) {{\n  \
             %r = call i64 @llvm.x86.bmi.pdep.64(i64 %n, i64 %n)\n  ret i64 %r\n}}\n"
        ),
    );
    let sum = (1..60_000).map(|k| format!("  %v{k} = add i32 %v{}, %n\n", k - 1)).collect::<String>();
    folder.write("deep.ll", format!("{TRIPLE}define i32 @deep(i32 %n, i32 %v0) {{\n{sum}  ret i32 %v59999\n}}\n"));
    let script = r#"ulimit -s 1000; exec "$0" compile deep.ll -o out.s"#;
    let program = assert_cmd::cargo::cargo_bin("chordal");
    let output =
        Process::new("bash").args(["-c", script]).arg(program).current_dir(folder.0.path()).output().expect("bash starts");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{message}");
    let start = "chordal: error: deep.ll: LLVM's code generation, or chordal's part in it, crashed (segmentation fault): ";
    assert!(starts_with(start).and(contains("on function '@deep'")).eval(&message), "{message}");
    assert_fails(folder.chordal(&["compile", "unknown.ll"]).assert(), "chordal: error: unknown.ll: ", "on function '@f'");
}
