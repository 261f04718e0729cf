// A file system that hangs, for what is loaded behind this: FAKE_FILES_HANG names the call, open, write,
// pwrite or lock, that does not return for files of WEFT_NCCL_DIR. A pwrite hangs from the second on.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace {

bool hangs(const char* call) {
  const char* which = std::getenv("FAKE_FILES_HANG");
  return which != nullptr && std::strcmp(which, call) == 0;
}

void hang() {
  for (;;) pause();
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  const char* directory = std::getenv("WEFT_NCCL_DIR");
  if (hangs("open") && directory != nullptr && std::strncmp(path, directory, std::strlen(directory)) == 0)
    hang();
  std::va_list rest;
  va_start(rest, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  static const auto kNext = reinterpret_cast<int (*)(const char*, int, ...)>(dlsym(RTLD_NEXT, "open"));
  return kNext(path, flags, mode);
}

int fcntl(int file, int command, ...) {
  if (hangs("lock") && command == F_SETLK) hang();
  std::va_list rest;
  va_start(rest, command);
  void* const value = va_arg(rest, void*);
  va_end(rest);
  static const auto kNext = reinterpret_cast<int (*)(int, int, ...)>(dlsym(RTLD_NEXT, "fcntl"));
  return kNext(file, command, value);
}

ssize_t write(int file, const void* bytes, size_t size) {
  if (hangs("write") && file > STDERR_FILENO) hang();
  static const auto kNext =
      reinterpret_cast<ssize_t (*)(int, const void*, size_t)>(dlsym(RTLD_NEXT, "write"));
  return kNext(file, bytes, size);
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t at) {
  static int calls = 0;
  if (hangs("pwrite") && ++calls > 1) hang();
  static const auto kNext =
      reinterpret_cast<ssize_t (*)(int, const void*, size_t, off_t)>(dlsym(RTLD_NEXT, "pwrite"));
  return kNext(file, bytes, size, at);
}
}
