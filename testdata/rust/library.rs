//! What Rust makes of collections, strings, traits, closures, panics and wide integers, all in one object file.

use std::collections::{BTreeMap, BinaryHeap, HashSet, VecDeque};
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// Everything below, as text.
#[unsafe(no_mangle)]
pub fn run() -> String {
    let mut out = String::new();
    let parts: [(&str, fn(&mut String)); 7] = [
        ("words", words),
        ("paths", paths),
        ("shapes", shapes),
        ("unwinding", unwinding),
        ("wide", wide),
        ("matrices", matrices),
        ("threads", threads),
    ];
    for (name, part) in parts {
        write!(out, "{name}: ").unwrap();
        part(&mut out);
        out.push('\n');
    }
    out
}

struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % below
    }
}

fn words(out: &mut String) {
    let mut random = Random(1);
    let text: String = (0..3000)
        .flat_map(|i| {
            let letter = char::from(b'a' + random.next(26) as u8);
            [
                letter,
                if i % 5 == 4 {
                    ' '
                } else if i % 97 == 0 {
                    'ß'
                } else {
                    letter.to_ascii_uppercase()
                },
            ]
        })
        .collect();
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for word in text.split_whitespace() {
        let key: String = word.chars().rev().filter(|c| c.is_lowercase()).take(3).collect();
        *count.entry(key).or_default() += word.len();
    }
    let distinct: HashSet<&str> = text.split(['e', 'E']).collect();
    let longest = count.iter().max_by_key(|(key, count)| (**count, key.len()));
    write!(out, "{} {} {longest:?}", count.len(), distinct.len()).unwrap();
}

fn paths(out: &mut String) {
    const SIZE: usize = 40;
    let mut random = Random(2);
    let cost: Vec<Vec<u64>> = (0..SIZE).map(|_| (0..SIZE).map(|_| 1 + random.next(9)).collect()).collect();
    let mut least = vec![vec![u64::MAX; SIZE]; SIZE];
    let mut heap = BinaryHeap::from([(std::cmp::Reverse(0), 0, 0)]);
    while let Some((std::cmp::Reverse(so_far), x, y)) = heap.pop() {
        if so_far >= least[x][y] {
            continue;
        }
        least[x][y] = so_far;
        for (dx, dy) in [(0, 1), (1, 0), (0, usize::MAX), (usize::MAX, 0)] {
            let (x, y) = (x.wrapping_add(dx), y.wrapping_add(dy));
            if let Some(&step) = cost.get(x).and_then(|row| row.get(y)) {
                heap.push((std::cmp::Reverse(so_far + step), x, y));
            }
        }
    }
    write!(out, "{} {}", least[SIZE - 1][SIZE - 1], least.iter().flatten().sum::<u64>()).unwrap();
}

trait Shape {
    fn area(&self) -> f64;
    fn scaled(&self, by: f64) -> Box<dyn Shape>;
}

struct Circle(f64);
struct Polygon(Vec<(f64, f64)>);

impl Shape for Circle {
    fn area(&self) -> f64 {
        self.0 * self.0 * std::f64::consts::PI
    }
    fn scaled(&self, by: f64) -> Box<dyn Shape> {
        Box::new(Circle(self.0 * by))
    }
}

impl Shape for Polygon {
    fn area(&self) -> f64 {
        let next = self.0.iter().cycle().skip(1);
        self.0.iter().zip(next).map(|(a, b)| a.0 * b.1 - a.1 * b.0).sum::<f64>().abs() / 2.0
    }
    fn scaled(&self, by: f64) -> Box<dyn Shape> {
        Box::new(Polygon(self.0.iter().map(|&(x, y)| (x * by, y * by)).collect()))
    }
}

fn shapes(out: &mut String) {
    let mut random = Random(3);
    let mut shapes: VecDeque<Box<dyn Shape>> = VecDeque::new();
    for i in 0..50 {
        let corner = |random: &mut Random| (random.next(100) as f64 / 7.0, random.next(100) as f64 / 3.0);
        match i % 3 {
            0 => shapes.push_back(Box::new(Circle(random.next(50) as f64 / 11.0))),
            1 => shapes.push_front(Box::new(Polygon((0..3 + i % 4).map(|_| corner(&mut random)).collect()))),
            _ => shapes = shapes.iter().map(|shape| shape.scaled(1.03)).collect(),
        }
    }
    let mut areas: Vec<f64> = shapes.iter().map(|shape| shape.area()).collect();
    areas.sort_by(f64::total_cmp);
    write!(out, "{:.3} {:.3}", areas.iter().sum::<f64>(), areas[areas.len() / 2]).unwrap();
}

struct Counted(Rc<std::cell::Cell<u32>>, u32);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get() * 3 % 1009 + self.1);
    }
}

fn unwinding(out: &mut String) {
    std::panic::set_hook(Box::new(|_| {}));
    let drops = Rc::new(std::cell::Cell::new(1));
    let mut caught = 0;
    for depth in 0..40u32 {
        let held: Vec<Counted> = (0..depth % 7).map(|i| Counted(drops.clone(), i)).collect();
        let attempt = catch_unwind(AssertUnwindSafe(|| {
            let _first = Counted(drops.clone(), depth);
            let index = held.iter().map(|it| it.1 as usize).sum::<usize>() % 13;
            let _second = held.get(index / 2).map(|it| Counted(drops.clone(), it.1 + 1));
            let numbers: Vec<u32> = (0..depth).collect();
            numbers[index + 1] / (depth % 3)
        }));
        match attempt {
            Ok(value) => drops.set(drops.get() + value),
            Err(_) => caught += 1,
        }
    }
    let _ = std::panic::take_hook();
    write!(out, "{caught} {}", drops.get()).unwrap();
}

fn wide(out: &mut String) {
    let mut random = Random(4);
    let (mut product, mut sum) = (1u128, 0i128);
    for _ in 0..200 {
        let factor = u128::from(random.next(1 << 31)) << random.next(64) | 1;
        product = product.wrapping_mul(factor).rotate_left(random.next(128) as u32);
        sum = sum.checked_add((product >> 3) as i128 / (factor as i128 | 1)).unwrap_or(sum >> 5);
    }
    write!(out, "{product:x} {sum} {}", (product % 1_000_000_007) as f32).unwrap();
}

fn matrices(out: &mut String) {
    const N: usize = 24;
    let mut random = Random(5);
    let mut a = [[0u32; N]; N];
    a.iter_mut().flatten().for_each(|it| *it = random.next(1 << 16) as u32);
    let mut b = a;
    for _ in 0..4 {
        let mut c = [[0u32; N]; N];
        for i in 0..N {
            for j in 0..N {
                c[i][j] = (0..N).fold(0, |sum: u32, k| sum.wrapping_add(a[i][k].wrapping_mul(b[k][j])));
            }
        }
        b = c;
    }
    write!(out, "{:08x}", b.iter().flatten().fold(0u32, |hash, &it| hash.rotate_left(5) ^ it)).unwrap();
}

fn threads(out: &mut String) {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        for number in 0..3u64 {
            let sender = sender.clone();
            scope.spawn(move || sender.send((number, (0..10_000).fold(number, |a, b| a.rotate_left(7) ^ b))));
        }
    });
    drop(sender);
    let mut results: Vec<(u64, u64)> = receiver.iter().collect();
    results.sort();
    write!(out, "{results:?}").unwrap();
}
