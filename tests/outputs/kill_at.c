/* Preloaded into the program: ends it with SIGKILL just before the FORETOKEN_KILL_AT-th call that
   changes what stands in a folder, so that every state a killed run can leave is looked at. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static void step(void) {
  static int count = 0;
  const char* at = getenv("FORETOKEN_KILL_AT");
  if (at != NULL && ++count == atoi(at)) kill(getpid(), SIGKILL);
}

int rename(const char* from, const char* to) {
  step();
  return ((int (*)(const char*, const char*))dlsym(RTLD_NEXT, "rename"))(from, to);
}
int unlink(const char* path) {
  step();
  return ((int (*)(const char*))dlsym(RTLD_NEXT, "unlink"))(path);
}
int fsync(int file) {
  step();
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}
int mkdir(const char* path, mode_t mode) {
  step();
  return ((int (*)(const char*, mode_t))dlsym(RTLD_NEXT, "mkdir"))(path, mode);
}
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  if (flags & O_CREAT) step();
  return ((int (*)(const char*, int, ...))dlsym(RTLD_NEXT, "open"))(path, flags, mode);
}
