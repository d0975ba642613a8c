//! How much of the heap is in use, by Rust's code and the code generator's alike (`meter.c`).

unsafe extern "C" {
    safe fn chordal_meter_live() -> i64;
    safe fn chordal_meter_peak() -> i64;
    safe fn chordal_meter_set_peak(bytes: i64);
}

/// A measurement on one thread, which has to be the only one that the work uses. There can be one at a time.
#[derive(Debug)]
pub struct Meter {
    before: i64,
}

impl Meter {
    /// Begins to measure.
    pub fn start() -> Self {
        let before = chordal_meter_live();
        chordal_meter_set_peak(before);
        Meter { before }
    }

    /// The most bytes that were in use since the start, beyond those in use at the start.
    pub fn peak(&self) -> u64 {
        u64::try_from(chordal_meter_peak() - self.before).unwrap_or(0)
    }
}

/// Does work whose use of the heap is not to be measured.
pub fn apart<R>(work: impl FnOnce() -> R) -> R {
    let peak = chordal_meter_peak();
    let result = work();
    chordal_meter_set_peak(peak.max(chordal_meter_live()));
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
        let meter = Meter::start();
        drop(megabytes(2));
        drop(megabytes(3));
        assert_eq!(rounded(meter.peak()), 3);
        let kept = megabytes(2);
        drop(megabytes(2));
        assert_eq!(rounded(meter.peak()), 4);
        drop(kept);
    }

    #[test]
    fn blocks_that_grow_are_measured() {
        let mut block = megabytes(4);
        let meter = Meter::start();
        block.reserve_exact(4 * MEGABYTE);
        assert_eq!(rounded(meter.peak()), 4);
    }

    #[test]
    fn what_is_done_apart_is_not_measured() {
        let meter = Meter::start();
        apart(|| drop(megabytes(8)));
        drop(megabytes(1));
        assert_eq!(rounded(meter.peak()), 1);
    }
}
