// Whatever the bytes: an error, or names that are a list of the same names.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "topology/base/host_list.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto names = weft::expand_hosts({reinterpret_cast<const char*>(data), size});
  if (!names) return 0;
  std::string list;
  for (const std::string& name : *names) list += name + ",";
  const auto again = weft::expand_hosts(list);
  if (!again || *again != *names) std::abort();
  return 0;
}
