//! What holds of the phases beside what the files of `testdata/phases` show: counts, executions, and what plans promise.

mod expected;

use crate::support::fixture::fixture;
use crate::support::fixtures::{allocated, edits, v};
use crate::support::interpret::compare;
use crate::support::phases::{as_planned, spill, spill_as, with_plan};
use crate::support::presets::spill_free;
use chordal::allocate::allocators::{AssignmentStrategy, PRESETS, Preset};
use chordal::allocate::cssa::Coalescing;
use chordal::allocate::eliminate::SwapPolicy;
use chordal::allocate::pipeline::{Report, allocate};
use chordal::allocate::spill::strategies::{PRICED, SpillStrategy};
use chordal::allocate::spill::verify::{Fault, verify};
use chordal::allocate::spill::{Plan, Policy, Refill, Site, Store};
use chordal::check::check;
use chordal::machine::{Block, Edit, Function, Inst, Location, Overlay, Point, SlotData, parse};
use cranelift_entity::EntityRef;

mod cssa {
    use super::*;

    fn by(name: &str, preset: Preset) -> (Overlay, Report) {
        allocate(&fixture(name), preset).expect("it can be allocated")
    }

    fn executes_the_same(name: &str, overlay: &Overlay, steps: usize) {
        for path in 0..4 {
            compare(&fixture(name), overlay, path, steps).unwrap_or_else(|found| panic!("{name}, path {path}: {found}"));
        }
    }

    /// Values that are live at once may share memory if they are one value.
    #[test]
    fn copies_of_one_value_share_a_slot() {
        for (coalescing, copies, slots) in [(Coalescing::Pairwise, 1, 2), (Coalescing::Value, 0, 1)] {
            let (overlay, report) = by("phi_of_copies", Preset { coalescing, ..spill_free() });
            assert_eq!((report.conversion.copies_after, overlay.slots.len()), (copies, slots), "{coalescing:?}");
            executes_the_same("phi_of_copies", &overlay, 10);
        }
    }

    #[test]
    fn copies_are_counted() {
        let copies = |name, preset| by(name, preset).1.conversion.copies_after;
        let swapped = [Coalescing::ByPhi, Coalescing::Pairwise, Coalescing::Value];
        assert_eq!(swapped.map(|coalescing| copies("swap_problem", Preset { coalescing, ..spill_free() })), [6, 3, 3]);
        assert_eq!(copies("crowded_labels", spill_free()) - copies("crowded_labels", spilling(PRICED)), 9);
    }

    /// φs at labels that are crowded define the program's names.
    #[test]
    fn memory_of_a_name_is_that_of_its_web() {
        let (overlay, _) = by("crowded_labels", Preset::named("tuned").unwrap());
        executes_the_same("crowded_labels", &overlay, 20);
    }
}

/// `spill-free` with another way to spill.
fn spilling(strategy: SpillStrategy) -> Preset {
    let mut preset = spill_free();
    let AssignmentStrategy::DominanceOrder(dominance) = &mut preset.assignment else { panic!("it is SSA-based") };
    dominance.spilling = strategy;
    preset
}

mod spilling {
    use super::*;

    fn report(name: &str) -> Report {
        allocate(&fixture(name), Preset::named("tuned").unwrap()).unwrap().1
    }

    #[test]
    fn spilled_values_and_copies_within_a_home_are_counted() {
        assert_eq!(spill(&fixture("too_many")).1.counts.values, 1);
        assert_eq!(report("read_before_call").spill.values, 0);
        let spilled = spill_as(spilling(PRICED), &fixture("crowded_labels")).1;
        assert_eq!(spilled.counts.optimisations.coalesced_copies, 4);
    }

    #[test]
    fn plans_cost_hardly_more_than_any_has_to() {
        for name in ["held_no_longer", "changed_rather"] {
            let certificate = report(name).spill.certificate.unwrap();
            assert!(certificate.cost <= 1.01 * certificate.bound, "{name}: {certificate:?}");
        }
    }

    #[test]
    fn an_instruction_with_too_many_operands_is_refused_if_it_can_read_none_from_memory() {
        let mut function = fixture("fold_to_fit");
        function.operands.iter_mut().for_each(|o| o.foldable = false);
        let failure = allocate(&function, spill_free()).unwrap_err();
        assert!(failure.to_string().contains("instruction 3 of b0 needs more registers than there are"), "{failure}");
    }
}

mod assignment {
    use super::*;

