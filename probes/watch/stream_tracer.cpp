#include "probes/watch/stream_tracer.hpp"

#include <algorithm>
#include <cmath>

#include "probes/datapath/answer.hpp"
#include "topology/base/splitmix.hpp"

namespace weft::watch {
namespace {

/// A switch answers with its CPU, when that has time.
constexpr Nanoseconds kHopWait = std::chrono::seconds(2);
constexpr std::size_t kMaxWaiting = 256;  // kMaxTraces in kHopWait, and more

}  // namespace

StreamTracer::StreamTracer(const StandingRun& run, const StandingKeys& keys, const NicSchedule& schedule,
                           const datapath::LocalNic& nic, const ProbeCodec& codec, BatchId batch,
                           Nanoseconds start)
    : run_(run), keys_(keys), schedule_(schedule), nic_(nic), codec_(codec), batch_(batch), due_(start) {
  if (schedule_.traces_per_second <= 0 || !codec_.is_routed()) return;
  for (std::uint32_t i = 0; i < schedule_.streams.size(); ++i)
    if (schedule_.streams[i].trace_hop > 0) streams_.push_back(i);
  // NICs begin at different times and streams, for they all got their plan at once; and at numbers that their
  // peers, who know the keys, do not.
  const auto drawn = mix_bits(mix_bits(run_.boot) + schedule_.nic.value());
  sequence_ = static_cast<std::uint32_t>(drawn);
  due_ += Nanoseconds(static_cast<std::int64_t>(static_cast<double>(drawn >> 32) / 0x1p32 * 1e9 /
                                                schedule_.traces_per_second));
}

const IpAddress& StreamTracer::peer_of(std::uint32_t stream) const {
  return run_.peers[schedule_.streams[stream].peer].address;
}

ByteSpan StreamTracer::compose(Nanoseconds now, const HopOfPeer& hop_of) {
  if (streams_.empty() || now < due_) return {};
  const auto pause = Nanoseconds(std::llround(1e9 / schedule_.traces_per_second));
  due_ += pause * ((now - due_) / pause + 1);  // what was missed is not sent later
  if (waiting_.size() == kMaxWaiting) waiting_.pop_front();
  const auto sequence = sequence_++;
  const auto index = streams_[sequence % streams_.size()];
  const StreamSpec& stream = schedule_.streams[index];
  const auto station = hop_of(stream.peer);
  if (!station) return {};
  const Sent sent{.stream = index,
                  .sequence = sequence,
                  .identification = static_cast<std::uint16_t>(mix_bits(
                      mix_bits(run_.boot) + (std::uint64_t{schedule_.nic.value()} << 32 | sequence))),
                  .secrets = keys_.sending(schedule_.nic, peer_of(index), now),
                  .at = now};
  const packet::ProbeHeader header{
      .kind = packet::ProbeKind::flow,
      .back_label = UdpPort(static_cast<std::uint16_t>(stream.back_label.value())),
      .run = sent.secrets.run,
      .batch = batch_,
      .nic = schedule_.nic,
      .spec = index,
      .sequence = sequence,
      .sent_at = now};
  const auto size = codec_.frame_size(run_.size, nic_);
  if (frame_.size() != size) frame_.assign(size, std::byte{0});
  codec_.write(nic_,
               {.header = header,
                .from = nic_.address,
                .to = peer_of(index),
                .label = stream.label,
                .station = *station,
                .identification = sent.identification,
                .hop_limit = stream.trace_hop,
                .frame_size = size},
               sent.secrets.key, frame_);
  waiting_.push_back(sent);
  return frame_;
}

void StreamTracer::take(ByteSpan frame, Nanoseconds now) {
  while (!waiting_.empty() && waiting_.front().at + kHopWait < now) waiting_.pop_front();
  if (waiting_.empty()) return;
  const auto key_of = [&](const packet::ProbeHeader& header, const IpAddress& peer) -> const packet::RunKey* {
    const auto sent = std::ranges::find_if(waiting_, [&](const Sent& each) {
      return each.secrets.run == header.run && peer_of(each.stream) == peer;
    });
    return sent == waiting_.end() ? nullptr : &sent->secrets.key;
  };
  const auto ran_out = datapath::read_hops_ran_out(frame, nic_, key_of);
  if (!ran_out) return;
  const auto sent = std::ranges::find_if(waiting_, [&](const Sent& each) {
    if (peer_of(each.stream) != ran_out->destination) return false;
    if (schedule_.streams[each.stream].label.value() != ran_out->label.value()) return false;
    if (const auto& header = ran_out->header)
      return header->batch == batch_ && header->spec == each.stream && header->sequence == each.sequence;
    return ran_out->identification == each.identification;
  });
  if (sent == waiting_.end()) return;
  answered_[sent->stream] = ran_out->from;
  waiting_.erase(sent);
}

std::vector<TracedHop> StreamTracer::answers() {
  std::vector<TracedHop> all;
  for (const auto& [stream, from] : answered_) all.push_back({stream, from});
  answered_.clear();
  return all;
}

}  // namespace weft::watch
