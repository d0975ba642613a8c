//! The worked examples of the texts that the allocators follow: each fact that a text states must come out.
//!
//! The figures themselves are lost. The fixtures in `testdata/functions/papers` say which facts the texts determine, and
//! which had to be chosen.

use crate::support::fixture::fixture;
use crate::support::fixtures::{allocated, blocks, edits, registers, spilled_values, v};
use crate::support::phases::{convert, spill};
use chordal::allocate::allocators::Preset;
use chordal::allocate::cssa::Coalescing;
use chordal::allocate::eliminate::{RegisterStep, Surroundings, SwapPolicy, Transfer, sequentialise};
use chordal::allocate::pipeline::allocate;
use chordal::analysis::{Dominators, Interference, Liveness, Order, Partition};
use chordal::check::check;
use chordal::machine::{Block, Function, Inst, InstKind, Location, Point, Reg, RegSet, RegisterFile, Value, builtin};
use cranelift_entity::EntityRef;
use std::collections::{BTreeMap, BTreeSet};

/// Pairs of interfering values, by numbers, the smaller one first.
type Pairs = BTreeSet<(usize, usize)>;

fn defined(function: &Function) -> Vec<Value> {
    let phis = function.blocks.values().flat_map(|data| &data.phis).map(|phi| phi.def);
    phis.chain(function.operands.iter().filter(|operand| operand.is_def()).map(|operand| operand.value)).collect()
}

fn interferences(function: &Function) -> Pairs {
    let order = Order::new(function);
    let dominators = Dominators::new(function, &order);
    let liveness = Liveness::new(function);
    let interference = Interference::new(function, &dominators, &liveness);
    let values = defined(function);
    let mut pairs = Pairs::new();
    for &a in &values {
        for &b in values.iter().filter(|&&b| b != a) {
            let above = dominators.dominates(interference.def_block(a), interference.def_block(b));
            if above && interference.def_point(a) <= interference.def_point(b) && interference.live_after(a, b) {
                pairs.insert((a.index().min(b.index()), a.index().max(b.index())));
            }
        }
    }
    pairs
}

/// The sets of values that φs relate, directly or not; every other value is alone.
fn phi_related(function: &Function) -> Vec<BTreeSet<usize>> {
    let mut partition = Partition::<Value>::discrete(function.values.len());
    for phi in function.blocks.values().flat_map(|data| &data.phis) {
        for arg in phi.args.iter().filter_map(|arg| arg.expand()) {
            let (root, other) = (partition.find(phi.def), partition.find(arg));
            if root != other {
                partition.attach(other, root);
            }
        }
    }
    let mut classes: BTreeMap<Value, BTreeSet<usize>> = BTreeMap::new();
    for value in defined(function) {
        classes.entry(partition.find(value)).or_default().insert(value.index());
    }
    let mut classes: Vec<_> = classes.into_values().collect();
    classes.sort();
    classes
}

/// Sets of value numbers, sorted.
fn sets<const N: usize>(members: [&[usize]; N]) -> Vec<BTreeSet<usize>> {
    let mut sets: Vec<BTreeSet<usize>> = members.iter().map(|members| members.iter().copied().collect()).collect();
    sets.sort();
    sets
}

/// The pairs of values that interfere in one of the sets.
fn within(sets: &[BTreeSet<usize>], pairs: &Pairs) -> Pairs {
    pairs.iter().copied().filter(|(a, b)| sets.iter().any(|set| set.contains(a) && set.contains(b))).collect()
}

/// The fewest registers that suffice if all values of a set must share one.
fn chromatic_number(sets: &[BTreeSet<usize>], pairs: &Pairs) -> usize {
    let meet = |a: usize, b: usize| {
        let pair = |&(x, y): &(usize, usize)| {
            (sets[a].contains(&x) && sets[b].contains(&y)) || (sets[b].contains(&x) && sets[a].contains(&y))
        };
        pairs.iter().any(pair)
    };
    fn colours(colour: &mut Vec<usize>, sets: usize, available: usize, meet: &impl Fn(usize, usize) -> bool) -> bool {
        let next = colour.len();
        next == sets
            || (0..available).any(|candidate| {
                if (0..next).any(|other| colour[other] == candidate && meet(other, next)) {
                    return false;
                }
                colour.push(candidate);
                let fits = colours(colour, sets, available, meet);
                colour.pop();
                fits
            })
    }
    (0..).find(|&available| colours(&mut Vec::new(), sets.len(), available, &meet)).expect("a register for each is enough")
}

fn alone(function: &Function) -> Vec<BTreeSet<usize>> {
    defined(function).iter().map(|value| BTreeSet::from([value.index()])).collect()
}

/// The blocks of the text form, with values numbered in the order in which they occur.
fn renumbered(function: &Function) -> String {
    let text = blocks(function);
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut out = String::new();
    for word in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let name = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        if name.len() > 1 && name.starts_with('v') && name[1..].bytes().all(|b| b.is_ascii_digit()) {
            let next = numbers.len();
            let number = numbers.entry(name).or_insert(next);
            out += &format!("v{number}{}", &word[name.len()..]);
        } else {
            out += word;
        }
    }
    out
}

/// The copies of a function as `to = from`.
fn copies(function: &Function) -> Vec<String> {
    let copies = function.insts.keys().filter(|&inst| function.insts[inst].kind == InstKind::Copy);
    copies.map(|inst| function.operands(inst)).map(|operands| format!("{} = {}", operands[0].value, operands[1].value)).collect()
}

