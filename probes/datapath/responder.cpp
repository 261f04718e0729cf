#include "probes/datapath/responder.hpp"

#include <algorithm>
#include <condition_variable>

#include "probes/packet/address_words.hpp"
#include "probes/packet/plain_probe.hpp"

namespace weft::datapath {
namespace {

std::uint64_t key_of(const packet::ProbeHeader& header) {
  return std::uint64_t{header.nic.value()} << 32 | header.spec;
}

bool read_by_layers(ByteSpan frame, packet::ProbePacket& packet) {
  const auto decoded = packet::decode_probe_frame(frame);
  if (decoded) packet = *decoded;
  return decoded.has_value();
}

constexpr auto kStopCheck = std::chrono::milliseconds(100);
constexpr auto kCatchUp = std::chrono::milliseconds(2);
constexpr int kMaxCatchUps = 250;
// Flow packets want no answer and carry the kernel's time: a few are read at once, not each as it comes,
// which at 1,500 a second and sixteen hosts on two cores would cost more than the packets. An echo delayed by
// this is not taken for a slow path, since its turnaround says so.
constexpr auto kGather = std::chrono::milliseconds(2);
constexpr std::size_t kMaxWaiting =
    8;  // in that time; more means a rate at which waiting would fill the socket

void rest(const std::stop_token& stop, std::chrono::milliseconds time) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait_for(lock, stop, time, [] { return false; });
}

}  // namespace

Responder::Responder(const LocalNic& nic, const packet::RunSecrets& secrets, const RunNics& nics,
                     const ResponderLimits& limits)
    : nic_(nic), secrets_(secrets), nics_(nics), limits_(limits), authenticator_(secrets.key) {
  WEFT_CHECK(limits.batches >= 1 && limits.streams >= 1);
}

ByteSpan Responder::take(ByteSpan frame, Nanoseconds at, Nanoseconds now, packet::FrameTemplate& reply) {
  auto& packet = in_hand_;
  const bool is_probe = read_plain_probe(frame, packet) || read_by_layers(frame, packet);
  const bool authentic = is_probe && authenticate(packet, authenticator_);
  const bool for_us = authentic && packet.header.run == secrets_.run &&
                      packet::is_same(packet.ip.destination, nic_.address) &&
                      packet.header.kind != packet::ProbeKind::echo;
  Stream* stream = for_us ? known_stream(packet.header) : nullptr;
  // Every participant has the key: that it comes from where the run has its NIC is looked up for each stream.
  const auto& source = packet.ip.source;
  const bool ours = for_us && (stream != nullptr ? packet::is_same(stream->from, source)
                                                 : nics_.is_at(packet.header.nic, source));
  if (!ours) {
    ++(is_probe && !authentic && !packet.intact ? rejects_.damaged : rejects_.foreign);
    return {};
  }
  if (stream == nullptr) stream = new_stream(packet);
  const bool counted = stream != nullptr ? count(*stream, packet, at) : (++rejects_.beyond_limits, false);
  if (!counted || packet.header.kind == packet::ProbeKind::flow) return {};
  const auto written = answer(packet, stream->first_psn, now - at, reply);
  if (!written.empty() && now - at >= kLateEcho) ++stream->tally.late;
  return written;
}

/// True when the packet is new and whole.
inline bool Responder::count(Stream& stream, const packet::ProbePacket& packet, Nanoseconds at) {
  if (!stream.window.insert(packet.header.sequence)) {
    ++rejects_.repeated;
    return false;
  }
  auto& tally = stream.tally;
  if (packet.header.kind == packet::ProbeKind::probe) {
    stream.gaps.insert(packet.header.sequence);
    if (!tally.missing) tally.missing.emplace();  // they are read when someone asks
  }
  if (!packet.intact) {
    ++tally.corrupt;
    return false;
  }
  if (tally.packets++ == 0) tally.first = at;
  tally.last = std::max(tally.last, at);
  tally.bytes += packet.ip.bytes.size();
  return true;
}

inline Responder::Batch* Responder::known_batch(BatchId id) {
  if (!batches_.empty() && batches_.back().id == id) return &batches_.back();  // as most packets are
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &*found->second;
}

inline Responder::Stream* Responder::known_stream(const packet::ProbeHeader& header) {
  Batch* const batch = known_batch(header.batch);
  if (batch == nullptr) return nullptr;
  const auto found = batch->streams.find(key_of(header));
  return found == batch->streams.end() ? nullptr : &found->second;
}

/// Null where there is no place for one more.
Responder::Stream* Responder::new_stream(const packet::ProbePacket& packet) {
  const auto& header = packet.header;
  auto& batch = batch_of(header.batch);
  if (!make_room(batch)) return nullptr;
  ++streams_;
  Stream stream{.tally = {.batch = header.batch, .from = header.nic, .spec = header.spec},
                .from = packet.ip.source,
                .first_psn = first_psn(header, secrets_.key)};
  return &batch.streams.emplace(key_of(header), std::move(stream)).first->second;
}

Responder::Batch& Responder::batch_of(BatchId id) {
  if (Batch* const known = known_batch(id)) return *known;
  batches_.push_back({.id = id});
  by_id_[id] = std::prev(batches_.end());
  make_room(batches_.back());
  return batches_.back();
}

