// `weft nccl steer --credential`: the labels of an assignment, to the hosts of a job by their standing
// agents.
#include <algorithm>

#include "cli/nccl.hpp"
#include "cli/terminal.hpp"
#include "collectors/bus/bus_file.hpp"
#include "collectors/bus/operator_link.hpp"
#include "topology/base/text_table.hpp"

namespace weft::cli {
namespace {

std::string text_of(const run::HostDelivery& host, std::size_t pairs) {
  switch (host.what) {
    case run::Delivery::taken:
      return fmt::format("list {}: {} pairs of NICs", host.generation, pairs);
    case run::Delivery::refused:
      return "refused: " + host.why;
    case run::Delivery::no_agent:
      return "no agent answers";
    case run::Delivery::unanswered:
      return fmt::format("unknown: list {} was sent, and its agent did not say what became of it",
                         host.generation);
  }
  return {};
}

}  // namespace

Result<void> send_labels(const std::string& credential, const std::string& fabric,
                         const run::LabelsOfHosts& labels) {
  WEFT_TRY(const auto file, bus::read_bus_file(credential));
  if (file.fabric != fabric)
    return fail(ErrorKind::usage, "--credential {}: it is of fabric {}, and this is {}", credential,
                file.fabric, fabric);
  if (!file.steers)
    return fail(ErrorKind::usage,
                "--credential {}: it is of a host or watcher; expected that of an operator (weft bus add DIR "
                "--operators 1)",
                credential);
  WEFT_TRY(const auto link, bus::connect_operator_link(file.address(), file.fabric, file.name));
  std::map<std::string, std::size_t> pairs;
  for (const auto& [host, list] : labels) pairs[host] = list.pairs.size();
  const auto hosts = run::deliver_labels(*link, labels);
  TextTable table({{"HOST"}, {"LABELS"}});
  for (const auto& host : hosts) table.add({host.host, text_of(host, pairs[host.host])});
  fmt::print("{}", table.text(terminal_columns()));
  const auto without =
      std::ranges::count_if(hosts, [](const auto& host) { return host.what != run::Delivery::taken; });
  if (without == 0) return {};
  return fail(ErrorKind::absent, "{} of {} hosts have not taken their labels; queue pairs there keep theirs",
              without, hosts.size());
}

}  // namespace weft::cli
