use super::*;
use crate::machine::{Block, Goal, Inst, InstFlags, InstKind, Role};
use cranelift_entity::EntityRef;

/// Everything that the form can express, in the printer's own layout.
const EVERYTHING: &str = "\
target
  bank g exchange
  bank x xor
  bank f never
  registers g a b
  registers x x0
  registers g c
  registers - flags sp
  registers f f0
  class w g 8/8 b a c
  class n g 1/1 a
  class none x 16/32
  callee-saved b c
  status flags
function a\\u{20}name\\u{3b}
undefined v8:n v9:w
b0: freq=0.1 -> b2 b1
  debug v0
  v0:w v1:n(early) = op rematerialisable
  debug v0
  debug v1
  v2:w(reuse=1) = op v0(foldable) v1(foldable) v3:w uses=a,sp defs=flags early=b clobbers=a,c
  v4:w(of=v2,early,reuse=2) = op v2 v2 origin=i7 throws
  op uses=flags terminator
  op terminator
b1: preds=b2,b0 -> b3
  v5:w(of=v2) = phi b2:v6 b0:v4
  v7:w = phi b2:undef b0:undef
  op label origin=none
  v6:w = copy v5
  copy-to(a) v6
  v10:w = copy-from(a) uses=b
  debug v10
b2: freq=0 live=a,flags landing-pad -> b1
  v11:w = load(s0) origin=none
  store(s12) v11 origin=none
  v12:w = rematerialise(i0) origin=none
  v13:w(of=v12) = parallel v12 origin=none
b3: freq=12345678901234567000 preds= on-edge
";

#[test]
fn everything_survives() {
    let function = parse(EVERYTHING).unwrap();
    assert_eq!(print(&function), EVERYTHING);
    assert_eq!(function.name, "a name;");
    assert_eq!(function.insts[Inst::new(1)].operands, 2..6);
    assert_eq!(function.operands[2].reuse, Some(1));
    assert!(function.operands[3].foldable && !function.operands[5].foldable);
    assert_eq!(function.operands[6].role, Role::EarlyDef);
    assert_eq!(function.blocks[Block::new(0)].throws.expand(), Some(Inst::new(2)));
    assert_eq!(function.blocks[Block::new(1)].preds[..], [2, 0].map(Block::new));
    assert!(function.blocks[Block::new(3)].preds.is_empty());
    let to = function.block_insts(Block::new(1)).nth(2).unwrap();
    let InstKind::CopyTo(a) = function.insts[to].kind else { panic!("{to} is a copy-to") };
    assert!(function.pins(to).defs.contains(a) && function.pins(to).uses.is_empty());
}

#[test]
fn properties_of_a_function_survive() {
    for (line, returns_twice, goal) in
        [("returns-twice", true, Goal::Speed), ("optsize", false, Goal::Size), ("minsize", false, Goal::LeastSize)]
    {
        let text = format!("target tiny\nfunction f\n{line}\nb0:\n");
        let function = parse(&text).unwrap();
        assert_eq!((function.returns_twice, function.goal), (returns_twice, goal));
        assert_eq!(print(&function), text);
    }
}

#[test]
fn built_in_files_are_printed_by_name() {
    for name in ["tiny", "wide"] {
        let text = format!("target {name}\nfunction f\nb0:\n");
        let function = parse(&text).unwrap();
        assert_eq!(print(&function), text);
        let mut changed = function.clone();
        std::sync::Arc::make_mut(&mut changed.file).callee_saved = Default::default();
        let full = print(&changed);
        assert!(full.starts_with("target\n"), "{full}");
        assert_eq!(print(&parse(&full).unwrap()), full);
    }
}

#[test]
fn the_headers_example_is_valid() {
    let example = include_str!("../text.rs").split("```text").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let text: String =
        example.lines().skip(1).map(|line| line.trim_start_matches("//!").get(1..).unwrap_or("").to_string() + "\n").collect();
    let function = parse(&text).unwrap();
    assert_eq!(print(&function).trim(), text.trim());
    crate::machine::validate(&function).unwrap();
}

#[test]
fn layout_and_comments_do_not_matter() {
    let function = parse("; a test\ntarget tiny ; small\n\n function\tf\nb0:->b1 \n").unwrap_err();
    assert_eq!(function.line, 5, "a block and its arrow are words of their own");
    let function = parse("; a test\ntarget tiny ; small\n\n function\tf\nb0: -> b1\n\n b1:").unwrap();
    assert_eq!(print(&function), "target tiny\nfunction f\nb0: -> b1\nb1:\n");
}

