//! What each phase does with small functions from `testdata/functions`.

use crate::support::fixture::fixture;
use crate::support::fixtures::{allocated, blocks, edits, registers, spilled_values, v};
use crate::support::interpret::compare;
use crate::support::phases::{convert, convert_to_split, spill};
use crate::support::presets::spill_free;
use chordal::allocate::allocators::{AssignmentStrategy, Elimination, Preset, RegisterCoalescing};
use chordal::allocate::assign::{PinPolicy, Policy};
use chordal::allocate::cssa::{Coalescing, Conventional};
use chordal::allocate::eliminate::SwapPolicy;
use chordal::allocate::pipeline::allocate;
use chordal::check::check;
use chordal::machine::{
    Block, Edit, Function, Goal, Inserted, Inst, InstKind, Location, Overlay, Point, Slot, SlotData, Value, parse,
};
use cranelift_entity::EntityRef;

/// An overlay that the checker accepts, under a policy for swaps.
fn overlay(function: &Function, swap: SwapPolicy) -> Overlay {
    allocated(function, swap).0
}

/// The same where nothing comes behind the walk that makes copies come to nothing.
fn walked(function: &Function) -> Overlay {
    let mut preset = spill_free();
    let AssignmentStrategy::DominanceOrder(dominance) = &mut preset.assignment else { panic!("spill-free walks") };
    dominance.coalesce(RegisterCoalescing::Preference);
    allocate(function, preset).expect("it can be allocated").0
}

mod cssa {
    use super::*;

    #[test]
    fn a_lost_copy_is_kept() {
        let conventional = spill(&fixture("lost_copy")).0;
        let expected = "\
b0: -> b1
  v0:w = op
b1: -> b2 b3
  v1:w = phi b0:v0 b3:v3
  v2:w = op v1
  op terminator
b2:
  op v1
b3: on-edge -> b1
  v3:w = copy v2
";
        assert_eq!(blocks(&conventional.function), expected);
        assert_eq!(conventional.web_count, 1);
        assert!(conventional.webs[v(2)].is_none(), "v2 is copied, not a member");
    }

    /// What is live at once may share memory if it is one value.
    #[test]
    fn copies_of_one_value_are_in_one_web() {
        let function = fixture("phi_of_copies");
        for (coalescing, copies, slots) in [(Coalescing::Pairwise, 1, 2), (Coalescing::Value, 0, 1)] {
            let conventional = convert(&function, coalescing);
            assert_eq!(conventional.counts.copies_after, copies, "{coalescing:?}");
            let webs = [0, 1, 2].map(|value| conventional.webs[v(value)].expand());
            assert!(webs[0].is_some() && webs[0] == webs[2], "{coalescing:?}");
            assert_eq!(webs[1] == webs[2], coalescing == Coalescing::Value);
            let (overlay, _) = allocate(&function, Preset { coalescing, ..spill_free() }).expect("it can be allocated");
            assert_eq!(overlay.slots.len(), slots, "{coalescing:?}");
            for path in 0..4 {
                compare(&function, &overlay, path, 10).unwrap_or_else(|found| panic!("{coalescing:?}, path {path}: {found}"));
            }
        }
    }

    /// The two change places by way of a third value; pairwise, both φs are isolated as a whole.
    #[test]
    fn swapped_phis_by_value_keep_one_web_each() {
        let function = fixture("swap_problem");
        let counts = [Coalescing::Pairwise, Coalescing::Value].map(|coalescing| convert(&function, coalescing).counts);
        assert_eq!(counts.map(|counts| counts.copies_after), [6, 3]);
    }

    /// All but the one that lives beside what takes its place, and what memory holds of it is the web's.
    #[test]
    fn phis_at_crowded_labels_define_the_programs_names() {
        let function = fixture("crowded_labels");
        let (isolated, rejoined) = (convert(&function, Coalescing::Pairwise), convert_to_split(&function));
        let named = |conventional: &Conventional| {
            let phis = conventional.function.blocks.values().flat_map(|data| &data.phis);
            phis.map(|phi| phi.def).filter(|&def| def < v(20)).collect::<Vec<Value>>()
        };
        assert_eq!(named(&isolated), []);
        assert_eq!(named(&rejoined), [6, 7, 8, 9, 10, 13, 15, 16, 17].map(v));
        assert_eq!(isolated.counts.copies_after - rejoined.counts.copies_after, 9);
        assert_eq!(rejoined.webs[v(6)], rejoined.webs[v(13)]);
        assert!(rejoined.webs[v(6)].is_some());
        assert!(!rejoined.without_code.iter().any(|&value| value < v(20)));
        let (overlay, _) = allocate(&function, Preset::named("tuned").unwrap()).expect("it can be allocated");
        for path in 0..4 {
            compare(&function, &overlay, path, 20).unwrap_or_else(|found| panic!("path {path}: {found}"));
        }
    }

    #[test]
    fn swapped_phis_become_webs_of_their_own() {
        let conventional = spill(&fixture("swap_problem")).0;
        let expected = "\
b0: -> b1
  v0:w = op
  v1:w = op
  v7:w = copy v1
  v4:w = copy v0
b1: -> b2 b3
  v6:w = phi b0:v4 b2:v5
  v9:w = phi b0:v7 b2:v8
  v2:w = copy v6
  v3:w = copy v9
  op v2 v3 terminator
b2: -> b1
  v8:w = copy v2
  v5:w = copy v3
  op terminator
b3:
";
        assert_eq!(blocks(&conventional.function), expected);
        let web = |value: usize| conventional.webs[v(value)].expand().expect("a member of a web");
        assert!([5, 6].iter().all(|&value| web(value) == web(4)) && [8, 9].iter().all(|&value| web(value) == web(7)));
        assert_ne!(web(4), web(7));
    }

    /// Figure 5 of the spill-free paper: φs that share an argument, and arguments of one φ that are alive together.
    #[test]
    fn folded_copies_come_back_where_webs_would_interfere() {
        let function = fixture("copy_folding");
        let conventional = spill(&function).0;
        let phis = |block: usize| &conventional.function.blocks[chordal::machine::Block::new(block)].phis;
        let web = |value: Value| conventional.webs[value].expand().expect("a member of a web");
        assert_ne!(web(phis(3)[0].def), web(phis(3)[1].def));
        // Of the select's arguments, the first is taken as it is; the other one lives behind its definition, and is copied.
        let [first, second] = [0, 1].map(|column| phis(6)[0].args[column].expand().expect("an argument"));
        assert_eq!(first, v(4));
        let text = blocks(&conventional.function);
        assert!(text.contains(&format!("b5: -> b6\n  {second}:w = copy v3\nb6:")), "{text}");
        assert_eq!(web(first), web(second));
    }

