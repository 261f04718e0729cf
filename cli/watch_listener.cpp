#include "cli/watch_listener.hpp"

#include <cstdio>
#include <filesystem>

#include "cli/exit_status.hpp"
#include "cli/terminal.hpp"
#include "collectors/metrics/metrics.hpp"
#include "collectors/report/incident_report.hpp"
#include "collectors/store/watch_store.hpp"
#include "collectors/webhook/event_file.hpp"
#include "collectors/webhook/webhook.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/incident_json.hpp"

namespace weft::cli {
namespace {

constexpr int kStatesPerMetricsFile = 10;  // a state comes each second; collectors read each 15 s or so

constexpr const char* kDatabase = "watch.db";  // in the directory of --state

/// Where the events and states of a watch go. What fails says so once, until it works again.
struct Targets {
  bool json = false;
  std::optional<std::string> events;
  std::optional<std::string> metrics;
  std::optional<store::WatchStore> store;
  std::unique_ptr<webhook::Webhook> webhook;
  std::unique_ptr<WatchPage> page;
};

class Listener : public run::WatchListener {
 public:
  Listener(const Fabric& fabric, Targets targets, os::ServiceNotifier& service)
      : fabric_(fabric), to_(std::move(targets)), service_(service) {}

  void on_shared(std::shared_ptr<watch::SharedValue> values) override {
    if (to_.page) to_.page->share(std::move(values));
  }
  void on_event(const IncidentEvent& event, const watch::StoredEvent& stored, bool followed) override {
    if (to_.store) note_trouble(store_trouble_, "--state", to_.store->apply({&stored, 1}));
    if (followed) return;  // told by the watcher that wrote it
    const auto report = files::report_of(fabric_, event);
    fmt::print("{}", to_.json ? stored.text + "\n" : report::event_lines(fabric_, event, terminal_columns()));
    std::fflush(stdout);
    if (to_.events) note_trouble(events_trouble_, "--events", webhook::append_event(*to_.events, report));
    if (to_.webhook) to_.webhook->tell(report);
  }
  void on_pass(const watch::Watcher& watcher, Nanoseconds now) override {
    if (to_.page) to_.page->answer(watcher, now);
  }
  void on_state(const watch::WatchState& state) override {
    service_.status(status_line(state));
    if (to_.store) note_trouble(store_trouble_, "--state", to_.store->note(state));
    if (to_.page) to_.page->set(state);
    if (to_.metrics && states_++ % kStatesPerMetricsFile == 0)
      note_trouble(metrics_trouble_, "--metrics-file",
                   files::write_text_file(*to_.metrics, metrics::metrics_text(fabric_, state)));
  }
  void on_note(std::string_view text) override {
    print_stderr("weft: {}\n", text);
    service_.status(text);
  }

 private:
  static std::string status_line(const watch::WatchState& state) {
    if (!state.active) return fmt::format("{}: standing by", state.fabric);
    return fmt::format("{}: {}, incidents: {}", state.fabric, to_string(state.verdict),
                       state.incidents.size());
  }
  template <class T>
  static void note_trouble(bool& told, std::string_view option, const Result<T>& result) {
    if (!result && !told) print_stderr("weft: {}: {}\n", option, result.error().message);
    told = !result;
  }

  const Fabric& fabric_;
  Targets to_;
  os::ServiceNotifier& service_;
  bool store_trouble_ = false, events_trouble_ = false, metrics_trouble_ = false;
  std::uint64_t states_ = 0;
};

Result<std::unique_ptr<webhook::Webhook>> make_webhook(const po::variables_map& values) {
  const auto url = text_option(values, "webhook");
  const auto file = text_option(values, "webhook-secret");
  if (!url && file) return fail(ErrorKind::usage, "--webhook-secret needs --webhook URL");
  if (!url) return nullptr;
  webhook::WebhookOptions options{.url = *url};
  if (file) {
    WEFT_TRY(options.secret, webhook::read_secret(*file));
  }
  return webhook::Webhook::start(std::move(options));
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
}

Result<std::optional<std::filesystem::path>> state_directory(const po::variables_map& values) {
  const auto given = text_option(values, "state");
  if (!given) return std::optional<std::filesystem::path>();
  std::error_code error;
  std::filesystem::create_directories(*given, error);
  if (error) return fail(ErrorKind::absent, "--state {}: {}", *given, error.message());
  return std::filesystem::absolute(*given);
}

Result<std::unique_ptr<run::WatchListener>> make_watch_listener(const po::variables_map& values,
                                                                const Fabric& fabric, const HomeNetwork& home,
                                                                os::ServiceNotifier& service) {
  Targets to;
  WEFT_TRY(to.json, wants_json(values));
  to.events = text_option(values, "events");
  to.metrics = text_option(values, "metrics-file");
  WEFT_TRY(const auto directory, state_directory(values));
  if (directory) {
    WEFT_TRY(to.store, store::WatchStore::open(*directory / kDatabase, fabric));
  }
  WEFT_TRY(to.webhook, make_webhook(values));
  WEFT_TRY(to.page, start_page(values, fabric, directory ? *directory / kDatabase : "", home));
  return std::make_unique<Listener>(fabric, std::move(to), service);
}

}  // namespace weft::cli
