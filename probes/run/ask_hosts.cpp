#include "probes/run/ask_hosts.hpp"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <list>
#include <utility>

#include "topology/os/clocks.hpp"
#include "topology/os/pipe.hpp"

namespace weft::run {
namespace {

constexpr std::size_t kLastWords = 4096;  // of stderr
constexpr Nanoseconds kTick = std::chrono::milliseconds(100);

GatherLimits limits_of(std::size_t hosts, const AskOptions& options) {
  GatherLimits limits = options.limits;
  if (options.tree) limits.branch = usual_branch(hosts);
  limits.silence = std::min(limits.silence, limits.each);
  return limits;
}

class Asking {
 public:
  Asking(std::size_t hosts, const AskHost& ask, const AskOptions& options)
      : ask_(ask), options_(options), gathering_(hosts, limits_of(hosts, options)), answers_(hosts) {}

  std::vector<HostAnswer> run(const std::function<void(std::size_t)>& tick, const std::stop_token& stop) {
    while (!gathering_.done() && !stop.stop_requested()) {
      while (const auto call = gathering_.next(os::steady_now())) start(*call);
      wait();
      for (const std::size_t call : gathering_.overdue(os::steady_now())) give_up(call);
      tick(gathering_.done_count());
    }
    for (Running& one : running_) one.process.send_signal_to_group(SIGKILL);
    return std::move(answers_);
  }

 private:
  struct Running {
    std::size_t call;
    os::ChildProcess process;
    os::FileDescriptor output;
    os::FileDescriptor errors;
    HostAnswer answer;                  // of the host, or of the relay itself
    std::optional<RelayLines> relayed;  // of a relay
    bool output_open = true;
    bool errors_open = true;
  };

  const std::vector<std::size_t>& hosts_of(const Running& one) const { return gathering_.hosts_of(one.call); }

  void start(std::size_t call) {
    const auto& hosts = gathering_.hosts_of(call);
    const bool relays = hosts.size() > 1;
    HostAnswer answer;
    answer.asked = answer.answered = os::wall_now();
    auto output = os::open_pipe();
    auto errors = os::open_pipe();
    if (!output || !errors) return refuse(call, std::move(answer), (output ? errors : output).error());
    os::ChildSpec spec{.argv = {},
                       .output = os::ToDescriptor{output->write.get()},
                       .errors = os::ToDescriptor{errors->write.get()},
                       .own_session = true};
    auto process = relays ? start_relay(hosts, std::move(spec)) : ask_(hosts.front(), std::move(spec));
    if (!process) return refuse(call, std::move(answer), process.error());
    running_.push_back(
        {call, std::move(*process), std::move(output->read), std::move(errors->read), std::move(answer),
         relays ? std::optional<RelayLines>(std::in_place, hosts.size(), options_.longest) : std::nullopt});
  }

  Result<os::ChildProcess> start_relay(const std::vector<std::size_t>& hosts, os::ChildSpec spec) const {
    const AskTree& tree = *options_.tree;
    RelayOrder order{
        tree.launcher.text(), options_.limits.each, static_cast<std::uint32_t>(options_.longest), {}};
    for (const std::size_t host : hosts) order.hosts.push_back(tree.question(host));
    spec.argv = tree.launcher.command(order.hosts.front().host, relay_words(tree.program));
    spec.input = relay_order_text(order);
    return os::ChildProcess::start(spec);
  }

  void refuse(std::size_t call, HostAnswer answer, const Error& error) {
    answer.not_started = error;
    keep(call, std::move(answer), RelayLines(gathering_.hosts_of(call).size(), 0));
  }

  /// The end of a call, of which `relayed` is what a relay told.
  void keep(std::size_t call, HostAnswer answer, const std::optional<RelayLines>& relayed) {
    const auto& hosts = gathering_.hosts_of(call);
    if (hosts.size() == 1)
      set_answer(hosts.front(), std::move(answer));
    else
      for (const std::size_t host : relayed->untold())
        answers_[hosts[host]].not_relayed = why_no_relay(answer);
    gathering_.ended(call);
  }

