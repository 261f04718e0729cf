#include <signal.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <thread>

#include "topology/files/file_text.hpp"
#include "topology/lab/ibsim/ib_lab.hpp"
#include "topology/model/fabric.hpp"

namespace weft::lab {
namespace {

namespace fs = std::filesystem;

/// One fault as ibsim's console has it: what made it and what ends it.
struct Made {
  std::string link;
  std::string text;  // for people
  std::string undo;  // a console command
};

fs::path list_of(const IbLab& lab) { return lab.directory / "faults"; }

std::vector<Made> read_list(const IbLab& lab) {
  std::ifstream file(list_of(lab));
  std::vector<Made> made;
  for (Made m;
       std::getline(file, m.link, '\t') && std::getline(file, m.text, '\t') && std::getline(file, m.undo);)
    made.push_back(m);
  return made;
}

Result<void> write_list(const IbLab& lab, const std::vector<Made>& made) {
  std::string text;
  for (const Made& m : made) text += m.link + '\t' + m.text + '\t' + m.undo + '\n';
  return files::write_text_file(list_of(lab), text);
}

constexpr auto kSettle =
    std::chrono::seconds(15);  // OpenSM looks at everything every ten seconds at the latest
constexpr auto kPoll = std::chrono::milliseconds(50);

std::size_t sweeps_done(const IbLab& lab) {
  constexpr std::string_view kDone = "SUBNET UP";
  const auto log = files::read_text_file(lab.directory / "opensm.log", Bytes(512'000'000));
  std::size_t count = 0;
  for (std::size_t at = 0; log && (at = log->find(kDone, at)) != std::string::npos; at += kDone.size())
    ++count;
  return count;
}

/// After a cable was plugged or unplugged: has the subnet manager look, and waits until it has routed anew.
void wait_for_manager(const IbLab& lab, std::size_t sweeps_before) {
  if (const auto manager = ib_lab_manager(lab.directory)) kill(*manager, SIGHUP);
  const auto end = std::chrono::steady_clock::now() + kSettle;
  while (sweeps_done(lab) <= sweeps_before && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(kPoll);
}

std::string console_port(const IbLab& lab, PortId port) {
  const IbPort& about = lab.inventory.ports[port.value()];
  const bool is_host = lab.fabric.is_host(lab.fabric.port(port).node);
  return fmt::format("\"{}-{:016x}\"[{}]", is_host ? 'H' : 'S', about.node_guid.value(), about.hardware_port);
}

/// ibsim drops what *arrives* at a port, a whole per cent of it.
Result<std::vector<std::string>> loss_commands(const IbLab& lab, const FaultSpec& spec) {
  const double percent = spec.loss->as_percent();
  if (std::abs(percent - std::round(percent)) > 1e-9 || percent < 1)
    return fail(ErrorKind::not_supported, "ibsim loses whole per cents: {} is none", to_string(*spec.loss));
  std::vector<std::string> commands;
  for (const ChannelId channel : channels_of(spec))
    commands.push_back(
        fmt::format("Error {} {}", console_port(lab, lab.fabric.target(channel)), std::lround(percent)));
  return commands;
}

bool counts_what_leaves(std::string_view counter) { return counter.find("Xmit") != std::string_view::npos; }

std::string counter_command(const IbLab& lab, ChannelId channel, std::string_view name, std::uint64_t value) {
  const PortId port = counts_what_leaves(name) ? lab.fabric.source(channel) : lab.fabric.target(channel);
  return fmt::format("PerformanceSet {} PortCounters.{}={}", console_port(lab, port), name, value);
}

Result<void> make(const IbLab& lab, std::vector<Made>& made, const std::string& command, Made fault) {
  const auto done = ibsim_command(lab.directory, command);
  if (done) made.push_back(std::move(fault));
  return done;
}

}  // namespace

Result<CounterFault> parse_counter_fault(std::string_view text) {
  const auto middle = text.find('=');
  CounterFault fault;
  if (middle != std::string_view::npos && middle > 0) {
    fault.name = text.substr(0, middle);
    const auto digits = text.substr(middle + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), fault.value);
    if (error == std::errc{} && end == digits.data() + digits.size() && !digits.empty()) return fault;
  }
  return fail(ErrorKind::usage, "'{}' is no counter: expected NAME=VALUE, as in SymbolErrorCounter=77", text);
}

Result<void> ib_lab_fault(const IbLab& lab, const FaultSpec& spec,
                          const std::optional<CounterFault>& counter) {
  const FaultSpec can{.link = spec.link, .channel = spec.channel, .loss = spec.loss, .down = spec.down};
  if (spec != can)
    return fail(
        ErrorKind::not_supported,
        "an InfiniBand lab (ibsim) can lose packets, unplug a cable and set counters; rates come from "
        "slow_links in the fabric file");
  auto made = read_list(lab);
  const std::string link = lab.fabric.name_of(spec.link);
  Result<void> done;
  if (spec.loss) {
    WEFT_TRY(const auto commands, loss_commands(lab, spec));
    for (const auto& command : commands)
      if (done)
        done = make(lab, made, command,
                    {link, to_string(lab.fabric, spec), command.substr(0, command.rfind(' ')) + " 0"});
  }
  if (spec.down && done) {
    const auto port = console_port(lab, lab.fabric.link(spec.link).a);
    const auto before = sweeps_done(lab);
    done = make(lab, made, "Unlink " + port, {link, link + ":down", "ReLink " + port});
    if (done) wait_for_manager(lab, before);
  }
  if (counter)
    for (const ChannelId channel : channels_of(spec))
      if (done)
        done =
            make(lab, made, counter_command(lab, channel, counter->name, counter->value),
                 {link, fmt::format("{}:{}={}", lab.fabric.name_of(channel), counter->name, counter->value),
                  counter_command(lab, channel, counter->name, 0)});
  const auto written = write_list(lab, made);
  return done ? written : done;
}

Result<bool> ib_lab_heal(const IbLab& lab, std::optional<LinkId> link) {
  const auto made = read_list(lab);
  const auto before = sweeps_done(lab);
  bool relinked = false;
  std::vector<Made> kept;
  for (const Made& m : made) {
    const bool meant = !link || m.link == lab.fabric.name_of(*link);
    if (!meant) {
      kept.push_back(m);
    } else if (const auto done = ibsim_command(lab.directory, m.undo); !done) {
      return pass_on(done, m.text);
    } else {
      relinked = relinked || m.undo.starts_with("ReLink");
    }
  }
  if (relinked) wait_for_manager(lab, before);
  WEFT_TRY_VOID(write_list(lab, kept));
  return kept.size() != made.size();
}

std::vector<std::string> ib_lab_faults(const IbLab& lab) {
  std::vector<std::string> texts;
  for (const Made& m : read_list(lab))
    if (texts.empty() || texts.back() != m.text) texts.push_back(m.text);
  return texts;
}

}  // namespace weft::lab
