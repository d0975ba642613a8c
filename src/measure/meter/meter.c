// What is in use on the heap, thread by thread, as far as heap.c counts it.
#include "meter.h"

CHORDAL_METER_OF_THREAD chordal_meter_live;
CHORDAL_METER_OF_THREAD chordal_meter_highest;
static CHORDAL_METER_OF_THREAD before; // what was in use when the measurement began

int chordal_meter_enabled;

void chordal_meter_enable(void) { chordal_meter_enabled = 1; }

int chordal_meter_is_enabled(void) { return chordal_meter_enabled; }

void chordal_meter_start(void) { before = chordal_meter_highest = chordal_meter_live; }

uint64_t chordal_meter_peak(void) { return chordal_meter_highest - before; }

void chordal_meter_set_peak(uint64_t bytes) {
  chordal_meter_highest = before + (int64_t)bytes;
  if (chordal_meter_highest < chordal_meter_live)
    chordal_meter_highest = chordal_meter_live;
}