    /// Copies are as wide as what they copy, also for a narrow φ; an undefined argument needs none.
    #[test]
    fn copies_are_wide_enough() {
        let conventional = spill(&fixture("widths")).0;
        let expected = "\
b0: -> b1 b2
  v0:n = op
  v1:w = op
  op terminator
b1: -> b3
  v5:w = copy v1
  v4:w = copy v0
b2: -> b3
b3:
  v2:w = phi b1:v4 b2:undef
  v3:n = phi b1:v5 b2:undef
  op v2 v3
  op v0 v1
";
        assert_eq!(blocks(&conventional.function), expected);
    }

    /// The arguments are copied before the calls that throw, the definition behind the label.
    #[test]
    fn a_landing_pads_phi_is_in_memory() {
        let (conventional, spilled) = spill(&fixture("landing_pad_phi"));
        let expected = "\
b0: -> b1 b2
  v0:w = op
  op v0
  op clobbers=a,b,c,d,flags throws
  v1:w = op
b1: -> b3 b2
  op v1
  op v1 clobbers=a,b,c,d,flags throws
b2: live=a landing-pad
  op label
  v2:w = op
  op uses=a
  op v2
b3:
";
        assert_eq!(blocks(&spilled.function), expected);
        assert_eq!(conventional.without_code, [3, 4, 5].map(v));
        assert!(spilled.memory.slot_of[v(2)].is_none(), "behind the pad's label the value is in a register");
    }
}

mod bundles {
    use super::*;

    /// Each jump has one copy, although there are two labels.
    #[test]
    fn phis_that_take_the_same_share_their_copies() {
        let (conventional, spilled) = spill(&fixture("computed_goto"));
        let expected = "\
b0: -> b1 b2
  v0:w = op
  v1:w = op
  v2:w = op
  v9:w = copy v0
  op v2 terminator
b1: -> b1 b2
  v12:w = phi b0:v9 b1:v10 b2:v11
  v3:w = copy v12
  v4:w = op v3
  op v1
  v5:w = op
  v10:w = copy v4
  op v5 terminator
b2: -> b1 b2 b3
  v13:w = phi b0:v9 b1:v10 b2:v11
  v6:w = copy v13
  v7:w = op v6
  v8:w = op
  v11:w = copy v7
  op v8 terminator
b3:
  op v1
";
        assert_eq!(blocks(&spilled.function), expected);
        let web = conventional.webs[v(12)];
        assert!([9, 10, 11, 13].iter().all(|&value| conventional.webs[v(value)] == web));
    }

    #[test]
    fn values_meet_in_registers() {
        let function = fixture("computed_goto");
        let overlay = overlay(&function, SwapPolicy::Auto);
        assert!(edits(&function, &overlay).is_empty(), "they are where they have to be");
    }

    #[test]
    fn what_lives_on_in_copies_crosses_where_these_stay() {
        let function = fixture("handed_on");
        let frequent = edits(&function, &walked(&function)).into_iter().filter(|edit| edit.starts_with("b1"));
        assert_eq!(frequent.collect::<Vec<_>>(), Vec::<String>::new());
    }

    /// v1 is accessed more rarely.
    #[test]
    fn without_room_for_all_some_meet_in_memory() {
        let function = fixture("crowded_goto");
        let overlay = overlay(&function, SwapPolicy::Auto);
        assert_eq!(edits(&function, &overlay), ["b0.2 store s0 b", "b1.1 load b s0", "b3.0 load a s0"]);
    }
}

mod spilling {
    use super::*;

    /// v0 is accessed four times over five instructions, v2 twice over one, v1 twice over five.
    #[test]
    fn the_lightest_value_is_spilled() {
        let spilled = spill(&fixture("too_many")).1;
        let expected = "\
b0:
  v0:w = op
  v1:w = op
  store(s0) v1
  v2:w = op
  op v2 v0
  op v0
  op v0
  v3:w(of=v1) = load(s0)
  op v3
";
        assert_eq!(blocks(&spilled.function), expected);
        assert_eq!((spilled_values(&spilled), spilled.counts.values), (vec![v(1)], 1));
    }

    #[test]
    fn calls_spill_only_what_they_destroy_and_its_slot_is_used_again() {
        let function = fixture("calls");
        let spilled = spill(&function).1;
        assert_eq!(spilled_values(&spilled), [1, 2].map(v), "v0 has callee-saved registers to go to");
        assert_eq!(spilled.memory.slots.values().copied().collect::<Vec<_>>(), [SlotData { size: 16, align: 16 }]);
        let overlay = overlay(&function, SwapPolicy::Auto);
        assert_eq!(edits(&function, &overlay), ["b0.2 store s0 x0", "b0.3 load x0 s0", "b0.5 store s0 x0", "b0.6 load x0 s0"]);
        assert_eq!(registers(&function, &overlay, 0), ["s"]);
    }

    #[test]
    fn narrow_classes_are_counted_apart() {
        let spilled = spill(&fixture("narrow")).1;
        assert_eq!(spilled_values(&spilled), [v(2)], "of the five narrow values the one that rests longest");
        assert_eq!(spilled.memory.slots[Slot::new(0)], SlotData { size: 1, align: 1 });
    }

    #[test]
    fn pinned_registers_are_no_registers() {
        let function = fixture("pinned_away");
        let spilled = spill(&function).1;
        assert_eq!(spilled_values(&spilled), [v(0)], "v0 is accessed oftener than v1, but lives longer");
        assert_eq!(registers(&function, &overlay(&function, SwapPolicy::Auto), 1), ["t"]);
    }

    #[test]
    fn arguments_of_a_phi_in_memory_are_stored_where_they_come_from() {
        let (conventional, spilled) = spill(&fixture("phi_in_memory"));
        let expected = "\
b0: -> b1 b2
  v0:w = op
  op v0 terminator
b1: -> b3
  v1:w = op v0
  store(s0) v1
b2: -> b3
  v2:w = op v0
  store(s0) v2
b3:
  op clobbers=a,b,flags
  v4:w(of=v3) = load(s0)
  op v4
";
        assert_eq!(blocks(&spilled.function), expected);
        assert_eq!(conventional.web_count, 1);
        assert_eq!(spilled_values(&spilled), [v(3)]);
    }

