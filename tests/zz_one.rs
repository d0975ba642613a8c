#[test]
fn one() {
    let text = std::fs::read_to_string(std::env::var("ONE").unwrap()).unwrap();
    let f = chordal::machine::parse(&text).unwrap();
    let p = chordal::pipeline::Preset { name: "spill-free", swap: Default::default(), check: false };
    let (o, _) = chordal::pipeline::allocate(&f, &p).unwrap();
    let name = |l: &chordal::machine::Location| match l {
        chordal::machine::Location::Reg(r) => f.file.name(*r).to_string(),
        s => format!("{s:?}"),
    };
    for b in f.blocks.keys() {
        println!("{b}:");
        for (i, inst) in f.block_insts(b).enumerate() {
            for (p, e) in o.edits.iter().filter(|(p, _)| p.block == b && p.index as usize == i) {
                println!("    {} {e:?}", p.index);
            }
            println!(
                "  {i} {:?} {:?}",
                f.insts[inst].kind,
                f.operands(inst)
                    .iter()
                    .zip(o.operands(&f, inst))
                    .map(|(a, l)| format!("{:?} {}={}", a.role, a.value, name(l)))
                    .collect::<Vec<_>>()
            );
        }
        for (p, e) in o.edits.iter().filter(|(p, _)| p.block == b && p.index as usize == f.block_insts(b).len()) {
            println!("    {} {e:?}", p.index);
        }
    }
    println!("{:?}", chordal::check::check(&f, &o).map_err(|c| c.iter().map(|c| c.to_string()).collect::<Vec<_>>().join("\n")));
}
