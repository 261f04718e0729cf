#include "cli/watch_page.hpp"

#include <algorithm>

#include "cli/exit_status.hpp"
#include "cli/mute_list.hpp"
#include "cli/page_sources.hpp"
#include "collectors/metrics/metrics.hpp"
#include "collectors/store/ledger_store.hpp"
#include "collectors/store/watch_store.hpp"
#include "collectors/web/latest_state.hpp"
#include "collectors/web/other_page.hpp"
#include "collectors/web/page_server.hpp"
#include "probes/run/listen_address.hpp"
#include "topology/os/network_namespace.hpp"

namespace weft::cli {
namespace {

constexpr std::uint16_t kUsualPort = 8420;

struct PageWishes {
  web::PageOptions options;
  std::optional<std::string> token;
  std::filesystem::path database;
  const web::WarningSource* warnings = nullptr;
  const webhook::Webhook* webhook = nullptr;
  std::optional<std::string> blacklist, ledger;
  std::vector<std::shared_ptr<web::Elsewhere>> elsewhere;
};

class ServedPage final : public WatchPage {
 public:
  explicit ServedPage(const Fabric& fabric)
      : fabric_(fabric),
        latest_(std::shared_ptr<const Fabric>(std::shared_ptr<void>(), &fabric),
                [this](LinkId link, std::size_t most) { return paths_.ask(link, most); }),
        mutes_(fabric) {}

  Result<void> serve(PageWishes wishes) {
    if (!wishes.database.empty()) {
      WEFT_TRY(auto opened, store::open_to_read(wishes.database));
      history_.emplace(std::move(opened.database), fabric_);
    }
    if (wishes.blacklist) blacklist_.emplace(*wishes.blacklist, fabric_);
    const auto metrics = [this, ledger = wishes.ledger, warnings = wishes.warnings,
                          webhook = wishes.webhook](bool all) {
      const auto state = latest_.view().state;
      return (state ? metrics::metrics_text(fabric_, *state, {.all_channels = all})
                    : metrics::standby_metrics_text(fabric_)) +
             webhook_metrics(webhook, fabric_) +
             (warnings != nullptr ? metrics::metrics_text(fabric_, warnings->warnings()) : std::string()) +
             ledger_metrics(ledger, fabric_);
    };
    const web::PageFabric one{fabric_.name(),
                              &latest_,
                              history_ ? &*history_ : nullptr,
                              &mutes_,
                              blacklist_ ? &*blacklist_ : nullptr,
                              wishes.warnings};
    WEFT_TRY(server_, web::PageServer::start(wishes.options, {.fabrics = {one},
                                                              .elsewhere = std::move(wishes.elsewhere),
                                                              .metrics = metrics,
                                                              .token = std::move(wishes.token)}));
    print_stderr("weft: the live page: {}\n", server_->url());
    return {};
  }
  void set(const watch::WatchState& state) override { latest_.set(state); }
  void answer(const watch::Watcher& watcher, Nanoseconds now) override { paths_.answer(watcher, now); }
  void share(std::shared_ptr<watch::SharedValue> values) override { mutes_.use(std::move(values)); }

