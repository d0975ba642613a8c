//! Modules with rare constructs; no function may be left to LLVM.

use super::folder::Folder;

const TRIPLE: &str = "target triple = \"x86_64-unknown-linux-gnu\"\n";

/// An instruction that writes two mask registers of which both, one or none is needed, at once or later.
#[test]
fn pairs_of_mask_registers() {
    let folder = Folder::new();
    let both = "  %both = call { <16 x i1>, <16 x i1> } @llvm.x86.avx512.vp2intersect.d.512(<16 x i32> %s, <16 x i32> %t)\n";
    let half = |k: u32| {
        format!("  %h{k} = extractvalue {{ <16 x i1>, <16 x i1> }} %both, {k}\n  %n{k} = bitcast <16 x i1> %h{k} to i16\n")
    };
    let function = |name: &str, body: &str, result: &str| {
        format!("define i16 @{name}(<16 x i32> %s, <16 x i32> %t) #0 {{\n{both}{body}  ret i16 {result}\n}}\n")
    };
    folder.write(
        "pairs.ll",
        [
            TRIPLE,
            "declare { <16 x i1>, <16 x i1> } @llvm.x86.avx512.vp2intersect.d.512(<16 x i32>, <16 x i32>)\ndeclare void @other()\n",
            &function("one", &half(1), "%n1"),
            &function("two", &format!("{}{}  %r = sub i16 %n0, %n1\n", half(0), half(1)), "%r"),
            &function("late", &format!("{}  call void @other()\n{}  %r = sub i16 %n0, %n1\n", half(0), half(1)), "%r"),
            &function("none", "", "0"),
            "attributes #0 = { \"target-features\"=\"+avx512f,+avx512vp2intersect\" }\n",
        ]
        .concat(),
    );
    for allocator in ["tuned", "spill-free", "linear-scan"] {
        let compile = ["compile", "pairs.ll", "-o", "out.s", "--verify-llvm", "--no-fallback", "--allocator", allocator];
        folder.chordal(&compile).assert().success().stderr("");
    }
    let assembly = String::from_utf8(folder.read("out.s")).expect("assembly is text");
    assert_eq!(assembly.matches("vp2intersectd").count(), 3, "what nobody wants is not computed");
}

/// A landing pad to which nothing throws, alone and with another predecessor that does throw, and a phi of values from both.
#[test]
fn an_invoke_of_nothing() {
    let folder = Folder::new();
    let invoke = |what: &str, to: &str, pad: &str| format!("  invoke void @{what}() to label %{to} unwind label %{pad}\n");
    let pad = "  %e = landingpad { ptr, i32 } cleanup\n";
    folder.write(
        "idle.ll",
        [
            TRIPLE,
            "declare void @llvm.donothing()\ndeclare i32 @__gxx_personality_v0(...)\n",
            "define void @fine() noinline {\n  ret void\n}\n",
            "define i32 @alone() personality ptr @__gxx_personality_v0 {\n",
            &invoke("llvm.donothing", "ok", "bad"),
            "ok:\n  ret i32 0\nbad:\n",
            pad,
            "  resume { ptr, i32 } %e\n}\n",
            "define i32 @beside(i32 %n) personality ptr @__gxx_personality_v0 {\nentry:\n",
            &invoke("llvm.donothing", "then", "bad"),
            "then:\n",
            &invoke("fine", "ok", "bad"),
            "ok:\n  ret i32 0\nbad:\n  %k = phi i32 [ %n, %entry ], [ 7, %then ]\n",
            pad,
            "  ret i32 %k\n}\n",
            "define i32 @main() {\n  %a = call i32 @alone()\n  %b = call i32 @beside(i32 5)\n  %r = add i32 %a, %b\n  ret i32 %r\n}\n",
        ]
        .concat(),
    );
    for allocator in ["tuned", "spill-free", "linear-scan"] {
        let compile = ["compile", "idle.ll", "-o", "out.s", "--verify-llvm", "--no-fallback", "--allocator", allocator];
        folder.chordal(&compile).assert().success().stderr("");
        assert_eq!(folder.link_and_run("out.s", &["-lstdc++"]), "", "{allocator}");
    }
}
