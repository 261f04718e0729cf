#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "topology/lab/guests/guest_commands.hpp"
#include "topology/lab/guests/guests.hpp"

namespace weft {

int guest_serve_command(const Arguments& arguments) {
  OptionParser parser("weft guest-serve",
                      "Takes commands inside a guest of a lab; its first process starts it.",
                      "  weft guest-serve\n");
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  const auto served = serve_guest_commands(kGuestCommandPort);
  return served ? kExitHealthy : report(served.error());
}

// As topology/lab/guests writes it: ADDRESS [--env NAME]... [--stdin] -- PROGRAM...
int guest_run_command(const Arguments& arguments) {
  const auto dashes = std::ranges::find(arguments, "--");
  OptionParser parser("weft guest-run ADDRESS [--env NAME]... [--stdin] -- PROGRAM...",
                      "Runs a program in a guest of a lab; weft lab exec and sweeps start it.",
                      "  weft guest-run 172.31.0.2 -- rdma link\n");
  if (std::find(arguments.begin(), dashes, "--help") != dashes) {
    const auto values = parser.parse({"--help"});
    return values && OptionParser::help_was_asked(*values) ? kExitHealthy : kExitInternal;
  }
  if (arguments.empty() || dashes == arguments.end())
    return report({ErrorKind::usage, "guest-run: expected ADDRESS [--env NAME]... [--stdin] -- PROGRAM..."});
  const auto address = IpAddress::parse(arguments[0]);
  if (!address) return report(address.error());
  GuestCommand command{.argv = Arguments(dashes + 1, arguments.end())};
  for (auto word = arguments.begin() + 1; word < dashes; ++word) {
    if (*word == "--stdin") command.with_stdin = true;
    if (*word != "--env" || word + 1 >= dashes) continue;
    const std::string& name = *++word;
    if (const char* value = std::getenv(name.c_str()))
      command.env.push_back(fmt::format("{}={}", name, value));
  }
  const auto status = run_in_guest(*address, kGuestCommandPort, command);
  return status ? *status : report(status.error());
}

}  // namespace weft
