#include "probes/datapath/transfer_sender.hpp"

#include <algorithm>

#include "probes/datapath/answer.hpp"
#include "probes/datapath/peer_routes.hpp"
#include "probes/datapath/sequence_window.hpp"
#include "probes/packet/frame_template.hpp"

namespace weft::datapath {
namespace {

constexpr Nanoseconds kStopCheck = std::chrono::milliseconds(20);
constexpr Nanoseconds kFullQueue = std::chrono::microseconds(500);  // the interface took nothing: try again

struct Qp {
  packet::ProbeRoute route;
  packet::ProbeHeader header;
  std::uint32_t first_psn = 0;
  SendWindow book;
  TransferTally tally;
  bool dead = false;  // its peer cannot be reached
  bool running() const { return !dead && !book.done(); }
};

class TransferRun {
 public:
  TransferRun(PacketPort& port, const LocalNic& nic, const packet::RunSecrets& secrets,
              const TransferRequest& request, std::vector<Qp> qps)
      : port_(port),
        authenticator_(secrets.key),
        answers_(nic, secrets),
        window_(request.window),
        batch_(request.batch),
        size_(packet::probe_size(static_cast<std::size_t>(request.size.count()), nic.address.is_v6())),
        start_(port.now()),
        qps_(std::move(qps)) {}

  Result<void> drive(Nanoseconds limit, const std::stop_token& stop) {
    while (!stop.stop_requested() && port_.now() < start_ + limit && count_running() > 0) {
      auto until = std::min(start_ + limit, port_.now() + kStopCheck);
      WEFT_TRY(const auto sent, send_what_may_go());
      if (!sent) until = std::min(until, port_.now() + kFullQueue);
      for (Qp& qp : qps_)
        if (qp.running())
          until = std::min(until, std::max(qp.book.patience_ends(), port_.now() + kFullQueue));
      WEFT_TRY(const auto arrivals, port_.receive(until));
      for (const Arrival& arrival : arrivals) take(arrival);
      for (Qp& qp : qps_)
        if (qp.running()) qp.book.give_up(port_.now());
    }
    return {};
  }

  std::vector<TransferTally> tallies() const {
    std::vector<TransferTally> all;
    for (const Qp& qp : qps_) {
      all.push_back(qp.tally);
      all.back().sent = qp.book.sent_count();
      all.back().delivered = qp.book.delivered();
      all.back().took = port_.now() - start_;
    }
    return all;
  }

 private:
  std::size_t count_running() const {
    return static_cast<std::size_t>(std::ranges::count_if(qps_, &Qp::running));
  }

  /// One packet of each QP in turn, so that none stands behind another's whole window. False: the interface
  /// is full.
  Result<bool> send_what_may_go() {
    const auto share = static_cast<std::uint32_t>(
        std::max<std::size_t>(1, window_ / std::max<std::size_t>(1, count_running())));
    for (bool any = true; any;) {
      any = false;
      for (Qp& qp : qps_) {
        if (qp.dead || qp.book.may_send(share) == 0) continue;
        WEFT_TRY(const auto outcome, send_one(qp));
        if (outcome.too_large) qp.dead = true;
        if (outcome.taken == 0 && !outcome.too_large) return false;
        any = true;
      }
    }
    return true;
  }

  Result<SendOutcome> send_one(Qp& qp) {
    const auto now = port_.now();
    qp.header.sequence = qp.book.next_sequence();
    qp.header.sent_at = now;
    qp.route.identification = static_cast<std::uint16_t>(qp.header.sequence);
    const auto frame = frame_.write(qp.route, qp.header, authenticator_, qp.first_psn, size_);
    auto outcome = port_.send({&frame, 1});
    if (outcome && outcome->taken > 0) qp.book.sent(now);
    return outcome;
  }

  void take(const Arrival& arrival) {
    const auto answer = answers_.read(arrival.frame);
    const auto* echo = answer ? std::get_if<Echo>(&*answer) : nullptr;
    if (!echo || !echo->intact || echo->header.batch != batch_ || echo->header.spec >= qps_.size()) return;
    Qp& qp = qps_[echo->header.spec];
    if (echo->from != qp.route.to || !qp.book.acknowledged(echo->header.sequence)) return;
    qp.tally.elapsed = std::max(qp.tally.elapsed, arrival.at - start_);
    if (!qp.tally.first) qp.tally.first = arrival.at - start_;
  }

  PacketPort& port_;
  packet::Authenticator authenticator_;  // of what is sent
  AnswerReader answers_;
  std::uint32_t window_;
  BatchId batch_;
  std::size_t size_;
  packet::FrameTemplate frame_;
  Nanoseconds start_;
  std::vector<Qp> qps_;
};

}  // namespace

Result<std::vector<TransferTally>> TransferSender::run(const TransferRequest& request, std::stop_token stop) {
  if (auto ok = check_peers(request.run, secrets_, request.peers, nic_); !ok) return pass_on(ok);
  if (auto ok = check_transfers(request); !ok) return pass_on(ok);
  WEFT_TRY(const auto macs, find_next_hops(next_hops_, request.peers));
  const auto port_of = [](PathLabel label) { return UdpPort(static_cast<std::uint16_t>(label.value())); };
  std::vector<Qp> qps;
  for (std::uint32_t i = 0; i < request.specs.size(); ++i) {
    const auto& spec = request.specs[i];
    const auto& mac = macs[spec.peer];
    const packet::ProbeHeader header{.kind = packet::ProbeKind::segment,
                                     .back_label = port_of(spec.back_label),
                                     .run = secrets_.run,
                                     .batch = request.batch,
                                     .nic = self_,
                                     .spec = i};
    qps.push_back({.route = {.from_mac = nic_.mac,
                             .to_mac = mac.value_or(packet::MacAddress{}),
                             .from = nic_.address,
                             .to = request.peers[spec.peer].address,
                             .label = port_of(spec.label),
                             .traffic_class = nic_.traffic_class},
                   .header = header,
                   .first_psn = first_psn(header, secrets_.key),
                   .book = SendWindow(spec.packets),
                   .tally = {.spec = i},
                   .dead = !mac});
  }
  TransferRun transfer(port_, nic_, secrets_, request, std::move(qps));
  if (auto ok = transfer.drive(request.limit, stop); !ok) return pass_on(ok);
  return transfer.tallies();
}

}  // namespace weft::datapath
