#include "probes/run/agents.hpp"

#include <signal.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>

#include "probes/run/gathering.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/model/fabric.hpp"
#include "topology/os/clocks.hpp"
#include "topology/os/pipe.hpp"

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
/// Of an agent that a relay started: its run ends it, not the relay.
constexpr auto kMaxRun = std::chrono::hours(24 * 365);
constexpr std::uint32_t kMaxSaid = 100'000;  // bytes on stdout, where agents say nothing

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

/// That says something, as it may be shown.
std::string last_line(std::istream& lines) {
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    while (!line.empty() && static_cast<unsigned char>(line.back()) <= ' ') line.pop_back();
    if (!line.empty()) last = line.substr(0, kMaxLineLength);
  }
  return outside_text(last);
}
std::string last_line(const std::string& text) {
  std::istringstream lines(text);
  return last_line(lines);
}

std::string end_in_words(const std::string& end, const std::string& last_words) {
  return last_words.empty() ? fmt::format("its agent ended ({})", end)
                            : fmt::format("its agent ended: {}", last_words);
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
  if (site.tree)
    WEFT_TRY_VOID(agents.start_relays());
  else
    for (std::size_t host = 0; host < site.hosts.size(); ++host) agents.next_.push_back(host);
  while (agents.may_start() && agents.window_.room(now, [](const auto&) { return true; }) > 0)
    WEFT_TRY_VOID(agents.start(agents.take_next()));
  return agents;
}

/// A lab's agents need no login.
StartWindow Agents::window_for(const AgentSite& site) {
  return site.one_machine ? StartWindow(site.hosts.size()) : StartWindow();
}

bool Agents::may_start() const {
  return !next_.empty() && !order_.stop.stop_requested() &&
         (!order_.limit || std::chrono::steady_clock::now() < order_.limit->until);
}

const AgentHost& Agents::take_next() {
  const std::size_t host = next_.front();
  next_.pop_front();
  return order_.site->hosts[host];
}

RelayedHost Agents::start_of(const AgentHost& host) const {
  const bus::NatsAddress address = order_.bus(agent_name(*order_.fabric, host));
  const auto words = words_of(*order_.fabric, host, address.url, order_.run, *order_.site);
  RelayedHost start{order_.fabric->name_of(host.host), {order_.site->program}};
  for (auto& argument : agent_arguments(words)) start.argv.push_back(std::move(argument));
  start.input = credential_line(address.credential) + "\n";
  return start;
}

Result<void> Agents::start(const AgentHost& host) {
  const auto name = agent_name(*order_.fabric, host);
  RelayedHost what = start_of(host);
  os::ChildSpec spec{.argv = std::move(what.argv)};
  spec.input = std::move(what.input);
  spec.output = os::ToNothing{};
  spec.errors = os::ToFile{log_of(name)};
  spec.own_session = true;
  window_.note_start(name, std::chrono::steady_clock::now());
  auto agent = order_.site->launch(host, std::move(spec));
  if (!agent) return pass_on(agent, "the agent of " + name);
  agents_.push_back({name, std::move(*agent)});
  return {};
}

Result<void> Agents::start_relays() {
  const std::size_t all = order_.site->hosts.size();
  const std::size_t branch = usual_branch(all);
  for (std::size_t first = 0; first < all; first += branch) {
    std::vector<std::size_t> hosts(std::min(branch, all - first));
    std::iota(hosts.begin(), hosts.end(), first);
    WEFT_TRY(auto relay, start_relay(std::move(hosts)));
    relays_.push_back(std::move(relay));
  }
  return {};
}

Result<Agents::Relay> Agents::start_relay(std::vector<std::size_t> hosts) const {
  const AgentSite& site = *order_.site;
  RelayOrder order{site.tree->text(), kMaxRun, kMaxSaid, {}};
  for (const std::size_t host : hosts) order.hosts.push_back(start_of(site.hosts[host]));
  const std::string& own = order.hosts.front().host;
  WEFT_TRY(auto output, os::open_pipe());
  os::ChildSpec spec{.argv = site.tree->command(own, relay_words(site.program))};
  spec.input = relay_order_text(order);
  spec.output = os::ToDescriptor{output.write.get()};
  spec.errors = os::ToNothing{};
  spec.own_session = true;
  auto process = os::ChildProcess::start(spec);
  if (!process) return pass_on(process, "the relay on " + own);
  const std::size_t count = hosts.size();
  return Relay{std::move(hosts), std::move(*process), std::move(output.read), RelayLines(count, kMaxSaid),
               std::chrono::steady_clock::now()};
}

Agents::~Agents() {
  const auto until = [](auto limit, auto& processes) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    for (auto& one : processes) {
      const auto left = deadline - std::chrono::steady_clock::now();
      [[maybe_unused]] const auto ended = one.process.wait_for(std::max<Nanoseconds>(left, Nanoseconds(0)));
    }
  };
  const auto signal_all = [&](int signal_number) {
    for (Agent& agent : agents_) agent.process.send_signal_to_group(signal_number);
    for (Relay& relay : relays_) relay.process.send_signal_to_group(signal_number);
  };
  until(kSignOff, agents_);
  until(kSignOff, relays_);
  // A launcher may be a script: what it started goes with it.
  signal_all(SIGTERM);
  until(kTermination, agents_);
  until(kTermination, relays_);
  signal_all(SIGKILL);
}

std::vector<session::GoneAgent> Agents::tend(const std::function<bool(const std::string&)>& is_awaited) {
  auto gone = hear_relays(is_awaited);
  for (auto room = window_.room(std::chrono::steady_clock::now(), is_awaited); room > 0 && may_start();
       --room) {
    const AgentHost& host = take_next();
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
    gone.push_back({agent.host, end_in_words(to_string(**end), last_words_of(agent.host))});
  }
  return gone;
}

std::vector<session::GoneAgent> Agents::hear_relays(
    const std::function<bool(const std::string&)>& is_awaited) {
  std::vector<session::GoneAgent> gone;
  const auto start_directly = [&](std::size_t host) {
    if (is_awaited(agent_name(*order_.fabric, order_.site->hosts[host]))) next_.push_back(host);
  };
  for (auto relay = relays_.begin(); relay != relays_.end();) {
    std::vector<RelayedAnswer> told;
    const bool goes_on = hear(*relay, told);
    for (const RelayedAnswer& each : told) {
      const std::size_t host = relay->hosts[each.host];
      if (!was_reached(each.answer))
        start_directly(host);
      else if (const auto code = each.answer.exit_code; code != 0)
        gone.push_back({agent_name(*order_.fabric, order_.site->hosts[host]),
                        end_in_words(code ? fmt::format("exit status {}", *code) : "a signal",
                                     last_line(each.answer.errors))});
    }
    if (goes_on) {
      ++relay;
      continue;
    }
    for (const std::size_t untold : relay->lines.untold()) start_directly(relay->hosts[untold]);
    relay->process.send_signal_to_group(SIGKILL);
    relay = relays_.erase(relay);
  }
  return gone;
}

/// Whether the relay is to be heard again.
bool Agents::hear(Relay& relay, std::vector<RelayedAnswer>& told) const {
  const auto now = std::chrono::steady_clock::now();
  std::string said;
  const bool open = os::read_some(relay.output, said, kMaxSaid);
  if (!said.empty()) relay.heard = now;
  told = relay.lines.take(said, os::wall_now());
  return open && !relay.lines.broken() && now - relay.heard < GatherLimits{}.silence;
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
  return last_line(log);
}

}  // namespace weft::run
