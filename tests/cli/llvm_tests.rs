//! Tests of `scripts/llvm-tests.py`, on small tests of our own.

use super::folder::Folder;
use assert_cmd::Command;
use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::contains;

/// Three cases: two processors, and Linux in place of another system.
const PLAIN: &str = "; RUN: llc < %s -mtriple=x86_64-apple-darwin -mcpu=core2 | FileCheck %s\n\
                     ; RUN: llc < %s -mtriple=x86_64-- -mattr=+avx2 \\\n; RUN:   -relocation-model=pic | FileCheck %s\n\
                     ; RUN: llc < %s -mtriple=i686-pc-win32 | FileCheck %s\n\
                     define <8 x i32> @plain(<8 x i32> %a, i32 %n) {\n  %b = insertelement <8 x i32> %a, i32 %n, i32 0\n  \
                     ret <8 x i32> %b\n}\n";

/// Code that only LLVM's allocators support.
const FUNCLET: &str = "; RUN: llc -mtriple=x86_64-pc-windows-msvc %s\n\
                       declare void @may_throw()\ndeclare i32 @__CxxFrameHandler3(...)\n\
                       define void @cleaned() personality ptr @__CxxFrameHandler3 {\nentry:\n  \
                       invoke void @may_throw() to label %out unwind label %pad\nout:\n  ret void\npad:\n  \
                       %inside = cleanuppad within none []\n  call void @may_throw() [ \"funclet\"(token %inside) ]\n  \
                       cleanupret from %inside unwind to caller\n}\n";

/// Code that nobody compiles: the instruction does not exist, and x32 is not supported.
const INVALID: &str = "; RUN: not llc %s\ndefine void @invalid() {\n  return\n}\n";
const X32: &str = "; RUN: llc -mtriple=x86_64-linux-gnux32 %s\ndefine void @x32() {\n  ret void\n}\n";

fn run(explained: &str) -> Assert {
    let folder = Folder::new();
    for (name, text) in
        [("plain.ll", PLAIN), ("funclet.ll", FUNCLET), ("invalid.ll", INVALID), ("x32.ll", X32), ("explained", explained)]
    {
        folder.write(name, text);
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/llvm-tests.py");
    let chordal = assert_cmd::cargo::cargo_bin("chordal");
    let mut command = Command::new(script);
    command.arg(folder.path("")).arg("--explained").arg(folder.path("explained")).arg("--chordal").arg(chordal);
    command.assert().stdout(contains("4 tests, 5 cases: 4 compiled, 1 no module"))
}

#[test]
fn what_is_left_to_llvm_has_to_be_explained() {
    let reason = "1  funclet-based exception handling";
    run("# nothing\n").code(1).stdout(contains(format!("{reason}  (NOT EXPLAINED): funclet.ll")));
    run("fallback | funclet-based | because\n").success().stdout(contains(format!("{reason}: funclet.ll")));
}

#[test]
fn explanations_of_nothing_are_told() {
    let explained = "fallback | funclet-based | because\ncase | plain.ll | because\n";
    run(explained).success().stdout(contains("explained, and not found: case plain.ll").and(contains("NOT EXPLAINED").not()));
}
