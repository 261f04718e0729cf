#include "cli/watch_listener.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "cli/counter_watch.hpp"
#include "cli/exit_status.hpp"
#include "cli/output_files.hpp"
#include "cli/terminal.hpp"
#include "cli/watch_page.hpp"
#include "collectors/metrics/metrics.hpp"
#include "collectors/report/incident_report.hpp"
#include "collectors/store/watch_store.hpp"
#include "collectors/webhook/waiting_lines.hpp"
#include "collectors/webhook/webhook.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/incident_json.hpp"
#include "topology/os/file_descriptor.hpp"
#include "topology/os/network_namespace.hpp"

namespace weft::cli {
namespace {

constexpr int kStatesPerMetricsFile = 10;  // a state comes each second; collectors read each 15 s or so

constexpr const char* kClaim = "watch.lock";  // in the directory of --state

/// Trouble of one target: said once, until it is over.
class Trouble {
 public:
  explicit Trouble(std::string_view target) : target_(target) {}
  template <class T>
  void note(const Result<T>& result) {
    if (!result && !told_) print_stderr("weft: {}: {}\n", target_, outside_text(result.error().message));
    if (result && told_) print_stderr("weft: {}: works again\n", target_);
    told_ = !result;
  }

 private:
  std::string_view target_;
  bool told_ = false;
};

/// Events as lines, with their trouble.
struct LineTarget {
  webhook::WaitingLines lines;
  Trouble trouble;
  void add(std::string line) { trouble.note(lines.add(std::move(line))); }
  void flush() {
    if (lines.waiting() > 0) trouble.note(lines.flush());
  }
  std::size_t lost() const { return lines.waiting() + lines.dropped(); }
};

/// Where the events and states of a watch go.
struct Targets {
  bool json = false;
  std::optional<LineTarget> events;
  std::optional<std::string> metrics, ledger;
  os::FileDescriptor claim;  // of the directory of --state
  std::optional<store::WatchStore> store;
  std::unique_ptr<webhook::Webhook> webhook;
  std::unique_ptr<CounterWatch> counters;
  std::unique_ptr<WatchPage> page;  // it looks at the counters and the webhook
};

class Outputs : public WatchOutputs {
 public:
  Outputs(const Fabric& fabric, Targets targets, os::ServiceNotifier& service)
      : fabric_(fabric), to_(std::move(targets)), service_(service) {}

  void on_shared(const std::shared_ptr<watch::SharedValue>& values) override {
    if (to_.page) to_.page->share(values);
  }
  void on_event(const IncidentEvent& event, const watch::StoredEvent& stored, bool followed) override {
    tell(files::report_of(fabric_, event), stored, followed,
         [&] { return report::event_lines(fabric_, event, terminal_columns()); });
  }
  void on_event_elsewhere(const files::EventReport& event, const watch::StoredEvent& stored,
                          bool followed) override {
    tell(event, stored, followed, [&] {
      return fmt::format("incident {} at {} is over: the fabric file no longer has this place\n",
                         event.incident.id.value(), outside_text(files::place_text(event.incident)));
    });
  }
  std::uint64_t last_incident() override {
    const auto last = to_.store ? to_.store->last_incident() : Result<std::uint64_t>(0);
    store_trouble_.note(last);
    return last.value_or(0);
  }
  void on_counters(counters::HostPorts own, std::string text) override {
    to_.counters->take(std::move(own), std::move(text));
  }
  void on_pass(const watch::Watcher& watcher, Nanoseconds now) override {
    if (to_.page) to_.page->answer(watcher, now);
  }
  void on_state(const watch::WatchState& state) override {
    service_.status(status_line(state));
    flush();
    note_webhook();
    if (to_.store) keep(state);
    if (to_.page) to_.page->set(state);
    if (to_.metrics && states_++ % kStatesPerMetricsFile == 0)
      metrics_trouble_.note(
          files::write_text_file(*to_.metrics, metrics::metrics_text(fabric_, state) + counter_metrics() +
                                                   webhook_metrics(to_.webhook.get(), fabric_) +
                                                   ledger_metrics(to_.ledger, fabric_)));
  }
  void on_note(std::string_view text) override {
    print_stderr("weft: {}\n", text);
    service_.status(text);
  }

  Result<void> finish() override {
    flush();
    if (to_.store) store_trouble_.note(to_.store->apply({}));
    if (stdout_.lost() > 0)
      return fail(ErrorKind::absent, "{} events could not be written to standard output", stdout_.lost());
    if (to_.events && to_.events->lost() > 0)
      return fail(ErrorKind::absent, "{} events could not be written to the file of --events",
                  to_.events->lost());
    return {};
  }

 private:
  template <class Text>
  void tell(const files::EventReport& event, const watch::StoredEvent& stored, bool followed, Text text) {
    if (to_.store) store_trouble_.note(to_.store->apply({&stored, 1}));
    // Who wrote it has told it.
    if (followed && to_.webhook) to_.webhook->was_reported(event);
    if (followed) return;
    stdout_.add(to_.json ? stored.text + "\n" : text());
    if (to_.events) to_.events->add(stored.text + '\n');
    if (to_.webhook) to_.webhook->report(event);
  }
  void note_webhook() {
    if (!to_.webhook) return;
    const auto counts = to_.webhook->counts();
    webhook_trouble_.note(counts.last_trouble.empty() ? Result<void>()
                                                      : fail(ErrorKind::absent, "{}", counts.last_trouble));
  }
  static std::string status_line(const watch::WatchState& state) {
    if (!state.active) return fmt::format("{}: standing by", state.fabric);
    return fmt::format("{}: {}, incidents: {}", state.fabric, to_string(state.verdict),
                       state.incidents.size());
  }
  void flush() {
    stdout_.flush();
    if (to_.events) to_.events->flush();
  }
  std::string counter_metrics() const { return metrics::metrics_text(fabric_, to_.counters->warnings()); }
  void keep(const watch::WatchState& state) {
    store_trouble_.note(to_.store->apply({}));
    const auto kept = to_.store->note(state);
    if (!kept || *kept) history_trouble_.note(kept);
  }

