mod support;
use chordal::eliminate::SwapPolicy;
use chordal::pipeline::{Preset, allocate};
use std::collections::BTreeMap;
use support::random::{Shape, random_function};
#[test]
fn scan() {
    let n: u64 = std::env::var("SCAN").ok().and_then(|s| s.parse().ok()).unwrap_or(300);
    let mut kinds: BTreeMap<String, (usize, usize, String)> = BTreeMap::new();
    let all = Shape::default();
    let none = Shape { loops: false, pins: false, calls: false, landing_pads: false, debug_uses: false, ..all.clone() };
    let shapes = vec![
        Shape { blocks: 1, insts_per_block: 10, ..all.clone() },
        Shape { blocks: 1, insts_per_block: 40, ..all.clone() },
        Shape { blocks: 3, insts_per_block: 1, ..all.clone() },
        Shape { blocks: 30, insts_per_block: 3, phis_per_block: 8, ..all.clone() },
        Shape { classes: &["w"], ..none.clone() },
        Shape { classes: &["w", "n"], loops: true, pins: true, ..none.clone() },
        Shape { landing_pads: true, calls: true, loops: true, ..none.clone() },
        none,
        all,
    ];
    let mut ok = 0;
    for shape in shapes {
        for seed in 0..n {
            let f = random_function(seed, &shape);
            let r =
                std::panic::catch_unwind(|| allocate(&f, &Preset { name: "spill-free", swap: SwapPolicy::Auto, check: true }));
            let msg = match r {
                Ok(Ok(_)) => {
                    ok += 1;
                    continue;
                }
                Ok(Err(e)) => e.to_string(),
                Err(p) => format!(
                    "PANIC {}",
                    p.downcast_ref::<String>().cloned().or(p.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default()
                ),
            };
            let key: String = msg.chars().filter(|c| !c.is_ascii_digit()).take(70).collect();
            let e = kinds.entry(key).or_insert((0, usize::MAX, String::new()));
            e.0 += 1;
            if f.insts.len() < e.1 {
                e.1 = f.insts.len();
                e.2 = format!("{msg}\n{}", chordal::machine::print(&f));
            }
        }
    }
    println!("ok {ok}");
    for (i, (k, (c, _, ex))) in kinds.into_iter().enumerate() {
        std::fs::write(format!("/tmp/fail{i}.txt"), ex.split_once("\n").unwrap().1).unwrap();
        println!("==== {c} x {k}\n{}", ex.chars().take(2500).collect::<String>());
    }
}
