#include "probes/run/agents.hpp"

#include <signal.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "topology/base/outside_text.hpp"
#include "topology/model/fabric.hpp"

namespace weft::run {
namespace {

constexpr const char* kSelf = "/proc/self/exe";  // also after the file was replaced
/// Longer than an agent needs that was told to stop: it looks twenty times a second.
constexpr auto kSignOff = std::chrono::seconds(2);
constexpr auto kTermination = std::chrono::seconds(1);
constexpr std::size_t kMaxLineLength = 300;
constexpr std::uintmax_t kMaxWords = 1'000'000;  // of an agent and its launcher, in bytes
constexpr std::uintmax_t kTail = 10'000;         // of them, what is read for the last ones
constexpr auto kLook = std::chrono::milliseconds(250);

AgentWords words_of(const Fabric& fabric, const AgentHost& host, const std::string& url, RunId run,
                    const AgentSite& site) {
  AgentWords words{url, run, agent_name(fabric, host), {}};
  words.shares_machine = site.one_machine;
  words.agent_options = site.agent_options;
  for (const AgentNic& nic : host.nics) words.nics.push_back(nic.report);
  return words;
}

/// Names may have characters that a file's name may not.
std::string file_name(const std::string& host) {
  std::string name = host;
  std::ranges::replace(name, '/', '_');
  return name + ".log";
}

}  // namespace

Result<std::string> own_program() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink(kSelf, error);
  if (error) return fail(ErrorKind::internal, "cannot read {}: {}", kSelf, error.message());
  return program.string();
}

std::filesystem::path module_file(const char* name) {
  const auto program = own_program();
  if (!program) return name;
  const auto beside = std::filesystem::path(*program).parent_path();
  const auto installed = beside.parent_path() / "lib/weft" / name;
  std::error_code error;
  return std::filesystem::exists(beside / name, error) ? beside / name : installed;
}

std::string agent_name(const Fabric& fabric, const AgentHost& host) {
  return host.agent.empty() ? fabric.name_of(host.host) : host.agent;
}

std::vector<session::ExpectedHost> expected_hosts(const AgentSite& site) {
  std::vector<session::ExpectedHost> hosts;
  for (const AgentHost& host : site.hosts) {
    session::ExpectedHost expected{host.host, {}, host.agent};
    for (const AgentNic& nic : host.nics) expected.nics.push_back({nic.report.interface, nic.nic});
    hosts.push_back(std::move(expected));
  }
  return hosts;
}

std::vector<datapath::RunNic> nics_of(const AgentSite& site) {
  std::vector<datapath::RunNic> nics;
  for (const AgentHost& host : site.hosts)
    for (const AgentNic& nic : host.nics) nics.push_back({nic.nic, nic.report.address, nic.lids});
  return nics;
}

Result<Agents> Agents::start(const Fabric& fabric, const AgentSite& site, const BusOfHost& bus, RunId run,
                             std::stop_token stop, const std::optional<session::TimeLimit>& limit) {
  WEFT_TRY(auto logs, os::ScratchDirectory::make());
  Agents agents(std::move(logs), {&fabric, &site, bus, run, std::move(stop), limit});
  const auto now = std::chrono::steady_clock::now();
  while (agents.may_start() && agents.window_.room(now, [](const auto&) { return true; }) > 0)
    WEFT_TRY_VOID(agents.start(site.hosts[agents.next_++]));
  return agents;
}

/// A lab's agents need no login.
StartWindow Agents::window_for(const AgentSite& site) {
  return site.one_machine ? StartWindow(site.hosts.size()) : StartWindow();
}

bool Agents::may_start() const {
  return next_ < order_.site->hosts.size() && !order_.stop.stop_requested() &&
         (!order_.limit || std::chrono::steady_clock::now() < order_.limit->until);
}

