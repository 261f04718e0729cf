#include "probes/run/standing_worker.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "topology/os/clocks.hpp"

namespace weft::run {
namespace {

constexpr Nanoseconds kMaxRest = std::chrono::milliseconds(20);
constexpr Nanoseconds kMinRest = std::chrono::milliseconds(1);
constexpr int kMaxReceives = 16;  // of a NIC in one look, 64 frames each
constexpr int kMaxSends = 4;
/// An interface that takes nothing for so long is looked up again: it may have become another one.
constexpr Nanoseconds kTroubleAfter = std::chrono::seconds(1);
constexpr std::size_t kMaxTold = 64;  // windows that nobody fetched: a minute

/// NICs that begin at different times wake the thread at the same ones.
Nanoseconds on_the_grid(Nanoseconds time) {
  return Nanoseconds((time.count() / kMaxRest.count() + 1) * kMaxRest.count());
}

}  // namespace

StandingWorker::StandingWorker(std::uint64_t boot, std::uint64_t seed, StandingNics& nics)
    : seed_(seed),
      source_(nics),
      epoch_(os::steady_now()),
      read_(epoch_),
      run_{.boot = boot},
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

void StandingWorker::assign(std::shared_ptr<const watch::Assignment> assignment) {
  const std::lock_guard lock(mutex_);
  next_assignment_ = std::move(assignment);
  next_keys_.reset();
}

void StandingWorker::renew_keys(std::shared_ptr<const watch::Assignment> assignment) {
  const std::lock_guard lock(mutex_);
  next_keys_ = std::move(assignment);
}

std::vector<watch::Window> StandingWorker::windows() {
  const std::lock_guard lock(mutex_);
  return std::exchange(told_, {});
}

void StandingWorker::add_window(std::optional<watch::Window> window) {
  if (!window) return;
  const std::lock_guard lock(mutex_);
  if (told_.size() < kMaxTold) told_.push_back(std::move(*window));
}

void StandingWorker::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto began = os::steady_now();
    const bool is_late = note_stall(began);  // before another plan begins: it is of this one's windows
    take_orders();
    if (assignment_) take_news(os::steady_now());
    if (look_at_all() || is_late) read_ = began;
    if (windows_) add_window(windows_->next(probing(), {read_, os::steady_now()}, dropped_of()));
    ++rounds_;
    const auto next = next_look(os::steady_now());
    std::this_thread::sleep_for(next - os::steady_now());
  }
}

/// NICs that were not read to their end for longer than a rest and kStallAfter, for whatever reason, are a
/// stall: probes of others waited for their echoes so long.
bool StandingWorker::note_stall(Nanoseconds began) {
  const bool is_late = began - read_ > kMaxRest + watch::kStallAfter;
  if (is_late && windows_) windows_->stalled(read_, began);
  return is_late;
}

/// Whether nothing more waits at any NIC.
bool StandingWorker::look_at_all() {
  bool all_read = true;
  for (std::uint32_t i = 0; assignment_ && i < assignment_->nics.size(); ++i) {
    Nic* nic = nic_of(i);
    if (nic == nullptr) continue;
    all_read &= receive(*nic);
    if (!nic->probes || paused_) continue;
    send_due(i, *nic);
    send_trace(*nic);
  }
  return all_read;
}

void StandingWorker::take_orders() {
  std::shared_ptr<const watch::Assignment> next, keys;
  {
    const std::lock_guard lock(mutex_);
    next = std::exchange(next_assignment_, nullptr);
    keys = std::exchange(next_keys_, nullptr);
  }
  if (next) begin(std::move(next), os::steady_now());
  if (!keys) return;
  keys_.renew(*keys, os::steady_now());
  take_pairs(keys->pairs);
}

void StandingWorker::take_pairs(const packet::UdPairs& pairs) {
  pairs_ = pairs;
  for (auto& [interface, nic] : nics_)
    if (nic.opened.know_pairs) nic.opened.know_pairs(pairs_);
}

void StandingWorker::begin(std::shared_ptr<const watch::Assignment> assignment, Nanoseconds at) {
  if (windows_) add_window(windows_->last(probing(), read_, dropped_of()));
  for (auto& [interface, nic] : nics_) nic.probes.reset();
  assignment_ = std::move(assignment);
  run_ = {assignment_->plan, assignment_->peers, assignment_->size, run_.boot};
  keys_.renew(*assignment_, at);
  take_pairs(assignment_->pairs);
  for (auto& [interface, nic] : nics_) nic.responder->forget_strangers();
  windows_.emplace(assignment_->plan, epoch_, at);
  for (std::uint32_t i = 0; i < assignment_->nics.size(); ++i)
    if (Nic* nic = nic_of(i)) {
      nic->hops.assign(assignment_->peers.size(), std::nullopt);
      nic->probes = std::make_unique<watch::StandingProber>(
          run_, keys_, assignment_->nics[i], nic->opened.local, *nic->opened.codec, on_the_grid(at));
    }
}

void StandingWorker::take_news(Nanoseconds at) {
  auto news = source_.news(*assignment_);
  for (auto& [index, opened] : news.opened) open(index, std::move(opened), at);
  for (auto& [index, hops] : news.hops)
    if (Nic* nic = nic_of(index)) nic->hops = std::move(hops);
}