    #[test]
    fn a_web_has_one_slot() {
        let (conventional, spilled) = spill(&fixture("frugal"));
        assert_eq!(conventional.web_count, 1);
        assert_eq!(spilled_values(&spilled), [0, 1, 2].map(v));
        assert_eq!(spilled.memory.slots.len(), 1);
        assert!(spilled.function.blocks.values().all(|data| data.phis.is_empty()), "memory to memory is nothing to do");
    }

    #[test]
    fn a_loaded_value_stays_as_long_as_there_is_room() {
        let function = fixture("caching");
        let found = edits(&function, &overlay(&function, SwapPolicy::Auto));
        assert_eq!(found, ["b0.1 store s0 a", "b0.2 load a s0", "b0.6 load a s0"]);
    }

    #[test]
    fn what_serves_one_instruction_is_read_from_memory_there() {
        let function = fixture("folding");
        let overlay = overlay(&function, SwapPolicy::Auto);
        assert_eq!(edits(&function, &overlay), ["b0.1 store s0 a", "b2.0 load a s0", "b3.0 load a s0"]);
        assert_eq!([2, 3, 5].map(|inst| registers(&function, &overlay, inst)), [vec!["s0"], vec!["a"], vec!["a", "a"]]);
    }

    #[test]
    fn what_is_loaded_changed_and_stored_is_changed_in_memory() {
        let function = fixture("update");
        let (overlay, _) = allocate(&function, Preset::named("tuned").unwrap()).unwrap();
        let stored = ["b0.1 store s0 a", "b0.1 store s1 b"];
        let second = ["b1.2 load a s1", "b1.3 store s1 a"];
        assert_eq!(edits(&function, &overlay), [&stored[..], &second, &["b2.0 load a s0", "b2.0 load b s1"]].concat());
        assert_eq!([2, 3].map(|inst| registers(&function, &overlay, inst)), [vec!["s0", "s0"], vec!["a", "a"]]);
    }

    #[test]
    fn what_is_dead_is_not_held_by_the_register_that_it_was_copied_to() {
        let function = fixture("held_no_longer");
        let (overlay, report) = allocate(&function, Preset::named("tuned").unwrap()).unwrap();
        assert_eq!(edits(&function, &overlay), ["b0.2 store s0 a", "b0.5 load a s0"]);
        let certificate = report.spill.certificate.unwrap();
        assert!(certificate.cost <= 1.01 * certificate.bound, "{certificate:?}");
    }

    #[test]
    fn a_slot_that_is_somebody_elses_until_the_store_is_not_changed_before() {
        let function = fixture("changed_too_early");
        let mut preset = spill_free();
        let AssignmentStrategy::DominanceOrder(dominance) = &mut preset.assignment else {
            unreachable!("it colours in dominance order")
        };
        dominance.elimination = Elimination::SpareRegister;
        let (overlay, _) = allocate(&function, preset).unwrap();
        let before_loop = ["b0.1 store s0 a", "b0.3 load b s0", "b0.6 load a s0", "b0.8 store s0 b"];
        assert_eq!(edits(&function, &overlay), [&before_loop[..], &["b1.1 load a s0", "b3.0 store s0 a"]].concat());
        assert_eq!(registers(&function, &overlay, 3), ["b", "b", "a"]);
    }

    #[test]
    fn what_can_be_changed_in_memory_is_there_rather_than_what_cannot() {
        let function = fixture("changed_rather");
        let (overlay, report) = allocate(&function, Preset::named("tuned").unwrap()).unwrap();
        assert_eq!(edits(&function, &overlay), ["b0.1 store s0 a", "b2.0 load a s0"]);
        assert_eq!(registers(&function, &overlay, 3), ["s0", "s0"]);
        let certificate = report.spill.certificate.unwrap();
        assert!(certificate.cost <= 1.01 * certificate.bound, "{certificate:?}");
    }

    #[test]
    fn what_would_be_stored_behind_a_branch_is_changed_in_memory() {
        let function = fixture("changed_for_one_way");
        let (overlay, _) = allocate(&function, Preset::named("tuned").unwrap()).unwrap();
        assert_eq!(edits(&function, &overlay), ["b0.1 store s0 a", "b0.1 store s1 b", "b2.0 load a s1"]);
        assert_eq!(registers(&function, &overlay, 2), ["s0", "s0"]);
    }

    #[test]
    fn what_is_stored_where_control_hardly_comes_is_not_changed_in_memory() {
        let mut function = fixture("changed_for_one_way");
        function.blocks[chordal::machine::Block::new(3)].frequency = 10.0;
        let (overlay, _) = allocate(&function, Preset::named("tuned").unwrap()).unwrap();
        let stored = ["b0.1 store s0 a", "b0.1 store s1 b"];
        let loop_variable = ["b1.1 load a s0", "b2.0 load a s1", "b3.0 store s0 a"];
        assert_eq!(edits(&function, &overlay), [&stored[..], &loop_variable].concat());
        assert_eq!(registers(&function, &overlay, 2), ["a", "a"]);
    }

    #[test]
    fn an_instruction_with_too_many_operands_reads_one_from_memory() {
        let function = fixture("fold_to_fit");
        assert_eq!(spilled_values(&spill(&function).1), [0, 1].map(v));
        let overlay = overlay(&function, SwapPolicy::Auto);
        assert_eq!(registers(&function, &overlay, 3)[1], "s1");
        let mut unfoldable = function;
        unfoldable.operands.iter_mut().for_each(|o| o.foldable = false);
        let failure = chordal::allocate::pipeline::allocate(&unfoldable, spill_free()).unwrap_err();
        assert!(failure.to_string().contains("instruction 3 of b0 needs more registers than there are"), "{failure}");
    }
}

mod assignment {
    use super::*;

    #[test]
    fn a_source_that_lives_on_is_copied_before_it_is_overwritten() {
        let function = fixture("two_address");
        let overlay = overlay(&function, SwapPolicy::Auto);
        assert_eq!(edits(&function, &overlay), ["b0.2 move b a"], "not before the first instruction, whose source dies");
        assert_eq!([1, 2, 3].map(|inst| registers(&function, &overlay, inst)), [["a", "a"], ["b", "b"], ["a", "b"]]);
    }

