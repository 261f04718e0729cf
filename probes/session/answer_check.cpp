#include "probes/session/answer_check.hpp"

#include <algorithm>
#include <set>
#include <type_traits>

#include "probes/datapath/probe_engine.hpp"

namespace weft::session {
namespace {

constexpr Nanoseconds kMaxOver = std::chrono::seconds(60);  // queue pairs are connected beside it

template <class... Args>
tl::unexpected<Error> impossible(fmt::format_string<Args...> text, Args&&... args) {
  return fail(ErrorKind::invalid_input, "its answer cannot be: {}",
              fmt::format(text, std::forward<Args>(args)...));
}

Result<void> check_rtt(const RttQuantiles& rtt) {
  if (rtt.p50 > rtt.p99)
    return impossible("half of its round trips took longer than 99 in 100: {} ns and {} ns", rtt.p50.count(),
                      rtt.p99.count());
  return {};
}

Result<void> check_row(const datapath::TraceRequest& asked, const datapath::HopAnswer& told) {
  const datapath::TraceSpec& spec = asked.specs[told.spec];
  if (told.hop < spec.first_hop || told.hop > spec.max_hops)
    return impossible("hop {}: {} to {} were asked for", told.hop, spec.first_hop, spec.max_hops);
  return {};
}

Result<void> check_row(const datapath::PingRequest& asked, const datapath::PingTally& told) {
  const datapath::PingSpec& spec = asked.specs[told.spec];
  if (told.sent > spec.count) return impossible("{} probes sent of {} asked for", told.sent, spec.count);
  if (std::uint64_t{told.answered} + told.corrupt > told.sent)
    return impossible("{} echoes and {} damaged ones of {} probes sent", told.answered, told.corrupt,
                      told.sent);
  if (told.refused && told.sent > 0) return impossible("{} probes sent to who refused them", told.sent);
  if (told.rtt && told.answered == 0) return impossible("round trips without an echo");
  return told.rtt ? check_rtt(*told.rtt) : Result<void>();
}

Result<void> check_trips(const datapath::TripTally& told) {
  if (told.answered > told.sent)
    return impossible("{} echoes of {} probes sent beside a flow", told.answered, told.sent);
  if (told.rtt && told.answered == 0) return impossible("round trips without an echo");
  return told.rtt ? check_rtt(*told.rtt) : Result<void>();
}

Result<void> check_row(const datapath::FlowRequest& asked, const datapath::FlowTally& told) {
  if (!datapath::fit(told.bytes, told.packets))
    return impossible("{} bytes in {} packets sent", told.bytes, told.packets);
  if (told.of_sender && !told.error) return impossible("trouble of its device, and not what");
  if (!told.trips) return {};
  if (!asked.trips || !asked.specs[told.spec].back_label)
    return impossible("round trips beside a flow, which nobody asked for");
  return check_trips(*told.trips);
}

Result<void> check_row(const datapath::TransferRequest& asked, const datapath::TransferTally& told) {
  const std::uint64_t wanted = asked.specs[told.spec].packets;
  if (told.delivered > told.sent || told.delivered > wanted)
    return impossible("{} packets delivered, {} sent, {} asked for", told.delivered, told.sent, wanted);
  if (told.first && told.delivered == 0)
    return impossible("a first acknowledgement, and no packet delivered");
  const Nanoseconds most = asked.limit + kMaxOver;
  const Nanoseconds longest =
      std::max({told.elapsed, told.first.value_or(Nanoseconds(0)), told.took.value_or(Nanoseconds(0))});
  if (longest > most)
    return impossible("{} s for a transfer of {} s at most", std::chrono::duration<double>(longest).count(),
                      std::chrono::duration<double>(asked.limit).count());
  return {};
}

/// A row of each spec at most: two would count twice.
template <class Request, class Row>
requires requires(const Request& asked, const Row& row) { check_row(asked, row); }
Result<void> check_rows(const Request& asked, const std::vector<Row>& rows) {
  std::vector<bool> seen(asked.specs.size());
  for (const Row& row : rows) {
    if (row.spec >= seen.size()) return impossible("spec {} of {}", row.spec, seen.size());
    if (!std::is_same_v<Row, datapath::HopAnswer> && seen[row.spec])
      return impossible("spec {} twice", row.spec);
    seen[row.spec] = true;
    if (auto fits = check_row(asked, row); !fits) return fits;
  }
  return {};
}

Result<void> check_rows(const ReceivedQuery& asked, const std::vector<datapath::ReceivedTally>& rows) {
  std::set<std::pair<PortId, std::uint32_t>> seen;
  for (const datapath::ReceivedTally& told : rows) {
    if (told.batch != asked.batch)
      return impossible("batch {} where {} was asked for", told.batch.value(), asked.batch.value());
    if (!seen.emplace(told.from, told.spec).second)
      return impossible("spec {} of NIC {} twice", told.spec, told.from.value());
    if (!datapath::fit(told.bytes, told.packets))
      return impossible("{} bytes in {} packets received", told.bytes, told.packets);
    if (told.unsent > told.packets)
      return impossible("{} echoes not sent of {} packets received", told.unsent, told.packets);
    if (told.late > told.packets - told.unsent)
      return impossible("{} echoes sent late, {} not, of {} packets received", told.late, told.unsent,
                        told.packets);
    if (told.first > told.last) return impossible("the last packet came before the first");
  }
  return {};
}

Result<void> check_rows(const CounterQuery&, const std::vector<NicCounters>&) { return {}; }

}  // namespace

Result<void> check_targets(const TaskWork& work, const datapath::RunNics& nics) {
  return std::visit(
      [&](const auto& request) -> Result<void> {
        if constexpr (requires { request.peers; })
          for (const datapath::Peer& peer : request.peers)
            if (!nics.is_at(peer.nic, peer.address))
              return fail(ErrorKind::permission, "refused: {} is no NIC of this run, or not NIC {}",
                          to_string(peer.address), peer.nic.value());
        return {};
      },
      work);
}

Result<void> check_answer(const TaskWork& work, const TaskAnswer& answer) {
  return std::visit(
      [&](const auto& asked, const auto& rows) -> Result<void> {
        if constexpr (requires { check_rows(asked, rows); })
          return check_rows(asked, rows);
        else
          return impossible("another question's");
      },
      work, answer);
}

}  // namespace weft::session
