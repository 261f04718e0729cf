// A sweep under agents that lie in well-formed messages: each answer is the true one, in which the input
// changes rows, and goes through the bus's own encoding, where what does not fit is refused. Whatever they
// say, the sweep ends within a bounded number of waves, with a diagnosis whose numbers are numbers.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "probes/session/messages_json.hpp"
#include "probes/session/sweep.hpp"
#include "tests/support/traced_fabric.hpp"
#include "topology/base/check.hpp"
#include "topology/files/diagnosis_document.hpp"
#include "topology/model/clos.hpp"

namespace {

using namespace weft;

constexpr int kMaxWaves = 200;  // a sweep of this fabric without lies has about twenty

/// The input, byte by byte; zeros, which are truth, behind its end.
class Choices {
 public:
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::uint8_t next() {
    if (bytes_.empty()) return 0;
    const auto byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return byte;
  }
  /// `truth` for most bytes, and a number that tempts for the others.
  template <class Number>
  Number number(Number truth) {
    constexpr std::uint64_t kMax = std::numeric_limits<Number>::max();
    const auto byte = next();
    const std::array<std::uint64_t, 9> lies{0,           1,           truth / 2U, truth + 1ULL, 2ULL * truth,
                                            1ULL << 31U, 1ULL << 53U, kMax - 1,   kMax};
    return byte < 0xF0 ? truth : static_cast<Number>(std::min(lies[(byte - 0xF0) % lies.size()], kMax));
  }
  Nanoseconds time(Nanoseconds truth) {
    return Nanoseconds(
        static_cast<std::int64_t>(number(static_cast<std::uint64_t>(truth.count())) >> 1U << 1U));
  }
  bool lies() { return next() >= 0xF0; }

 private:
  std::span<const std::uint8_t> bytes_;
};

const Fabric& fabric() {
  static const Fabric small = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1}).value();
  return small;
}
const AddressBook& addresses() {
  static const AddressPlan plan = plan_addresses(fabric(), IpFamily::v4).value();
  return plan.book;
}

/// Agents that answer for all NICs, true where `choices` do not tell them to lie.
class Agents {
 public:
  explicit Agents(Choices& choices) : choices_(choices), ways_(fabric()) {}

  std::optional<session::TaskAnswer> answer(const session::WorkItem& item) {
    if (choices_.lies() && choices_.lies()) return std::nullopt;
    const session::TaskAnswer said =
        std::visit([&](const auto& work) { return session::TaskAnswer(of(item.nic, work)); }, item.work);
    const auto heard = session::decode_to_coordinator(encode(
        session::MessageToCoordinator{RunId(1), session::TaskResult{.id = TaskId(1), .answer = said}}));
    if (!heard) return std::nullopt;  // the coordinator gives such an agent up
    return std::get<session::TaskResult>(heard->message).answer;
  }

