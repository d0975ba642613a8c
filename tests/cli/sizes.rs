//! Tests of the sizes of functions in statistics, which are those of the code that LLVM would assemble.

use super::folder::Folder;

const TRIPLE: &str = "target triple = \"x86_64-unknown-linux-gnu\"\n";

fn bytes(folder: &Folder, module: &str, arguments: &[&str]) -> Vec<u64> {
    let compile = [&["compile", module, "-o", "out", "--stats", "out.json"], arguments].concat();
    folder.chordal(&compile).assert().success().stderr("");
    let statistics = folder.json("out.json");
    let functions = statistics["functions"].as_array().expect("functions are a list");
    functions.iter().map(|function| function["static"]["bytes"].as_u64().expect("each has a size")).collect()
}

/// LLVM cannot read its own text for a shift by one in the form with a new destination.
#[test]
fn text_that_llvm_cannot_read_has_sizes() {
    let folder = Folder::new();
    folder.write(
        "shift.ll",
        format!(
            "{TRIPLE}define i8 @half(i8 %spare, i8 %n) #0 {{\n  %h = lshr i8 %n, 1\n  ret i8 %h\n}}\n\
             define internal i32 @inside(i32 %n) noinline {{\n  %h = mul i32 %n, 77\n  ret i32 %h\n}}\n\
             define i32 @outside(i32 %n) {{\n  %r = call i32 @inside(i32 %n)\n  ret i32 %r\n}}\n\
             attributes #0 = {{ \"target-features\"=\"+ndd\" }}\n"
        ),
    );
    let sizes = bytes(&folder, "shift.ll", &[]);
    assert!(sizes.iter().all(|&size| size > 0), "{sizes:?}");
    assert_eq!(sizes, bytes(&folder, "shift.ll", &["--emit", "obj"]));
}

/// No memory is allocated for the contents of variables.
#[test]
fn variables_of_gigabytes_take_no_memory() {
    let folder = Folder::new();
    folder.write(
        "large.ll",
        format!(
            "{TRIPLE}@large = global {{ i32, [4294967296 x i8] }} {{ i32 1, [4294967296 x i8] zeroinitializer }}\n\
             define i32 @f() {{\n  ret i32 1\n}}\n"
        ),
    );
    assert_eq!(bytes(&folder, "large.ll", &["--memory-limit", "500"]), [6]);
}
