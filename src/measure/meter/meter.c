// Counts the bytes in use on the heap, thread by thread, by wrapping glibc's allocator, so that Rust's allocations and
// LLVM's are measured by the same means. A block counts with the bytes that it was given, not those that were requested.
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

#define OF_THREAD static __thread __attribute__((tls_model("initial-exec"))) int64_t
OF_THREAD live;
OF_THREAD peak;
OF_THREAD before; // what was in use when the measurement began

// Whether the heap is measured. Set once, before there is anything to measure.
static int enabled;

void chordal_meter_enable(void) { enabled = 1; }

int chordal_meter_is_enabled(void) { return enabled; }

void chordal_meter_start(void) { before = peak = live; }

uint64_t chordal_meter_peak(void) { return peak - before; }

void chordal_meter_set_peak(uint64_t bytes) {
  peak = before + (int64_t)bytes;
  if (peak < live)
    peak = live;
}

static void *taken(void *block) {
  if (!enabled)
    return block;
  live += malloc_usable_size(block); // 0 of a null pointer
  if (live > peak)
    peak = live;
  return block;
}

void *malloc(size_t size) { return taken(__libc_malloc(size)); }

void *calloc(size_t count, size_t size) { return taken(__libc_calloc(count, size)); }

void *realloc(void *block, size_t size) {
  size_t before = enabled ? malloc_usable_size(block) : 0;
  void *moved = __libc_realloc(block, size);
  // A block that could not be moved is still there.
  if (moved || size == 0)
    live -= before;
  return taken(moved);
}

void free(void *block) {
  if (enabled)
    live -= malloc_usable_size(block);
  __libc_free(block);
}

void *memalign(size_t alignment, size_t size) { return taken(__libc_memalign(alignment, size)); }

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **block, size_t alignment, size_t size) {
  if (alignment % sizeof(void *) || alignment == 0 || (alignment & (alignment - 1)))
    return EINVAL;
  void *made = memalign(alignment, size);
  if (!made)
    return ENOMEM;
  *block = made;
  return 0;
}

void *valloc(size_t size) { return memalign(sysconf(_SC_PAGESIZE), size); }

void *pvalloc(size_t size) {
  size_t page = sysconf(_SC_PAGESIZE);
  return memalign(page, (size + page - 1) / page * page);
}
