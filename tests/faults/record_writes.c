/*
 * Preloaded into a process, notes every write, truncation and sync of files below WRITES_OF, in order, in the file
 * WRITES_LOG: a line "kind path-length offset length\n", then the path, then the bytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -1;
static ssize_t (*real_write)(int, const void *, size_t);

static int path_of(int fd, char *path, size_t size) {
  const char *below = getenv("WRITES_OF");
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = below ? readlink(link, path, size - 1) : -1;
  if (length < 0) return 0;
  path[length] = 0;
  return strncmp(path, below, strlen(below)) == 0;
}

static void note(char kind, int fd, off_t offset, const void *data, size_t length) {
  char path[4096], head[96];
  if (!path_of(fd, path, sizeof path)) return;
  if (!real_write) real_write = dlsym(RTLD_NEXT, "write");
  pthread_mutex_lock(&turn);
  if (log_fd < 0) log_fd = open(getenv("WRITES_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0600);
  int size = snprintf(head, sizeof head, "%c %zu %lld %zu\n", kind, strlen(path), (long long)offset, data ? length : 0);
  real_write(log_fd, head, size);
  real_write(log_fd, path, strlen(path));
  if (data) real_write(log_fd, data, length);
  pthread_mutex_unlock(&turn);
}

#define REAL(type, name, ...) static type (*real)(__VA_ARGS__); if (!real) real = dlsym(RTLD_NEXT, name)

ssize_t write(int fd, const void *data, size_t length) {
  REAL(ssize_t, "write", int, const void *, size_t);
  off_t at = lseek(fd, 0, SEEK_CUR);
  ssize_t written = real(fd, data, length);
  if (written > 0 && at >= 0) note('w', fd, at, data, written);
  return written;
}
ssize_t pwrite(int fd, const void *data, size_t length, off_t at) {
  REAL(ssize_t, "pwrite", int, const void *, size_t, off_t);
  ssize_t written = real(fd, data, length, at);
  if (written > 0) note('w', fd, at, data, written);
  return written;
}
ssize_t pwrite64(int fd, const void *data, size_t length, off64_t at) { return pwrite(fd, data, length, at); }
/* A sync is noted when it has been done: only then is it sure. */
int fsync(int fd) {
  REAL(int, "fsync", int);
  int failed = real(fd);
  if (!failed) note('s', fd, 0, NULL, 0);
  return failed;
}
int fdatasync(int fd) {
  REAL(int, "fdatasync", int);
  int failed = real(fd);
  if (!failed) note('s', fd, 0, NULL, 0);
  return failed;
}
int ftruncate(int fd, off_t length) {
  REAL(int, "ftruncate", int, off_t);
  int failed = real(fd, length);
  if (!failed) note('t', fd, length, NULL, 0);
  return failed;
}
int ftruncate64(int fd, off64_t length) { return ftruncate(fd, length); }