Result<void> Agents::start(const AgentHost& host) {
  const bus::NatsAddress address = order_.bus(agent_name(*order_.fabric, host));
  const auto words = words_of(*order_.fabric, host, address.url, order_.run, *order_.site);
  os::ChildSpec spec{.argv = {order_.site->program}};
  for (auto& argument : agent_arguments(words)) spec.argv.push_back(std::move(argument));
  spec.input = credential_line(address.credential) + "\n";
  spec.output = os::ToNothing{};
  spec.errors = os::ToFile{log_of(words.host)};
  spec.own_session = true;
  window_.note_start(words.host, std::chrono::steady_clock::now());
  auto agent = order_.site->launch(host, std::move(spec));
  if (!agent) return pass_on(agent, "the agent of " + words.host);
  agents_.push_back({words.host, std::move(*agent)});
  return {};
}

Agents::~Agents() {
  const auto until = [](auto limit, std::vector<Agent>& agents) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    for (Agent& agent : agents) {
      const auto left = deadline - std::chrono::steady_clock::now();
      [[maybe_unused]] const auto ended = agent.process.wait_for(std::max<Nanoseconds>(left, Nanoseconds(0)));
    }
  };
  until(kSignOff, agents_);
  // A launcher may be a script: what it started goes with it.
  for (Agent& agent : agents_) agent.process.send_signal_to_group(SIGTERM);
  until(kTermination, agents_);
  for (Agent& agent : agents_) agent.process.send_signal_to_group(SIGKILL);
}

std::vector<session::GoneAgent> Agents::tend(const std::function<bool(const std::string&)>& is_awaited) {
  std::vector<session::GoneAgent> gone;
  for (auto room = window_.room(std::chrono::steady_clock::now(), is_awaited); room > 0 && may_start();
       --room) {
    const AgentHost& host = order_.site->hosts[next_++];
    if (const auto started = start(host); !started)
      gone.push_back({agent_name(*order_.fabric, host), started.error().message});
  }
  std::ranges::move(end_talkers(), std::back_inserter(gone));
  for (Agent& agent : agents_) {
    if (agent.ended) continue;
    const auto end = agent.process.wait_for(Nanoseconds(0));
    if (!end || !*end) continue;
    agent.ended = true;
    // A launcher that starts its program in the background has ended well; silence tells whether it came.
    if ((*end)->success()) continue;
    const auto words = last_words_of(agent.host);
    gone.push_back({agent.host, words.empty() ? fmt::format("its agent ended ({})", to_string(**end))
                                              : fmt::format("its agent ended: {}", words)});
  }
  return gone;
}

/// What agents say goes into files: a launcher that says without end would fill the disk.
std::vector<session::GoneAgent> Agents::end_talkers() {
  std::vector<session::GoneAgent> gone;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return gone;
  next_look_ = now + kLook;
  for (Agent& agent : agents_) {
    std::error_code none;
    const auto said = std::filesystem::file_size(log_of(agent.host), none);
    if (agent.ended || none || said <= kMaxWords) continue;
    agent.process.send_signal_to_group(SIGKILL);
    agent.ended = true;
    gone.push_back({agent.host, fmt::format("its agent said more than {} MB on stderr and was ended: {}",
                                            kMaxWords / 1'000'000, last_words_of(agent.host))});
  }
  return gone;
}

std::filesystem::path Agents::log_of(const std::string& host) const { return logs_.path() / file_name(host); }

std::string Agents::last_words_of(const std::string& host) const {
  std::ifstream log(log_of(host));
  std::error_code none;
  const auto size = std::filesystem::file_size(log_of(host), none);
  if (!none && size > kTail) log.seekg(static_cast<std::streamoff>(size - kTail));
  std::string last;
  for (std::string line; std::getline(log, line);) {
    while (!line.empty() && static_cast<unsigned char>(line.back()) <= ' ') line.pop_back();
    if (!line.empty()) last = line.substr(0, kMaxLineLength);
  }
  return outside_text(last);
}

}  // namespace weft::run
