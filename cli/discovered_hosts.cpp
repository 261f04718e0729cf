#include "cli/discovered_hosts.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "cli/exit_status.hpp"
#include "cli/stamp.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/file_text.hpp"
#include "topology/host/host_reader.hpp"
#include "topology/host/interfaces.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::cli {
namespace {

constexpr auto kUsualLimit = std::chrono::seconds(30);
constexpr Bytes kMaxAnswer(1'000'000);
constexpr std::size_t kLastWords = 300;

struct Asked {
  std::string host;
  std::optional<os::ChildProcess> process;
  std::filesystem::path output;
  std::filesystem::path errors;
};

std::string last_words(const Asked& asked) {
  auto text = files::read_text_file(asked.errors, kMaxAnswer).value_or("");
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.pop_back();
  if (text.size() > kLastWords) text = text.substr(text.size() - kLastWords);
  return text.empty() ? "" : ": " + outside_text(text);
}

using Deadline = std::chrono::steady_clock::time_point;

/// Ends those that say more than an answer may be: what they say goes into files.
void end_talkers(std::vector<Asked>& all) {
  std::error_code none;
  for (Asked& one : all)
    for (const auto& file : {one.output, one.errors})
      if (one.process &&
          static_cast<std::int64_t>(std::filesystem::file_size(file, none)) > kMaxAnswer.count() && !none)
        one.process.reset();
}

/// How it ended; absent: not by then, or stopped, or ended by end_talkers.
std::optional<os::ExitStatus> end_of(Asked& asked, std::vector<Asked>& all, Deadline deadline,
                                     const std::stop_token& stop) {
  constexpr Nanoseconds kLook = std::chrono::milliseconds(100);
  while (!stop.stop_requested()) {
    end_talkers(all);
    if (!asked.process) return std::nullopt;
    const Nanoseconds left =
        std::max<Nanoseconds>(deadline - std::chrono::steady_clock::now(), Nanoseconds(0));
    const auto ended = asked.process->wait_for(std::min(left, kLook));
    if (ended && *ended) return **ended;
    if (!ended || left.count() == 0) break;
  }
  return std::nullopt;
}

Result<discover::HostNics> answer_of(Asked& asked, std::vector<Asked>& all, Deadline deadline,
                                     const std::optional<IpPrefix>& subnet, const std::stop_token& stop) {
  const auto ended = end_of(asked, all, deadline, stop);
  if (!asked.process) return fail(ErrorKind::invalid_input, "its answer is longer than 1 MB");
  if (!ended) return fail(ErrorKind::timeout, "it did not answer in time: is it reached without a password?");
  if (!ended->success())
    return fail(ErrorKind::absent, "its NICs could not be asked for ({}){}", to_string(*ended),
                last_words(asked));
  WEFT_TRY(const auto text, files::read_text_file(asked.output, kMaxAnswer));
  WEFT_TRY(const auto list, files::parse_nic_list(text, "its answer"));
  auto nics = discover::choose_nics(asked.host, list, subnet);
  if (nics.nics.empty())
    return fail(ErrorKind::absent, "it has no NIC that is up with an address{}",
                subnet ? " in --subnet" : "");
  return nics;
}

/// The server's address of an ssh login ("CLIENT PORT SERVER PORT").
std::optional<IpAddress> reached_by() {
  const char* given = std::getenv("SSH_CONNECTION");
  if (given == nullptr) return std::nullopt;
  std::string_view text(given);
  for (int i = 0; i < 2; ++i) text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
  const auto address = IpAddress::parse(text.substr(0, text.find(' ')));
  return address ? std::optional(*address) : std::nullopt;
}

}  // namespace

Result<AskedHosts> ask_for_nics(const run::ClusterOptions& launch, const std::vector<std::string>& names,
                                const po::variables_map& values, std::stop_token stop) {
  std::optional<IpPrefix> subnet;
  if (const auto given = text_option(values, "subnet")) {
    WEFT_TRY(subnet, discover::parse_prefix(*given));
  }
  WEFT_TRY(const auto own, run::own_program());
  const std::vector<std::string> question{
      launch.agent_program.value_or(own), "topology", "show", "--nics", "-o", "json"};
  WEFT_TRY(const auto scratch, os::ScratchDirectory::make());
  std::vector<Asked> all;
  for (const std::string& host : names) {
    Asked& one = all.emplace_back(Asked{host,
                                        {},
                                        scratch.path() / (std::to_string(all.size()) + ".out"),
                                        scratch.path() / (std::to_string(all.size()) + ".err")});
    WEFT_TRY(auto child, os::ChildProcess::start({.argv = launch.launcher.command(host, question),
                                                  .output = os::ToFile{one.output},
                                                  .errors = os::ToFile{one.errors}}));
    one.process = std::move(child);
  }
  const auto deadline = std::chrono::steady_clock::now() + launch.gather.value_or(kUsualLimit);
  AskedHosts answer;
  for (Asked& asked : all) {
    auto nics = answer_of(asked, all, deadline, subnet, stop);
    if (stop.stop_requested()) return fail(ErrorKind::timeout, "interrupted");
    if (nics)
      answer.hosts.push_back(std::move(*nics));
    else
      answer.troubles.push_back(fmt::format("{}: {}", asked.host, nics.error().message));
  }
  if (answer.hosts.empty())
    return fail(ErrorKind::absent, "none of {} hosts told its NICs: {}", names.size(),
                answer.troubles.front());
  return answer;
}

int show_nics(const std::string& format) {
  if (format != "table" && format != "json")
    return report(Error{ErrorKind::usage, fmt::format("-o {}: NICs are shown as table or json", format)});
  files::NicList list{.host = "localhost"};
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) == 0 && name[0] != '\0') list.host = outside_text(name);
  list.reached_by = reached_by();
  const auto inventory = host::read_host({});
  for (const auto& interface : host::interfaces_of_kernel()) {
    files::ListedNic nic{.interface = interface.name, .up = interface.up.value_or(true)};
    for (const std::string& text : interface.addresses)
      if (const auto address = IpAddress::parse(text)) nic.addresses.push_back(*address);
    if (inventory)
      for (const NicInventory& known : inventory->nics)
        if (known.interface == interface.name) {
          nic.rdma_device = known.rdma_device;
          nic.rate = known.rate;
        }
    if (!nic.addresses.empty()) list.nics.push_back(std::move(nic));
  }
  if (format == "json") {
    fmt::print("{}", nic_list_json(list, stamp_now()));
    return kExitHealthy;
  }
  for (const files::ListedNic& nic : list.nics)
    for (const IpAddress& address : nic.addresses)
      fmt::print("{:<16} {:<4} {:<12} {}\n", nic.interface, nic.up ? "up" : "down",
                 nic.rdma_device.value_or("-"), to_string(address));
  return kExitHealthy;
}

}  // namespace weft::cli