/// Puts lines after `target tiny` and `function f`, so that they start at line 3, and expects this error.
#[track_caller]
fn fails(lines: &str, message: &str) {
    let error = parse(&format!("target tiny\nfunction f\n{lines}\n")).unwrap_err();
    assert_eq!(error.to_string(), message);
}

#[test]
fn all_properties_of_instructions_survive() {
    for flag in InstFlags::all() {
        let mut function = parse("target tiny\nfunction f\nb0:\n  op\n").unwrap();
        function.insts[Inst::new(0)].flags = flag;
        let text = print(&function);
        assert_eq!(parse(&text).unwrap().insts[Inst::new(0)].flags, flag, "{text}");
    }
    fails("b0:\n  op LABEL", "line 4: expected a value, found `LABEL`");
}

#[test]
fn bad_functions_are_refused_by_line() {
    fails("op", "line 3: expected `returns-twice`, `optsize`, `minsize`, `undefined` or a block, found `op`");
    fails("b1:", "line 3: expected `b0`, found `b1`");
    fails("b0: -> b1", "line 3: there is no block `b1`");
    fails("b0: freq=often", "line 3: expected a frequency, found `often`");
    fails("b0: pad", "line 3: expected a block's mark or `->`, found `pad`");
    fails("b0: live=e", "line 3: there is no register `e`");
    fails("b0:\n\n  jump", "line 5: expected an instruction, found `jump`");
    fails("b0:\n  copy-to v0", "line 4: expected an instruction, found `copy-to`");
    fails("b0:\n  v0:w =", "line 4: expected an instruction, found `=`");
    fails("b0:\n  v0 = op", "line 4: expected a definition with a class, found `v0`");
    fails("b0:\n  v0:z = op", "line 4: there is no class `z`");
    fails("b0:\n  op x0", "line 4: expected a value, found `x0`");
    fails("b0:\n  op v4294967295", "line 4: expected a value, found `v4294967295`");
    fails("b0:\n  op v+1", "line 4: expected a value, found `v+1`");
    fails("b0:\n  v0:w(reuse=256) = op", "line 4: expected an operand's index, found `reuse=256`");
    fails("b0:\n  op v0(early)", "line 4: expected an operand's mark, found `early`");
    fails("b0:\n  op uses=", "line 4: there is no register ``");
    fails("b0:\n  op origin=5", "line 4: expected an instruction's number, found `5`");
}

#[test]
fn errors_that_show_only_at_the_end_are_refused_by_line() {
    fails("b0:\n  op\n  op v0", "line 5: v0 is given no class, neither at a definition nor as `undefined`");
    fails("b0:\n  v1:w = op", "line 4: v0 is given no class, neither at a definition nor as `undefined`");
    fails("b0:\n  v0:w = op\n  v0:n = op", "line 5: v0 has a different class elsewhere");
    fails("b0: -> b1\nb1:\n  v0:w = phi", "line 5: the φ has no argument for b0");
    fails("b0:\n  v0:w = phi b0:v0", "line 4: the φ has an argument for b0, which is not a predecessor or has one already");
    fails("b0:\n  v0:w = phi v0", "line 4: expected block:value, found `v0`");
}

#[test]
fn bad_targets_are_refused_by_line() {
    let message = |text: &str| parse(text).unwrap_err().to_string();
    assert_eq!(message(""), "line 0: the text ends where `target` is expected");
    assert_eq!(message("function f"), "line 1: expected `target` and at most one name, found `function`");
    assert_eq!(message("target huge"), "line 1: there is no built-in target `huge`");
    assert_eq!(message("target\n\n bank g"), "line 3: expected a line of a register file, found `bank`");
    assert_eq!(message("target\n bank g swap"), "line 2: expected `exchange`, `xor` or `never`, found `swap`");
    assert_eq!(message("target\n registers g a"), "line 2: there is no bank `g`");
    assert_eq!(message("target\n registers - a a"), "line 2: there is already a register `a`");
    assert_eq!(message("target\n bank g xor\n class w g 8"), "line 3: expected slot size/alignment, found `8`");
    assert_eq!(message("target\n bank g xor\n class w g 8/8 a"), "line 3: there is no register `a`");
    assert_eq!(message("target\n"), "line 1: the text ends where `function` is expected");
    assert_eq!(message("target tiny\nfunction \\u{110000}"), "line 2: expected a name with \\u{…}, found `\\u{110000}`");
    let many: String = (0..129).map(|i| format!(" r{i}")).collect();
    assert_eq!(message(&format!("target\n registers -{many}")), "line 2: a register file has at most 128 registers");
}
