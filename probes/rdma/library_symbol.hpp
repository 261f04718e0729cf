// Looks up functions of a library that was opened when it was needed.
#pragma once

#include <dlfcn.h>

namespace weft {

/// False: the library has no such function, and dlerror says so.
template <class F>
bool find_symbol(void* library, const char* name, F& place) {
  place = reinterpret_cast<F>(dlsym(library, name));
  return place != nullptr;
}

}  // namespace weft