    /// If an allocator does less than its name says, its report says so.
    #[test]
    fn a_function_that_is_allocated_without_being_prepared_says_so() {
        let function = fixture("copy_with_more_registers");
        let (_, report) = allocate(&function, Preset::named("tuned").unwrap()).unwrap();
        let [degraded] = &report.degraded[..] else { panic!("{:?}", report.degraded) };
        assert_eq!(degraded.phase, "prepare");
        let start = "without merging copies, parking, sinking and other forms: ";
        assert!(degraded.reason.starts_with(start) && degraded.reason.contains("more registers than there are"), "{degraded:?}");
        let (_, report) = allocate(&function, spill_free()).unwrap();
        assert_eq!(report.degraded, [], "spill-free prepares nothing");
    }

    /// `simple`, which has everything in memory, stores them all the same.
    #[test]
    fn results_that_nobody_reads_are_not_stored() {
        let call = |value: &str| format!("  op defs=a clobbers=a,b,c,d,flags\n  {value}:w = copy-from(a)\n");
        let function = parse(&format!("target tiny\nfunction f\nb0:\n{}{}", call("v0"), call("v1"))).unwrap();
        use chordal::allocate::HAS_SOLVER;
        for &preset in PRESETS.iter().filter(|preset| preset.name != "simple" && (HAS_SOLVER || preset.name != "optimal")) {
            let (overlay, _) = allocate(&function, preset).unwrap();
            assert!(overlay.slots.is_empty(), "{}: {:?}", preset.name, edits(&function, &overlay));
        }
    }

    #[test]
    fn dear_constants_are_computed_where_nothing_else_reads_them() {
        let found = |rest: &str| {
            let text =
                format!("target tiny\nfunction f\nb0:\n  v0:w = op rematerialisable dear\n  copy-to(a) v0\n  op uses=a\n{rest}");
            let function = parse(&text).unwrap();
            let preset = Preset { merge_copies: true, ..spill_free() };
            edits(&function, &allocate(&function, preset).unwrap().0)
        };
        assert_eq!(found(""), ["b0.1 rematerialise a i0"]);
        assert_eq!(found("  op v0\n"), Vec::<String>::new());
    }

    #[test]
    fn a_phi_takes_the_wider_copy() {
        let target = "target\n  bank g exchange\n  registers g a b c\n  class w g 8/8 a b c\n  class n g 1/1 a b c\n";
        let text = "function f\nb0: -> b1 b2\n  v0:n = op\n  v1:w = copy v0\n  op v1\nb1: -> b3\n  v2:n = op\nb2: -> b3\n  op v1\n\
                    b3:\n  v3:n = phi b1:v2 b2:v0\n  op v3\n";
        let text = &format!("{target}{text}");
        let function = parse(text).unwrap();
        let is_no_move = |merge_copies| {
            let (overlay, _) = allocate(&function, Preset { merge_copies, ..spill_free() }).unwrap();
            let [to, from] = overlay.operands(&function, Inst::new(1)) else { panic!("a copy has two ends") };
            to == from
        };
        assert_eq!([true, false].map(is_no_move), [true, false]);
    }

    /// Of six values, four find a register of their bank. The others go to registers of the bank beside it that nobody has to
    /// save, if other values and a call leave some free.
    #[test]
    fn what_is_spilled_goes_to_free_registers_of_the_bank_beside() {
        let to_memory = |others: usize, call: &str, class: &str| {
            let values = |class: &str, numbers: std::ops::Range<usize>| {
                numbers.map(|n| format!("  v{n}:{class} = op\n")).collect::<String>()
            };
            let reads = |numbers: std::ops::Range<usize>| numbers.map(|n| format!("  op v{n}\n")).collect::<String>();
            let (first, last) = (values(class, 0..6), values("w", 6..6 + others));
            let text = format!(
                "target tiny\nfunction f\nb0:\n{first}{last}{call}{}{}{}",
                reads(6..6 + others),
                reads(0..6),
                reads(0..6)
            );
            let function = parse(&text).unwrap();
            let (overlay, _) = allocate(&function, Preset::named("tuned").unwrap()).unwrap();
            overlay.slots.len()
        };
        assert_eq!(to_memory(0, "", "f"), 0);
        let without = to_memory(4, "", "f");
        assert!(without > 0, "there are four registers that nobody has to save");
        assert!(to_memory(3, "", "f") < without, "one is free");
        assert!(to_memory(0, "  op clobbers=a,b,c,d\n", "f") > 0, "a call destroys them");
        assert!(to_memory(0, "", "x") > 0, "no bank is beside this one");
    }