    #[test]
    fn what_overwrites_a_value_moves_behind_its_last_use() {
        let function = fixture("sink");
        let performed = |sink| {
            let preset = Preset { sink, ..spill_free() };
            let (overlay, _) = chordal::allocate::pipeline::allocate(&function, preset).unwrap();
            edits(&function, &overlay).into_iter().filter(|edit| edit.starts_with("b1")).collect::<Vec<_>>()
        };
        assert_eq!(performed(false), ["b1.0 move b a"]);
        assert_eq!(performed(true), ["b1.3 perform i1"]);
    }

    #[test]
    fn values_wait_in_registers_that_are_excluded() {
        let function = fixture("parked");
        let allocated = |park| allocate(&function, Preset { park, ..Preset::named("tuned").unwrap() }).unwrap().0;
        let parked = allocated(true);
        assert_eq!(edits(&function, &parked), ["b0.5 move a f", "b1.2 move d a", "b1.4 move s e", "b1.8 move a e"]);
        let waiting = [0, 1, 2, 6, 7].map(|inst| registers(&function, &parked, inst)[0].clone());
        assert_eq!(waiting, ["d", "e", "f", "e", "d"], "these are no instructions");
        assert_eq!((parked.slots.len(), allocated(false).slots.len()), (0, 1));
    }

    /// A call takes v0 in a and v1 in b, and both are read once more before that, where v2 is live, too.
    #[test]
    fn values_are_read_from_the_registers_that_a_call_takes_them_in() {
        let text = "target tiny\nfunction f\nb0:\n  v0:n = op\n  v1:n = op\n  v2:n = op\n  v3:n = op\n  op v3\n  copy-to(a) v0\n  \
                    copy-to(b) v1\n  op v0\n  op v1\n  op v2\n  op uses=a,b defs=a clobbers=a,b,c,d,flags\n";
        let function = parse(text).unwrap();
        let (overlay, report) = allocate(&function, Preset::named("tuned").unwrap()).unwrap();
        assert_eq!((overlay.slots.len(), report.spill.values), (0, 0), "{:?}", edits(&function, &overlay));
    }

    /// What is named is what ran, or it is said that it is not.
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

    /// By any allocator but the one that has everything in memory: a register is theirs for a moment.
    #[test]
    fn results_that_nobody_reads_are_not_stored() {
        let call = |value: &str| format!("  op defs=a clobbers=a,b,c,d,flags\n  {value}:w = copy-from(a)\n");
        let function = parse(&format!("target tiny\nfunction f\nb0:\n{}{}", call("v0"), call("v1"))).unwrap();
        use chordal::allocate::{HAS_SOLVER, allocators::PRESETS};
        for &preset in PRESETS.iter().filter(|preset| preset.name != "simple" && (HAS_SOLVER || preset.name != "optimal")) {
            let (overlay, _) = allocate(&function, preset).unwrap();
            assert!(overlay.slots.is_empty(), "{}: {:?}", preset.name, edits(&function, &overlay));
        }
    }

    #[test]
    fn what_writes_no_flags_reads_no_memory() {
        let function = fixture("flagless");
        let (overlay, _) = allocate(&function, Preset::named("tuned").unwrap()).unwrap();
        let performed = overlay.edits.iter().any(|&(_, edit)| edit == Edit::Perform { inst: Inst::new(3), flagless: true });
        assert!(performed, "{:?}", edits(&function, &overlay));
        assert!(overlay.operands(&function, Inst::new(3)).iter().all(|at| matches!(at, Some(Location::Reg(_)))));
    }

    #[test]
    fn values_are_read_in_place_of_their_copies() {
        let function = fixture("copies");
        let preset = Preset { merge_copies: true, ..spill_free() };
        let (overlay, _) = chordal::allocate::pipeline::allocate(&function, preset).unwrap();
        let registers = |inst| registers(&function, &overlay, inst);
        assert_eq!(overlay.dropped, [Inst::new(1)]);
        let read = registers(3);
        assert_eq!(read[0], read[1]);
        assert_ne!(read[0], read[2]);
        assert_eq!([registers(7), registers(9)].map(|of| of[0] == of[1]), [true, true]);
    }

    #[test]
    fn a_phi_takes_the_whole_of_what_lives_on() {
        let allocated = |text: &str| {
            let function = parse(text).unwrap();
            allocate(&function, Preset::named("tuned").unwrap()).unwrap().0
        };
        let text = std::fs::read_to_string("testdata/functions/part_in_phi.txt").unwrap();
        let overlay = allocated(&text);
        assert_eq!((overlay.dropped, overlay.edits), (vec![Inst::new(3)], vec![]));
        // What dies where it is copied may be in the same register.
        let overlay = allocated(&text.replace("  op v3\n", ""));
        assert_eq!((overlay.dropped, overlay.edits), (vec![], vec![]));
    }

