// Whatever RAS answers: an error of one harmless line, or ranks that can be.
#include <cstdint>
#include <cstdlib>

#include "collectors/nccl/ras.hpp"
#include "topology/base/outside_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const auto report = nccl::parse_ras({reinterpret_cast<const char*>(data), size});
  if (!report) return is_harmless(report.error().message) ? 0 : (std::abort(), 0);
  for (const auto& communicator : report->communicators)
    for (const auto& rank : communicator.ranks)
      if (rank.rank > nccl::kMaxRank || !is_harmless(rank.host)) std::abort();
  for (const auto& process : report->processes)
    if (!is_harmless(process.host)) std::abort();
  return 0;
}