/// The example of [PP05, §2].
mod fewer_registers_in_ssa_form {
    use super::*;

    #[test]
    fn two_are_enough_where_classical_elimination_takes_three() {
        let function = fixture("papers/sra_figure1");
        let pairs = interferences(&function);
        assert_eq!(chromatic_number(&alone(&function), &pairs), 2);
        let names = phi_related(&function);
        assert_eq!(names, sets([&[0], &[1], &[2, 5, 6], &[3, 4, 7]]), "A, B, C and E");
        assert_eq!(within(&names, &pairs), Pairs::new(), "C, C1, C2 are one name, and E, E1, E2");
        assert_eq!(chromatic_number(&names, &pairs), 3);
    }

    /// Each of these swaps is three exclusive-ors.
    #[test]
    fn exclusive_ors_transfer_c1_and_e1_to_c_and_e() {
        let function = fixture("papers/sra_figure1");
        assert_eq!(spilled_values(&spill(&function).1), []);
        let overlay = allocated(&function, SwapPolicy::Xor).0;
        assert_eq!(edits(&function, &overlay), ["b1.2 xor r1 r2"]);
        assert_eq!([2, 3].map(|inst| registers(&function, &overlay, inst)[0].clone()), ["r1", "r2"], "C1 and E1");
        assert_eq!(registers(&function, &overlay, 6), ["r2", "r1"], "C and E");
    }
}

/// The program of Figure 5 of [PP05, §4.1 to §4.4, §5]. For its weights see `src/allocate/spill/weights.rs`.
mod the_worked_example {
    use super::*;

    #[test]
    fn phis_relate_what_the_text_says_they_do() {
        let function = fixture("papers/sra_figure5a");
        assert_eq!(phi_related(&function), sets([&[1, 3, 4, 5, 6, 7, 9], &[2, 8], &[10, 11, 12, 13, 14]]));
        let pairs = interferences(&function);
        assert!(pairs.contains(&(3, 6)), "v3 and v6 overlap");
        assert!(!pairs.contains(&(2, 8)), "v2 and v8 are never alive together");
    }

    #[test]
    fn the_dominance_tree_is_numbered_depth_first_as_in_figure_6() {
        let function = fixture("papers/sra_figure5a");
        let dominators = Dominators::new(&function, &Order::new(&function));
        let above = |block: usize| (0..block).rev().find(|&b| dominators.dominates(Block::new(b), Block::new(block)));
        let parents: Vec<Option<usize>> = (1..=9).map(above).collect();
        assert_eq!(parents, [0, 1, 2, 2, 2, 2, 6, 7, 7].map(Some));
    }

    #[test]
    fn lifting_leaves_fourteen_classes_without_interference() {
        let function = fixture("papers/sra_figure5b");
        let (phis, rest) =
            ([[9, 15, 18], [3, 16, 19], [8, 17, 20], [10, 21, 22], [6, 23, 25], [13, 24, 26]], [1, 2, 4, 5, 7, 11, 12, 14]);
        let mut expected: Vec<BTreeSet<usize>> = phis.map(BTreeSet::from).into_iter().collect();
        expected.extend(rest.map(|value| BTreeSet::from([value])));
        expected.sort();
        assert_eq!(expected.len(), 14);
        let classes = phi_related(&function);
        assert_eq!(classes, expected);
        assert_eq!(copies(&function).len(), 12 + 1, "and v5 = v9, which was there before");
        assert_eq!(within(&classes, &interferences(&function)), Pairs::new());
    }

    #[test]
    fn four_copies_are_needed() {
        let function = fixture("papers/sra_figure5c");
        assert_eq!(copies(&function), ["v16 = v1", "v5 = v9", "v18 = v4", "v22 = v12", "v23 = v3"]);
        let (classes, pairs) = (phi_related(&function), interferences(&function));
        assert_eq!(within(&classes, &pairs), Pairs::new());
        for (to, from) in [(16, 1), (18, 4), (22, 12), (23, 3)] {
            let together = classes.iter().filter(|class| class.contains(&to) || class.contains(&from)).flatten().copied();
            let found = within(&[together.collect()], &pairs);
            assert!(!found.is_empty(), "v{to} and v{from} can be coalesced");
            assert!((to, from) != (16, 1) || found.contains(&(3, 9)), "v3 and v9 would be in one class");
        }
    }

    /// Up to names, Figure 5 (b) and (c) are the results of converting Figure 5 (a). Pairwise coalescing [PP09] needs the
    /// same four copies, of the eighteen of Method I.
    #[test]
    fn conversion_makes_one_stage_of_the_other() {
        let function = fixture("papers/sra_figure5a");
        for (coalescing, stage, before, copies, classes) in
            [(Coalescing::Nothing, "5b", 12, 12, 6), (Coalescing::PhiMem, "5c", 12, 4, 5), (Coalescing::Pairwise, "5c", 18, 4, 5)]
        {
            let conventional = convert(&function, coalescing);
            let expected = fixture(&format!("papers/sra_figure{stage}"));
            assert_eq!(renumbered(&conventional.function), renumbered(&expected), "{coalescing:?}");
            let counts = conventional.counts;
            assert_eq!((counts.copies_before, counts.copies_after), (before, copies), "{coalescing:?}");
            assert_eq!((counts.classes_before, counts.classes_after), (6, classes), "{coalescing:?}");
        }
    }