/// Forgets the oldest batches but `keep` until one more stream fits; false where `keep` alone fills the
/// place.
bool Responder::make_room(const Batch& keep) {
  while (batches_.size() > limits_.batches || streams_ >= limits_.streams) {
    const auto oldest =
        std::find_if(batches_.begin(), batches_.end(), [&](const Batch& batch) { return &batch != &keep; });
    if (oldest == batches_.end()) return false;
    streams_ -= oldest->streams.size();
    by_id_.erase(oldest->id);
    batches_.erase(oldest);
  }
  return true;
}

ByteSpan Responder::answer(const packet::ProbePacket& packet, std::uint32_t first_psn, Nanoseconds turnaround,
                           packet::FrameTemplate& reply) {
  const bool v6 = packet.ip.source.is_v6();
  const auto asked = packet.ip.bytes.size();
  if (asked != packet::probe_size(asked, v6)) return {};  // nothing that our prober sends
  const auto size = packet.header.kind == packet::ProbeKind::segment ? packet::min_probe_size(v6) : asked;
  const packet::ProbeRoute route{.from_mac = nic_.mac,
                                 .to_mac = packet.ethernet.source,
                                 .from = nic_.address,
                                 .to = packet.ip.source,
                                 .label = packet.header.back_label,
                                 .traffic_class = nic_.traffic_class,
                                 .identification = packet.ip.identification.value_or(0)};
  auto header = packet.header;
  header.kind = packet::ProbeKind::echo;
  header.turnaround = turnaround;
  return reply.write(route, header, authenticator_, first_psn, size);
}

Responder::Answered Responder::answered_by(ByteSpan reply) {
  const auto packet = packet::decode_probe_frame(reply, secrets_.key);
  const auto batch = packet ? by_id_.find(packet->header.batch) : by_id_.end();
  if (batch == by_id_.end()) return {};
  const auto stream = batch->second->streams.find(key_of(packet->header));
  if (stream == batch->second->streams.end()) return {};
  return {&stream->second.tally, packet->header.turnaround >= kLateEcho};
}

void Responder::note_unsent(ByteSpan reply) {
  const auto [tally, late] = answered_by(reply);
  if (tally == nullptr) return;
  ++tally->unsent;
  if (late && tally->late > 0) --tally->late;
}

void Responder::note_late(ByteSpan reply) {
  if (const auto [tally, late] = answered_by(reply); tally != nullptr && !late) ++tally->late;
}

std::vector<ReceivedTally> Responder::received(BatchId batch) const {
  std::vector<ReceivedTally> result;
  const auto found = by_id_.find(batch);
  if (found == by_id_.end()) return result;
  std::vector<std::pair<std::uint64_t, const Stream*>> streams;  // by key: NIC, then spec
  for (const auto& [key, stream] : found->second->streams) streams.emplace_back(key, &stream);
  std::sort(streams.begin(), streams.end());
  for (const auto& [key, stream] : streams) {
    result.push_back(stream->tally);
    if (stream->tally.missing) result.back().missing = stream->gaps.runs();
  }
  return result;
}

void ResponderLoop::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    ++rounds_;
    const auto arrivals = port_.receive(port_.now() + kStopCheck);
    if (arrivals) serve(*arrivals);
    const bool only_flows =
        arrivals && !arrivals->empty() && arrivals->size() < kMaxWaiting && outgoing_.empty();
    if (!arrivals)
      rest(stop, kStopCheck);
    else if (only_flows)
      rest(stop, kGather);
  }
}

void ResponderLoop::serve(std::span<const Arrival> arrivals) {
  outgoing_.clear();
  if (arrivals.empty()) return;
  const auto now = port_.now();
  if (replies_.size() < arrivals.size()) replies_.resize(arrivals.size());
  {
    const std::lock_guard lock(mutex_);
    for (const auto& arrival : arrivals) {
      const auto reply = responder_.take(arrival.frame, arrival.at, now, replies_[outgoing_.size()]);
      if (!reply.empty()) outgoing_.push_back(reply);
    }
  }
  // An echo that does not go out at once is not sent: a flood of probes cannot pile up answers here.
  if (outgoing_.empty()) return;
  const auto outcome = port_.send(outgoing_);
  const std::size_t taken = outcome ? outcome->taken : 0;
  const bool late = port_.now() - now >= kLateEcho;
  if (taken == outgoing_.size() && !late) return;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < outgoing_.size(); ++i) {
    if (i >= taken)
      responder_.note_unsent(outgoing_[i]);
    else if (late)
      responder_.note_late(outgoing_[i]);
  }
}

std::vector<ReceivedTally> ResponderLoop::received(BatchId batch) {
  int waits = 0;
  for (; waits < kMaxCatchUps && port_.has_unread(); ++waits) rest({}, kCatchUp);
  if (waits > 0)  // what was read is counted when the loop begins another round
    for (const auto round = rounds_.load(); waits < kMaxCatchUps && rounds_ == round; ++waits)
      rest({}, kCatchUp);
  const std::lock_guard lock(mutex_);
  if (asked_ != batch) dropped_ = 0;
  asked_ = batch;
  dropped_ += port_.overruns();
  auto tallies = responder_.received(batch);
  for (ReceivedTally& tally : tallies) tally.dropped = dropped_;
  return tallies;
}

ResponderRejects ResponderLoop::rejects() const {
  const std::lock_guard lock(mutex_);
  return responder_.rejects();
}

}  // namespace weft::datapath
