#include "probes/watch/standing_prober.hpp"

#include <algorithm>
#include <cmath>

#include "topology/base/splitmix.hpp"

namespace weft::watch {
namespace {

constexpr std::size_t kLooksAhead = 8;  // probes of a stream that one may have overtaken
/// Settled probes that a window tells; after a long outage the others wait for the next one.
constexpr std::ptrdiff_t kMaxSettled = 4096;
/// From a probe's stamp until it left, at most: what Sent::later holds. One that took longer left in a stall.
constexpr Nanoseconds kMaxLater = std::chrono::seconds(4);

BatchId batch_for(PlanVersion plan, std::uint64_t boot) {
  return BatchId(static_cast<std::uint32_t>(mix_bits(boot + plan.value())));
}

}  // namespace

StandingProber::StandingProber(const StandingRun& run, const StandingKeys& keys, NicSchedule schedule,
                               const datapath::LocalNic& nic, const ProbeCodec& codec, Nanoseconds start)
    : run_(run),
      keys_(keys),
      schedule_(std::move(schedule)),
      nic_(nic),
      codec_(codec),
      batch_(batch_for(run.plan, run.boot)),
      start_(start),
      asked_(start),
      streams_(schedule_.streams.size()),
      identification_(static_cast<std::uint16_t>(mix_bits(batch_.value()))),
      tracer_(run, keys, schedule_, nic, codec, batch_, start) {}

Nanoseconds StandingProber::next_burst() const {
  if (streams_.empty()) return Nanoseconds::max();
  const auto burst = next_ / schedule_.burst * schedule_.burst;  // begun ones are due already
  return start_ + Nanoseconds(std::llround(static_cast<double>(burst) / schedule_.packets_per_second * 1e9));
}

/// Whole bursts, each as its first probe is due.
std::size_t StandingProber::due(Nanoseconds now) const {
  if (streams_.empty() || now < next_burst()) return 0;
  const auto passed = std::chrono::duration<double>(now - start_).count() * schedule_.packets_per_second;
  const auto bursts = static_cast<std::uint64_t>(passed) / schedule_.burst + 1;
  return bursts * schedule_.burst > next_ ? bursts * schedule_.burst - next_ : 0;
}

std::span<const ByteSpan> StandingProber::compose(Nanoseconds now, const HopOfPeer& hop_of) {
  if (now - asked_ > kStallAfter) skip_time(asked_, now);  // what was missed is not sent at once
  asked_ = now;
  composed_.clear();
  give_up_unsent(now);
  const auto count = std::min(due(now), kMaxAtOnce);
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = next_ + composed_.size();
    const auto hop = hop_of(schedule_.streams[number % streams_.size()].peer);
    if (hop) {
      composed_.push_back(frame_of(number, composed_.size(), *hop, now));
    } else if (composed_.empty()) {
      probes_.push_back({.stamp = now, .state = State::unsent});
      ++next_;
    } else {
      break;  // first those before it
    }
  }
  return composed_;
}

/// Probes that the interface has not taken for so long that it will take none.
void StandingProber::give_up_unsent(Nanoseconds now) {
  const auto late = now - kUnsentAfter;
  for (auto left = due(late); left > 0; --left, ++next_) {
    probes_.push_back({.stamp = late, .state = State::unsent});
    gave_up_ = true;
  }
}

ByteSpan StandingProber::frame_of(std::uint64_t number, std::size_t slot, const packet::MacAddress& hop,
                                  Nanoseconds now) {
  const auto index = static_cast<std::uint32_t>(number % streams_.size());
  const StreamSpec& stream = schedule_.streams[index];
  const auto size = codec_.frame_size(run_.size, nic_);
  auto& frame = frames_[slot];
  if (frame.size() != size) frame.assign(size, std::byte{0});
  const IpAddress& peer = run_.peers[stream.peer].address;
  const auto secrets = keys_.sending(schedule_.nic, peer, now);
  const packet::ProbeHeader header{
      .kind = packet::ProbeKind::probe,
      .back_label = UdpPort(static_cast<std::uint16_t>(stream.back_label.value())),
      .run = secrets.run,
      .batch = batch_,
      .nic = schedule_.nic,
      .spec = index,
      .sequence = static_cast<std::uint32_t>(number / streams_.size()),
      .sent_at = now};
  const CarriedProbe probe{.header = header,
                           .from = nic_.address,
                           .to = peer,
                           .label = stream.label,
                           .station = hop,
                           .identification = static_cast<std::uint16_t>(identification_ + number),
                           .frame_size = size};
  codec_.write(nic_, probe, secrets.key, frame);
  return frame;
}

/// They leave one after the other: each when its share of the call was over.
void StandingProber::sent(std::size_t taken, Nanoseconds before, Nanoseconds after) {
  WEFT_CHECK(taken <= composed_.size());
  for (std::size_t i = 0; i < taken; ++i) {
    const auto left =
        before + (after - before) * static_cast<std::int64_t>(i) / static_cast<std::int64_t>(taken);
    const auto later = std::clamp<std::int64_t>((left - asked_).count(), 0, kMaxLater.count());
    probes_.push_back({.stamp = asked_, .later = static_cast<std::uint32_t>(later)});
  }
  next_ += taken;
  composed_.clear();
}