    /// [PP05, §5]: block 1 defines v1, v2 and v16, and v2 is spilled, to the memory of the φ v8.
    #[test]
    fn in_two_registers_v2_is_spilled_and_shares_memory_with_v8() {
        let function = fixture("papers/sra_figure5c");
        let spilled = spill(&function).1;
        let [v1, v2, v8, v16] = [1, 2, 8, 16].map(|value| spilled.memory.slot_of[v(value)].expand());
        assert_eq!((v1, v16), (None, None));
        assert!(v2.is_some() && v2 == v8, "{v2:?} and {v8:?}");
        let (overlay, report) = allocated(&function, SwapPolicy::Auto);
        assert_eq!([0, 1].map(|inst| registers(&function, &overlay, inst)[0].clone()), ["X", "Y"]);
        assert_eq!(report.elimination.memory_transfers, 2, "both arguments of v8");
    }

    /// [PP05, §5], by `ch-o3`: arguments of φs in memory are stored at the ends of blocks 1, 3 and 6. The text's figure is lost.
    /// It has v9 in memory, which by its own table is heavier than v11, which is in memory here. So not all is as there: v14
    /// is stored at the end of block 8, and the single copy at the end of block 5, v22 = v12, takes no move.
    #[test]
    fn arguments_are_stored_at_the_ends_of_blocks_1_3_and_6() {
        let function = fixture("papers/sra_figure5a");
        let (overlay, _) = allocate(&function, Preset::named("ch-o3").expect("it exists")).expect("it can be allocated");
        let end = |block: usize| format!("b{block}.{} ", function.block_insts(Block::new(block)).count());
        let edits = edits(&function, &overlay);
        let at_end = |block: usize, what: &str| {
            edits.iter().filter(|edit| edit.starts_with(&end(block)) && edit.contains(what)).cloned().collect::<Vec<_>>()
        };
        let stored: Vec<usize> = (0..=9).filter(|&block| !at_end(block, "store").is_empty()).collect();
        assert_eq!(stored, [1, 3, 6, 8], "{edits:?}");
        assert_eq!(at_end(1, "store").len(), 2, "v2 after its definition, and the copy of v1 for v3: {edits:?}");
        assert_eq!(at_end(5, "").len(), 1, "a single copy: {edits:?}");
        assert_eq!(at_end(5, "move").len(), 1, "{edits:?}");
        let converted = convert(&function, Coalescing::PhiMem).function;
        let in_5 = converted.block_insts(Block::new(5)).map(|inst| converted.insts[inst].kind).collect::<Vec<_>>();
        assert!(matches!(in_5[..], [InstKind::Copy]), "a single copy: {in_5:?}");
    }

    /// The three stages compute the same, and all are allocated.
    #[test]
    fn every_stage_is_allocated_in_two_registers() {
        for stage in ["5a", "5b", "5c", "5_weights"] {
            allocated(&fixture(&format!("papers/sra_figure{stage}")), SwapPolicy::Auto);
        }
    }
}

/// Registers `r0` to `r15`, of one bank that has exchange instructions.
fn wide() -> RegisterFile {
    builtin("wide").expect("the file exists")
}

fn transfer(file: &RegisterFile, to: usize, from: usize) -> Transfer {
    let class = file.classes.iter().find(|(_, c)| c.name == "w").expect("a class of the file").0;
    Transfer { from: Reg::new(from), to: Reg::new(to), class }
}

/// The steps of a parallel copy among registers, none of which is free.
fn steps(file: &RegisterFile, copy: &[(usize, usize)], policy: SwapPolicy) -> Vec<RegisterStep> {
    let transfers: Vec<Transfer> = copy.iter().map(|&(to, from)| transfer(file, to, from)).collect();
    let around = Surroundings { file, kept: RegSet::EMPTY, available: RegSet::EMPTY, status_live: false, policy };
    sequentialise(&transfers, &around)
}

/// Deconstruction of SSA form [PP05, §4.5].
mod deconstruction {
    use super::*;
    use proptest::prelude::*;

    /// The register that each step writes, or the two that it swaps.
    fn shown(steps: &[RegisterStep]) -> Vec<String> {
        let show = |step: &RegisterStep| match *step {
            RegisterStep::Move { to, from, .. } => format!("{to:?} := {from:?}"),
            RegisterStep::Swap { a, b, .. } => format!("{a:?} <> {b:?}"),
        };
        steps.iter().map(show).collect()
    }

    /// Figure 7: five φs of block Z. From X comes a permutation of R2, R3 and R4, which safe operations cannot implement;
    /// what comes from Y they can. The text determines no more: the arguments of R1 and R5 are chosen, one value that is in
    /// place and one from another register.
    #[test]
    fn only_a_permutation_takes_swaps() {
        let file = wide();
        let x = steps(&file, &[(1, 1), (2, 3), (3, 4), (4, 2), (5, 6)], SwapPolicy::Auto);
        assert_eq!(shown(&x), ["r5 := r6", "r2 <> r3", "r3 <> r4"]);
        let y = steps(&file, &[(1, 1), (2, 6), (3, 2), (4, 3), (5, 4)], SwapPolicy::Auto);
        assert_eq!(shown(&y), ["r5 := r4", "r4 := r3", "r3 := r2", "r2 := r6"]);
    }

