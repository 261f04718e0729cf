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
  WEFT_TRY(const auto offer, set->make_ours(device, sends, receives, wanted));
  if (const auto agreed = set->ask_peer(*device, peers.addresses, offer); !agreed)
    return refused(std::move(set), agreed.error().message);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const rdma::QpRoute route{.to = set->peer_.from,
                              .qp = set->peer_.qps[i].qp,
                              .first_psn = set->peer_.qps[i].first_psn,
                              .queue_key = set->peer_.queue_key,
                              .label = wanted[i].label,
                              .back_label = wanted[i].back_label,
                              .traffic = spec.traffic,
                              .mtu = device->path_mtu(),
                              .reads = set->reads_,
                              .timeout_exponent = spec.timeout_exponent};
    const auto connected =
        spec.kind == rdma::QpKind::datagram ? set->add_handle(device, route) : set->qps_[i]->connect(route);
    if (connected) continue;
    // A label that is none of the LIDs that the peer says it has: it costs the peer.
    if (connected.error().kind == ErrorKind::invalid_input)
      return refused(std::move(set), connected.error().message);
    return pass_on(connected);
  }
  return set;
}

/// As far as it goes without the peer; what the peer is told of it.
Result<ConnectQps> QpSet::make_ours(const std::shared_ptr<const rdma::VerbsDevice>& device,
                                    rdma::CompletionQueue& sends, rdma::CompletionQueue& receives,
                                    const std::vector<WantedQp>& wanted) {
  ConnectQps offer{.batch = spec_.batch,
                   .kind = spec_.kind,
                   .operation = spec_.operation,
                   .busy_poll = spec_.busy_poll,
                   .from = device->address(),
                   .mtu = device->path_mtu(),
                   .message = spec_.message,
                   .depth = spec_.depth,
                   .reads = device->reads()};
  const bool datagram = spec_.kind == rdma::QpKind::datagram;
  const auto places = static_cast<std::uint32_t>(datagram ? spec_.depth * wanted.size() : spec_.depth);
  for (const WantedQp& one : wanted) {
    if (qps_.empty() || !datagram) {
      WEFT_TRY(auto made, rdma::QueuePair::make(device, sends, receives, {spec_.kind, places, places}));
      qps_.push_back(std::move(made));
    }
    const rdma::QueuePair& qp = *qps_.back();
    offer.qps.push_back({one.spec, qp.number(), qp.first_psn(), one.back_label, one.label});
    offer.queue_key = qp.queue_key();
  }
  return offer;
}

/// Error: why there is nothing to connect to.
Result<void> QpSet::ask_peer(const rdma::VerbsDevice& device, const PeerAddresses& addresses,
                             const ConnectQps& offer) {
  const auto text = exchange_.ask(spec_.peer, encode(QpQuestion(offer)), spec_.answer_within);
  // In words it refused; whatever else came, or did not, it may have made them, or does so later.
  made_there_ = text || text.error().kind == ErrorKind::timeout;
  answers_ = text.has_value();
  if (!text) return pass_on(text);
  WEFT_TRY(auto answer, decode_qps_connected(*text));
  if (answer.qps.size() != offer.qps.size())
    return fail(ErrorKind::invalid_input, "{} were asked for, it made {}", offer.qps.size(),
                answer.qps.size());
  peer_ = std::move(answer);
  WEFT_TRY_VOID(addresses.check(spec_.peer, peer_.from));
  reads_ = agree(device.reads(), peer_.reads, spec_.depth);
  const int serves = peer_.reads.serves;
  if (spec_.operation == FlowOperation::read && reads_.asks == 0)
    return fail(ErrorKind::not_supported, "{} asks for {} RDMA reads at a time, its peer serves {}: write",
                device.name(), device.reads().asks, serves);
  return {};
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
