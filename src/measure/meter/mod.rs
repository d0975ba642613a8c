//! How much of the heap is in use, by Rust's code and the code generator's alike (`meter.c`).

unsafe extern "C" {
    safe fn chordal_meter_start();
    safe fn chordal_meter_peak() -> u64;
    safe fn chordal_meter_set_peak(bytes: u64);
}

/// Begins to measure what this thread does. The code generator's passes call the same function.
pub fn start() {
    chordal_meter_start();
}

/// The most bytes that were in use since the start, beyond those in use at the start.
pub fn peak() -> u64 {
    chordal_meter_peak()
}

/// Does work whose use of the heap is not to be measured.
pub fn apart<R>(work: impl FnOnce() -> R) -> R {
    let before = peak();
    let result = work();
    chordal_meter_set_peak(before);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    const MEGABYTE: usize = 1 << 20;

    fn megabytes(count: usize) -> Vec<u8> {
        black_box(vec![1; count * MEGABYTE])
    }

    fn rounded(bytes: u64) -> u64 {
        (bytes + MEGABYTE as u64 / 2) / MEGABYTE as u64
    }

    #[test]
    fn the_peak_is_what_was_in_use_at_once() {
        start();
        drop(megabytes(2));
        drop(megabytes(3));
        assert_eq!(rounded(peak()), 3);
        let kept = megabytes(2);
        drop(megabytes(2));
        assert_eq!(rounded(peak()), 4);
        drop(kept);
    }

    #[test]
    fn blocks_that_grow_are_measured() {
        let mut block = megabytes(4);
        start();
        block.reserve_exact(4 * MEGABYTE);
        assert_eq!(rounded(peak()), 4);
    }

    #[test]
    fn what_is_done_apart_is_not_measured() {
        start();
        apart(|| drop(megabytes(8)));
        drop(megabytes(1));
        assert_eq!(rounded(peak()), 1);
    }
}
