use chordal::{analysis::*, cssa, spill};
#[test]
fn stages() {
    let text = std::fs::read_to_string(std::env::var("ONE").unwrap()).unwrap();
    let f = chordal::machine::parse(&text).unwrap();
    let order = Order::new(&f);
    let dom = Dominators::new(&f, &order);
    let loops = Loops::new(&f, &order, &dom);
    let live = Liveness::new(&f);
    let inter = Interference::new(&f, &dom, &live);
    let c = cssa::conventional(&f, &order, &dom, &inter);
    println!("{}", c.function);
    println!("{:?}", chordal::machine::validate(&c.function));
    let live = Liveness::new(&c.function);
    match spill::spill(&c, &order, &loops, &live) {
        Ok(s) => {
            println!("{}", s.function);
            println!("{:?}", chordal::machine::validate(&s.function));
            println!("{:?}", s.slot_of);
        }
        Err(e) => println!("{e}"),
    }
}
