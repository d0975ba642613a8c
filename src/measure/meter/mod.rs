//! Measures how much of the heap is in use, by Rust's code and the code generator's alike (`meter.c`; `heap.c`, which is
//! in programs only, not in the plug-in).

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
