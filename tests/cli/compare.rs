//! Tests of `chordal compare`.

use super::folder::{Folder, assert_fails, assert_usage, chordal};
use predicates::prelude::*;
use predicates::str::{contains, starts_with};
use serde_json::Value;

/// The allocators that most of these tests compare.
const TWO: &[&str] = &["--allocators", "spill-free,llvm-greedy"];

fn folder() -> Folder {
    Folder::with_program(&[])
}

/// The output of a comparison that succeeds without a message.
fn compare(folder: &Folder, arguments: &[&str]) -> String {
    let output = folder.chordal(&[&["compare"], arguments].concat()).assert().success().stderr("").get_output().stdout.clone();
    String::from_utf8(output).expect("text")
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn sums_and_ratios_are_those_of_the_statistics() {
    let folder = folder();
    let document = json(&compare(&folder, &[&["p.bc", "--format", "json"], TWO].concat()));
    let group = &document["summary"]["groups"][0];
    assert_eq!((&group["target"], &group["registers"]), (&"x86-64".into(), &"all".into()));
    let (mut instructions, mut shares) = (Vec::new(), Vec::new());
    for (index, allocator) in ["spill-free", "llvm-greedy"].into_iter().enumerate() {
        let arguments = ["compile", "p.bc", "-o", "/dev/null", "--emit", "obj", "--stats", "s.json", "--allocator", allocator];
        folder.chordal(&arguments).assert().success();
        let statistics = folder.json("s.json");
        let row = &group["rows"][index];
        assert_eq!(row["allocator"], allocator);
        assert_eq!(row["total"]["static"], statistics["total"]["static"]);
        assert_eq!(row["total"]["spill"], statistics["total"]["spill"]);
        instructions.push(statistics["total"]["static"]["instructions"].as_f64().expect("a number"));
        shares.push(statistics["total"]["overhead_share"].as_f64().expect("a number"));
        assert_eq!(row["total"]["overhead_share"], statistics["total"]["overhead_share"]);
        assert_eq!(document["modules"][0]["runs"][index]["statistics"]["functions"], Value::Array(vec![]));
    }
    let ratio = group["rows"][0]["ratios"]["static.instructions"].as_f64().expect("a number");
    let expected = (instructions[0] + 1.0) / (instructions[1] + 1.0);
    assert!((ratio - expected).abs() < 1e-9, "{ratio} is not {expected}");
    let ratio = group["rows"][0]["ratios"]["overhead_share"].as_f64().expect("both are positive");
    let expected = shares[0] / shares[1];
    assert!((ratio - expected).abs() < 1e-9, "{ratio} is not {expected}: a share is divided as it is");
    assert!(group["rows"][0]["ratios"]["overhead"].is_f64(), "the plain sum is there for programs");
}

#[test]
fn tables_have_a_section_for_each_target_and_list() {
    let folder = folder();
    folder.write("q.c", "int f(int a) { return a * 3; }");
    folder.run(std::process::Command::new("clang-22").args(["-m32", "-O2", "-emit-llvm", "-c", "q.c", "-o", "q.bc"]));
    let text = compare(&folder, &["p.bc", "q.bc", "--allocators", "spill-free,linear-scan", "--registers", "4,all"]);
    let headings: Vec<&str> = text.lines().filter(|line| line.contains(" registers")).collect();
    let expected = [
        "x86-64, 4 registers: 1 modules, 5 functions",
        "x86-64, all registers: 1 modules, 5 functions",
        "i386, 4 registers",
        "- spill-free, linear-scan: invalid value for '--registers': \
         there is no published list of 4 registers for i386, only of 5, 6, 7",
        "i386, all registers: 1 modules, 1 functions",
    ];
    assert_eq!(headings, expected, "{text}");
    assert_eq!(text.matches("Geometric means of the modules' ratios to spill-free").count(), 3, "{text}");
    let markdown = compare(&folder, &["p.bc", "--format", "markdown", "--allocators", "simple"]);
    assert!(markdown.starts_with("### x86-64, all registers: 1 modules, 5 functions\n\n| allocator |"), "{markdown}");
}

#[test]
fn modules_and_functions_are_shown() {
    let folder = folder();
    let text = compare(&folder, &[&["p.bc", "--per", "module", "--format", "csv"], TWO].concat());
    let rows: Vec<&str> = text.lines().collect();
    assert!(rows[0].starts_with("target,registers,module,allocator,static.loads,static.stores,"), "{text}");
    assert!(rows[1].starts_with("x86-64,all,p.bc,spill-free,"), "{text}");
    assert!(rows[2].starts_with("x86-64,all,p.bc,llvm-greedy,"), "{text}");
    let text = compare(&folder, &[&["p.bc", "--per", "function", "--top", "2", "--format", "csv"], TWO].concat());
    assert_eq!(text.lines().count(), 1 + 2 * 2, "{text}");
    assert!(text.lines().skip(1).all(|row| row.starts_with("x86-64,all,p.bc,")), "{text}");
    let document = json(&compare(&folder, &["p.bc", "--per", "function", "--format", "json", "--allocators", "local"]));
    let functions = document["modules"][0]["runs"][0]["statistics"]["functions"].as_array().expect("an array");
    assert_eq!(functions.len(), 5);
}

#[test]
fn lit_names_what_there_are_several_of() {
    let folder = folder();
    let names = |arguments: &[&str]| -> Vec<String> {
        let document = json(&compare(&folder, &[&["p.bc", "--format", "lit"], arguments].concat()));
        let tests = document["tests"].as_array().expect("an array").clone();
        for test in &tests {
            assert_eq!(test["code"], "PASS");
            assert!(test["metrics"]["regalloc.NumSpills"].is_u64() && test["metrics"]["chordal.overhead"].is_f64(), "{test}");
            assert!(test["metrics"]["chordal.overhead_share"].is_f64(), "{test}");
        }
        tests.iter().map(|test| test["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names(&["--allocators", "local"]), ["p.bc"]);
    assert_eq!(names(&["--allocators", "local,simple"]), ["p.bc local", "p.bc simple"]);
    assert_eq!(names(&["--allocators", "local", "--registers", "8,all"]), ["p.bc 8", "p.bc all"]);
    let functions = names(&["--allocators", "local", "--per", "function"]);
    assert!(functions.contains(&"p.bc indirect".to_owned()), "{functions:?}");
}

#[test]
fn options_stand_behind_their_allocator() {
    let folder = folder();
    let allocators = "spill-free,spill-free  --swap xor --phi-memory store-hoist=off,load-lower=off";
    let document = json(&compare(&folder, &["p.bc", "--format", "json", "--allocators", allocators]));
    let runs = &document["modules"][0]["runs"];
    assert_eq!(runs[1]["allocator"], "spill-free --swap xor --phi-memory store-hoist=off,load-lower=off");
    assert_eq!(runs[1]["statistics"]["options"]["load_lower"], "off");
    assert_eq!(runs[0]["statistics"]["options"]["swap"], "auto");
    assert_eq!(runs[1]["statistics"]["options"]["swap"], "xor");
    assert_usage(&mut folder.chordal(&["compare", "p.bc", "--allocators", "simple --swap foo"]), "invalid value 'foo'");
    assert_usage(&mut folder.chordal(&["compare", "p.bc", "--allocators", "foo"]), "there is no such allocator");
    assert_usage(&mut folder.chordal(&["compare", "p.bc", "--registers", "rax ray"]), "`ray`");
    let absent = ["compare", "p.bc", "--allocators", "simple", "--baseline", "local"];
    assert_usage(&mut folder.chordal(&absent), "`local` is not among the allocators");
    assert_usage(&mut folder.chordal(&["compare", "p.bc", "p.bc"]), "named twice");
    assert_usage(chordal().args(["compare"]), "required");
}

#[test]
fn functions_that_one_allocator_cannot_do_are_left_out_for_all() {
    let folder = Folder::with_crowded_program(&[]);
    let arguments = ["p.bc", "--allocators", "spill-free,simple", "--registers", "4"];
    let document = json(&compare(&folder, &[&arguments[..], &["--format", "json"]].concat()));
    let group = &document["summary"]["groups"][0];
    assert_eq!(group["left_out"][0]["function"], "crowded");
    assert_eq!(group["left_out"][0]["allocator"], "spill-free");
    assert_eq!(group["modules"][0]["functions"], 5);
    let text = compare(&folder, &arguments);
    assert!(text.contains("\n- crowded (p.bc): all: "), "{text}");
}

#[test]
fn one_bad_module_does_not_lose_the_others() {
    let folder = folder();
    folder.write("bad.bc", "this is not bitcode");
    let assert = folder.chordal(&["compare", "bad.bc", "p.bc", "--allocators", "local"]).assert();
    assert
        .code(1)
        .stdout(contains("x86-64, all registers: 1 modules, 5 functions"))
        .stdout(contains("- bad.bc: local: failed: bad.bc: "))
        .stderr(starts_with("chordal: error: bad.bc: local with all registers failed: "));
    let missing = folder.chordal(&["compare", "p.bc", "missing.bc", "--allocators", "local"]).assert();
    missing.code(1).stdout("").stderr(starts_with("chordal: error: missing.bc: "));
}

#[test]
fn a_folder_stands_for_the_modules_in_it() {
    let folder = Folder::new();
    let module = "target triple = \"x86_64-pc-linux-gnu\"\ndefine void @f() { ret void }\n";
    std::fs::create_dir_all(folder.path("all/below")).expect("the folder is writable");
    std::fs::create_dir(folder.path("none")).expect("the folder is writable");
    for name in ["all/z.ll", "all/below/b.bc", "all/below/a.ll", "alone.ll"] {
        folder.write(name, module);
    }
    folder.write("all/notes.txt", "no module");
    folder.write("none/notes.txt", "no module");
    std::os::unix::fs::symlink("../alone.ll", folder.path("all/link.ll")).expect("the folder is writable");
    let document = json(&compare(&folder, &["all", "alone.ll", "--allocators", "simple", "--format", "json"]));
    let sources: Vec<_> = document["modules"].as_array().expect("a list").iter().map(|module| &module["source"]).collect();
    assert_eq!(sources, ["all/below/a.ll", "all/below/b.bc", "all/link.ll", "all/z.ll", "alone.ll"]);
    let nothing = "no modules are in it (files that end in .bc or .ll)";
    assert_fails(folder.chordal(&["compare", "all", "none"]).assert(), "chordal: error: none: ", nothing);
    assert_fails(folder.chordal(&["paper", "sra-table1", "./none"]).assert(), "chordal: error: ./none: ", nothing);
    assert_usage(&mut folder.chordal(&["compare", "all", "-o", "all/z.ll"]), "would overwrite the input all/z.ll");
    assert_usage(&mut folder.chordal(&["compare", "all", "all/z.ll"]), "all/z.ll is named twice");
    folder.chordal(&["paper", "sra-table1", "./all/below"]).assert().success().stderr("").stdout(contains("interference"));
}

#[test]
fn a_comparison_goes_on_from_its_records() {
    let folder = folder();
    let arguments = ["p.bc", "--allocators", "local,simple", "--records", "r.jsonl", "--format", "json"];
    let first = compare(&folder, &arguments);
    let written = folder.read("r.jsonl");
    assert_eq!(written.iter().filter(|&&byte| byte == b'\n').count(), 1);
    assert_usage(folder.chordal(&["compare"]).args(arguments), "--resume");
    let resumed = compare(&folder, &[&arguments[..], &["--resume"]].concat());
    assert_eq!(first, resumed, "the times show that nothing was run again");
    assert_eq!(folder.read("r.jsonl"), written);
    let fewer = compare(&folder, &["p.bc", "--allocators", "simple", "--records", "r.jsonl", "--resume", "--format", "json"]);
    assert_eq!(json(&fewer)["modules"][0]["runs"][0], json(&first)["modules"][0]["runs"][1]);
    // A line with the missing run was added.
    compare(&folder, &["p.bc", "--allocators", "hack", "--records", "r.jsonl", "--resume"]);
    assert_eq!(folder.read("r.jsonl").iter().filter(|&&byte| byte == b'\n').count(), 2);
    folder.chordal(&["diff", "r.jsonl", "r.jsonl"]).assert().success().stderr("");
    // Another module of the same name has to be run.
    folder.write("p.c", "int f(void) { return 1; }");
    folder.run(std::process::Command::new("clang-22").args(["-O2", "-emit-llvm", "-c", "p.c", "-o", "p.bc"]));
    let changed = json(&compare(&folder, &[&arguments[..], &["--resume"]].concat()));
    assert_eq!(changed["summary"]["groups"][0]["modules"][0]["functions"], 1);
    folder.write("r.jsonl", "{}\n");
    let broken = folder.chordal(&["compare", "p.bc", "--records", "r.jsonl", "--resume"]).assert();
    broken.code(1).stderr(starts_with("chordal: error: r.jsonl: line 1: "));
}

#[test]
fn equal_comparisons_give_equal_bytes() {
    let folder = folder();
    let arguments = [&["p.bc", "--registers", "8,all", "--format", "json", "--no-times", "--repeat", "2"], TWO].concat();
    let one = compare(&folder, &[&arguments[..], &["-j", "1"]].concat());
    let four = compare(&folder, &[&arguments[..], &["-j", "4"]].concat());
    assert_eq!(one, four);
    assert!(!one.contains("time_ns"), "{one}");
    let timed = json(&compare(&folder, &["p.bc", "--format", "json", "--repeat", "3", "--allocators", "local"]));
    let run = &timed["modules"][0]["runs"][0];
    assert_eq!(run["allocation_ns"].as_array().map(Vec::len), Some(3));
}

#[test]
fn standard_input_and_output_files_work() {
    let folder = folder();
    let input = folder.read("p.bc");
    let arguments = ["compare", "-", "--allocators", "local", "-o", "out.txt"];
    folder.chordal(&arguments).write_stdin(input).assert().success().stdout("");
    let text = String::from_utf8(folder.read("out.txt")).expect("text");
    assert!(predicate::str::starts_with("x86-64, all registers: 1 modules, 5 functions\n").eval(&text), "{text}");
}

/// Bars are all the rectangles that are neither the background nor around or in the legend.
#[test]
fn a_chart_has_a_bar_for_each_allocator_and_list() {
    let folder = folder();
    let all = ["p.bc", "--allocators", "spill-free,local,llvm-greedy", "--registers", "8,all", "--chart", "c.svg"];
    compare(&folder, &all);
    let svg = String::from_utf8(folder.read("c.svg")).expect("text");
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg}");
    for text in ["overhead_share", "time of allocation", "spill-free", "local", "x86-64, 8 registers", "x86-64, all registers"] {
        assert!(svg.contains(&format!("\n{text}\n")), "{text} is missing:\n{svg}");
    }
    assert!(svg.contains("ratio to llvm-greedy") && !svg.contains("\nllvm-greedy\n"), "the baseline is one:\n{svg}");
    let bars = |svg: &str| ["#0072B2", "#D55E00"].map(|colour| svg.matches(&format!("fill=\"{colour}\"")).count());
    // Two allocators in two charts, and the legend.
    assert_eq!(bars(&svg), [5, 5], "{svg}");
    let comparison = json(&compare(&folder, &[&all[..3], &["--no-times", "--chart", "d.svg", "--format", "json"]].concat()));
    let svg = String::from_utf8(folder.read("d.svg")).expect("text");
    assert_eq!(bars(&svg), [3, 0], "no times:\n{svg}");
    for (index, allocator) in ["spill-free", "local"].into_iter().enumerate() {
        let row = &comparison["summary"]["groups"][0]["rows"][index];
        assert_eq!(row["allocator"], allocator);
        let ratio = row["ratios"]["overhead_share"].as_f64().expect("a number");
        assert!(svg.contains(&format!("\n{ratio:.2}\n")), "{ratio} is missing:\n{svg}");
    }
}

#[test]
fn a_chart_needs_something_to_draw_and_a_place_of_its_own() {
    let folder = folder();
    folder.write("c.svg", "old");
    let alone = folder.chordal(&["compare", "p.bc", "--allocators", "local", "--chart", "c.svg"]).assert();
    assert_fails(alone, "chordal: error: c.svg: ", "there is nothing to draw");
    assert_eq!(folder.read("c.svg"), b"old");
    assert_usage(&mut folder.chordal(&["compare", "p.bc", "--chart", "p.bc"]), "the chart would overwrite the input p.bc");
    assert_usage(&mut folder.chordal(&["compare", "p.bc", "--chart", "x", "-o", "x"]), "cannot go to the same place");
}

/// Pictures of everything that was compared; what cannot be drawn is left out.
#[test]
fn pictures() {
    let folder = Folder::with_program(&["-O1"]);
    let arguments = ["p.bc", "--allocators", "simple,spill-free,llvm-greedy", "--registers", "8,all", "--plot", "pictures"];
    compare(&folder, &arguments);
    let text = |name: &str| String::from_utf8(folder.read(&format!("pictures/{name}"))).expect("pictures are text");
    for registers in ["8", "all"] {
        let parts = text(&format!("parts-x86-64-{registers}.svg"));
        for word in ["simple", "spill-free", "llvm-greedy", "reloads", "restores"] {
            assert!(parts.contains(word), "{word}: {parts}");
        }
        assert!(text(&format!("time-x86-64-{registers}.svg")).contains("time of allocation by llvm-greedy"));
        assert!(text(&format!("functions-x86-64-{registers}.svg")).contains("spill-free"));
    }
    let again = [&arguments[..6], &["again", "--no-times"]].concat();
    compare(&folder, &again);
    compare(&folder, &[&again[..6], &["more", "--no-times"]].concat());
    assert_eq!(folder.read("again/parts-x86-64-all.svg"), folder.read("more/parts-x86-64-all.svg"));
    assert!(!folder.path("again/time-x86-64-all.svg").exists());
}
