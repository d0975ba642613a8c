// The counters of the heap meter.
#ifndef CHORDAL_METER_H
#define CHORDAL_METER_H

#include <stdint.h>

#define CHORDAL_METER_OF_THREAD __thread __attribute__((tls_model("initial-exec"))) int64_t
extern CHORDAL_METER_OF_THREAD chordal_meter_live;    // bytes
extern CHORDAL_METER_OF_THREAD chordal_meter_highest; // since the measurement began

// Whether the heap is measured. Set once, before there is anything to measure.
extern int chordal_meter_enabled;

#endif
