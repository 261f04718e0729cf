// Any bytes as the answers of a whole subnet: it is discovered, its tables, counters and firmware are read
// and its routes are walked, without a crash and without end. Each answer is the next 64 bytes of the input;
// after the last there is silence.
#include <cstdint>
#include <cstdlib>
#include <deque>

#include "collectors/counters/counter_evidence.hpp"
#include "probes/discover/subnet_firmware.hpp"
#include "probes/discover/subnet_tables.hpp"
#include "topology/model/fabric.hpp"
#include "topology/routing/adaptive_routes.hpp"
#include "topology/routing/routing_report.hpp"

namespace {

constexpr std::size_t kAnswer = 64;
constexpr std::uint8_t kRefuses = 0xEE;  // an answer that begins so is a refusal

class HostileSubnet : public weft::mad::Mads {
 public:
  explicit HostileSubnet(weft::ByteSpan input) : input_(input) {}

  weft::Result<void> send(const weft::mad::MadPacket& packet) override {
    weft::mad::MadArrival arrival{packet.bytes, true, weft::Lid()};
    if (input_.size() >= kAnswer) {
      const auto data = input_.first(kAnswer);
      input_ = input_.subspan(kAnswer);
      arrival.undelivered = false;
      weft::store_u8(arrival.bytes, 3, 0x81);
      const auto mad_class = static_cast<weft::mad::MadClass>(weft::load_u8(packet.bytes, 1));
      std::copy(data.begin(), data.end(), arrival.bytes.begin() + weft::mad::mad_data_offset(mad_class));
      if (weft::load_u8(data, 0) == kRefuses) weft::store_be16(arrival.bytes, 4, 3U << 2);
    }
    coming_.push_back(arrival);
    return {};
  }
  weft::Result<std::optional<weft::mad::MadArrival>> receive(weft::Nanoseconds at_most) override {
    now_ += at_most;
    if (coming_.empty()) return std::nullopt;
    const auto arrival = coming_.front();
    coming_.pop_front();
    return arrival;
  }
  weft::Nanoseconds now() override { return now_; }

 private:
  weft::ByteSpan input_;
  std::deque<weft::mad::MadArrival> coming_;
  weft::Nanoseconds now_{};
};

void walk_everything(const weft::InfinibandFabric& found, const weft::routing::ForwardingTables& tables) {
  weft::routing::AdaptiveRoutes routes(found.fabric, tables);
  for (const weft::PortId nic : found.fabric.nics())
    for (std::uint32_t lid = 0; lid < 64; ++lid) {
      const auto label = routes.walk(nic, weft::Lid(static_cast<std::uint16_t>(lid)));
      if ((label.end != weft::routing::RouteEnd::arrived || label.too_many) && !label.paths.empty())
        std::abort();
      if (label.end == weft::routing::RouteEnd::arrived && !label.too_many && label.paths.empty())
        std::abort();
    }
  (void)weft::routing::report_routing(found, tables);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  HostileSubnet subnet(weft::ByteSpan(reinterpret_cast<const std::byte*>(data), size));
  const weft::mad::MadLimits limits{.window = 4, .attempts = 1};
  const auto discovery = weft::discover::discover_subnet(subnet, limits);
  if (!discovery) return 0;
  const auto found = weft::build_infiniband_fabric(discovery->subnet, "fuzz");
  if (!found) std::abort();
  const auto tables = weft::discover::read_tables(subnet, *found, discovery->routes, limits);
  if (!tables) std::abort();
  walk_everything(*found, tables->tables);
  const auto counters = weft::counters::read_counters(subnet, *found, limits);
  if (!counters) std::abort();
  (void)weft::counters::counter_evidence(*found, nullptr, *counters);
  (void)weft::discover::read_firmware(subnet, *found, limits);
  return 0;
}
