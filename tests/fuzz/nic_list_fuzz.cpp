// Whatever the bytes: an error, or a host's NICs, of which some may take part.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "probes/discover/host_nics.hpp"
#include "topology/model/fabric.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const auto list = files::parse_nic_list({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!list) return 0;
  const auto chosen = discover::choose_nics("host1", *list, std::nullopt);
  if (chosen.nics.size() > list->nics.size()) std::abort();
  const auto stand_in = discover::fabric_of_hosts({chosen});
  if (stand_in && stand_in->fabric.nics().size() != chosen.nics.size()) std::abort();
  return 0;
}
