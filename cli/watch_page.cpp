#include "cli/watch_page.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <mutex>

#include "cli/exit_status.hpp"
#include "collectors/metrics/metrics.hpp"
#include "collectors/store/watch_store.hpp"
#include "collectors/web/latest_state.hpp"
#include "collectors/web/page_server.hpp"
#include "probes/run/listen_address.hpp"
#include "topology/os/network_namespace.hpp"

namespace weft::cli {
namespace {

using std::chrono::floor;
constexpr std::uint16_t kUsualPort = 8420;

/// The page's threads share one connection that reads.
class StoredHistory final : public web::HistorySource {
 public:
  StoredHistory(store::Database database, const Fabric& fabric)
      : database_(std::move(database)), fabric_(fabric) {}

  web::TimeRange kept() const override {
    const Nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
    const std::scoped_lock lock(mutex_);
    const auto first = store::first_kept(database_);
    return first && *first ? web::TimeRange{**first, now} : web::TimeRange{now, now};
  }

  Result<std::vector<Incident>> incidents(web::TimeRange range, std::size_t most) const override {
    const std::scoped_lock lock(mutex_);
    WEFT_TRY(const auto reports, store::incidents(database_, {.from = range.from, .until = range.to}));
    std::vector<Incident> found;
    for (const files::EventReport& report : reports) {
      if (found.size() == most) break;
      if (auto event = files::event_of(fabric_, report)) found.push_back(std::move(event->incident));
    }
    return found;
  }

  Result<std::vector<web::LinkSums>> link_sums(LinkId link, web::TimeRange range,
                                               std::size_t most) const override {
    WEFT_TRY(const auto there, points_of(Fabric::a_to_b(link), range));
    WEFT_TRY(const auto back, points_of(Fabric::b_to_a(link), range));
    std::vector<web::LinkSums> sums;
    for (const store::HistoryPoint& point : there)
      sums.push_back({point.begin, point.length, sum_of(point), {}});
    for (const store::HistoryPoint& point : back) {
      const auto same =
          std::ranges::find(sums, Nanoseconds(point.begin), [](const web::LinkSums& one) { return one.at; });
      if (same != sums.end()) same->b_to_a = sum_of(point);
    }
    if (sums.size() > most) sums.erase(sums.begin(), sums.end() - static_cast<std::ptrdiff_t>(most));
    return sums;
  }

  Result<std::vector<web::ChannelSum>> sums_at(Nanoseconds at) const override {
    const std::scoped_lock lock(mutex_);
    WEFT_TRY(const auto snapshot, store::channels_at(database_, fabric_, floor<store::Seconds>(at)));
    std::vector<web::ChannelSum> sums;
    if (snapshot)
      for (const store::ChannelSample& one : snapshot->channels) sums.push_back({one.sent, one.lost});
    return sums;
  }

 private:
  static web::ChannelSum sum_of(const store::HistoryPoint& point) {
    return {point.sample.sent, point.sample.lost};
  }
  Result<std::vector<store::HistoryPoint>> points_of(ChannelId channel, web::TimeRange range) const {
    const std::scoped_lock lock(mutex_);
    auto points =
        store::channel_history(database_, fabric_.name_of(channel), floor<store::Seconds>(range.from),
                               std::chrono::ceil<store::Seconds>(range.to));
    if (!points && points.error().kind == ErrorKind::not_found) return std::vector<store::HistoryPoint>();
    return points;
  }

  mutable std::mutex mutex_;
  mutable store::Database database_;
  const Fabric& fabric_;
};

class ServedPage final : public WatchPage {
 public:
  explicit ServedPage(const Fabric& fabric)
      : fabric_(fabric), latest_(std::shared_ptr<const Fabric>(std::shared_ptr<void>(), &fabric)) {}

  Result<void> serve(const web::PageOptions& options, std::optional<std::string> token,
                     const std::filesystem::path& database) {
    if (!database.empty()) {
      WEFT_TRY(auto opened, store::open_to_read(database));
      history_.emplace(std::move(opened.database), fabric_);
    }
    const auto metrics = [this] {
      const auto state = latest_.view().state;
      return state ? metrics::metrics_text(fabric_, *state) : std::string();
    };
    const web::PageFabric one{fabric_.name(), &latest_, history_ ? &*history_ : nullptr, nullptr};
    WEFT_TRY(server_, web::PageServer::start(options, {{one}, metrics, std::move(token)}));
    print_stderr("weft: the live page: {}\n", server_->url());
    return {};
  }
  void set(const watch::WatchState& state) override { latest_.set(state); }

 private:
  const Fabric& fabric_;
  web::LatestState latest_;
  std::optional<StoredHistory> history_;
  std::unique_ptr<web::PageServer> server_;  // last: its threads use the others
};

}  // namespace

HomeNetwork::HomeNetwork() : file_(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)) {}
HomeNetwork::~HomeNetwork() {
  if (file_ >= 0) close(file_);
}
std::filesystem::path HomeNetwork::file() const {
  return file_ < 0 ? std::filesystem::path() : std::filesystem::path(fmt::format("/proc/self/fd/{}", file_));
}

void add_page_options(po::options_description& options) {
  options.add_options()("page", po::value<std::string>()->value_name("ADDRESS[:PORT]"),
                        "serve the live page and /metrics there, as 127.0.0.1:8420 (default: nowhere)")(
      "page-token", po::value<std::string>()->value_name("FILE"),
      "who shows the token in this file may change something by the page");
}

Result<std::unique_ptr<WatchPage>> start_page(const po::variables_map& values, const Fabric& fabric,
                                              const std::filesystem::path& database,
                                              const HomeNetwork& home) {
  const auto given = text_option(values, "page");
  const auto token_file = text_option(values, "page-token");
  if (!given && token_file) return fail(ErrorKind::usage, "--page-token needs --page ADDRESS[:PORT]");
  if (!given) return nullptr;
  const auto listen = run::parse_listen_address(*given);
  if (!listen) return fail(ErrorKind::usage, "--page: {}", listen.error().message);
  std::optional<std::string> token;
  if (token_file) {
    WEFT_TRY(token, web::read_token(*token_file));
  }
  auto page = std::make_unique<ServedPage>(fabric);
  const auto visit = os::NamespaceVisit::enter(home.file());
  if (!visit) return pass_on(visit, "--page");
  WEFT_TRY_VOID(page->serve({to_string(listen->address), listen->port.value_or(kUsualPort)}, std::move(token),
                            database));
  return page;
}

}  // namespace weft::cli