    /// The contents of the registers afterwards, if each held its own number before.
    fn execute(steps: &[RegisterStep]) -> [usize; 16] {
        let mut content: [usize; 16] = std::array::from_fn(|index| index);
        for step in steps {
            match *step {
                RegisterStep::Move { to, from, .. } => content[to.index()] = content[from.index()],
                RegisterStep::Swap { a, b, .. } => content.swap(a.index(), b.index()),
            }
        }
        content
    }

    /// A parallel copy among the first registers as (to, from): permutations, partial ones, and trees.
    fn parallel_copy() -> impl Strategy<Value = Vec<(usize, usize)>> {
        let from_anywhere = |n: usize| proptest::collection::vec(0..n, n).prop_map(|from| from.into_iter().enumerate().collect());
        let permutation = |n: usize| Just((0..n).collect::<Vec<_>>()).prop_shuffle();
        let permuted = move |n: usize| permutation(n).prop_map(|from| from.into_iter().enumerate().collect::<Vec<_>>());
        let whole = (2..=16usize).prop_flat_map(move |n| prop_oneof![from_anywhere(n), permuted(n)]);
        whole.prop_flat_map(|copy: Vec<(usize, usize)>| {
            let all = copy.len();
            prop_oneof![Just(copy.clone()), proptest::sample::subsequence(copy, 1..=all)]
        })
    }

    fn policy() -> impl Strategy<Value = SwapPolicy> {
        proptest::sample::select(vec![SwapPolicy::Auto, SwapPolicy::Exchange, SwapPolicy::Xor])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Lemma 5, if no register is free: n miscoloured pairs take at most n operations. (With a free register, the policy
        /// `auto` takes n + 1 moves for a cycle, which are cheaper than n - 1 swaps.)
        #[test]
        fn as_many_operations_as_miscoloured_pairs_are_enough(copy in parallel_copy(), policy in policy()) {
            let steps = steps(&wide(), &copy, policy);
            let content = execute(&steps);
            let sources: BTreeMap<usize, usize> = copy.iter().copied().collect();
            for (register, &held) in content.iter().enumerate() {
                prop_assert_eq!(held, sources.get(&register).copied().unwrap_or(register));
            }
            prop_assert!(steps.len() <= copy.iter().filter(|(to, from)| to != from).count());
        }

        /// Lemma 4 and its consequence: a permutation that is one cycle without fixed points takes one swap fewer than it
        /// has pairs.
        #[test]
        fn a_cycle_takes_one_swap_less(ring in Just((0..16).collect::<Vec<usize>>()).prop_shuffle(), n in 2..=16usize, policy in policy()) {
            let copy: Vec<(usize, usize)> = (0..n).map(|k| (ring[k], ring[(k + 1) % n])).collect();
            let steps = steps(&wide(), &copy, policy);
            prop_assert_eq!(steps.len(), n - 1);
            let swaps = steps.iter().all(|step| matches!(step, RegisterStep::Swap { .. }));
            prop_assert!(swaps);
        }
    }
}

/// The example of [PP09, §2].
mod spill_free {
    use super::*;

    /// Figure 5 (a) and (b).
    #[test]
    fn method_one_gives_each_phi_a_web() {
        let function = fixture("papers/sfe_figure5a");
        let related = phi_related(&function);
        assert_eq!(related, sets([&[0], &[1, 2, 3, 4, 5, 6, 7]]));
        let found = within(&related, &interferences(&function));
        assert!(found.contains(&(3, 4)) && found.contains(&(4, 6)), "φs of block 2, and arguments in block 6: {found:?}");

        let isolated = fixture("papers/sfe_figure5b");
        let classes = phi_related(&isolated);
        let alone: [&[usize]; 8] = [&[0], &[1], &[2], &[3], &[4], &[5], &[6], &[7]];
        let mut expected = sets(alone);
        expected.extend(sets([&[8, 10, 12], &[9, 11, 13], &[14, 15, 16]]));
        assert_eq!((classes.len(), classes), (11, expected));
        assert_eq!(within(&phi_related(&isolated), &interferences(&isolated)), Pairs::new());
        let counts = convert(&function, Coalescing::Pairwise).counts;
        assert_eq!(counts.copies_before, copies(&isolated).len() as u64);
        assert_eq!((counts.copies_before, counts.classes_before), (9, 3));
    }

    /// Figure 5 (c), and other programs: a copy is left only if its two sides, made one, would bring values together that
    /// interfere.
    #[test]
    fn redundant_copies_are_removed() {
        for (name, left) in [("papers/sfe_figure5a", 2), ("papers/sfe_figure8a", 3), ("lost_copy", 1), ("copy_folding", 4)] {
            let function = convert(&fixture(name), Coalescing::Pairwise).function;
            let (classes, pairs) = (phi_related(&function), interferences(&function));
            assert_eq!(within(&classes, &pairs), Pairs::new(), "{name}");
            let of = |value: Value| classes.iter().find(|class| class.contains(&value.index())).expect("it is defined");
            let copies: Vec<Inst> = function.insts.keys().filter(|&inst| function.insts[inst].origin.is_none()).collect();
            for &copy in &copies {
                let [to, from] = [0, 1].map(|k| of(function.operands(copy)[k].value));
                let together = to.union(from).copied().collect();
                assert_ne!(within(&[together], &pairs), Pairs::new(), "{name}: {copy}\n{}", blocks(&function));
            }
            assert_eq!(copies.len(), left, "{name}\n{}", blocks(&function));
        }
    }

