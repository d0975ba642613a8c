// Counts the bytes in use on the heap, thread by thread, by wrapping glibc's allocator, so that Rust's allocations and
// LLVM's are measured by the same means. A block counts with the bytes that it was given, not those that were requested.
//
// This is part of programs only. In the plug-in, memory of the process's own allocator would get into glibc's.
#include "meter.h"
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

static void *taken(void *block) {
  if (!chordal_meter_enabled)
    return block;
  chordal_meter_live += malloc_usable_size(block); // 0 of a null pointer
  if (chordal_meter_live > chordal_meter_highest)
    chordal_meter_highest = chordal_meter_live;
  return block;
}

void *malloc(size_t size) { return taken(__libc_malloc(size)); }

void *calloc(size_t count, size_t size) { return taken(__libc_calloc(count, size)); }

void *realloc(void *block, size_t size) {
  size_t before = chordal_meter_enabled ? malloc_usable_size(block) : 0;
  void *moved = __libc_realloc(block, size);
  // A block that could not be moved is still there.
  if (moved || size == 0)
    chordal_meter_live -= before;
  return taken(moved);
}

void free(void *block) {
  if (chordal_meter_enabled)
    chordal_meter_live -= malloc_usable_size(block);
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
