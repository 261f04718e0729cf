#include "probes/watch/assignment_json.hpp"

#include <set>
#include <span>

#include "topology/base/bytes.hpp"
#include "topology/base/json_members.hpp"
#include "topology/base/outside_text.hpp"

namespace weft::watch {

using namespace json_members;

namespace {

constexpr JsonLimits kAssignmentLimits{kMaxWordBytes, 8, 600'000};
constexpr JsonLimits kSpeechLimits{65'536, 6, 8'192};
constexpr std::size_t kMaxInterfaces = 256;
constexpr std::size_t kMaxAddresses = 64;  // of an interface
constexpr std::size_t kMaxNameLength = 256;
constexpr std::uint32_t kLastLabel = 0xFFFF;
constexpr std::uint32_t kLastQp = 0xFFFFFF;
constexpr std::int64_t kMaxProbe = 9'600;
constexpr std::size_t kMaxEpochs = 4;      // two are used
constexpr std::uint32_t kMaxPairs = 8192;  // 64 NICs with 128 peers: what a message holds

unsigned digit_of(char digit) {
  if (digit >= '0' && digit <= '9') return static_cast<unsigned>(digit - '0');
  if (digit >= 'a' && digit <= 'f') return static_cast<unsigned>(digit - 'a' + 10);
  throw BadField("a key is hexadecimal digits");
}

void check(bool fits, const char* what) {
  if (!fits) throw BadField(what);
}

}  // namespace

/// Keys: two hexadecimal digits a byte.
struct Hex {
  MutableByteSpan bytes;
};
static Json write_json(OneValue, const Hex& hex) {
  std::string text;
  for (const std::byte each : hex.bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(each));
  return text;
}
static void read_json(OneValue, const Json& from, const Hex& into) {
  const std::string digits = text(from, 2 * into.bytes.size());
  if (digits.size() != 2 * into.bytes.size()) throw BadField("a key that is too short");
  for (std::size_t i = 0; i < into.bytes.size(); ++i)
    into.bytes[i] = static_cast<std::byte>(digit_of(digits[2 * i]) << 4 | digit_of(digits[2 * i + 1]));
}

/// A NIC elsewhere. The types of probes/datapath have their members in probes/session, for other messages.
struct NicPlace {
  PortId nic;
  IpAddress address;
  std::optional<packet::UdPair> pair;
};
/// A queue pair, where a NIC has one: both numbers or neither.
template <class Io>
static void pair_members(Io& io, std::optional<packet::UdPair>& pair) {
  auto qp = pair ? std::optional(pair->qp) : std::nullopt;
  auto key = pair ? std::optional(pair->key) : std::nullopt;
  io("qp", qp);
  io("qkey", key);
  if (qp.has_value() != key.has_value()) throw BadField("a queue pair and its Q_Key go together");
  if (qp && qp->value() > kLastQp) throw BadField("a queue pair's number has 24 bits");
  pair = qp ? std::optional(packet::UdPair{*qp, *key}) : std::nullopt;
}
template <class Io>
static void members(Io& io, NicPlace& m) {
  io("nic", m.nic);
  io("address", m.address);
  pair_members(io, m.pair);
}

/// Peers, and NICs that may ask.
template <class Io, class T>
static void places(Io& io, const char* name, std::vector<T>& nics, packet::UdPairs& pairs) {
  std::vector<NicPlace> rows;
  for (const T& nic : nics) {
    const auto pair = pairs.find(nic.address);
    rows.push_back({nic.nic, nic.address, pair == pairs.end() ? std::nullopt : std::optional(pair->second)});
  }
  io(name, table(rows, kMaxOtherNics));
  nics.clear();
  for (const NicPlace& row : rows) {
    nics.push_back({row.nic, row.address});
    if (row.pair) pairs.insert_or_assign(row.address, *row.pair);
  }
}

/// A name, or a line for people; never long, and as it may be shown.
struct ShortText {
  std::string& text;
};
static Json write_json(OneValue, const ShortText& text) { return text.text; }
static void read_json(OneValue, const Json& from, const ShortText& into) {
  into.text = outside_text(text(from, kMaxNameLength));
}

/// A line for people that may be as long as any text.
struct ShownText {
  std::string& text;
};
static Json write_json(OneValue, const ShownText& shown) { return shown.text; }
static void read_json(OneValue, const Json& from, const ShownText& into) {
  into.text = outside_text(text(from));
}

template <class Io>
static void members(Io& io, StreamSpec& m) {
  io("peer", m.peer);
  io("label", m.label);
  io("back", m.back_label);
  rarely(io, "hop", m.trace_hop);
}
template <class Io>
static void members(Io& io, NicSchedule& m) {
  io("nic", m.nic);
  io("interface", ShortText{m.interface});
  io("pps", m.packets_per_second);
  io("burst", m.burst);
  io("streams", table(m.streams, kMaxStreams));
  rarely(io, "traces", m.traces_per_second);
}
/// One text for all pairs: there may be a thousand.
template <class Io>
static void members(Io& io, EpochKeys& m) {
  auto pairs = static_cast<std::uint32_t>(m.pairs.size());
  io("name", m.name);
  io("ends_in", m.ends_in);
  io("own", Hex{m.own});
  io("count", pairs);
  if (pairs > kMaxPairs) throw BadField(fmt::format("{} keys: at most {} are read", pairs, kMaxPairs));
  m.pairs.resize(pairs);
  io("pairs", Hex{std::as_writable_bytes(std::span(m.pairs))});
}
template <class Io>
static void members(Io& io, Assignment& m) {
  io("plan", m.plan);
  io("epochs", at_most(kMaxEpochs, m.epochs));
  io("size", m.size);
  io("nics", at_most(kMaxNicsOfHost, m.nics));
  places(io, "peers", m.peers, m.pairs);
  places(io, "asked", m.asked, m.pairs);
}

template <class Io>
static void members(Io& io, HostInterface& m) {
  io("interface", ShortText{m.interface});
  io("addresses", at_most(kMaxAddresses, m.addresses));
  pair_members(io, m.pair);
}
template <class Io>
static void members(Io& io, AgentHello& m) {
  io("protocol", m.protocol);
  io("host", ShortText{m.host});
  io("version", ShortText{m.version});
  io("boot", m.boot);
  io("plan", m.plan);
  rarely(io, "epoch", m.epoch);
  io("interfaces", at_most(kMaxInterfaces, m.interfaces));
  io("troubles", at_most(kMaxNicsOfHost, m.troubles));
  for (std::string& trouble : m.troubles) trouble = outside_text(trouble);
  rarely(io, "spooled", m.spooled);
  rarely(io, "dropped", m.dropped);
  rarely(io, "engine", m.engine);
}
template <class Io>
static void members(Io& io, AgentBye& m) {
  io("host", ShortText{m.host});
  io("boot", m.boot);
  io("reason", ShownText{m.reason});
  io("planned", m.planned);
}

namespace {

constexpr const char* kSpeeches[] = {"hello", "bye"};  // in the order of AgentSpeech

void check_schedule(const NicSchedule& nic, std::size_t peers) {
  check(nic.packets_per_second > 0 && nic.packets_per_second <= kMaxRate, "a rate beyond what is sent");
  check(nic.traces_per_second == 0 ||
            (nic.traces_per_second >= kMinTraces && nic.traces_per_second <= kMaxTraces),
        "more traces than are sent, or fewer");
  check(nic.burst >= 1 && nic.burst <= kMaxBurst, "a burst of no probe, or of more than 64");
  for (const StreamSpec& stream : nic.streams) {
    check(stream.peer < peers, "a stream to a peer that is not listed");
    check(stream.trace_hop <= kMaxTraceHop, "a hop beyond the last");
    check(stream.label.value() <= kLastLabel && stream.back_label.value() <= kLastLabel,
          "a label that is no UDP port");
  }
}

void check_assignment(const Assignment& assignment) {
  check(assignment.plan.value() > 0, "plan 0 is none");
  check(assignment.size.count() > 0 && assignment.size.count() <= kMaxProbe, "no size of a probe");
  std::set<std::string> interfaces;
  for (const NicSchedule& nic : assignment.nics) {
    check(interfaces.insert(nic.interface).second, "an interface comes twice");
    check_schedule(nic, assignment.peers.size());
  }
  check(!assignment.epochs.empty(), "no keys");
  const auto pairs = asked_pairs(assignment.nics).size();
  for (const EpochKeys& keys : assignment.epochs)
    check(keys.pairs.size() == pairs, "not a key for each pair of NICs");
}

}  // namespace

std::string to_json_text(const Assignment& assignment) { return to_text(write_value(assignment)); }

std::string to_json_text(const AgentSpeech& speech) {
  Json json = std::visit([](const auto& said) { return write_value(said); }, speech);
  json["kind"] = kSpeeches[speech.index()];
  return to_text(json);
}

Result<Assignment> read_assignment(std::string_view text) {
  WEFT_TRY(auto assignment, read_text<Assignment>(text, kAssignmentLimits, "an assignment"));
  try {
    check_assignment(assignment);
  } catch (const BadField& bad) {
    return fail(ErrorKind::invalid_input, "an assignment does not fit: {}", bad.what());
  }
  return assignment;
}

Result<AgentSpeech> read_speech(std::string_view said) {
  WEFT_TRY(const auto json, parse(said, kSpeechLimits, "an agent's word"));
  try {
    return read_kind<AgentSpeech>(kSpeeches, text(field(json, "kind")),
                                  [&](auto& into) { read_value(json, into); });
  } catch (const BadField& bad) {
    return fail(ErrorKind::invalid_input, "an agent's word does not fit: {}{}{}", bad.place,
                bad.place.empty() ? "" : ": ", bad.what());
  }
}

}  // namespace weft::watch
