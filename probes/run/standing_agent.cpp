#include "probes/run/standing_agent.hpp"

#include <sodium.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "probes/run/standing_worker.hpp"
#include "probes/watch/assignment_json.hpp"

namespace weft::run {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<IpAddress> addresses_of(const std::vector<session::NicReport>& nics) {
  std::vector<IpAddress> addresses;
  for (const session::NicReport& nic : nics) addresses.push_back(nic.address);
  return addresses;
}

class StandingAgent {
 public:
  StandingAgent(const StandingOptions& options, watch::AgentLink& link, std::uint64_t boot,
                std::uint64_t seed)
      : options_(options),
        link_(link),
        boot_(boot),
        spool_(boot, options.spool),
        nics_(options.nics, options.open, options.open_when),
        worker_(boot, seed, nics_),
        labels_(options.labels, addresses_of(options.nics)) {
    if (options.read_counters)
      counters_.emplace(options.read_counters, options.counter_timing, options.version);
  }

  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      send_hello();
      if (options_.runs_served) worker_.pause(*options_.runs_served > 0);
      auto word = link_.next_word(options_.timing.look);
      if (word && *word) take(**word);
      if (!word) std::this_thread::sleep_for(options_.timing.look);  // the bus is away
      pass_windows_on();
      report_counters();
      serve_labels();
      if (const auto rounds = worker_.rounds(); std::exchange(rounds_, rounds) != rounds)
        options_.went_round();
    }
    pass_windows_on();
    static_cast<void>(link_.send_text(
        watch::to_json_text(watch::AgentBye{options_.host, boot_, "it was told to stop", true})));
  }

 private:
  void send_hello() {
    if (auto pairs = nics_.pairs(); pairs != pairs_) pairs_ = std::move(pairs), said_.reset();
    const auto every = assignment_ ? options_.timing.repeated_hello : options_.timing.hello_interval;
    if (said_ && Clock::now() - *said_ < every) return;
    said_ = Clock::now();
    watch::AgentHello hello{.host = options_.host,
                            .version = options_.version,
                            .boot = boot_,
                            .plan = assignment_ ? assignment_->plan : watch::PlanVersion(),
                            .epoch = epoch_,
                            .interfaces = {},
                            .troubles = nics_.troubles(),
                            .spooled = spool_.waiting(),
                            .dropped = spool_.dropped(),
                            .engine = options_.engine};
    if (!refused_.empty()) hello.troubles.push_back(refused_);
    for (const session::NicReport& nic : options_.nics)
      hello.interfaces.push_back({nic.interface, {nic.address}, pair_of(nic.interface)});
    log_reachability(link_.send_text(watch::to_json_text(hello)));
    for (const std::string& trouble : hello.troubles)
      if (std::ranges::find(troubles_, trouble) == troubles_.end()) options_.say(trouble);
    troubles_ = hello.troubles;
  }

  std::optional<packet::UdPair> pair_of(const std::string& interface) const {
    const auto pair = pairs_.find(interface);
    return pair == pairs_.end() ? std::nullopt : std::optional(pair->second);
  }

  /// Where the bus is away it is told again.
  void log_reachability(const Result<void>& told) {
    const auto now = told ? "the bus is there" : "the bus is away: " + told.error().message;
    if (std::exchange(bus_, now) != now) options_.say(now);
  }

  /// An assignment that it has already begins nothing anew: a watcher may say it again, with new keys.
  void take(const std::string& text) {
    auto read = watch::read_assignment(text);
    refused_ = read ? "" : read.error().message;
    said_.reset();  // the watcher hears what it has now, or why not
    if (!read) return;
    const auto assignment = std::make_shared<const watch::Assignment>(std::move(*read));
    epoch_ = assignment->epochs.front().name;
    if (assignment_ && same_work(*assignment_, *assignment)) return worker_.renew_keys(assignment);
    assignment_ = assignment;
    options_.say(fmt::format("plan {} begins", assignment_->plan.value()));
    nics_.assign(assignment_);
    worker_.assign(assignment_);
    if (counters_) counters_->report_again();  // a watcher begins
  }

  void pass_windows_on() {
    for (watch::Window& window : worker_.windows()) {
      window.boot = boot_;
      window.number = spool_.next_number();
      spool_.add(watch::encode_window(window));
    }
    spool_.serve(link_);
  }

  /// Once: where the bus is away, the newest one waits.
  void report_counters() {
    auto text = counters_ ? counters_->take() : std::nullopt;
    if (text && !link_.report_counters(*text)) counters_->give_back(std::move(*text));
  }

  /// An answer that cannot be told now is told when the request comes again.
  void serve_labels() {
    while (auto request = link_.next_label_request()) labels_.take(std::move(*request));
    for (const auto& answered : labels_.answers()) {
      if (!answered.line.empty()) options_.say(answered.line);
      static_cast<void>(link_.answer_labels(answered.text));
    }
  }

  const StandingOptions& options_;
  watch::AgentLink& link_;
  std::uint64_t boot_;
  watch::Spool spool_;
  std::shared_ptr<const watch::Assignment> assignment_;
  RunId epoch_;          // of the keys that came last
  std::string refused_;  // why the last assignment was not taken
  std::optional<Clock::time_point> said_;
  std::string bus_;                              // as it was said last
  std::vector<std::string> troubles_;            // the same
  std::uint64_t rounds_ = 0;                     // of the worker, as they were
  std::map<std::string, packet::UdPair> pairs_;  // as they were told, by interface
  StandingNics nics_;
  StandingWorker worker_;  // its thread asks nics_
  std::optional<StandingCounters> counters_;
  StandingLabels labels_;
};

}  // namespace

Result<void> run_standing_agent(const StandingOptions& options, watch::AgentLink& link,
                                std::stop_token stop) {
  if (sodium_init() < 0) return fail(ErrorKind::internal, "libsodium has no random numbers here");
  std::uint64_t drawn[2];
  randombytes_buf(drawn, sizeof drawn);
  StandingAgent(options, link, drawn[0], drawn[1]).run(stop);
  return {};
}

session::OpenEngines counted_engines(session::OpenEngines open,
                                     std::shared_ptr<std::atomic<int>> runs_served) {
  return [open = std::move(open), runs_served = std::move(runs_served)](
             const session::NicAssignment& nic, const packet::RunSecrets& secrets,
             const datapath::SharedNics& of_run) -> Result<session::NicEngines> {
    // Before they are opened: what is on its way then may still be answered.
    ++*runs_served;
    const std::shared_ptr<void> counted(nullptr, [runs_served](void*) { --*runs_served; });
    WEFT_TRY(auto engines, open(nic, secrets, of_run));
    if (auto* probes = engines.probes.get())
      engines.probes = std::shared_ptr<datapath::ProbeEngine>(
          probes, [counted, kept = engines.probes](datapath::ProbeEngine*) {});
    return engines;
  };
}

}  // namespace weft::run