    #[test]
    fn nothing_sinks_past_a_copy_of_the_value_that_it_overwrites() {
        let performed = |copy: &str| {
            let text = format!(
                "target tiny\nfunction f\nb0:\n  v0:n = op\n  v1:n(reuse=1|none) = op v0 movable\n  v2:w = {copy} v0\n  op v2 v1\n"
            );
            let function = parse(&text).unwrap();
            let (overlay, _) = allocate(&function, Preset { sink: true, ..spill_free() }).unwrap();
            edits(&function, &overlay).iter().filter(|edit| edit.contains("perform")).count()
        };
        assert_eq!((performed("op"), performed("copy")), (1, 0));
    }

    /// A value that comes in a register and goes back to it may stay there. If it were overwritten later, it would have to leave.
    #[test]
    fn nothing_sinks_past_a_copy_to_the_register_that_the_value_came_in() {
        let performed = |text: &str| {
            let function = parse(&format!("target tiny\nfunction f\n{text}")).unwrap();
            let (overlay, _) = allocate(&function, Preset { sink: true, ..spill_free() }).unwrap();
            edits(&function, &overlay).iter().filter(|edit| edit.contains("perform")).count()
        };
        let body = "  v1:w(reuse=1) = op v0 movable\n  copy-to(a) v0\n  op v1 uses=a";
        assert_eq!(performed(&format!("b0:\n  v0:w = op\n{body}\n")), 1);
        assert_eq!(performed(&format!("b0: live=a\n  v0:w = copy-from(a)\n{body}\n")), 0);
        assert_eq!(performed(&format!("b0: live=b\n  v0:w = copy-from(b)\n{body}\n")), 1);
        let again = "  v3:w = copy-from(a)\n  op terminator\n";
        let exchange =
            |entry: &str| format!("b0: {entry}-> b1\nb1: -> b1 b2\n  v0:w = phi b0:v2 b1:v3\n{body} defs=a\n{again}b2:\n");
        assert_eq!(performed(&exchange("live=b ").replace("b1\nb1", "b1\n  v2:w = copy-from(b)\nb1")), 0);
    }

    /// The instruction that computes v1 stands in front of one that reads v1, and both in front of the last use of v0.
    #[test]
    fn what_follows_sinks_too() {
        let performed = |first: &str, follows: &str| {
            let head = "target tiny\nfunction f\nb0:\n  v0:w = op\n  v3:w = op\n  v4:w = op\n";
            let text = format!("{head}  v1:w(reuse=1{first} movable\n  v2:w(reuse=1) = op v1{follows}\n  op v0\n  op v2\n");
            let function = parse(&text).unwrap();
            let (overlay, _) = allocate(&function, Preset { sink: true, ..spill_free() }).unwrap();
            edits(&function, &overlay).iter().filter(|edit| edit.contains("perform")).count()
        };
        assert_eq!(performed(") = op v0", " movable"), 2);
        assert_eq!(performed(") = op v0", ""), 0, "it does not move");
        assert_eq!(performed(") = op v0", " v0 movable"), 0, "it reads what has been overwritten by then");
        assert_eq!(performed(") = op v0", " v3 movable"), 2, "v3 lives longer, but v2 is not live yet");
        assert_eq!(performed(") = op v0", " v3 v4 movable"), 0, "more values are live at once");
        assert_eq!(performed(") = op v0 v3", " movable"), 2, "the same");
        assert_eq!(performed("|2) = op v0 v3", " movable"), 0, "it can overwrite v3 where it is");
    }

