//! Measures how much of the heap is in use, by Rust's code and the code generator's alike (`meter.c`).

unsafe extern "C" {
    safe fn chordal_meter_enable();
    safe fn chordal_meter_is_enabled() -> i32;
    safe fn chordal_meter_start();
    safe fn chordal_meter_peak() -> u64;
    safe fn chordal_meter_set_peak(bytes: u64);
}

/// Measures the heap of the whole process from now on, which takes time.
pub fn enable() {
    chordal_meter_enable();
}

/// Begins a measurement of this thread. The code generator's passes call the same C function.
pub fn start() {
    chordal_meter_start();
}

/// The most bytes that were in use since the start, beyond those in use at the start; `None` if the heap is not measured.
pub fn peak() -> Option<u64> {
    (chordal_meter_is_enabled() != 0).then(|| chordal_meter_peak())
}

/// Does work whose use of the heap is not measured.
pub fn apart<R>(work: impl FnOnce() -> R) -> R {
    let before = chordal_meter_peak();
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
}