 private:
  std::vector<datapath::HopAnswer> of(PortId nic, const datapath::TraceRequest& request) {
    std::vector<datapath::HopAnswer> said;
    for (std::uint32_t spec = 0; spec < request.specs.size(); ++spec) {
      const auto& asked = request.specs[spec];
      const auto path = path_by_choice(fabric(), ways_, nic, request.peers[asked.peer].nic,
                                       asked.label.value() * 2654435761U >> 16U);
      for (datapath::HopAnswer hop : answers_along(fabric(), addresses(), path, asked.max_hops)) {
        hop.spec = choices_.number(spec);
        hop.hop = choices_.number(hop.hop);
        if (choices_.lies()) hop.is_peer = !hop.is_peer;
        if (choices_.lies()) hop.from = any_address();
        said.push_back(hop);
      }
    }
    return said;
  }
  std::vector<datapath::PingTally> of(PortId nic, const datapath::PingRequest& request) {
    std::vector<datapath::PingTally> said;
    for (std::uint32_t spec = 0; spec < request.specs.size(); ++spec) {
      const auto& asked = request.specs[spec];
      note(request.peers[asked.peer].nic, nic, request.batch, spec, asked.count,
           asked.count * static_cast<std::uint64_t>(asked.size.count()));
      datapath::PingTally tally{
          choices_.number(spec), choices_.number(asked.count), choices_.number(asked.count),
          choices_.number(std::uint32_t{0}),
          RttQuantiles{choices_.time(Nanoseconds(20'000)), choices_.time(Nanoseconds(30'000))}};
      if (choices_.lies()) tally.refused = "no";
      said.push_back(tally);
    }
    return said;
  }
  std::vector<datapath::FlowTally> of(PortId nic, const datapath::FlowRequest& request) {
    std::vector<datapath::FlowTally> said;
    for (std::uint32_t spec = 0; spec < request.specs.size(); ++spec) {
      const auto& asked = request.specs[spec];
      const auto bytes = static_cast<std::uint64_t>(asked.rate.bits_per_second() / 8 *
                                                    std::chrono::duration<double>(request.duration).count());
      note(request.peers[asked.peer].nic, nic, request.batch, spec, bytes / 4096, bytes);
      datapath::FlowTally tally{.spec = choices_.number(spec),
                                .packets = choices_.number(bytes / 4096),
                                .bytes = choices_.number(bytes),
                                .elapsed = choices_.time(request.duration),
                                .longest_gap = choices_.time(Nanoseconds(0))};
      if (choices_.lies()) tally.error = "silent corruption";
      if (choices_.lies())
        tally.measure = datapath::FlowMeasure{tally.packets, choices_.number(tally.bytes), {}};
      tally.corrupted = choices_.lies();
      if (choices_.lies()) tally.refused = "no";
      said.push_back(tally);
    }
    return said;
  }
  std::vector<datapath::ReceivedTally> of(PortId nic, const session::ReceivedQuery& query) {
    std::vector<datapath::ReceivedTally> said;
    for (const auto& [to, truth] : received_) {
      if (to != nic || truth.batch != query.batch) continue;
      datapath::ReceivedTally tally = truth;
      tally.spec = choices_.number(tally.spec);
      tally.packets = choices_.number(tally.packets);
      tally.bytes = choices_.number(tally.bytes);
      tally.corrupt = choices_.number(tally.corrupt);
      tally.first = choices_.time(tally.first);
      tally.last = choices_.time(tally.last);
      said.push_back(tally);
      if (choices_.lies()) said.push_back(tally);
    }
    return said;
  }
  std::vector<datapath::TransferTally> of(PortId, const datapath::TransferRequest&) { return {}; }
  std::vector<NicCounters> of(PortId, const session::CounterQuery&) {
    NicCounters read{"mlx5_0", 1, choices_.time(std::chrono::seconds(++readings_)), {}};
    for (const char* name : {"symbol_error", "port_xmit_wait", "np_cnp_sent", "link_downed"})
      read.values[name] = choices_.number(std::uint64_t{7});
    return {read};
  }

  void note(PortId to, PortId from, BatchId batch, std::uint32_t spec, std::uint64_t packets,
            std::uint64_t bytes) {
    received_.emplace_back(to, datapath::ReceivedTally{.batch = batch,
                                                       .from = from,
                                                       .spec = spec,
                                                       .packets = packets,
                                                       .bytes = bytes,
                                                       .last = std::chrono::milliseconds(500)});
  }
  IpAddress any_address() {
    const PortId port(choices_.next() % static_cast<std::uint32_t>(fabric().port_count()));
    return addresses().address_of(port).value_or(IpAddress(IpAddress::V4{192, 0, 2, choices_.next()}));
  }

  Choices& choices_;
  routing::ShortestPathCache ways_;
  std::vector<std::pair<PortId, datapath::ReceivedTally>> received_;  // by who received
  int readings_ = 0;
};

void check(const Diagnosis& diagnosis) {
  const auto is_share = [](double value) { return value >= 0 && value <= 1; };
  for (const LinkFinding& finding : diagnosis.links) {
    WEFT_CHECK(is_share(finding.confidence));
    if (finding.estimate)
      for (const double value : {finding.estimate->value, finding.estimate->low, finding.estimate->high})
        WEFT_CHECK(std::isfinite(value));
  }
  for (const GroupFinding& finding : diagnosis.groups) WEFT_CHECK(is_share(finding.confidence));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices({data, size});
  session::SweepOptions options{
      .load = choices.next() % 2 == 0 ? session::LoadLevel::full : session::LoadLevel::none,
      .budget = std::chrono::milliseconds(500)};
  options.nic_counters = choices.next() % 2 == 0;
  session::Sweep sweep(fabric(), addresses(), options, RunId(7));
  Agents agents(choices);
  int waves = 0;
  for (auto wave = sweep.next_wave(); !wave.empty(); wave = sweep.next_wave()) {
    WEFT_CHECK(++waves <= kMaxWaves);
    for (const session::WorkItem& item : wave) {
      const auto answer = agents.answer(item);
      sweep.take(item, answer ? &*answer : nullptr);
    }
  }
  const auto report = sweep.finish();
  check(report.diagnosis);
  (void)files::diagnosis_json(
      files::diagnosis_document(fabric(), report.diagnosis, {}, {.generated_at = {}, .tool_version = ""}));
  return 0;
}