std::uint64_t StandingProber::number_at(std::uint64_t round, std::uint32_t stream) const {
  return round * streams_.size() + stream;
}

/// Of a probe that may still be answered. Sequences have 32 bits: the nearest to what is sent now.
std::optional<std::uint64_t> StandingProber::number_of(const packet::ProbeHeader& header) const {
  if (header.spec >= streams_.size()) return std::nullopt;
  const auto round = next_ / streams_.size();
  const auto off = static_cast<std::int32_t>(header.sequence - static_cast<std::uint32_t>(round));
  const auto number = number_at(round + static_cast<std::uint64_t>(std::int64_t{off}), header.spec);
  return number >= first_ && number < next_ ? std::optional(number) : std::nullopt;
}

void StandingProber::take(const CarriedProbe& echo, Nanoseconds at_time) {
  const auto& header = echo.header;
  if (header.kind != packet::ProbeKind::echo || header.batch != batch_ || header.nic != schedule_.nic) return;
  const auto number = number_of(header);
  if (!number) return;
  auto& probe = at(*number);
  auto& stream = streams_[header.spec];
  const bool from_peer = echo.from == run_.peers[schedule_.streams[header.spec].peer].address;
  if (!from_peer || probe.state != State::waiting || probe.stamp != header.sent_at) return;
  probe.state = State::answered;
  probe.count = header.back_label.value();
  if (!codec_.has_arrival_times()) return;
  const auto left = probe.stamp + Nanoseconds(probe.later);
  stream.rtt.add(std::max(at_time - left - header.turnaround, Nanoseconds(0)));
}

bool StandingProber::is_overdue(const Sent& probe, Nanoseconds now) const {
  return probe.stamp + Nanoseconds(probe.later) + kAnswerWait <= now;
}

std::uint64_t StandingProber::decided(Nanoseconds now) {
  overdue_ = std::max(overdue_, first_);
  for (; overdue_ < next_ && is_overdue(at(overdue_), now); ++overdue_) {
    auto& stream = streams_[overdue_ % streams_.size()];
    stream.lost_in_a_row = at(overdue_).state == State::answered ? 0 : stream.lost_in_a_row + 1;
    if (stream.lost_in_a_row == kLostInARow) lost_in_a_row_ = true;
  }
  return overdue_;
}

/// Judges probes of the stream in their order, as far as what became of them is known.
void StandingProber::judge(std::uint32_t index, std::uint64_t end, Nanoseconds now) {
  auto& stream = streams_[index];
  for (;; ++stream.round) {
    const auto number = number_at(stream.round, index);
    if (number >= next_) return;
    const Sent& probe = at(number);
    if (probe.state == State::answered) {
      std::array<std::uint16_t, kLooksAhead> later;
      std::size_t known = 0;
      for (std::size_t i = 1; i <= kLooksAhead; ++i) {
        const auto other = number_at(stream.round + i, index);
        if (other < next_ && at(other).state == State::answered) later[known++] = at(other).count;
      }
      just_settled_.clear();
      stream.losses.answered(probe.count, std::span(later).first(known), just_settled_);
      note_settled();
    } else if (number < end || is_overdue(probe, now)) {
      const bool unsent = probe.state == State::unsent;
      lost_[number] = unsent ? LostWay::there : LostWay::open;
      if (!unsent) stream.losses.lost(number);
    } else {
      return;
    }
  }
}

void StandingProber::note_settled() {
  for (const SettledProbe& each : just_settled_) {
    const auto lost = lost_.find(each.number);
    if (lost != lost_.end())
      lost->second = each.way;
    else if (each.number >= reported_from_)
      settled_.push_back(each);
  }
}

NicWindow StandingProber::close(std::uint64_t end, Nanoseconds now,
                                const std::function<bool(std::uint32_t)>& reports_delays) {
  WEFT_CHECK(end >= first_ && end <= next_);
  NicWindow window{
      .first = first_, .count = static_cast<std::uint32_t>(end - first_), .traced = tracer_.answers()};
  for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) {
    judge(stream, end, now);
    auto& rtt = streams_[stream].rtt;
    if (rtt.count() == 0 || !reports_delays(stream)) continue;
    window.delays.push_back({stream, std::move(rtt)});
    rtt = {};
  }
  for (const auto& [number, way] : lost_)
    if (number < end) window.lost.push_back({static_cast<std::uint32_t>(number - first_), way});
  lost_.erase(lost_.begin(), lost_.lower_bound(end));
  std::ranges::sort(settled_, {}, &SettledProbe::number);
  const auto told = settled_.begin() + std::min(std::ssize(settled_), kMaxSettled);
  window.settled.assign(settled_.begin(), told);
  settled_.erase(settled_.begin(), told);
  probes_.erase(probes_.begin(), probes_.begin() + static_cast<std::ptrdiff_t>(end - first_));
  first_ = end;
  return window;
}

}  // namespace weft::watch