    #[test]
    fn copy_propagation_breaks_the_conventional_form() {
        let before = fixture("papers/sfe_figure1b");
        assert_eq!(within(&phi_related(&before), &interferences(&before)), Pairs::new());
        assert_eq!(blocks(&spill(&before).0.function), blocks(&before), "nothing to convert");
        let after = fixture("papers/sfe_figure1c");
        assert_eq!(within(&phi_related(&after), &interferences(&after)), Pairs::from([(2, 4)]), "a and a2");
    }

    /// The conversion splits the live range of a2, wherever it puts the copy.
    #[test]
    fn conversion_copies_a2() {
        let conventional = spill(&fixture("papers/sfe_figure1c")).0;
        assert_eq!(copies(&conventional.function), ["v6 = v4"], "a3 = a2");
        let web = |value: usize| conventional.webs[v(value)].expand();
        assert_eq!([0, 2, 6].map(web), [web(0); 3], "a1, a and a3");
        assert_eq!([1, 3, 5].map(web), [web(1); 3], "b1, b and b2");
        assert_eq!(web(4), None, "a2 is only copied");
        allocated(&fixture("papers/sfe_figure1c"), SwapPolicy::Auto);
    }

    /// Figure 3: a, a1 and a3 are in m, a2 is in m2, and b's whole row is in r. There is one store after each definition in
    /// memory, and no code for the φs.
    #[test]
    fn one_register_is_enough_without_further_spills() {
        let function = fixture("papers/sfe_figure3a");
        let (conventional, spilled) = spill(&function);
        assert_eq!(blocks(&conventional.function), blocks(&function), "it is conventional already");
        let slot = |value: usize| spilled.memory.slot_of[v(value)].expand();
        let (m, m2) = (slot(2), slot(4));
        assert!(m.is_some() && m2.is_some() && m != m2);
        assert_eq!([0, 5].map(slot), [m; 2], "a1 and a3 are where a is");
        assert_eq!([1, 3, 6].map(slot), [None; 3], "b1, b and b2");

        let (overlay, report) = allocated(&function, SwapPolicy::Auto);
        let [m, m2] = [m, m2].map(|slot| slot.expect("checked above").to_string());
        let expected =
            [format!("b0.1 store {m} r"), format!("b1.2 store {m2} r"), format!("b1.2 load r {m}"), format!("b1.4 store {m} r")];
        assert_eq!(edits(&function, &overlay), expected);
        assert_eq!(registers(&function, &overlay, 5), ["r", &m2], "the copy is from m2 to m by way of r");
        let counts = report.elimination;
        assert_eq!((counts.graphs, counts.edges, counts.memory_transfers), (2, 4, 2), "two parallel copies (r, m) := (r, m)");
        assert_eq!(counts.potential_spills, 2, "r is taken wherever m would have to pass through a register");
    }
}

/// Bin-packing [PP09, §7] and its optimisations [PP09, §6].
mod bin_packing {
    use super::*;
    use chordal::allocate::allocators::Preset;
    use chordal::allocate::pipeline::{Report, allocate};
    use chordal::allocate::spill::LoadLowering;

    /// The edits by `bin-packing`: with store hoisting, load lowering and memory coalescing, or without.
    fn with(name: &str, store_hoist: bool, load_lower: LoadLowering, memory_coalesce: bool) -> (Vec<String>, Report) {
        let mut preset = Preset::named("bin-packing").expect("it exists");
        preset.spill.store_hoist = store_hoist;
        preset.spill.load_lower = load_lower;
        preset.spill.memory_coalesce = memory_coalesce;
        let function = fixture(name);
        let (overlay, report) = allocate(&function, preset).expect("it can be allocated");
        check(&function, &overlay).expect("the checker accepts it");
        (edits(&function, &overlay), report)
    }

    const FIGURE_9: &str = "papers/sfe_figure9";

    /// Figure 9 (b): v has mock φs in L2 and L7, and reaches each from one block in a register and from one in memory.
    #[test]
    fn mock_phis_stand_where_values_arrive_in_different_places() {
        let (_, report) = with(FIGURE_9, true, LoadLowering::Off, true);
        let counts = report.elimination;
        assert_eq!((counts.graphs, counts.edges), (0, 0), "the program has no φ");
        assert_eq!(
            (counts.with_mock_phis.graphs, counts.with_mock_phis.edges, counts.with_mock_phis.memory_transfers),
            (4, 4, 0)
        );
    }

    /// Figure 9 (c): each mock φ is a load where v comes from memory.
    #[test]
    fn without_load_lowering_values_are_loaded_on_edges() {
        let (edits, _) = with(FIGURE_9, true, LoadLowering::Off, true);
        assert_eq!(edits, ["b1.1 store s0 a", "b3.1 load a s0", "b5.1 load a s0"]);
    }

    /// Figure 9 (d): two reloads for one use are too many.
    #[test]
    fn load_lowering_leaves_a_single_load_before_the_use() {
        let (edits, report) = with(FIGURE_9, true, LoadLowering::Counted, true);
        assert_eq!(edits, ["b1.1 store s0 a", "b7.0 load a s0"]);
        let counts = report.spill.optimisations;
        assert_eq!((counts.lowered_values, counts.lowered_loads), (1, 2));
    }