  const Fabric& fabric_;
  Targets to_;
  os::ServiceNotifier& service_;
  LineTarget stdout_{webhook::WaitingLines(webhook::descriptor_sink(STDOUT_FILENO)), Trouble("stdout")};
  Trouble store_trouble_{"--state: events"}, history_trouble_{"--state: history"};
  Trouble metrics_trouble_{"--metrics-file"}, webhook_trouble_{"--webhook"};
  std::uint64_t states_ = 0;
};

Result<std::unique_ptr<webhook::Webhook>> make_webhook(const po::variables_map& values,
                                                       const HomeNetwork& home) {
  const auto url = text_option(values, "webhook");
  const auto file = text_option(values, "webhook-secret");
  if (!url && file) return fail(ErrorKind::usage, "--webhook-secret needs --webhook URL");
  if (!url) return nullptr;
  webhook::WebhookOptions options{.url = *url};
  if (file) {
    WEFT_TRY(options.secret, webhook::read_secret(*file));
  }
  // Its thread, from where the receiver is reached: not from within a lab.
  const auto visit = os::NamespaceVisit::enter(home.file());
  if (!visit) return pass_on(visit, "--webhook");
  return webhook::Webhook::start(std::move(options));
}

/// With or without a source: agents tell, too.
Result<std::unique_ptr<CounterWatch>> start_counters(const po::variables_map& values, const Fabric& fabric,
                                                     const files::CounterSources& of_file,
                                                     const std::filesystem::path& database,
                                                     const HomeNetwork& home) {
  WEFT_TRY(auto source, CounterSource::open(values, of_file));
  std::optional<Result<os::NamespaceVisit>> visit;  // agents are heard from anywhere
  if (source.is_there()) visit.emplace(os::NamespaceVisit::enter(home.file()));
  if (visit && !*visit) return pass_on(*visit, "counters");
  WEFT_TRY(auto counters, CounterWatch::open(std::move(source), fabric, database));
  counters->start();
  return counters;
}

/// One watch at a time has a directory: until the descriptor is closed.
Result<os::FileDescriptor> claim_state(const std::filesystem::path& directory) {
  const auto path = directory / kClaim;
  os::FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640));
  if (!file)
    return fail(ErrorKind::permission, "--state: {}: {}", path.string(),
                std::generic_category().message(errno));
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(
        ErrorKind::conflict,
        "--state {}: another weft watch keeps its incidents there: each watch needs a directory of its own",
        directory.string());
  return file;
}

}  // namespace

void add_watch_output_options(po::options_description& options) {
  add_output_option(options);
  options.add_options()("state", po::value<std::string>()->value_name("DIR"),
                        "keep incidents and history in this directory (default: they end with the watch)")(
      "events", po::value<std::string>()->value_name("FILE"),
      "append each event to a file, as a line of JSON (weft.event/1)")(
      "metrics-file", po::value<std::string>()->value_name("FILE"),
      "write metrics each ten seconds, for the textfile collector of Prometheus")(
      "webhook", po::value<std::string>()->value_name("URL"), "POST each event that alerts to this URL")(
      "webhook-secret", po::value<std::string>()->value_name("FILE"),
      "sign what is posted with the secret in this file");
  add_page_options(options);
  add_counter_options(options);
}

Result<std::optional<std::filesystem::path>> state_directory(const po::variables_map& values) {
  const auto given = text_option(values, "state");
  if (!given) return std::optional<std::filesystem::path>();
  std::error_code error;
  std::filesystem::create_directories(*given, error);
  if (error) return fail(ErrorKind::absent, "--state {}: {}", *given, error.message());
  return std::filesystem::absolute(*given);
}

Result<std::unique_ptr<WatchOutputs>> make_watch_outputs(const po::variables_map& values,
                                                         const Fabric& fabric,
                                                         const files::CounterSources& counters,
                                                         const HomeNetwork& home,
                                                         os::ServiceNotifier& service) {
  WEFT_TRY_VOID(check_output_files(values, std::array{"events", "metrics-file"}, std::array{"fabric"}));
  Targets to;
  WEFT_TRY(to.json, wants_json(values));
  if (const auto file = text_option(values, "events"))
    to.events.emplace(LineTarget{webhook::WaitingLines(webhook::file_sink(*file)), Trouble("--events")});
  to.metrics = text_option(values, "metrics-file");
  WEFT_TRY_VOID(check_ledger(values, fabric));
  to.ledger = text_option(values, "ledger");
  WEFT_TRY(const auto directory, state_directory(values));
  if (directory) {
    WEFT_TRY(to.claim, claim_state(*directory));
    WEFT_TRY(to.store, store::WatchStore::open(*directory / kWatchDatabase, fabric));
  }
  WEFT_TRY(to.webhook, make_webhook(values, home));
  const std::filesystem::path database = directory ? *directory / kWatchDatabase : "";
  WEFT_TRY(to.counters, start_counters(values, fabric, counters, database, home));
  WEFT_TRY(to.page, start_page(values, fabric, database, to.counters.get(), to.webhook.get(), home));
  return std::make_unique<Outputs>(fabric, std::move(to), service);
}

}  // namespace weft::cli