    /// What v1 is read by is in the way. The instructions that read v0 later stand in front of the one that computes v1.
    #[test]
    fn readers_go_up_in_front_of_what_overwrites_the_value() {
        let performed = |choice: &str, between: &str, readers: &str| {
            let head = "target tiny\nfunction f\nb0:\n  v0:w = op\n  v3:w = op\n";
            let text = format!("{head}  v1:w(reuse=1{choice}) = op v0 movable\n{between}{readers}");
            let function = parse(&text).unwrap();
            let (overlay, _) = allocate(&function, Preset { sink: true, ..spill_free() }).unwrap();
            edits(&function, &overlay).iter().filter(|edit| edit.contains("perform")).count()
        };
        let read = "  op v1\n";
        let two = "  v2:w(reuse=1) = op v0 movable\n  v4:w(reuse=1|2) = op v0 v2 movable\n  op v4\n";
        assert_eq!(performed("", read, two), 2);
        assert_eq!(performed("|none", read, two), 0, "no copy is needed for v1");
        assert_eq!(performed("", "  op v1 clobbers=a\n", two), 0, "v4 would be live over a call");
        assert_eq!(performed("", read, &two.replace("v0 movable", "v0")), 0, "one of them does not move");
        assert_eq!(performed("", read, "  v2:w(reuse=1) = op v3 v1 v0 movable\n  op v2\n"), 0, "it reads v1");
        assert_eq!(performed("", read, "  v2:w(reuse=1) = op v0 movable\n  op v2\n"), 0, "it overwrites v0 itself");
        assert_eq!(performed("", read, "  v2:w(reuse=1) = op v3 v0 movable\n  op v2\n"), 1);
        let more = "  v4:w = op v0 movable\n  v2:w = op v0 movable\n  op v4 v2 v3\n";
        assert_eq!(performed("", read, more), 0, "more values are live on the way");
    }

    #[test]
    fn nothing_sinks_past_an_instruction_that_can_overwrite_nothing_else() {
        let performed = |last: &str| {
            let head = "target tiny\nfunction f\nb0:\n  v0:w = op\n  v2:w = op\n  v1:w(reuse=1) = op v0 movable\n";
            let function = parse(&format!("{head}  v3:w(reuse=1{last}\n  op v1 v3\n")).unwrap();
            let (overlay, _) = allocate(&function, Preset { sink: true, ..spill_free() }).unwrap();
            edits(&function, &overlay).iter().filter(|edit| edit.contains("perform")).count()
        };
        assert_eq!(performed(") = op v0"), 0);
        assert_eq!(performed("|none) = op v0"), 1);
        assert_eq!(performed("|2) = op v0 v2"), 1, "v2 dies, too");
        assert_eq!(performed("|2) = op v2 v0"), 1, "the same");
        assert_eq!(performed(") = op v2 v0"), 1, "it overwrites v2");
    }

    /// There are two registers, or three. Beside v0, which lives all the way, v2 is live where v1 is not read yet.
    #[test]
    fn what_is_computed_waits_where_registers_are_scarce() {
        let performed = |registers: &str, computed: &str, between: &str, reads: &str| {
            let target = format!(
                "target\n  bank g exchange\n  registers g {registers}\n  registers - flags\n  status flags\n  class w g 8/8 {registers}\n"
            );
            let body = format!("  v0:w = op\n{computed}  v2:w = op\n{between}  op {reads}\n  op v0\n");
            let function = parse(&format!("{target}function f\nb0:\n{body}")).unwrap();
            let preset = Preset { sink: false, ..Preset::named("tuned").unwrap() };
            let found = edits(&function, &allocate(&function, preset).unwrap().0);
            found.into_iter().filter(|edit| edit.contains("perform")).collect::<Vec<_>>()
        };
        let one = "  v1:w = op v0 movable\n";
        assert_eq!(performed("a b", one, "  op v2\n", "v1"), ["b0.4 perform i1"]);
        assert_eq!(performed("a b c", one, "  op v2\n", "v1"), [""; 0], "there is a register for each");
        assert_eq!(performed("a b", "  v1:w = op v0\n", "  op v2\n", "v1"), [""; 0], "it does not move");
        let load = "  v1:w = op v0 movable reads\n";
        assert_eq!(performed("a b", load, "  op v2 reads\n", "v1"), ["b0.4 perform i1"]);
        assert_eq!(performed("a b", load, "  op v2 writes\n", "v1"), [""; 0], "it would read what that writes");
        let two = "  v1:w = op v0 movable\n  v3:w = op v1 movable\n";
        assert_eq!(performed("a b", two, "  op v2\n", "v3"), ["b0.5 perform i1", "b0.5 perform i2"]);
        let shared = "  v1:w = op v0 movable\n  v3:w = op v1 movable\n  op v1\n";
        assert_eq!(performed("a b", shared, "  op v2\n", "v3"), ["b0.4 perform i2"], "v1 would live on further down");
        let compares = "  v1:w = op v0 defs=flags movable\n";
        let found = performed("a b", compares, "  op v2\n  op v0 defs=flags\n", "v1 uses=flags");
        assert_eq!(found, ["b0.4 perform i1"], "flags are live further down");
    }