  void set_answer(std::size_t host, HostAnswer answer) {
    answer.not_relayed = std::move(answers_[host].not_relayed);
    if (options_.on_answer) options_.on_answer(host, answer);
    answers_[host] = std::move(answer);
  }

  /// Until something is said, somebody ends, or it is time to look.
  void wait() {
    std::vector<pollfd> events;
    for (const Running& one : running_) {
      events.push_back({one.process.pid_fd(), POLLIN, 0});
      events.push_back({one.output_open ? one.output.get() : -1, POLLIN, 0});
      events.push_back({one.errors_open ? one.errors.get() : -1, POLLIN, 0});
    }
    const auto left =
        std::clamp(gathering_.wakes_at(os::steady_now()) - os::steady_now(), Nanoseconds(0), kTick);
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    if (poll(events.data(), events.size(), static_cast<int>(ms)) <= 0) return;
    std::size_t at = 0;
    for (auto one = running_.begin(); one != running_.end(); at += 3) {
      const bool ended = events[at].revents != 0;
      if (ended || events[at + 1].revents != 0 || events[at + 2].revents != 0) take(*one);
      const bool too_long = one->answer.too_long;
      if (too_long) one->process.send_signal_to_group(SIGKILL);
      if (ended || too_long) {
        finish(*one);
        one = running_.erase(one);
      } else {
        ++one;
      }
    }
  }

  void take(Running& one) {
    HostAnswer& answer = one.answer;
    if (one.output_open) one.output_open = os::read_some(one.output, answer.output, options_.longest);
    if (one.errors_open) one.errors_open = os::read_some(one.errors, answer.errors, 16 * kLastWords);
    if (one.relayed) take_relayed(one);
    answer.too_long = answer.too_long || answer.output.size() > options_.longest;
    if (answer.errors.size() > kLastWords) answer.errors.erase(0, answer.errors.size() - kLastWords);
  }

  /// What a relay tells so far; one that tells what no relay does has said too much.
  void take_relayed(Running& one) {
    const std::string said = std::exchange(one.answer.output, {});
    if (!said.empty()) gathering_.heard(one.call, os::steady_now());
    for (RelayedAnswer& each : one.relayed->take(said, os::wall_now())) {
      const std::size_t host = hosts_of(one)[each.host];
      if (was_reached(each.answer) || each.host == 0) {
        gathering_.told(host);
        set_answer(host, std::move(each.answer));
      } else {
        answers_[host].not_relayed = why_no_relay(each.answer);
        gathering_.ask_directly(host);
      }
    }
    if (!one.relayed->broken()) return;
    one.answer.too_long = true;
    one.answer.errors = one.relayed->broken()->message;
  }

  void finish(Running& one) {
    one.answer.answered = os::wall_now();
    if (const auto end = one.process.wait_for(std::chrono::seconds(1)); end && *end)
      one.answer.exit_code = (*end)->code;
    keep(one.call, std::move(one.answer), one.relayed);
  }

  /// The gathering knows.
  void give_up(std::size_t call) {
    const auto one = std::ranges::find(running_, call, &Running::call);
    if (one == running_.end()) return;
    one->answer.in_time = false;
    one->answer.answered = os::wall_now();
    one->process.send_signal_to_group(SIGKILL);
    keep(call, std::move(one->answer), one->relayed);
    running_.erase(one);
  }

  const AskHost& ask_;
  const AskOptions& options_;
  Gathering gathering_;
  std::vector<HostAnswer> answers_;
  std::list<Running> running_;
};

}  // namespace

std::vector<HostAnswer> ask_hosts(std::size_t hosts, const AskHost& ask, const AskOptions& options,
                                  const std::function<void(std::size_t)>& tick, std::stop_token stop) {
  return Asking(hosts, ask, options).run(tick, stop);
}

const Error* launcher_absent(const std::vector<HostAnswer>& answers) {
  for (const HostAnswer& answer : answers)
    if (!answer.not_started || answer.not_started->kind == ErrorKind::internal) return nullptr;
  return answers.empty() ? nullptr : &*answers.front().not_started;
}

}  // namespace weft::run