    /// Section 6.1: without hoisting, each edge from a register to memory is a store.
    #[test]
    fn store_hoisting_leaves_one_store_after_the_definition() {
        let stores = |edits: &[String]| edits.iter().filter(|edit| edit.contains("store")).cloned().collect::<Vec<_>>();
        assert_eq!(stores(&with(FIGURE_9, false, LoadLowering::Off, true).0), ["b3.0 store s0 a", "b5.0 store s0 a"]);
        assert_eq!(stores(&with(FIGURE_9, true, LoadLowering::Off, true).0), ["b1.1 store s0 a"]);
    }

    /// Section 6.3 (b) to (d).
    #[test]
    fn a_transfer_within_a_home_is_removed() {
        let name = "papers/sfe_memory_coalescing";
        let (edits, report) = with(name, true, LoadLowering::Counted, false);
        assert_eq!(edits, ["b0.1 store s0 a", "b2.1 store s0 a"], "(b), where the copy itself is the load");
        assert_eq!(report.spill.optimisations.coalesced_copies, 0);
        let (edits, report) = with(name, true, LoadLowering::Counted, true);
        assert_eq!(edits, ["b0.1 store s0 a"], "(d)");
        assert_eq!(report.spill.optimisations.coalesced_copies, 1);
    }
}

/// Critical edges [PP09, §5.1].
mod critical_edges {
    use super::*;

    #[test]
    fn a_move_can_stand_on_the_edge_only() {
        let function = fixture("papers/sfe_figure7");
        let overlay = allocated(&function, SwapPolicy::Auto).0;
        let location = |inst: usize| overlay.operands(&function, chordal::machine::Inst::new(inst))[0];
        let [r1, r2] = ["r1", "r2"].map(|name| Location::Reg(function.file.by_name(name).expect("a register of the file")));
        assert_eq!([0, 1, 4, 5].map(location), [r1, r2, r2, r2].map(Some), "a1, b, a3 and a2");
        assert_eq!(edits(&function, &overlay), ["b5.0 move r2 r1"]);
        for (block, index) in [(1, 2), (4, 0)] {
            let mut elsewhere = overlay.clone();
            elsewhere.edits[0].0 = Point { block: Block::new(block), index };
            assert!(check(&function, &elsewhere).is_err(), "the move may stand in b{block}");
        }
    }

    #[test]
    fn copies_beside_a_critical_edge_raise_the_pressure() {
        let number = |function: &Function| chromatic_number(&alone(function), &interferences(function));
        let split = fixture("papers/sfe_figure8a");
        assert_eq!(number(&split), 2);
        assert_eq!(number(&fixture("papers/sfe_figure8b")), 3);
        let (conventional, spilled) = spill(&split);
        assert_eq!(copies(&conventional.function).len(), 3, "one side of each φ, and one of the two from the body");
        assert_eq!(number(&conventional.function), 2);
        assert_eq!(spilled_values(&spilled), []);
        let overlay = allocated(&split, SwapPolicy::Exchange).0;
        assert_eq!(edits(&split, &overlay), ["b3.0 exchange r1 r2"]);
    }
}

/// The examples of [Hack], by the allocator that follows the lecture.
mod lecture {
    use super::*;
    use chordal::allocate::allocators::{Preset, RegisterCoalescing};
    use chordal::allocate::pipeline::{Report, allocate};
    use chordal::allocate::spill::strategies::{BELADY, MIN, SpillStrategy};
    use chordal::machine::{Overlay, parse};

    /// An allocation by the lecture's allocator, with another way of coalescing.
    fn allocated_by(function: &Function, how: RegisterCoalescing) -> (Overlay, Report) {
        let mut preset = Preset::named("hack").expect("it exists");
        preset.assignment.dominance_order_mut().expect("it is SSA-based").coalesce(how);
        allocate(function, preset).expect("it can be allocated")
    }

    /// The edits with the lecture's own way of coalescing, and with its successor.
    fn edits_of(function: &Function) -> [Vec<String>; 2] {
        [RegisterCoalescing::Units, RegisterCoalescing::Chunks].map(|how| edits(function, &allocated_by(function, how).0))
    }

    /// Whether the only edit is a copy at this place.
    fn copies_once(edits: &[String], place: &str) -> bool {
        matches!(edits, [copy] if copy.starts_with(place) && copy.contains(" move "))
    }

    /// The accesses to slots, by how values are spilled.
    fn spill_code(function: &Function, spilling: SpillStrategy) -> Vec<String> {
        let mut preset = Preset::named("hack").expect("it exists");
        preset.assignment.dominance_order_mut().expect("it is SSA-based").spilling = spilling;
        let (overlay, _) = allocate(function, preset).expect("it can be allocated");
        edits(function, &overlay).into_iter().filter(|edit| edit.contains(" load ") || edit.contains(" store ")).collect()
    }

    /// The places of reloads: the block and the instruction that follows.
    fn reloads(function: &Function, spilling: SpillStrategy) -> Vec<String> {
        let places = spill_code(function, spilling).into_iter().filter_map(|edit| Some(edit.split_once(" load ")?.0.to_owned()));
        places.collect()
    }

    #[test]
    fn what_an_instruction_reads_is_not_displaced_for_what_it_reads() {
        let four = fixture("papers/lecture_belady");
        assert_eq!(reloads(&four, BELADY), ["b0.9", "b0.10", "b0.12", "b0.13"], "v4, v0, v2, v3");
        let five = parse(&chordal::machine::print(&four).replace(" r4", " r4 r5")).expect("five registers are a target too");
        assert_eq!(reloads(&five, BELADY).len(), 2, "{:?}", spill_code(&five, BELADY));
    }