    #[test]
    fn constants_are_computed_where_they_are_copied_to() {
        let function = fixture("constants_copied");
        let found = |merge_copies| {
            let preset = Preset { merge_copies, ..spill_free() };
            let (overlay, _) = chordal::allocate::pipeline::allocate(&function, preset).unwrap();
            (edits(&function, &overlay), overlay.dropped)
        };
        let computed = ["b0.3 rematerialise s i0", "b0.4 rematerialise b i1", "b0.6 rematerialise s i2"].map(str::to_owned);
        assert_eq!(found(true), (computed.to_vec(), [1, 2].map(Inst::new).to_vec()));
        assert_eq!(found(false), (vec![], vec![]));
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
    fn what_is_computed_again_for_a_copy_is_computed_there() {
        let function = fixture("computed_for_a_copy");
        let found = |merge_copies| {
            let preset = Preset { merge_copies, ..Preset::named("tuned").unwrap() };
            edits(&function, &allocate(&function, preset).unwrap().0)
        };
        assert_eq!(found(true), ["b1.1 rematerialise s i0"]);
        assert!(found(false).iter().all(|edit| !edit.contains("rematerialise s")), "{:?}", found(false));
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

    #[test]
    fn nothing_sinks_behind_a_copy_of_what_it_overwrites() {
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

    /// What may stay in the register that it comes in, and goes back to, is not overwritten later, for which it would have to leave.
    #[test]
    fn nothing_sinks_behind_a_copy_to_where_the_value_came_in() {
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

    #[test]
    fn nothing_sinks_behind_what_can_overwrite_nothing_else() {
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

    /// v1 is read by two instructions, of which the one that overwrites it has moved behind the other when that of v1 moves.
    #[test]
    fn what_has_sunk_sinks_again() {
        let text = "target tiny\nfunction f\nb0:\n  v0:w = op\n  v1:w(reuse=1) = op v0 movable\n  v2:w(reuse=1) = op v1 movable\n\
                    \x20 v3:w = op v1 movable\n  op v0\n  op v2 v3\n";
        let function = parse(text).unwrap();
        let (overlay, _) = allocate(&function, Preset { sink: true, ..spill_free() }).unwrap();
        let performed: Vec<_> = edits(&function, &overlay).into_iter().filter(|edit| edit.contains("perform")).collect();
        assert_eq!(performed, ["b0.5 perform i1", "b0.5 perform i3", "b0.5 perform i2"]);
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

    #[test]
    fn a_definition_overwrites_what_dies_if_it_can() {
        let function = fixture("two_address_forms");
        let copies = |forms| {
            let preset = Preset { forms, ..spill_free() };
            let (overlay, _) = chordal::allocate::pipeline::allocate(&function, preset).unwrap();
            edits(&function, &overlay)
        };
        assert_eq!(copies(false), ["b0.2 move c a", "b0.3 move b c", "b0.5 move b a", "b3.0 move a b"]);
        assert_eq!(copies(true).iter().map(|edit| &edit[..9]).collect::<Vec<_>>(), ["b0.5 move"]);
    }

    /// Otherwise, copies stand elsewhere.
    #[test]
    fn a_definition_overwrites_nothing_that_belongs_in_another_register() {
        let function = fixture("forms_apart");
        let found = |forms| {
            let preset = Preset { forms, ..spill_free() };
            let (overlay, _) = chordal::allocate::pipeline::allocate(&function, preset).unwrap();
            (edits(&function, &overlay).len(), registers(&function, &overlay, 5))
        };
        assert_eq!(found(true), (0, vec!["d".to_owned()]));
        assert_eq!(found(false), (3, vec!["c".to_owned()]));
    }

    #[test]
    fn a_sum_in_a_loop_overwrites_itself() {
        let function = fixture("summed_in_loop");
        let copies = |forms| {
            let preset = Preset { forms, ..spill_free() };
            let (overlay, _) = chordal::allocate::pipeline::allocate(&function, preset).unwrap();
            edits(&function, &overlay).len()
        };
        assert_eq!((copies(false), copies(true)), (1, 0));
    }

    #[test]
    fn what_only_the_program_copies_is_recoloured() {
        let function = fixture("pinned_alone");
        let (overlay, report) = chordal::allocate::pipeline::allocate(&function, Preset::named("hack").unwrap()).unwrap();
        assert_eq!((report.recolouring.copies_before, report.recolouring.copies_after), (1, 0));
        assert_eq!(registers(&function, &overlay, 3), ["a"]);
    }

    #[test]
    fn the_phi_chooses_first_that_has_most_at_stake() {
        let function = fixture("staked_phis");
        let overlay = walked(&function);
        assert_eq!(registers(&function, &overlay, 8), ["a"], "{:?}", edits(&function, &overlay));
    }

    /// What `tuned` makes of a function if it assigns registers otherwise.
    fn overlay_by(function: &Function, change: impl FnOnce(&mut Policy)) -> Overlay {
        let mut preset = Preset::named("tuned").unwrap();
        if let AssignmentStrategy::DominanceOrder(dominance) = &mut preset.assignment {
            change(&mut dominance.assign);
        }
        allocate(function, preset).unwrap().0
    }

    #[test]
    fn what_is_overwritten_stays_and_what_is_read_later_moves() {
        let function = fixture("split_ties");
        let found = |split_ties| edits(&function, &overlay_by(&function, |assign| assign.split_ties = split_ties));
        assert_eq!(found(false), ["b1.0 move b a", "b1.1 move c b", "b1.4 move a c"]);
        assert_eq!(found(true), ["b1.0 move a b", "b1.1 move c b"]);
    }

    #[test]
    fn an_argument_stays_where_it_comes_in_until_that_is_taken() {
        let function = fixture("split_arguments");
        let found = |split_arguments| {
            let overlay = overlay_by(&function, |assign| assign.split_arguments = split_arguments);
            (edits(&function, &overlay), registers(&function, &overlay, 5))
        };
        assert_eq!(found(false), (vec![], vec!["d".to_owned()]));
        assert_eq!(found(true), (vec!["b1.0 move d a".to_owned()], vec!["a".to_owned()]));
    }

    /// Behind a loop's back edge the argument would be wanted where it was before.
    #[test]
    fn an_argument_keeps_its_name_where_a_loop_goes_on_with_it() {
        let function = fixture("argument_of_loop");
        let found = |split_arguments| edits(&function, &overlay_by(&function, |assign| assign.split_arguments = split_arguments));
        assert_eq!(found(true), found(false));
    }

    #[test]
    fn a_value_is_held_where_it_is_copied_to() {
        for (name, last) in [("held", 6), ("held_and_read", 8)] {
            let function = fixture(name);
            let found = |pins| {
                let overlay = overlay_by(&function, |assign| assign.pins = pins);
                (edits(&function, &overlay), registers(&function, &overlay, last))
            };
            assert_eq!(found(PinPolicy::Hold), (vec![], vec!["s".to_owned(), "t".to_owned()]), "{name}");
            assert_eq!(found(PinPolicy::Repair).0.len(), 2, "{name}");
        }
    }

    /// The value moves out of the way of the pins, and the edge back brings it to where the loop expects it.
    #[test]
    fn a_value_that_moves_in_a_loop_comes_back_on_the_edge() {
        let function = fixture("mock_phi");
        let overlay = overlay(&function, SwapPolicy::Auto);
        assert_eq!(edits(&function, &overlay), ["b1.2 move b a", "b2.0 move a b"]);
        assert_eq!(registers(&function, &overlay, 7), ["b"]);
    }
}

mod elimination {
    use super::*;

    #[test]
    fn copies_avoid_edges_with_blocks_of_their_own() {
        let function = fixture("spare_jumps");
        let found = |spare_jumps: bool| {
            let (overlay, _) = allocate(&function, Preset { spare_jumps, ..Preset::named("tuned").unwrap() }).unwrap();
            let places: Vec<String> = edits(&function, &overlay).iter().map(|edit| edit[..9].to_owned()).collect();
            (places.join(", "), overlay.debug_locations[0].is_some())
        };
        assert_eq!(found(false), ("b5.0 move, b5.0 move, b5.0 move, b6.0 move".into(), true));
        assert_eq!(found(true), ("b1.1 move, b1.1 move, b1.1 move, b3.0 move".into(), false));
    }

    #[test]
    fn a_cycle_goes_through_a_free_register() {
        let function = fixture("swap_problem");
        let found = |swap| edits(&function, &overlay(&function, swap));
        assert_eq!(found(SwapPolicy::Auto), ["b2.0 move c a", "b2.0 move a b", "b2.0 move b c"]);
        assert_eq!(found(SwapPolicy::Exchange), ["b2.0 exchange a b"]);
        assert_eq!(found(SwapPolicy::Xor), ["b2.0 xor a b"]);
    }

    #[test]
    fn without_a_free_register_it_is_a_swap_and_no_xor_where_flags_are_live() {
        for (name, by_policy) in [("swap_flags_dead", "xor"), ("swap_flags_live", "exchange")] {
            let function = fixture(name);
            let found = |swap| edits(&function, &overlay(&function, swap));
            assert_eq!(found(SwapPolicy::Auto), ["b2.0 exchange a b"], "{name}");
            assert_eq!(found(SwapPolicy::Xor), [format!("b2.0 {by_policy} a b")], "{name}");
        }
    }

    /// v2 leaves the register that the other argument is loaded into first.
    #[test]
    fn loads_come_behind_the_moves() {
        let function = fixture("argument_in_memory");
        let overlay = overlay(&function, SwapPolicy::Auto);
        assert_eq!(edits(&function, &overlay), ["b0.1 store s0 a", "b1.3 move b a", "b1.3 load a s0", "b2.1 load a s0"]);
    }

    /// The swap stands before the terminator, and so before the second debug use.
    #[test]
    fn the_debugger_is_not_sent_to_a_register_that_an_edge_has_changed() {
        let function = fixture("debug_at_edges");
        let overlay = overlay(&function, SwapPolicy::Auto);
        assert!(edits(&function, &overlay).iter().all(|edit| edit.starts_with("b2.1 ")));
        assert_eq!(overlay.debug_locations, [Some(Location::Reg(function.file.by_name("a").unwrap())), None]);
    }

    /// Nothing is superfluous, and the checker sees when something is missing.
    #[test]
    fn every_edit_of_the_fixtures_is_needed() {
        let mut needed = 0;
        for name in ["swap_problem", "argument_in_memory", "mock_phi", "two_address", "phi_in_memory", "calls", "lost_copy"] {
            let function = fixture(name);
            let whole = overlay(&function, SwapPolicy::Auto);
            for index in 0..whole.edits.len() {
                let mut without = whole.clone();
                let (point, edit) = without.edits.remove(index);
                assert!(check(&function, &without).is_err(), "{name}: {edit:?} at {point:?} can be left out");
                needed += 1;
            }
        }
        assert_eq!(needed, 3 + 4 + 2 + 1 + 3 + 4 + 1);
    }

    #[test]
    fn inserted_instructions_of_the_fixtures_are_no_phis_work() {
        let spilled = spill(&fixture("argument_in_memory")).1;
        let inserted = |kind: fn(&InstKind) -> bool| spilled.function.insts.values().filter(|data| kind(&data.kind)).count();
        assert_eq!(inserted(|kind| matches!(kind, InstKind::Inserted(Inserted::Store(_)))), 1);
        assert_eq!(
            inserted(|kind| matches!(kind, InstKind::Inserted(Inserted::Load(_)))),
            0,
            "the φ's argument is loaded on its edge"
        );
    }
}

mod linear_scan {
    use super::*;

    fn scanned(function: &Function) -> Overlay {
        let preset = Preset::named("linear-scan").expect("it exists");
        allocate(function, preset).unwrap_or_else(|failure| panic!("{failure}")).0
    }

    #[test]
    fn a_hole_is_filled() {
        let function = fixture("hole");
        let overlay = scanned(&function);
        assert!(edits(&function, &overlay).is_empty());
        let of = |inst| registers(&function, &overlay, inst)[0].clone();
        assert!([2, 3].map(of).contains(&of(0)), "v1 or v2 is where v0 was and will be");
    }

    #[test]
    fn what_is_spilled_gets_a_second_chance() {
        let function = fixture("second_chance");
        let overlay = scanned(&function);
        let found = edits(&function, &overlay);
        assert_eq!(found, ["b0.1 store s0 a", "b0.5 load a s0"], "the second use finds it where the first one did");
        assert_eq!([5, 7].map(|inst| registers(&function, &overlay, inst)[0].clone()), ["a", "a"]);
    }

    #[test]
    fn a_two_address_definition_is_not_merged_with_what_is_read_beside_it() {
        let conventional = convert(&fixture("merged_two_address"), Coalescing::Aggressive);
        let web = |value: usize| conventional.webs[v(value)].expand();
        assert_ne!(web(1), web(3), "v1 and v3 are both in registers when the instruction reads v3");
        assert_eq!(web(1), web(4), "v4 is overwritten by v1");
    }
}

mod out_of_ssa {
    use super::*;

    /// What an early definition overwrites is gone when the other operands are read, so the two do not interfere.
    #[test]
    fn an_early_definition_overwrites_its_copy() {
        let function = fixture("early_two_address");
        let (_, report) =
            allocate(&function, Preset::named("out-of-ssa").expect("it exists")).unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!((report.destruction.ties, report.destruction.ties_left), (2, 2), "v0 and v1 live on");
    }
}

/// What the allocators that keep much in memory got wrong once.
mod everything_in_memory {
    use super::*;

    fn simple(function: &Function) -> Overlay {
        let preset = Preset::named("simple").expect("it exists");
        allocate(function, preset).unwrap_or_else(|failure| panic!("{failure}\n{function}")).0
    }

    #[test]
    fn what_inline_assembly_defines_for_its_jumps_stays_in_a_register() {
        let function = fixture("jumping");
        let overlay = simple(&function);
        let defined = registers(&function, &overlay, 1)[0].clone();
        assert_eq!(registers(&function, &overlay, 5), [defined], "v1 is where it was");
        assert_eq!(overlay.slots.len(), 1, "v0 and v2 are in memory, one after the other");
        assert!(edits(&function, &overlay).iter().all(|edit| !edit.starts_with("b2.")), "nothing is loaded where v1 is read");
    }

    /// The checker knows that control leaves before what stands behind the jump.
    #[test]
    fn a_store_behind_the_jump_is_not_enough() {
        let function = fixture("jumping");
        let mut overlay = simple(&function);
        let Some(Location::Reg(reg)) = overlay.operands(&function, Inst::new(1))[0] else { panic!("v1 is in a register") };
        let class = function.values[v(1)].class;
        let other = function.allowed(v(1)).iter().find(|&other| other != reg).expect("there are several registers");
        let to = overlay.slots.push(SlotData { size: 8, align: 8 });
        let at = |block: usize, index| Point { block: Block::new(block), index };
        overlay.edits.push((at(0, 2), Edit::Store { from: reg, to, class }));
        overlay.edits.push((at(2, 0), Edit::Load { to: other, from: to, class }));
        overlay.edits.sort_by_key(|&(point, _)| point);
        assert!(check(&function, &overlay).is_ok(), "the store does no harm");
        let read = function.insts[Inst::new(5)].operands.start as usize;
        overlay.locations[read] = Some(Location::Reg(other));
        assert!(check(&function, &overlay).is_err());
    }

    #[test]
    fn slots_are_not_shared_where_a_call_returns_twice() {
        let mut function = fixture("returns_twice");
        assert_eq!(simple(&function).slots.len(), 2);
        function.returns_twice = false;
        assert_eq!(simple(&function).slots.len(), 1, "v1 is defined where v0 is dead");
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

/// Plans that leave values in registers where control takes edges without code.
mod splitting {
    use super::*;
    use crate::support::phases::spill_as;
    use chordal::allocate::allocators::AssignmentStrategy;
    use chordal::allocate::spill::{Choice, EdgeSource, Entry, Spilled};

    const ENTRIES: [Entry; 2] = [Entry::Nearest, Entry::Predecessors];

    fn split(name: &str, entry: Entry) -> Spilled {
        split_by(name, Choice::Farthest(entry))
    }

    fn split_by(name: &str, choice: Choice) -> Spilled {
        let mut preset = spill_free();
        let AssignmentStrategy::DominanceOrder(dominance) = &mut preset.assignment else { panic!("it is SSA-based") };
        dominance.spilling = choice;
        spill_as(preset, &fixture(name)).1
    }

    #[test]
    fn stores_stand_where_they_are_seldom_executed() {
        let around_call = |name: &str| format!("  store(s0) v0\n  op clobbers=a,b\n  {name}:w(of=v0) = load(s0)\n  op {name}\n");
        for choice in ENTRIES.map(Choice::Farthest).into_iter().chain([Choice::Priced]) {
            let text = blocks(&split_by("cold_stores", choice).function);
            let blocks = [1, 2].map(|block| format!("b{block}: freq=0.01\n{}", around_call(&format!("v{block}"))));
            let expected = format!("b0: -> b1 b2 b3\n  v0:w = op\n  op v0 terminator\n{}b3: freq=0.98\n", blocks.concat());
            assert_eq!(text, expected, "{choice:?}");
        }
    }

    /// Nothing is so dear that what is dearer still costs no more.
    #[test]
    fn what_is_executed_most_is_in_registers_before_what_is_executed_often() {
        let text = blocks(&split_by("hottest", Choice::Priced).function);
        assert!(text.contains("b2: freq=1000000000 -> b5 b3\n  op v4\n"), "v0 stays in the register: {text}");
    }

    /// v0 and what the φ takes cross both calls in the registers that these leave.
    #[test]
    fn what_lives_into_landing_pads_stays_in_registers() {
        let (function, preset) = (fixture("held_over_throws"), Preset::named("tuned").expect("it exists"));
        let text = blocks(&split_by("held_over_throws", Choice::Priced).function);
        assert!(!text.contains("store") && text.contains("v6:w = phi b0:v4 b1:v5\n"), "{text}");
        let (overlay, _) = allocate(&function, preset).unwrap();
        assert!(edits(&function, &overlay).is_empty(), "{:?}", edits(&function, &overlay));
        for entry in ENTRIES {
            let text = blocks(&split("held_over_throws", entry).function);
            assert!(text.contains("store") && !text.contains("phi"), "{entry:?}: {text}");
        }
    }

    /// v9 and v10 pass b1 in memory, v16 and v17 pass b2.
    #[test]
    fn copies_within_a_home_are_nothing() {
        let spilled = split_by("crowded_labels", Choice::Priced);
        let b1 = "\
  v6:x = phi b0:v20 b1:v21 b2:v22
  v7:x = phi b0:v24 b1:v25 b2:v26
  v8:x = phi b0:v28 b1:v29 b2:v30
  v11:x = op v6 v8
  v12:w = op
  v29:x = copy v8
  v25:x = copy v7
  v21:x = copy v11
  op v12 terminator
";
        assert!(blocks(&spilled.function).contains(b1));
        assert_eq!(spilled.counts.optimisations.coalesced_copies, 4);
    }

    #[test]
    fn constants_of_webs_are_computed_on_edges() {
        for entry in ENTRIES {
            let spilled = split("constant_in_web", entry);
            let text = blocks(&spilled.function);
            assert!(text.starts_with("b0: -> b1\n  op clobbers=a,b\nb1: -> b2 b3\n  v1:w = phi b0:undef b3:v2\n"), "{text}");
            let refills = &spilled.memory.edge_refills[Block::new(1)];
            assert_eq!(refills.iter().map(|it| it.source).collect::<Vec<_>>(), [EdgeSource::Rematerialise(Inst::new(0))]);
            assert!(spilled.memory.slots.is_empty());
        }
    }

    /// The checker knows that the φ is the same constant.
    #[test]
    fn a_phi_that_takes_nothing_but_a_constant_is_computed_behind_itself() {
        let function = fixture("constant_in_single_phi");
        let (overlay, _) = allocate(&function, Preset::named("tuned").unwrap()).unwrap();
        assert_eq!(edits(&function, &overlay), ["b1.0 rematerialise a i0", "b2.0 rematerialise a i0"]);
    }

    #[test]
    fn what_is_computed_from_a_value_in_a_register_is_computed_again() {
        let function = fixture("recomputed");
        let allocated = |rematerialise| {
            let mut preset = Preset::named("tuned").unwrap();
            preset.spill.rematerialise = rematerialise;
            allocate(&function, preset).unwrap().0
        };
        let overlay = allocated(true);
        assert_eq!(edits(&function, &overlay), ["b0.4 rematerialise b i1 a"]);
        assert_eq!(overlay.dropped, [Inst::new(1)]);
        assert_eq!(edits(&function, &allocated(false)), ["b0.1 store s0 a", "b0.5 load a s0"]);
    }

    /// Else it would be stored each time, for the one time that it is loaded.
    #[test]
    fn what_nothing_computes_again_behind_a_loop_is_not_stored_in_it() {
        let function = fixture("stored_in_no_loop");
        let (overlay, _) = allocate(&function, Preset::named("tuned").unwrap()).unwrap();
        assert_eq!(edits(&function, &overlay), ["b1.1 store s0 a", "b6.0 move c a", "b6.0 load a s0"]);
    }

    /// The smallest code saves a register and restores it, for these instructions are short.
    #[test]
    fn what_code_is_to_be_decides_where_a_value_waits() {
        let mut function = fixture("seldom_wanted");
        let mut allocated = |goal| {
            function.goal = goal;
            let (overlay, _) = allocate(&function, Preset::named("tuned").unwrap()).unwrap();
            (edits(&function, &overlay), registers(&function, &overlay, 0))
        };
        let (edits, _) = allocated(Goal::Speed);
        assert_eq!(edits, ["b0.1 store s0 a", "b1.0 load a s0"]);
        assert_eq!(allocated(Goal::LeastSize), (vec![], vec!["s".to_owned()]));
    }

    #[test]
    fn a_callee_saved_register_is_used_where_registers_are_scarce() {
        let function = fixture("saved_where_scarce");
        let (overlay, _) = allocate(&function, Preset::named("tuned").unwrap()).unwrap();
        assert_eq!(edits(&function, &overlay), ["b1.0 move s a"]);
        let reads = [1, 4, 6, 8, 9].map(|inst| registers(&function, &overlay, inst).remove(0));
        assert_eq!(reads, ["a", "s", "s", "s", "a"]);
    }

    #[test]
    fn what_is_read_from_memory_stays_there() {
        let function = fixture("read_last");
        let (overlay, _) = allocate(&function, Preset::named("tuned").unwrap()).unwrap();
        assert_eq!(edits(&function, &overlay), ["b0.1 store s0 a", "b2.0 load b s0"]);
        assert_eq!(registers(&function, &overlay, 8), ["s0"]);
    }

    #[test]
    fn constants_are_written_to_memory_at_once() {
        let function = fixture("constants_stored");
        let (overlay, _) = allocate(&function, Preset::named("tuned").unwrap()).unwrap();
        assert_eq!(edits(&function, &overlay), ["b1.0 store s0 i1", "b2.1 store s0 a", "b3.1 store s0 a", "b4.1 load a s0"]);
        assert_eq!(overlay.dropped, [Inst::new(1)]);
    }

    #[test]
    fn what_is_in_memory_from_the_beginning_is_read_there() {
        let function = fixture("read_in_place");
        let found = |read_in_place| {
            let mut preset = Preset::named("tuned").unwrap();
            preset.spill.read_in_place = read_in_place;
            let (overlay, _) = allocate(&function, preset).unwrap();
            let given: Vec<Inst> = overlay.slots.keys().filter_map(|slot| overlay.given[slot].expand()).collect();
            (edits(&function, &overlay), given)
        };
        let twice = ["b0.3 rematerialise a i0", "b0.5 rematerialise a i0"].map(String::from);
        assert_eq!(found(true), (twice[1..].to_vec(), vec![Inst::new(0)]));
        assert_eq!(found(false), (twice.to_vec(), vec![]));
    }

    #[test]
    fn what_crosses_a_bundle_is_back_before_the_jump() {
        let expected = "\
b0: -> b1 b2
  v0:w = op
  store(s0) v0
  v1:w = op
  op v1 terminator
b1: -> b1 b2
  v5:w(of=v0) = phi b0:v0 b1:v5 b2:v4
  op v5
  v2:w = op v5
  op v2 terminator
b2: -> b1 b2 b3
  op clobbers=a,b
  v3:w = op
  v4:w(of=v0) = load(s0)
  op v3 terminator
b3:
  op v4
";
        for entry in ENTRIES {
            assert_eq!(blocks(&split("goto_over_call", entry).function), expected, "{entry:?}");
        }
    }

    #[test]
    fn a_pads_values_are_stored_before_the_calls_and_loaded_in_the_pad() {
        for entry in ENTRIES {
            let text = blocks(&split("thrown_over", entry).function);
            let (before, behind) = text.split_once("b1:").expect("there are four blocks");
            assert!(
                before.ends_with("store(s0) v0\n  op v0\n  op clobbers=a,b,c,d,x0,x1,x2,x3,f0,f1,f2,f3,f4,flags throws\n"),
                "{text}"
            );
            let pad = behind.split_once("b2:").expect("there are four blocks").1;
            let name = if entry == Entry::Nearest { "v1" } else { "v2" };
            let loaded = format!("  op uses=a\n  {name}:x(of=v0) = load(s0)\n  op {name}\n  op {name}\nb3:\n");
            assert!(pad.ends_with(&loaded), "{text}");
            assert_eq!(text.matches("store").count(), 1, "{text}");
        }
    }
}

/// What plans promise, and that verification sees when they break it.
mod plans {
    use super::*;
    use crate::support::phases::{as_planned, with_plan};
    use chordal::allocate::spill::verify::{Fault, verify};
    use chordal::allocate::spill::{Plan, Refill, Site};

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
            plan.stores.push(chordal::allocate::spill::Store {
                at: Point { index: 3, ..store.at },
                value: v(0),
                home: store.value,
            });
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
