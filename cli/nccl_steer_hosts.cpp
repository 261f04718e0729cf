// `weft nccl steer --credential`: the labels of an assignment, to the hosts of a job by their standing
// agents.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/nccl.hpp"
#include "cli/stamp.hpp"
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

std::string_view word_of(run::Delivery what) {
  switch (what) {
    case run::Delivery::taken:
      return "taken";
    case run::Delivery::refused:
      return "refused";
    case run::Delivery::no_agent:
      return "no agent";
    case run::Delivery::unanswered:
      return "unanswered";
  }
  return {};
}

void print_document(const SteeredJob& job, const std::vector<run::HostDelivery>& hosts,
                    const std::map<std::string, std::size_t>& pairs) {
  auto document = steered_document(job);
  document["hosts"] = files::DocumentTree::array();
  for (const auto& host : hosts) {
    files::DocumentTree row{
        {"host", host.host}, {"labels", word_of(host.what)}, {"pairs", pairs.at(host.host)}};
    if (host.generation > 0) row["list"] = host.generation;
    if (!host.why.empty()) row["why"] = host.why;
    document["hosts"].push_back(std::move(row));
  }
  fmt::print("{}\n", files::document_line(document));
}

}  // namespace

files::DocumentTree steered_document(const SteeredJob& job) {
  auto document = files::stamped_tree("weft.steered/1", stamp_now());
  document["fabric"] = job.fabric;
  document["job"] = job.name.empty() ? files::DocumentTree() : files::DocumentTree(job.name);
  return document;
}

Result<void> send_labels(const std::string& credential, const SteeredJob& job,
                         const run::LabelsOfHosts& labels) {
  WEFT_TRY(const auto file, bus::read_bus_file(credential));
  if (file.fabric != job.fabric)
    return fail(ErrorKind::usage, "--credential {}: it is of fabric {}, and this is {}", credential,
                file.fabric, job.fabric);
  if (!file.steers)
    return fail(ErrorKind::usage,
                "--credential {}: it is of a host or watcher; expected that of an operator (weft bus add DIR "
                "--operators 1)",
                credential);
  WEFT_TRY(const auto link, bus::connect_operator_link(file.address(), file.fabric, file.name));
  std::map<std::string, std::size_t> pairs;
  for (const auto& [host, list] : labels) pairs[host] = list.pairs.size();
  const auto hosts = run::deliver_labels(*link, labels);
  if (job.json) {
    print_document(job, hosts, pairs);
  } else {
    TextTable table({{"HOST"}, {"LABELS"}});
    for (const auto& host : hosts) table.add({host.host, text_of(host, pairs[host.host])});
    fmt::print("{}", table.text(terminal_columns()));
  }
  const auto without =
      std::ranges::count_if(hosts, [](const auto& host) { return host.what != run::Delivery::taken; });
  if (without == 0) return {};
  return fail(ErrorKind::absent, "{} of {} hosts have not taken their labels; queue pairs there keep theirs",
              without, hosts.size());
}

}  // namespace weft::cli
