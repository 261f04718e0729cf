// Any bytes as two dumps of a subnet, behind each other with a line of "----" between: one is what should be
// there, the other what is. They are matched and compared, by GUIDs, names and cables.
#include <cstdint>
#include <cstdlib>

#include "probes/discover/cabling.hpp"
#include "probes/discover/matching.hpp"
#include "topology/files/ibnetdiscover.hpp"
#include "topology/model/fabric.hpp"

namespace {

constexpr std::string_view kBetween = "\n----\n";

std::optional<weft::InfinibandFabric> fabric_of(std::string_view text) {
  const auto subnet = weft::files::parse_ibnetdiscover(text);
  if (!subnet) return std::nullopt;
  auto built = weft::build_infiniband_fabric(*subnet, "fuzz");
  if (!built) std::abort();
  return std::move(*built);
}

/// What is matched is matched once, and both ways.
void check_match(const weft::Fabric& expected, const weft::discover::FabricMatch& match) {
  for (std::uint32_t c = 0; c < expected.channel_count(); ++c)
    if (const auto there = match.found[c]; there && match.expected[there->value()] != weft::ChannelId(c))
      std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto middle = text.find(kBetween);
  const auto expected = fabric_of(text.substr(0, middle));
  if (!expected) return 0;
  const auto other = middle == text.npos ? std::nullopt : fabric_of(text.substr(middle + kBetween.size()));
  const auto& found = other ? *other : *expected;
  const auto match = weft::discover::match_fabrics(expected->fabric, found.fabric);
  check_match(expected->fabric, match);
  (void)weft::discover::match_evidence(expected->fabric, found, match);
  const auto report = weft::discover::check_cabling(expected->fabric, found);
  if (report.links_right > expected->fabric.link_count()) std::abort();
  // A fabric is itself, whatever it is called.
  if (!other && report.links_right != expected->fabric.link_count()) std::abort();
  return 0;
}