    /// After a loop's back edge, the argument would be needed where it was before.
    #[test]
    fn an_argument_keeps_its_name_where_a_loop_goes_on_with_it() {
        let found = |split_arguments| {
            let mut preset = Preset::named("tuned").unwrap();
            let AssignmentStrategy::DominanceOrder(dominance) = &mut preset.assignment else { panic!("it is SSA-based") };
            dominance.assign.split_arguments = split_arguments;
            let function = fixture("argument_of_loop");
            edits(&function, &allocate(&function, preset).unwrap().0)
        };
        assert_eq!(found(true), found(false));
    }

    /// A value that dies where it is copied may be in the register of the copy.
    #[test]
    fn a_phi_takes_the_copy_of_what_dies() {
        let text = std::fs::read_to_string("testdata/functions/part_in_phi.txt").unwrap();
        let function = parse(&text.replace("  op v3\n", "")).unwrap();
        let overlay = allocate(&function, Preset::named("tuned").unwrap()).unwrap().0;
        assert_eq!((overlay.dropped, overlay.edits), (vec![], vec![]));
    }

    #[test]
    fn recoloured_copies_are_counted() {
        let (_, report) = allocate(&fixture("pinned_alone"), Preset::named("hack").unwrap()).unwrap();
        assert_eq!((report.recolouring.copies_before, report.recolouring.copies_after), (1, 0));
    }
}

mod elimination {
    use super::*;

    /// No edit can be left out without the checker noticing.
    #[test]
    fn every_edit_of_the_fixtures_is_needed() {
        let mut needed = 0;
        for name in ["swap_problem", "argument_in_memory", "mock_phi", "two_address", "phi_in_memory", "calls", "lost_copy"] {
            let function = fixture(name);
            let whole = allocated(&function, SwapPolicy::Auto).0;
            for index in 0..whole.edits.len() {
                let mut without = whole.clone();
                let (point, edit) = without.edits.remove(index);
                assert!(check(&function, &without).is_err(), "{name}: {edit:?} at {point:?} can be left out");
                needed += 1;
            }
        }
        assert_eq!(needed, 3 + 4 + 2 + 1 + 3 + 4 + 1);
    }
}

mod out_of_ssa {
    use super::*;

    /// The operand that an early definition overwrites is gone when the other operands are read, so the two do not interfere.
    #[test]
    fn an_early_definition_overwrites_its_copy() {
        let function = fixture("early_two_address");
        let (_, report) =
            allocate(&function, Preset::named("out-of-ssa").expect("it exists")).unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!((report.destruction.ties, report.destruction.ties_left), (2, 2), "v0 and v1 live on");
    }
}

/// Mistakes that allocators which keep much in memory once made.
mod everything_in_memory {
    use super::*;

    fn simple(function: &Function) -> Overlay {
        let preset = Preset::named("simple").expect("it exists");
        allocate(function, preset).unwrap_or_else(|failure| panic!("{failure}\n{function}")).0
    }

    /// The checker knows that control leaves at a terminator, before the store.
    #[test]
    fn nothing_is_stored_behind_a_terminator() {
        let function = fixture("jumping");
        let mut overlay = simple(&function);
        assert!(check(&function, &overlay).is_ok());
        let Some(Location::Reg(from)) = overlay.operands(&function, Inst::new(1))[0] else { panic!("v1 is in a register") };
        let to = overlay.slots.push(SlotData { size: 8, align: 8 });
        let end = Point { block: Block::new(0), index: 2 };
        let at = overlay.edits.partition_point(|&(point, _)| point <= end);
        overlay.edits.insert(at, (end, Edit::Store { from, to, class: function.values[v(1)].class }));
        assert!(check(&function, &overlay).is_err());
    }

    #[test]
    fn slots_are_not_shared_where_a_call_returns_twice() {
        let mut function = fixture("returns_twice");
        assert_eq!(simple(&function).slots.len(), 2);
        function.returns_twice = false;
        assert_eq!(simple(&function).slots.len(), 1, "v1 is defined where v0 is dead");
    }

    /// With `--share-slots off`, only values that φs relate have one slot.
    #[test]
    fn slots_are_not_shared_if_each_web_is_to_have_its_own() {
        let slots = |function: &Function, name: &str, share_slots: bool| {
            let preset = Preset::named(name).expect("it exists");
            let preset = Preset { spill: Policy { share_slots, ..preset.spill }, ..preset };
            allocate(function, preset).expect("it can be allocated").0.slots.len()
        };
        let mut function = fixture("returns_twice");
        function.returns_twice = false;
        assert_eq!([true, false].map(|share_slots| slots(&function, "simple", share_slots)), [1, 2]);
        assert_eq!(slots(&fixture("phi_in_memory"), "spill-free", false), 1, "v1, v2 and v3 are a web");
    }

