#include "tests/support/steered_job.hpp"

namespace weft {

steer::PairLabels spaced_labels(const IpAddress& own, const IpAddress& peer, std::uint32_t first,
                                std::uint32_t count) {
  steer::PairLabels pair{steer::gid_of(own), steer::gid_of(peer), std::nullopt, steer::Role::sends, {}};
  for (std::uint32_t i = 0; i < count; ++i) pair.labels.emplace_back(first + 10 * i);
  return pair;
}

Answer put_labels(const RdmaRig& rig, const std::string& host, const steer::LabelList& list,
                  const std::string& path) {
  const auto bytes = steer::encode_labels(list).value();
  std::string words = "mkdir -p /tmp/job && chmod 700 /tmp/job && printf '";
  for (const std::byte byte : bytes) words += fmt::format("\\{:03o}", std::to_integer<unsigned>(byte));
  words += fmt::format("' > /tmp/job/new && chmod 600 /tmp/job/new && mv /tmp/job/new {}", path);
  return rig.in(host, {"sh", "-c", words});
}

std::vector<std::vector<std::uint32_t>> ports_in_order(const PortsByQp& ports) {
  std::vector<std::vector<std::uint32_t>> all;
  for (const auto& [qp, used] : ports) {
    all.emplace_back();
    for (const UdpPort port : used) all.back().push_back(port.value());
  }
  return all;
}

}  // namespace weft
