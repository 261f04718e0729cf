// Any bytes as the text of perfquery and ibqueryerrors: read, placed in a fabric, and weighed.
#include <cstdint>
#include <cstdlib>

#include "collectors/counters/counter_evidence.hpp"
#include "collectors/counters/counter_text.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/model/fabric_builder.hpp"

namespace {

/// Two hosts at a leaf under a spine; GUIDs 0x10 and up, of a host's port one more.
const weft::Fabric& fabric() {
  static const weft::Fabric built = [] {
    weft::FabricBuilder builder("fuzz", weft::FabricKind::infiniband);
    const auto leaf = builder.add_node({.name = "leaf1", .guid = weft::Guid(0x30)}).value();
    const auto spine =
        builder.add_node({.name = "spine1", .tier = weft::Tier::spine, .guid = weft::Guid(0x40)}).value();
    for (int i = 1; i <= 2; ++i) {
      const auto host = builder
                            .add_node({.name = "host" + std::to_string(i),
                                       .kind = weft::NodeKind::host,
                                       .tier = weft::Tier::host,
                                       .guid = weft::Guid(0x10u * i)})
                            .value();
      const auto nic = builder.add_port(host, weft::PortNumber(1), weft::Guid(0x10u * i + 1)).value();
      if (!builder.add_link(nic, builder.add_next_port(leaf), weft::Bandwidth::gbit(200))) std::abort();
    }
    builder.connect(leaf, spine, weft::Bandwidth::gbit(200));
    return std::move(builder).build();
  }();
  return built;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto read = weft::counters::parse_counter_text(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!read) {
    if (!weft::is_harmless(read.error().message)) std::abort();
    return 0;
  }
  const auto reading = weft::counters::place_counters(
      fabric(), *read, {{weft::Lid(6), weft::Guid(0x30)}, {weft::Lid(7), weft::Guid(0x11)}});
  for (const auto& remark : read->remarks)
    if (!weft::is_harmless(remark)) std::abort();
  if (!reading) return 0;
  if (reading->ports.size() != fabric().port_count()) std::abort();
  const auto evidence = weft::counters::counter_evidence({fabric(), {}, {}}, nullptr, *reading);
  for (const auto& count : evidence.counts)
    if (!(count.exposure > 0) || !weft::is_harmless(count.source)) std::abort();
  for (const auto& sign : evidence.channels)
    if (!(sign.log_ratio > 0) || !weft::is_harmless(sign.text)) std::abort();
  return 0;
}