 private:
  const Fabric& fabric_;
  AskedPaths paths_;
  web::LatestState latest_;
  PageMutes mutes_;
  std::optional<StoredHistory> history_;
  std::optional<FileBlacklist> blacklist_;
  std::unique_ptr<web::PageServer> server_;  // last: its threads use the others
};

/// NAME=URL, of several.
Result<std::vector<std::shared_ptr<web::Elsewhere>>> other_pages(const po::variables_map& values,
                                                                 const std::string& own) {
  std::vector<std::shared_ptr<web::Elsewhere>> pages;
  if (!values.count("page-also")) return pages;
  for (const std::string& given : values["page-also"].as<std::vector<std::string>>()) {
    const auto mark = given.find("=http");
    if (mark == std::string::npos)
      return fail(ErrorKind::usage, "--page-also {}: expected NAME=http://HOST:PORT", given);
    const auto name = given.substr(0, mark);
    const auto has_name = [&](const auto& page) { return page->name() == name; };
    if (name == own || std::ranges::any_of(pages, has_name))
      return fail(ErrorKind::usage, "--page-also {}: the page has a fabric '{}' already", given, name);
    auto page = web::other_page(name, given.substr(mark + 1));
    if (!page) return pass_on(page, "--page-also");
    pages.push_back(*std::move(page));
  }
  return pages;
}

Result<PageWishes> read_wishes(const po::variables_map& values, const std::string& address,
                               const Fabric& fabric) {
  const auto listen = run::parse_listen_address(address);
  if (!listen) return fail(ErrorKind::usage, "--page: {}", listen.error().message);
  PageWishes wishes{.options = {to_string(listen->address), listen->port.value_or(kUsualPort)}};
  if (const auto file = text_option(values, "page-token")) {
    WEFT_TRY(wishes.token, web::read_token(*file));
  }
  wishes.blacklist = text_option(values, "blacklist");
  if (wishes.blacklist)
    if (const auto first = FileBlacklist(*wishes.blacklist, fabric).avoided(); !first.trouble.empty())
      return fail(ErrorKind::usage, "--blacklist {}", first.trouble);
  wishes.ledger = text_option(values, "ledger");
  WEFT_TRY(wishes.elsewhere, other_pages(values, fabric.name()));
  return wishes;
}

}  // namespace

Result<void> check_ledger(const po::variables_map& values, const Fabric& fabric) {
  const auto file = text_option(values, "ledger");
  if (!file) return {};
  const auto opened = store::LedgerStore::open(*file, fabric.name(), store::Database::Access::read);
  return opened ? Result<void>() : pass_on(opened, "--ledger");
}

std::string ledger_metrics(const std::optional<std::string>& file, const Fabric& fabric) {
  if (!file) return {};
  auto opened = store::LedgerStore::open(*file, fabric.name(), store::Database::Access::read);
  if (!opened) return {};  // whoever waits for it hears nothing of it
  const auto ledger = opened->read();
  return ledger ? metrics::metrics_text(*ledger, std::nullopt) : std::string();
}

std::string webhook_metrics(const webhook::Webhook* webhook, const Fabric& fabric) {
  if (webhook == nullptr) return {};
  const auto counts = webhook->counts();
  return metrics::metrics_text(
      fabric, metrics::WebhookFigures{counts.sent, counts.waiting, counts.dropped, counts.refused});
}

void add_page_options(po::options_description& options) {
  options.add_options()("page", po::value<std::string>()->value_name("ADDRESS[:PORT]"),
                        "serve the live page and /metrics there, as 127.0.0.1:8420 (default: nowhere)")(
      "page-token", po::value<std::string>()->value_name("FILE"),
      "who shows the token in this file may mute by the page")(
      "page-also", po::value<std::vector<std::string>>()->composing()->value_name("NAME=URL"),
      "show fabric NAME too, from the page of its own watcher, http://HOST:PORT; may be repeated")(
      "blacklist", po::value<std::string>()->value_name("FILE"),
      "show on the page which links work is kept away from (weft.blacklist/1); read again when it changes")(
      "ledger", po::value<std::string>()->value_name("FILE"),
      "metrics also of the blacklist that `weft blacklist` keeps there");
}

Result<std::unique_ptr<WatchPage>> start_page(const po::variables_map& values, const Fabric& fabric,
                                              const std::filesystem::path& database,
                                              const web::WarningSource* warnings,
                                              const webhook::Webhook* webhook, const HomeNetwork& home) {
  const auto given = text_option(values, "page");
  for (const char* option : {"page-token", "page-also", "blacklist"})
    if (!given && values.count(option))
      return fail(ErrorKind::usage, "--{} needs --page ADDRESS[:PORT]", option);
  if (!given) return nullptr;
  const auto visit = os::NamespaceVisit::enter(home.file());  // before a thread is started
  if (!visit) return pass_on(visit, "--page");
  WEFT_TRY(auto wishes, read_wishes(values, *given, fabric));
  wishes.database = database;
  wishes.warnings = warnings;
  wishes.webhook = webhook;
  auto page = std::make_unique<ServedPage>(fabric);
  WEFT_TRY_VOID(page->serve(std::move(wishes)));
  return page;
}

}  // namespace weft::cli
