#include "probes/rdma/dlid_route.hpp"

namespace weft {
namespace {

constexpr std::uint8_t kMaxLmc = 7;  // IBTA vol. 1, PortInfo: three bits

/// The path bits by which a label names one of a port's LIDs.
Result<std::uint8_t> path_bits(LidRange port, std::optional<PathLabel> label) {
  if (port.lmc > kMaxLmc) return fail(ErrorKind::invalid_input, "an LMC of {}: at most 7", port.lmc);
  if (!label) return std::uint8_t{0};
  const std::uint32_t first = port.base.value();
  if (label->value() < first || label->value() >= port.end())
    return fail(ErrorKind::invalid_input, "label {} is no LID of the port: it has {} to {}", label->value(),
                first, port.end() - 1);
  return static_cast<std::uint8_t>(label->value() - first);
}

}  // namespace

Result<DlidRoute> dlid_route(LidRange peer, std::optional<PathLabel> label, LidRange own,
                             std::optional<PathLabel> back_label) {
  WEFT_TRY(const auto there, path_bits(peer, label));
  WEFT_TRY(const auto here, path_bits(own, back_label));
  return DlidRoute{Lid(static_cast<std::uint16_t>(peer.base.value() + there)), here};
}

}  // namespace weft
