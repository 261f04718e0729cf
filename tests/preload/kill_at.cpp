// Ends a program by SIGKILL at its WEFT_KILL_AT-th call that changes a file, before that call is made. What
// it starts is left alone.
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace {

long left() {
  const char* at = std::getenv("WEFT_KILL_AT");
  const long count = at != nullptr ? std::strtol(at, nullptr, 10) : 0;
  unsetenv("WEFT_KILL_AT");
  unsetenv("LD_PRELOAD");
  return count;
}

long calls_left = left();

void count() {
  if (calls_left > 0 && --calls_left == 0) kill(getpid(), SIGKILL);
}

template <class Function>
Function next(const char* name) {
  count();
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t write(int file, const void* bytes, size_t size) {
  return next<ssize_t (*)(int, const void*, size_t)>("write")(file, bytes, size);
}
ssize_t pwrite(int file, const void* bytes, size_t size, off_t at) {
  return next<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite")(file, bytes, size, at);
}
ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t at) {
  return next<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64")(file, bytes, size, at);
}
int fsync(int file) { return next<int (*)(int)>("fsync")(file); }
int fdatasync(int file) { return next<int (*)(int)>("fdatasync")(file); }
int ftruncate(int file, off_t size) noexcept { return next<int (*)(int, off_t)>("ftruncate")(file, size); }
int ftruncate64(int file, off64_t size) noexcept {
  return next<int (*)(int, off64_t)>("ftruncate64")(file, size);
}
int unlink(const char* path) noexcept { return next<int (*)(const char*)>("unlink")(path); }
int rename(const char* from, const char* to) noexcept {
  return next<int (*)(const char*, const char*)>("rename")(from, to);
}
}
