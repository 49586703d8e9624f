// Preloaded into a process: notes the system calls that make data durable, and lets them fail.
//
//   SHIM_LOG      a file that gets a line for each call: its name, and the path that was synced
//   SHIM_FAIL     a file; while it exists, every call fails with EIO
//   SHIM_FAIL_AT  the number of the one call that fails, 1 for the first
//
// And those that make room, where asked:
//
//   SHIM_FALLOCATE  how fallocate fails: EINVAL, ENOSPC …
//   SHIM_MAPS       how many files can be mapped for writing; then ENOMEM
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int fallocate(int descriptor, int mode, off_t at, off_t length) {
  static int (*real)(int, int, off_t, off_t);
  if (real == NULL) real = (int (*)(int, int, off_t, off_t))dlsym(RTLD_NEXT, "fallocate");
  const char* how = getenv("SHIM_FALLOCATE");
  if (how == NULL) return real(descriptor, mode, at, length);
  errno = strcmp(how, "ENOSPC") == 0 ? ENOSPC : strcmp(how, "EINVAL") == 0 ? EINVAL
        : strcmp(how, "ENOSYS") == 0 ? ENOSYS : EOPNOTSUPP;
  return -1;
}

void* mmap(void* at, size_t length, int protection, int flags, int descriptor, off_t from) {
  static void* (*real)(void*, size_t, int, int, int, off_t);
  static atomic_int maps;
  if (real == NULL) real = (void* (*)(void*, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
  const char* most = getenv("SHIM_MAPS");
  if (most != NULL && descriptor >= 0 && (flags & MAP_SHARED) && (protection & PROT_WRITE) &&
      atomic_fetch_add(&maps, 1) >= atoi(most)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return real(at, length, protection, flags, descriptor, from);
}

int msync(void* at, size_t length, int flags) {
  static int (*real)(void*, size_t, int);
  if (real == NULL) real = (int (*)(void*, size_t, int))dlsym(RTLD_NEXT, "msync");
  return met("msync", -1) ? -1 : real(at, length, flags);
}

int fallocate64(int descriptor, int mode, off_t at, off_t length) {
  return fallocate(descriptor, mode, at, length);
}

void* mmap64(void* at, size_t length, int protection, int flags, int descriptor, off_t from) {
  return mmap(at, length, protection, flags, descriptor, from);
}
