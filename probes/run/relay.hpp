// A relay: a host that was reached and starts the programs of others, so that the head keeps one process for
// all of them. It reads a RelayOrder, writes a line for each host as it answers, and an empty line a second
// as a sign of life. These are its words, and what the head makes of them. Pure; one thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

namespace weft::run {

/// What a program said that was started on a host.
struct HostAnswer {
  std::string output;
  std::string errors;                           // the last of what it said on stderr
  std::optional<int> exit_code = std::nullopt;  // absent: ended by a signal
  bool in_time = true;                          // false: given up
  bool too_long = false;                        // it said more than is read
  std::optional<Error> not_started = std::nullopt;
  Nanoseconds asked{};  // since 1970
  Nanoseconds answered{};
  std::string not_relayed = {};  // why it was asked directly though a relay was to
};

/// What is to be started on one host.
struct RelayedHost {
  std::string host;
  std::vector<std::string> argv;
  std::string input = {};
  friend bool operator==(const RelayedHost&, const RelayedHost&) = default;
};

struct RelayOrder {
  std::string launcher;            // as --launcher has it, and as the relay uses it
  Nanoseconds each{};              // a host that has not ended by then is given up
  std::uint32_t longest = 0;       // bytes of output that are read of each
  std::vector<RelayedHost> hosts;  // the first is the relay itself: no login
  friend bool operator==(const RelayOrder&, const RelayOrder&) = default;
};

/// More hosts than that are never one relay's: each has three file descriptors there.
inline constexpr std::size_t kMaxBranch = 128;
/// How many hosts a relay serves so that the head starts as many relays: the root of their number.
std::size_t usual_branch(std::size_t hosts);

std::string relay_order_text(const RelayOrder& order);
Result<RelayOrder> read_relay_order(std::string_view text);

struct RelayedAnswer {
  std::size_t host;  // of the order
  HostAnswer answer;
};
/// A line without its end.
std::string relayed_answer_line(const RelayedAnswer& answer);

/// What starts a relay on its host.
std::vector<std::string> relay_words(const std::string& program);
/// Whether the relay got through to the host. What did not may be the relay's own trouble (it has no key, or
/// knows no such name): then the head asks itself.
bool was_reached(const HostAnswer& answer);

/// Why a relay, or the host that it was to ask, had to be passed over: for a person.
std::string why_no_relay(const HostAnswer& answer);

/// The lines of one relay, as they arrive.
class RelayLines {
 public:
  RelayLines(std::size_t hosts, std::size_t longest) : told_(hosts), longest_(longest) {}

  /// What these bytes complete; `now` is since 1970. Nothing after what no relay says.
  std::vector<RelayedAnswer> take(std::string_view bytes, Nanoseconds now);
  /// What it said that no relay says: it is to be believed nothing more.
  const std::optional<Error>& broken() const { return broken_; }
  /// Hosts of the order of which nothing was told.
  std::vector<std::size_t> untold() const;

 private:
  std::vector<bool> told_;
  std::size_t longest_;
  Result<RelayedAnswer> read(const std::string& line, Nanoseconds now);
  std::string rest_;
  std::optional<Error> broken_;
};

}  // namespace weft::run
