// Counts the allocations of each thread. The benchmark preloads it into the processes that count
// (LD_PRELOAD); the addon asks for the number by the name of the last function. glibc only.
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

// Reaching it must not allocate.
static __thread uint64_t allocations __attribute__((tls_model("initial-exec")));

void* malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}

void* realloc(void* old, size_t size) {
  ++allocations;
  return __libc_realloc(old, size);
}

void* memalign(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** result, size_t alignment, size_t size) {
  ++allocations;
  *result = __libc_memalign(alignment, size);
  return *result == NULL ? ENOMEM : 0;
}

uint64_t lmq_bench_allocations(void) { return allocations; }