    /// By [BH09], what is used in the loop stays.
    #[test]
    fn leaving_a_loop_is_a_step_like_any_other() {
        let function = fixture("papers/lecture_belady_loop");
        assert_eq!(spill_code(&function, BELADY), ["b0.1 store s0 r1", "b2.0 load r2 s0"], "v0");
        assert_eq!(spill_code(&function, MIN), ["b0.2 store s0 r2", "b3.0 load r1 s0"], "v1");
    }

    #[test]
    fn what_is_used_soonest_and_not_displaced_before_is_passed_into_a_block() {
        let function = fixture("papers/lecture_belady_join");
        assert_eq!(reloads(&function, BELADY), ["b2.2", "b3.4", "b3.5"], "v1 on the edge; v0 and v2 before their uses");
        let text = chordal::machine::print(&function);
        let without = text.replace("  v6:w = op\n  v7:w = op\n", "").replace("op v5 v6 v7", "op v5");
        let undisplaced = parse(&without).expect("two instructions are left out");
        assert_eq!(reloads(&undisplaced, BELADY), ["b2.2", "b2.2", "b3.3"], "v1 and v0 on the edge; v2 before its use");
    }

    #[test]
    fn two_registers_take_a_copy_and_three_take_none() {
        let three = fixture("papers/lecture_three_registers");
        assert_eq!(chromatic_number(&alone(&three), &interferences(&three)), 2);
        assert_eq!(chromatic_number(&sets([&[0], &[1, 3, 4], &[2]]), &interferences(&three)), 3);
        assert_eq!(edits_of(&three), [[""; 0]; 2]);
        let two = parse(&chordal::machine::print(&three).replace(" r3", "")).expect("two registers are a target too");
        edits_of(&two).iter().for_each(|found| assert!(copies_once(found, "b"), "{found:?}"));
    }

    #[test]
    fn a_permutation_swaps_two_registers() {
        assert_eq!(edits_of(&fixture("papers/lecture_swap")), [["b2.2 exchange r1 r2"]; 2]);
    }

    #[test]
    fn an_argument_that_is_used_twice_is_copied() {
        edits_of(&fixture("papers/lecture_duplicate")).iter().for_each(|found| assert!(copies_once(found, "b1.1"), "{found:?}"));
    }

    #[test]
    fn an_argument_that_lives_on_is_copied() {
        let function = fixture("papers/lecture_live_argument");
        edits_of(&function).iter().for_each(|found| assert!(copies_once(found, "b1.0"), "{found:?}"));
    }

    /// (b', c', d') = Φ[b, c, d] before e is computed: b goes to R1, where it dies, and d leaves R1.
    #[test]
    fn a_permutation_brings_values_to_where_constraints_allow_them() {
        let function = fixture("papers/lecture_constraints");
        for how in [RegisterCoalescing::Nothing, RegisterCoalescing::Units, RegisterCoalescing::Chunks] {
            let (overlay, report) = allocated_by(&function, how);
            assert_eq!(report.spill.values, 0);
            let at = |inst: usize| registers(&function, &overlay, inst);
            assert_eq!((at(0), at(5)), (vec!["R1".to_owned()], vec!["R1".to_owned()]), "a and e");
            assert_eq!(at(3)[0], "R1", "d, when it is defined");
            assert_ne!(at(6)[1], "R1", "d, when e is in R1");
            let edits = edits(&function, &overlay);
            let (d, b) = (&at(3)[0], &at(2)[1]);
            assert!(
                matches!(&edits[..], [swap] if swap.starts_with("b0.4 exchange ") && swap.contains(&**d) && swap.contains(&**b)),
                "{edits:?}"
            );
        }
    }

    #[test]
    fn what_is_in_the_way_of_a_copy_changes_its_register() {
        let lectures = Preset::named("hack").expect("it exists").assignment.coalescing();
        assert_eq!(lectures, RegisterCoalescing::Units, "the Perm-Optimizer");
        let function = fixture("papers/lecture_recolouring");
        let (overlay, _) = allocated_by(&function, RegisterCoalescing::Nothing);
        assert_eq!(edits(&function, &overlay), ["b1.3 move r1 r2"]);
        for how in [RegisterCoalescing::Units, RegisterCoalescing::Chunks] {
            let (overlay, report) = allocated_by(&function, how);
            assert_eq!(edits(&function, &overlay), [""; 0]);
            assert_eq!((report.recolouring.copies_before, report.recolouring.copies_after), (1, 0));
            assert_eq!(registers(&function, &overlay, 0), ["r2"], "what no copy concerns");
        }
    }
}

/// The examples of the chapter on SSA destruction [Bo09]. Each comes out as the text states, by every notion of interference
/// and every way of computing it.
mod destruction {
    use super::*;
    use crate::support::interpret::compare;
    use crate::support::presets::destructions;
    use chordal::allocate::allocators::Preset;
    use chordal::allocate::destruct::{DestructionCounts, Notion, Policy, destruct, unsplit::unsplit};
    use chordal::allocate::failure::Failure;
    use chordal::allocate::pipeline::allocate;

    /// The result for one notion of interference: the copies that are inserted, the webs by value, and counts.
    struct Left {
        copies: Vec<String>,
        webs: Vec<Option<usize>>,
        counts: DestructionCounts,
    }