    #[test]
    fn a_slot_is_accessed_in_one_form() {
        let function = fixture("forms");
        let overlay = simple(&function);
        let mut accesses = 0;
        for (_, edit) in &overlay.edits {
            if let Edit::Load { from: slot, class, .. } | Edit::Store { to: slot, class, .. } = *edit {
                assert_eq!(function.file.classes[class].slot_size, overlay.slots[slot].size, "{edit:?}");
                accesses += 1;
            }
        }
        assert_eq!(accesses, 4, "both definitions are stored, both uses loaded");
    }
}

/// Plans keep their promises, and verification sees when they do not.
mod plans {
    use super::*;

    const FIXTURES: &[&str] = &[
        "too_many",
        "calls",
        "narrow",
        "phi_in_memory",
        "frugal",
        "caching",
        "folding",
        "fold_to_fit",
        "argument_in_memory",
        "landing_pad_phi",
        "crowded_goto",
    ];

    /// The faults of every plan that `broken` makes of a fixture's.
    fn faults(name: &str, broken: impl Fn(&Plan) -> Vec<Plan>) -> Vec<Vec<Fault>> {
        with_plan(&fixture(name), |problem, plan| {
            assert_eq!(verify(problem, plan), [], "{name}");
            broken(plan).iter().map(|plan| verify(problem, plan)).collect()
        })
        .1
    }

    /// A value without its refill is not in a register, or has been there too long; without its store, it is not at home.
    /// Where verification does not mind, nothing is wrong.
    #[test]
    fn only_what_does_no_harm_can_be_left_out() {
        let (mut noticed, mut harmless) = (0, 0);
        for name in FIXTURES {
            let function = fixture(name);
            with_plan(&function, |problem, whole| {
                for index in 0..whole.refills.len() + whole.stores.len() {
                    let mut plan = whole.clone();
                    match index.checked_sub(whole.refills.len()) {
                        None => drop(plan.refills.remove(index)),
                        Some(store) => drop(plan.stores.remove(store)),
                    }
                    if verify(problem, &plan).is_empty() {
                        let overlay = as_planned(&function, problem, &plan).unwrap_or_else(|failure| panic!("{name}: {failure}"));
                        assert!(check(&function, &overlay).is_ok(), "{name} without {index}");
                        harmless += 1;
                    } else {
                        noticed += 1;
                    }
                }
            });
        }
        assert!(noticed >= 20 && harmless >= 2, "{noticed} noticed, {harmless} harmless");
    }

    #[test]
    fn a_home_that_was_not_written_is_not_read() {
        let found = faults("calls", |plan| vec![Plan { stores: Vec::new(), ..plan.clone() }]);
        assert!(found[0].iter().all(|fault| matches!(fault, Fault::NotInHome { .. })) && found[0].len() == 2, "{found:?}");
    }

    /// The two values of one home take turns in it.
    #[test]
    fn a_home_has_one_value_at_a_time() {
        let found = faults("too_many", |plan| {
            let mut plan = plan.clone();
            let store = plan.stores[0];
            // v0 lives on beside v1, and is stored to its home.
            plan.stores.push(Store { at: Point { index: 3, ..store.at }, value: v(0), home: store.value });
            vec![plan]
        });
        assert!(found[0].iter().any(|fault| matches!(fault, Fault::NotInHome { value, .. } if *value == v(1))), "{found:?}");
    }

    #[test]
    fn too_much_in_registers_does_not_fit() {
        let found = faults("too_many", |plan| vec![Plan { refills: Vec::new(), ..plan.clone() }]);
        assert!(found[0].iter().any(|fault| matches!(fault, Fault::TooMany(_))), "{found:?}");
    }

    #[test]
    fn nothing_is_refilled_where_no_code_can_stand() {
        let [from, to] = [0, 1].map(Block::new);
        let found = faults("crowded_goto", |plan| {
            let mut plan = plan.clone();
            plan.refills.push((Site::Edge { from, to }, v(0), Refill::Load));
            vec![plan]
        });
        assert!(found[0].contains(&Fault::EdgeWithoutCode { from, to }), "{found:?}");
    }
}
