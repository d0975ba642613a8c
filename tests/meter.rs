//! Tests of the heap meter, which is in programs only.

use chordal::measure::meter::{apart, enable, peak, start};
use std::hint::black_box;

const MEGABYTE: usize = 1 << 20;

fn megabytes(count: usize) -> Vec<u8> {
    black_box(vec![1; count * MEGABYTE])
}

/// The peak in megabytes, rounded.
fn rounded_peak() -> u64 {
    let bytes = peak().expect("it is measured");
    (bytes + MEGABYTE as u64 / 2) / MEGABYTE as u64
}

#[test]
fn the_peak_is_what_was_in_use_at_once() {
    enable();
    start();
    drop(megabytes(2));
    drop(megabytes(3));
    assert_eq!(rounded_peak(), 3);
    let kept = megabytes(2);
    drop(megabytes(2));
    assert_eq!(rounded_peak(), 4);
    drop(kept);
}

#[test]
fn blocks_that_grow_are_measured() {
    enable();
    let mut block = megabytes(4);
    start();
    block.reserve_exact(4 * MEGABYTE);
    assert_eq!(rounded_peak(), 4);
}

#[test]
fn what_is_done_apart_is_not_measured() {
    enable();
    start();
    apart(|| drop(megabytes(8)));
    drop(megabytes(1));
    assert_eq!(rounded_peak(), 1);
}