void StandingWorker::open(std::uint32_t index, OpenedNic opened, Nanoseconds at) {
  Nic& nic = nics_[assignment_->nics[index].interface];
  nic.opened.port = std::move(opened.port);
  nic.opened.local = opened.local;
  nic.opened.codec = opened.codec;
  nic.opened.know_pairs = std::move(opened.know_pairs);
  if (nic.opened.know_pairs) nic.opened.know_pairs(pairs_);
  if (!nic.responder)
    nic.responder = std::make_unique<watch::StandingResponder>(nic.opened.local, *nic.opened.codec, keys_,
                                                               seed_ + nics_.size());
  if (nic.probes) return;  // they go on where they were
  nic.hops.assign(assignment_->peers.size(), std::nullopt);
  nic.probes = std::make_unique<watch::StandingProber>(run_, keys_, assignment_->nics[index],
                                                       nic.opened.local, *nic.opened.codec, on_the_grid(at));
}

StandingWorker::Nic* StandingWorker::nic_of(std::uint32_t index) {
  const auto found = nics_.find(assignment_->nics[index].interface);
  return found == nics_.end() ? nullptr : &found->second;
}

watch::StandingWindows::DroppedOf StandingWorker::dropped_of() {
  return [this](std::uint32_t index) { return nic_of(index)->opened.port->overruns(); };
}

watch::StandingWindows::Nics StandingWorker::probing() {
  watch::StandingWindows::Nics probing;
  for (std::uint32_t i = 0; assignment_ && i < assignment_->nics.size(); ++i)
    if (Nic* nic = nic_of(i); nic != nullptr && nic->probes) probing[i] = nic->probes.get();
  return probing;
}

/// One that does not go out at once is not sent.
void StandingWorker::send_trace(Nic& nic) {
  const auto hop_of = [&nic](std::uint32_t peer) { return nic.hops[peer]; };
  const ByteSpan frame = nic.probes->tracer().compose(os::steady_now(), hop_of);
  if (!frame.empty()) static_cast<void>(nic.opened.port->send({&frame, 1}));
}

/// Whether nothing more waits.
bool StandingWorker::receive(Nic& nic) {
  for (int i = 0; i < kMaxReceives; ++i) {
    const auto arrivals = nic.opened.port->receive(Nanoseconds(0));
    if (!arrivals || arrivals->empty()) return true;
    answer(nic, *arrivals);
  }
  return false;
}

/// An echo that does not go out at once is not sent, and those behind it are: a flood of probes cannot pile
/// up answers here.
void StandingWorker::answer(Nic& nic, std::span<const datapath::Arrival> arrivals) {
  outgoing_.clear();
  if (replies_.size() < arrivals.size()) replies_.resize(arrivals.size());
  for (const datapath::Arrival& arrival : arrivals) {
    const auto read = keys_.read(arrival.frame, nic.opened.local.address, *nic.opened.codec);
    if (!read) {
      if (nic.probes) nic.probes->tracer().take(arrival.frame, arrival.at);
      continue;
    }
    if (read->packet.header.kind == packet::ProbeKind::echo) {
      if (nic.probes) nic.probes->take(read->packet, arrival.at);
      continue;
    }
    auto& reply = replies_[outgoing_.size()];
    if (reply.size() != arrival.frame.size()) reply.assign(arrival.frame.size(), std::byte{0});
    const auto size = nic.responder->take(*read, arrival.at, os::steady_now(), reply);
    if (size > 0) outgoing_.push_back(ByteSpan(reply).first(size));
  }
  for (std::span<const ByteSpan> left = outgoing_; !left.empty();) {
    const auto sent = nic.opened.port->send(left);
    left = left.subspan(std::min(left.size(), (sent ? sent->taken : 0) + 1));
  }
}

void StandingWorker::send_due(std::uint32_t index, Nic& nic) {
  const auto hop_of = [&nic](std::uint32_t peer) { return nic.hops[peer]; };
  for (int i = 0; i < kMaxSends; ++i) {
    const auto frames = nic.probes->compose(os::steady_now(), hop_of);
    if (frames.empty()) return note_refused(index, nic, true);
    const auto before = os::steady_now();
    const auto sent = nic.opened.port->send(frames);
    const auto taken = sent ? sent->taken : 0;
    const bool all = taken == frames.size();
    nic.probes->sent(taken, before, os::steady_now());
    note_refused(index, nic, all);
    if (taken > 0)
      nic.refused_since.reset();
    else if (!nic.refused_since)
      nic.refused_since = before;
    else if (before - *nic.refused_since > kTroubleAfter)
      source_.in_trouble(assignment_->nics[index].interface), nic.refused_since.reset();
    if (!all) return;
  }
}

void StandingWorker::note_refused(std::uint32_t index, const Nic& nic, bool all_were_taken) {
  const bool gave_up = nic.probes->gave_up();
  if ((!gave_up && all_were_taken) || nic.opened.codec->loses_what_is_refused()) return;
  const auto at = os::steady_now();
  windows_->refused(index, at - watch::kUnsentAfter, at);
}

Nanoseconds StandingWorker::next_look(Nanoseconds at) {
  auto next = at + kMaxRest;
  if (!paused_)
    for (const auto& [index, nic] : probing()) next = std::min(next, nic->next_burst());
  return std::max(next, at + kMinRest);
}

}  // namespace weft::run
