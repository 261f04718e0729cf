#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>

#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "probes/run/ask_hosts.hpp"

namespace weft::cli {
namespace {

constexpr std::streamsize kMaxOrder = 32'000'000;  // bytes
constexpr auto kSignOfLife = std::chrono::seconds(1);

std::string read_input() {
  std::string text;
  for (std::string block(65536, '\0'); std::cin && std::ssize(text) <= kMaxOrder;) {
    std::cin.read(block.data(), std::ssize(block));
    text.append(block, 0, static_cast<std::size_t>(std::cin.gcount()));
  }
  return text;
}

/// With nobody to read it, SIGPIPE ends the relay here; what it started by a launcher ends with it.
void say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

void relay(const run::RelayOrder& order, const run::LaunchTemplate& launcher) {
  const auto ask = [&](std::size_t host, os::ChildSpec spec) {
    const run::RelayedHost& what = order.hosts[host];
    spec.input = what.input;
    // On this very host: an agent ends by itself when its run does, as one that a login started.
    spec.dies_with_parent = host != 0;
    spec.argv = host == 0 ? what.argv : launcher.command(what.host, what.argv);
    return os::ChildProcess::start(spec);
  };
  run::AskOptions options{.longest = order.longest};
  options.limits.each = order.each;
  options.on_answer = [](std::size_t host, const run::HostAnswer& answer) {
    say(run::relayed_answer_line({host, answer}));
  };
  auto said = std::chrono::steady_clock::now();
  say("");
  run::ask_hosts(order.hosts.size(), ask, options,
                 [&](std::size_t) {
                   if (std::chrono::steady_clock::now() - said < kSignOfLife) return;
                   said = std::chrono::steady_clock::now();
                   say("");
                 },
                 {});
}

}  // namespace

int relay_command(const Arguments& arguments) {
  OptionParser parser(
      "weft relay",
      "Starts programs on other hosts and tells what each of them said. weft starts it on the "
      "hosts that it reached first (--fan-out tree), with what to do on its input.",
      "  weft relay\n");
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (parser.help_was_asked(*values)) return kExitHealthy;
  const auto order = run::read_relay_order(read_input());
  if (!order) return report(order.error());
  const auto launcher = run::LaunchTemplate::parse(order->launcher);
  if (!launcher) return report(launcher.error());
  relay(*order, *launcher);
  return kExitHealthy;
}

}  // namespace weft::cli
