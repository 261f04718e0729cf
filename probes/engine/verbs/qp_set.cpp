#include "probes/engine/verbs/qp_set.hpp"

#include <algorithm>

namespace weft::verbs {
namespace {

constexpr std::size_t kMaxRefusal = 300;  // it is told of every spec
/// To ask a peer that did not answer: it is told, and nobody waits for what it says.
constexpr Nanoseconds kToTell = std::chrono::milliseconds(100);

}  // namespace

Result<std::unique_ptr<QpSet>> QpSet::connect(const std::shared_ptr<const rdma::VerbsDevice>& device,
                                              rdma::CompletionQueue& sends, rdma::CompletionQueue& receives,
                                              const PeerAccess& peers, const QpSetSpec& spec,
                                              const std::vector<WantedQp>& wanted) {
  std::unique_ptr<QpSet> set(new QpSet(peers.exchange, spec));
  ConnectQps offer{.batch = spec.batch,
                   .kind = spec.kind,
                   .operation = spec.operation,
                   .busy_poll = spec.busy_poll,
                   .from = device->address(),
                   .mtu = device->path_mtu(),
                   .message = spec.message,
                   .depth = spec.depth,
                   .reads = device->reads()};
  const bool datagram = spec.kind == rdma::QpKind::datagram;
  const auto places = static_cast<std::uint32_t>(datagram ? spec.depth * wanted.size() : spec.depth);
  for (const WantedQp& one : wanted) {
    if (set->qps_.empty() || !datagram) {
      WEFT_TRY(auto made, rdma::QueuePair::make(device, sends, receives, {spec.kind, places, places}));
      set->qps_.push_back(std::move(made));
    }
    const rdma::QueuePair& qp = *set->qps_.back();
    offer.qps.push_back({one.spec, qp.number(), qp.first_psn(), one.back_label, one.label});
    offer.queue_key = qp.queue_key();
  }
  const auto text = peers.exchange.ask(spec.peer, encode(QpQuestion(offer)), spec.answer_within);
  // In words it refused; whatever else came, or did not, it may have made them, or does so later.
  set->made_there_ = text || text.error().kind == ErrorKind::timeout;
  set->answers_ = text.has_value();
  if (!text) return refused(std::move(set), text.error().message);
  auto answer = decode_qps_connected(*text);
  if (!answer) return refused(std::move(set), answer.error().message);
  if (answer->qps.size() != wanted.size())
    return refused(std::move(set),
                   fmt::format("{} were asked for, it made {}", wanted.size(), answer->qps.size()));
  set->peer_ = std::move(*answer);
  if (const auto there = peers.addresses.check(spec.peer, set->peer_.from); !there)
    return refused(std::move(set), there.error().message);
  const rdma::ReadLimits reads = agree(device->reads(), set->peer_.reads, spec.depth);
  const int serves = set->peer_.reads.serves;
  if (spec.operation == FlowOperation::read && reads.asks == 0)
    return refused(std::move(set),
                   fmt::format("{} asks for {} RDMA reads at a time, its peer serves {}: write",
                               device->name(), device->reads().asks, serves));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const rdma::QpRoute route{.to = set->peer_.from,
                              .qp = set->peer_.qps[i].qp,
                              .first_psn = set->peer_.qps[i].first_psn,
                              .queue_key = set->peer_.queue_key,
                              .label = wanted[i].label,
                              .back_label = wanted[i].back_label,
                              .traffic = spec.traffic,
                              .mtu = device->path_mtu(),
                              .reads = reads,
                              .timeout_exponent = spec.timeout_exponent};
    const auto connected = datagram ? set->add_handle(device, route) : set->qps_[i]->connect(route);
    if (connected) continue;
    // A label that is none of the LIDs that the peer says it has: it costs the peer.
    if (connected.error().kind == ErrorKind::invalid_input)
      return refused(std::move(set), connected.error().message);
    return pass_on(connected);
  }
  return set;
}

Result<void> QpSet::add_handle(const std::shared_ptr<const rdma::VerbsDevice>& device,
                               const rdma::QpRoute& route) {
  WEFT_TRY(auto handle, rdma::AddressHandle::make(device, route));
  handles_.push_back(std::move(handle));
  return {};
}

Result<void> QpSet::send(std::size_t index, const rdma::Message& message) {
  if (handles_.empty()) return qps_[index]->post(FlowOperation::send, {&message, 1});
  return qps_[0]->post(*handles_[index], {&message, 1});
}

std::unique_ptr<QpSet> QpSet::refused(std::unique_ptr<QpSet> set, const std::string& why) {
  set->refusal_ = why.substr(0, kMaxRefusal);
  set->qps_.clear();
  set->handles_.clear();
  return set;
}

Result<std::vector<std::uint32_t>> QpSet::close(std::vector<FlowMoved> moved) {
  qps_.clear();
  closed_ = true;
  if (!made_there_) return std::vector<std::uint32_t>();
  if (!answers_) moved.clear();  // nothing went there
  const auto answer = exchange_.ask(spec_.peer, encode(QpQuestion(CloseQps{spec_.batch, std::move(moved)})),
                                    answers_ ? spec_.answer_within : std::min(spec_.answer_within, kToTell));
  if (!answer) return pass_on(answer);
  return decode_differing(*answer);
}

QpSet::~QpSet() {
  if (!closed_) (void)close({});
}

}  // namespace weft::verbs
