// What a watcher and its agents say to each other beside windows, as JSON on one line: an Assignment to an
// agent; from an agent that it is there (hello) or goes (bye). Readers trust nothing: limits on length and
// counts, and an assignment whose parts do not fit each other is refused.
#pragma once

#include <optional>
#include <variant>

#include "probes/watch/assignment.hpp"
#include "topology/base/result.hpp"

namespace weft::watch {

/// The version of these texts and of windows; watchers speak this one and the one before.
inline constexpr std::uint32_t kWatchProtocol = 1;
/// What NATS takes at once, as its server comes (max_payload).
inline constexpr std::size_t kMaxWordBytes = 1 << 20;

struct HostInterface {
  std::string interface;
  std::vector<IpAddress> addresses;
  std::optional<packet::UdPair> pair = std::nullopt;  // by which it is probed; absent: by packets
  friend bool operator==(const HostInterface&, const HostInterface&) = default;
};

/// An agent is there. Said at its start, again until an assignment comes, then twice a minute: a watcher that
/// starts later hears of it too.
struct AgentHello {
  std::string host;        // its name in the fabric
  std::string version;     // of weft
  std::uint64_t boot = 0;  // as in its windows
  PlanVersion plan;        // that it probes by; 0: none yet
  RunId epoch;             // the first that it has keys of
  std::vector<HostInterface> interfaces;
  std::vector<std::string> troubles = {};  // why NICs of its assignment are not probed from
  std::uint32_t protocol = kWatchProtocol;
  std::uint64_t spooled = 0;  // windows that the bus has not acknowledged
  std::uint64_t dropped = 0;  // windows that found no room among these, since its start
  std::string engine = {};    // by which it probes, as its command line has it; empty: it does not say
  friend bool operator==(const AgentHello&, const AgentHello&) = default;
};

/// An agent goes. planned: it was told to, its silence is no trouble.
struct AgentBye {
  std::string host;
  std::uint64_t boot = 0;
  std::string reason;
  bool planned = false;
  friend bool operator==(const AgentBye&, const AgentBye&) = default;
};

using AgentSpeech = std::variant<AgentHello, AgentBye>;

std::string to_json_text(const Assignment& assignment);
std::string to_json_text(const AgentSpeech& speech);
/// Errors: invalid_input. Every index of what is read is in range, rates and bursts are of this world
/// (kMaxRate, kMaxBurst), interfaces come once, each epoch has a key for each pair. Of what an agent says
/// every text is as it may be shown (outside_text): it reaches the journal and the terminal of the watcher.
Result<Assignment> read_assignment(std::string_view text);
Result<AgentSpeech> read_speech(std::string_view text);

inline constexpr double kMaxRate = 50'000;  // probes a second of a NIC: what one agent's thread still sends
inline constexpr std::uint32_t kMaxBurst = 64;                // frames of one system call
inline constexpr std::size_t kMaxNicsOfHost = 64;             // as in a window
inline constexpr std::size_t kMaxStreams = 65'536;            // of a NIC
inline constexpr std::size_t kMaxOtherNics = 65'536;          // peers, and NICs that may ask
inline constexpr double kMinTraces = 1e-4, kMaxTraces = 100;  // a second of a NIC

}  // namespace weft::watch
