// Preloaded into a process: notes the system calls that make data durable, and lets them fail.
//
//   SHIM_LOG      a file that gets a line for each call: its name, and the path that was synced
//   SHIM_FAIL     a file; while it exists, every call fails with EIO
//   SHIM_FAIL_AT  the number of the one call that fails, 1 for the first
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_int calls;

// Does this call fail?
static int met(const char* name, int descriptor) {
  const int number = atomic_fetch_add(&calls, 1) + 1;
  const char* log = getenv("SHIM_LOG");
  if (log != NULL) {
    char link[64];
    char path[4096] = "";
    if (descriptor >= 0) {
      snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
      const ssize_t size = readlink(link, path, sizeof(path) - 1);
      path[size < 0 ? 0 : size] = 0;
    }
    char line[4200];
    const int length = snprintf(line, sizeof(line), "%s %s\n", name, path);
    const int to = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (to < 0 || write(to, line, (size_t)length) != length) abort();
    close(to);
  }
  const char* fail = getenv("SHIM_FAIL");
  const char* at = getenv("SHIM_FAIL_AT");
  const int fails = (fail != NULL && access(fail, F_OK) == 0) || (at != NULL && atoi(at) == number);
  if (fails) errno = EIO;
  return fails;
}

int fsync(int descriptor) {
  static int (*real)(int);
  if (real == NULL) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  return met("fsync", descriptor) ? -1 : real(descriptor);
}

int fdatasync(int descriptor) {
  static int (*real)(int);
  if (real == NULL) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  return met("fdatasync", descriptor) ? -1 : real(descriptor);
}

int msync(void* at, size_t length, int flags) {
  static int (*real)(void*, size_t, int);
  if (real == NULL) real = (int (*)(void*, size_t, int))dlsym(RTLD_NEXT, "msync");
  return met("msync", -1) ? -1 : real(at, length, flags);
}