    fn left(function: &Function, policy: Policy) -> Left {
        let unsplit = unsplit(function);
        let function = unsplit.as_ref().unwrap_or(function);
        let order = Order::new(function);
        let dominators = Dominators::new(function, &order);
        let (conventional, counts) =
            destruct(function, &order, &dominators, policy, true).expect("there is no strong interference");
        let webs = conventional.function.values.keys().map(|value| Some(conventional.webs[value].expand()?.index()));
        Left { copies: copies(&conventional.function), webs: webs.collect(), counts }
    }

    /// Destructs the example in every way, allocates it, and executes it before and after.
    fn for_each_policy(name: &str, look: impl Fn(Policy, &Left)) {
        let function = fixture(name);
        for policy in destructions() {
            look(policy, &left(&function, policy));
            let preset =
                Preset { coalescing: Coalescing::Destruction(policy), ..Preset::named("out-of-ssa").expect("it exists") };
            let (overlay, _) = allocate(&function, preset).unwrap_or_else(|failure| panic!("{policy:?}: {failure}"));
            for path in 0..20 {
                compare(&function, &overlay, path, 30).unwrap_or_else(|found| panic!("{policy:?}, path {path}: {found}"));
            }
        }
    }

    /// Section 21.1: only the copy of the φ's result remains, whose live range was long enough to meet the argument.
    #[test]
    fn the_lost_copy_problem_takes_one_copy() {
        for_each_policy("lost_copy", |policy, left| {
            assert_eq!(left.copies, ["v1 = v3"], "{policy:?}");
            assert_eq!(left.counts.isolating_left, 1);
        });
    }

    /// "If copies are sequentialized blindly", one variable is overwritten before it is read: a third is needed.
    #[test]
    fn the_swap_problem_takes_a_third_variable() {
        for_each_policy("swap_problem", |policy, left| {
            assert_eq!((left.counts.isolating_left, left.counts.broken_cycles), (2, 1), "{policy:?}: {:?}", left.copies);
            assert_eq!(left.copies.len(), 3);
        });
    }

    /// Figure 21.2: the value that a branch defines is copied on the edge, which stays split for that.
    #[test]
    fn what_a_branch_defines_is_copied_on_its_edge() {
        let function = fixture("papers/sd_figure21-2");
        assert!(unsplit(&function).is_none());
        for_each_policy("papers/sd_figure21-2", |policy, left| {
            assert_eq!(left.copies.len(), 1, "{policy:?}: {:?}", left.copies);
            assert!(left.copies[0].ends_with("= v1"), "u is copied");
        });
    }

    /// "If both variables interfere, this is simply impossible!"
    #[test]
    fn strong_interference_is_found() {
        let function = fixture("papers/sd_figure21-2_unsplit");
        let failure = allocate(&function, Preset::named("out-of-ssa").expect("it exists")).expect_err("nothing can part them");
        let Failure::Unsupported(reason) = failure else { panic!("{failure}") };
        assert_eq!(reason.to_string(), "v1 and v2 interfere, and no copy can part them");
    }

    /// A φ and an operand that is not split are one variable if they do not interfere.
    #[test]
    fn what_a_branch_defines_may_be_the_phis_variable() {
        for_each_policy("papers/sd_figure21-2_apart", |policy, left| {
            assert_eq!(left.copies, [""; 0], "{policy:?}");
            assert!(left.webs[1].is_some() && left.webs[1] == left.webs[2]);
        });
    }

    /// Figure 21.3: one of two edges between the same blocks is split.
    #[test]
    fn a_predecessor_may_come_twice() {
        let function = fixture("papers/sd_figure21-3");
        assert!(function.blocks[Block::new(2)].on_edge && unsplit(&function).is_none());
        for_each_policy("papers/sd_figure21-3", |policy, left| {
            assert_eq!(left.copies.len(), 1, "{policy:?}: {:?}", left.copies);
        });
    }

    /// Figure 21.4: the copies that turn the pinning of operands into pinning of live ranges remain where the operand lives
    /// on.
    #[test]
    fn a_two_address_operand_is_copied_if_it_lives_on() {
        for_each_policy("papers/sd_figure21-4", |policy, left| {
            assert_eq!(left.copies, ["v3 = v0"], "{policy:?}");
            assert_eq!((left.counts.ties, left.counts.ties_left), (2, 1));
            assert_eq!([0, 1, 2, 3].map(|v| left.webs[v] == left.webs[1]), [false, true, true, true], "all but v0");
        });
    }

    /// Figure 21.5 (c): "x1, x3 can then be coalesced with x", and x2 is a copy of x.
    #[test]
    fn figure_21_5() {
        for_each_policy("papers/sd_figure21-5", |policy, left| {
            assert_eq!(left.copies, ["v1 = v3"], "{policy:?}");
            assert_eq!([0, 2, 3].map(|v| left.webs[v]), [left.webs[3]; 3], "x1, x3 and x");
            assert_ne!(left.webs[1], left.webs[3], "x2");
        });
    }

    /// Section 21.2, "Value-Based Interference": b and c are copies of a, and all are used later.
    #[test]
    fn copies_of_one_value_interfere_by_older_notions_only() {
        for_each_policy("papers/sd_copies", |policy, left| {
            let apart = left.counts.program_left;
            match policy.notion {
                Notion::Value => assert_eq!(apart, 0, "{policy:?}"),
                Notion::Chaitin => assert_eq!(apart, 1, "{policy:?}: b and c interfere"),
                Notion::Intersection => assert_eq!(apart, 2, "{policy:?}"),
            }
        });
    }
}
