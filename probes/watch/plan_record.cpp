#include "probes/watch/plan_record.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "topology/model/fabric.hpp"

namespace weft::watch {
namespace {

// The layout: what it was made for (8 bytes, network order, see purpose_of), then LEB128 varints: sets of
// paths (count; each: paths, each: channels), NICs (count; each: NIC, streams, each: peer, label, label of
// the echo, set there, set back).
constexpr std::size_t kMaxChannels = 64;  // of a path; the longest there are have eight
constexpr std::size_t kMaxPaths = 4096;   // of a set

/// FNV-1a over all that ids and rates depend on: layout, channels in their order, limits.
std::uint64_t purpose_of(const Fabric& fabric, const PlanLimits& limits) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    hash = (hash ^ 0xff) * 0x100000001b3;
  };
  add("weft plan 1");
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c) {
    const ChannelId channel(c);
    add(fabric.name_of(fabric.source(channel)));
    add(fabric.name_of(fabric.target(channel)));
  }
  for (const double limit : {limits.packets_per_second, limits.crossings_per_second})
    add(std::to_string(std::bit_cast<std::uint64_t>(limit)));
  add(std::to_string(limits.burst));
  add(std::to_string(limits.streams));
  return hash;
}

class Writer {
 public:
  explicit Writer(std::uint64_t purpose) {
    for (int shift = 56; shift >= 0; shift -= 8) out_.push_back(static_cast<char>(purpose >> shift));
  }
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>(value | 0x80));
    out_.push_back(static_cast<char>(value));
  }
  std::string take() && { return std::move(out_); }

 private:
  std::string out_;
};

/// Reads zeros after the first mistake.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool ok() const { return ok_; }
  bool at_end() const { return bytes_.empty(); }
  std::uint64_t purpose() {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | byte();
    return value;
  }
  /// Below `end`.
  std::uint32_t number(std::uint64_t end) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
      const auto next = byte();
      value |= std::uint64_t{next & 0x7Fu} << shift;
      if ((next & 0x80) == 0) return value < end ? static_cast<std::uint32_t>(value) : wrong();
    }
    return wrong();
  }
  /// Of things that take at least a byte each.
  std::uint32_t count(std::size_t most) { return number(std::min(most, bytes_.size()) + 1); }

 private:
  std::uint32_t wrong() { return ok_ = false, 0; }
  std::uint8_t byte() {
    if (!ok_ || bytes_.empty()) return static_cast<std::uint8_t>(wrong());
    const auto first = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return first;
  }
  std::string_view bytes_;
  bool ok_ = true;
};

tl::unexpected<Error> not_whole() {
  return fail(ErrorKind::invalid_input, "the shared plan does not hold together: it is left out");
}

Result<std::vector<PathSetId>> read_sets(Reader& in, const Fabric& fabric, PathTable& table) {
  std::vector<PathSetId> sets;
  const auto count = in.count(~std::size_t{0} >> 1);
  for (std::uint32_t s = 0; s < count && in.ok(); ++s) {
    std::vector<PathId> paths;
    for (auto left = in.count(kMaxPaths); left > 0 && in.ok(); --left) {
      std::vector<ChannelId> channels;
      for (auto more = in.count(kMaxChannels); more > 0 && in.ok(); --more)
        channels.emplace_back(in.number(fabric.channel_count()));
      paths.push_back(table.intern(channels));
    }
    if (!in.ok() || paths.empty()) return not_whole();
    sets.push_back(table.intern_set(paths));
  }
  return sets;
}

Result<StandingNic> read_nic(Reader& in, const Fabric& fabric, const PlanLimits& limits,
                             const std::vector<PathSetId>& sets) {
  const auto port = [&] { return PortId(in.number(fabric.port_count())); };
  StandingNic nic;
  nic.nic = port();
  for (auto left = in.count(limits.streams); left > 0 && in.ok(); --left) {
    StandingStream stream;
    stream.peer = port();
    stream.label = PathLabel(in.number(std::uint64_t{1} << 32));
    stream.back_label = PathLabel(in.number(std::uint64_t{1} << 32));
    const auto there = in.number(sets.size()), back = in.number(sets.size());
    if (!in.ok()) return not_whole();
    stream.there = sets[there], stream.back = sets[back];
    nic.streams.push_back(stream);
  }
  if (!in.ok()) return not_whole();
  nic.host = fabric.port(nic.nic).node;
  return nic;
}

/// Ports of hosts, each once and in the order of a plan; peers are among them.
bool fit(const Fabric& fabric, const std::vector<StandingNic>& nics) {
  const auto place = [](const StandingNic& nic) { return std::pair(nic.host, nic.nic); };
  if (std::ranges::adjacent_find(nics, std::ranges::greater_equal(), place) != nics.end()) return false;
  return std::ranges::all_of(nics, [&](const StandingNic& nic) {
    return fabric.is_host(nic.host) && std::ranges::all_of(nic.streams, [&](const StandingStream& stream) {
             return std::ranges::binary_search(nics, std::pair(fabric.port(stream.peer).node, stream.peer),
                                               {}, place);
           });
  });
}

}  // namespace

std::string encode_plan(const Fabric& fabric, const StandingPlan& plan, const PlanLimits& limits) {
  std::unordered_map<PathSetId, std::uint32_t> numbers;
  std::vector<PathSetId> sets;  // those that streams take
  for (const StandingNic& nic : plan.nics)
    for (const StandingStream& stream : nic.streams)
      for (const PathSetId set : {stream.there, stream.back})
        if (numbers.emplace(set, static_cast<std::uint32_t>(sets.size())).second) sets.push_back(set);
  Writer out(purpose_of(fabric, limits));
  out.number(sets.size());
  for (const PathSetId set : sets) {
    const auto paths = plan.paths.paths(set);
    out.number(paths.size());
    for (const PathId path : paths) {
      const auto channels = plan.paths.channels(path);
      out.number(channels.size());
      for (const ChannelId channel : channels) out.number(channel.value());
    }
  }
  out.number(plan.nics.size());
  for (const StandingNic& nic : plan.nics) {
    out.number(nic.nic.value());
    out.number(nic.streams.size());
    for (const StandingStream& stream : nic.streams)
      for (const std::uint32_t value : {stream.peer.value(), stream.label.value(), stream.back_label.value(),
                                        numbers.at(stream.there), numbers.at(stream.back)})
        out.number(value);
  }
  return std::move(out).take();
}

Result<StandingPlan> decode_plan(const Fabric& fabric, const PlanLimits& limits, std::string_view bytes) {
  Reader in(bytes);
  if (const auto purpose = in.purpose(); !in.ok() || purpose != purpose_of(fabric, limits))
    return fail(ErrorKind::conflict,
                "the shared plan is of another fabric file or of other limits: it is left out");
  PathTable table;
  WEFT_TRY(const auto sets, read_sets(in, fabric, table));
  std::vector<StandingNic> nics;
  for (auto left = in.count(fabric.port_count()); left > 0 && in.ok(); --left) {
    WEFT_TRY(auto nic, read_nic(in, fabric, limits, sets));
    nics.push_back(std::move(nic));
  }
  if (!in.ok() || !in.at_end() || !fit(fabric, nics)) return not_whole();
  return plan_over(fabric, std::move(table), std::move(nics), limits);
}

}  // namespace weft::watch
