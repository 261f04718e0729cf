#include "collectors/web/page_routes.hpp"

#include <fmt/format.h>
#include <libdeflate.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "collectors/web/assets.hpp"
#include "collectors/web/layout_json.hpp"
#include "collectors/web/link_json.hpp"
#include "collectors/web/mute_wish.hpp"
#include "collectors/web/state_json.hpp"
#include "topology/base/check.hpp"

namespace weft::web {
namespace {

using files::DocumentTree;

constexpr std::string_view kFabrics = "/api/v1/fabrics";
constexpr std::size_t kMaxListed = 500;  // incidents of a range
constexpr int kGzipLevel = 6;            // of 1 to 12: 600 KB of a layout take about 10 ms

/// RFC 1952.
std::string gzip(std::string_view text) {
  const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor(
      libdeflate_alloc_compressor(kGzipLevel), &libdeflate_free_compressor);
  WEFT_CHECK(compressor != nullptr);
  std::string packed(libdeflate_gzip_compress_bound(compressor.get(), text.size()), '\0');
  packed.resize(
      libdeflate_gzip_compress(compressor.get(), text.data(), text.size(), packed.data(), packed.size()));
  return packed;
}

std::string hash_of(std::string_view text) {
  return fmt::format("{:016x}", std::hash<std::string_view>{}(text));
}

PageAnswer json_answer(std::string text) {
  return {.body = std::make_shared<const std::string>(std::move(text))};
}

PageAnswer refused(const Error& error) {
  switch (error.kind) {
    case ErrorKind::usage:
    case ErrorKind::invalid_input:
      return error_answer(400, error.message);
    case ErrorKind::not_found:
      return error_answer(404, error.message);
    case ErrorKind::conflict:
      return error_answer(409, error.message);
    case ErrorKind::not_supported:
      return error_answer(501, error.message);
    case ErrorKind::absent:
    case ErrorKind::permission:
    case ErrorKind::timeout:
    case ErrorKind::internal:
      return error_answer(503, error.message);
  }
  return error_answer(503, error.message);
}

/// A time of the query in milliseconds since 1970; `otherwise` where it is not given.
Result<Nanoseconds> time_of(const PageRequest& request, const std::string& name, Nanoseconds otherwise) {
  const auto found = request.query.find(name);
  if (found == request.query.end()) return otherwise;
  constexpr std::int64_t kMaxMillis = 9'000'000'000'000;  // the year 2255: as nanoseconds it fits
  std::int64_t number = 0;
  const std::string& text = found->second;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || number < 0 || number > kMaxMillis)
    return fail(ErrorKind::invalid_input, "{}: expected milliseconds since 1970, a whole number", name);
  return std::chrono::milliseconds(number);
}

Result<TimeRange> range_of(const PageRequest& request, TimeRange kept) {
  constexpr Nanoseconds kUsual = std::chrono::hours(24);
  WEFT_TRY(const auto to, time_of(request, "to", kept.to));
  WEFT_TRY(const auto from, time_of(request, "from", std::max(kept.from, to - kUsual)));
  if (from > to) return fail(ErrorKind::invalid_input, "from is after to");
  return TimeRange{from, to};
}

DocumentTree range_tree(TimeRange range) {
  return {{"from", milliseconds(range.from)}, {"to", milliseconds(range.to)}};
}

PageAnswer incidents_of(const PageFabric& fabric, const LiveView& view, const PageRequest& request) {
  if (fabric.history == nullptr)
    return error_answer(501, "this watcher keeps no history: start it with a store");
  const auto kept = fabric.history->kept();
  const auto range = range_of(request, kept);
  if (!range) return refused(range.error());
  const auto incidents = fabric.history->incidents(*range, kMaxListed);
  if (!incidents) return refused(incidents.error());
  auto list = DocumentTree::array();
  for (const Incident& incident : *incidents) list.push_back(incident_tree(*view.fabric, incident));
  return json_answer(files::document_line(
      {{"kept", range_tree(kept)}, {"range", range_tree(*range)}, {"incidents", std::move(list)}}));
}

PageAnswer past_state(const PageFabric& fabric, const LiveView& view, const PageRequest& request) {
  if (fabric.history == nullptr)
    return error_answer(501, "this watcher keeps no history: start it with a store");
  const auto at = time_of(request, "at", Nanoseconds{});
  if (!at) return refused(at.error());
  const auto sums = fabric.history->sums_at(*at);
  if (!sums) return refused(sums.error());
  auto incidents = fabric.history->incidents({*at, *at + std::chrono::milliseconds(1)}, kMaxListed);
  if (!incidents) return refused(incidents.error());
  std::erase_if(*incidents, [&](const Incident& incident) { return !stood_at(incident, *at); });
  auto list = DocumentTree::array();
  for (const Incident& incident : *incidents) list.push_back(incident_tree(*view.fabric, incident));
  return json_answer(
      files::document_line({{"at", milliseconds(*at)},
                            {"kept", !sums->empty()},
                            {"incidents", std::move(list)},
                            {"channels", past_letters(*view.fabric, *sums, *incidents, *at)}}));
}

PageAnswer link_of(const PageFabric& fabric, const LiveView& view, const std::string& name,
                   const PageRequest& request) {
  const auto link = view.fabric->find_link(name);
  if (!link) return refused(link.error());
  const auto kept = fabric.history != nullptr ? fabric.history->kept() : TimeRange{};
  const auto range = range_of(request, kept);
  if (!range) return refused(range.error());
  const auto text = link_json(fabric, view, *link, *range);
  return text ? json_answer(*text) : refused(text.error());
}

/// What a browser says of who asks. A token is no cookie, so no other site has it by itself; this keeps out
/// one that was told it, too. Who is no browser says neither.
bool is_of_other_site(const PageRequest& request) {
  if (!request.fetch_site.empty()) return request.fetch_site != "same-origin";
  return !request.origin.empty() && request.origin != "http://" + request.host &&
         request.origin != "https://" + request.host;
}

/// Of all that a browser has loaded: it loads again what is of another version.
std::string version_of_assets() {
  std::string all;
  for (const Asset& asset : assets()) all += asset.hash;
  return hash_of(all);
}

DocumentTree row_tree(const FabricRow& row) {
  DocumentTree tree{{"name", row.name},           {"nics", row.nics},
                    {"incidents", row.incidents}, {"history", row.history},
                    {"mutes", row.mutes},         {"blacklist", row.blacklist},
                    {"counters", row.counters},   {"may_change", row.may_change}};
  if (row.at > 0) tree["at"] = row.at;
  if (row.verdict) tree["verdict"] = to_string(*row.verdict);
  if (!row.trouble.empty()) tree["trouble"] = row.trouble;
  return tree;
}

PageAnswer blacklist_of(const PageFabric& fabric, const LiveView& view) {
  if (fabric.avoided == nullptr)
    return error_answer(501, "this watcher shows no blacklist: start it with --blacklist FILE");
  const auto avoided = fabric.avoided->avoided();
  auto list = DocumentTree::array();
  for (const AvoidedLink& one : avoided.links) {
    if (list.size() == kMaxListed || one.link.value() >= view.fabric->link_count()) break;
    list.push_back({{"link", one.link.value()},
                    {"name", view.fabric->name_of(one.link)},
                    {"verdict", to_string(one.verdict)},
                    {"confidence", one.confidence},
                    {"evidence", one.evidence},
                    {"first_seen", milliseconds(one.first_seen)},
                    {"last_seen", milliseconds(one.last_seen)},
                    {"owner", one.owner},
                    {"actions", one.actions}});
    if (one.until) list.back()["until"] = milliseconds(*one.until);
  }
  DocumentTree tree{
      {"links", std::move(list)}, {"count", avoided.links.size()}, {"unknown", avoided.unknown}};
  if (!avoided.trouble.empty()) tree["trouble"] = avoided.trouble;
  return json_answer(files::document_line(tree));
}

DocumentTree warning_tree(const Fabric& fabric, const PortWarning& one, LinkId link) {
  DocumentTree tree{{"link", link.value()},
                    {"name", fabric.name_of(link)},
                    {"port", fabric.name_of(one.port)},
                    {"degrading", one.degrading},
                    {"text", one.text},
                    {"source", one.source},
                    {"at", milliseconds(one.at)}};
  if (!one.loss) return tree;
  tree["days"] = one.loss->days;
  tree["days_low"] = one.loss->low;
  if (one.loss->high) tree["days_high"] = *one.loss->high;
  return tree;
}

PageAnswer counters_of(const PageFabric& fabric, const LiveView& view) {
  if (fabric.warnings == nullptr)
    return error_answer(501, "this watcher reads no counters of ports: name them in the fabric file");
  const auto warnings = fabric.warnings->warnings();
  auto list = DocumentTree::array();
  for (const PortWarning& one : warnings.ports) {
    if (list.size() == kMaxListed || one.port.value() >= view.fabric->port_count()) break;
    if (const auto link = view.fabric->port(one.port).link)
      list.push_back(warning_tree(*view.fabric, one, *link));
  }
  DocumentTree tree{{"ports", std::move(list)}, {"count", warnings.ports.size()}, {"told", warnings.told}};
  if (warnings.at.count() > 0) tree["at"] = milliseconds(warnings.at);
  if (!warnings.trouble.empty()) tree["trouble"] = warnings.trouble;
  return json_answer(files::document_line(tree));
}

}  // namespace

PageAnswer error_answer(int status, std::string_view message) {
  auto answer = json_answer(files::document_line({{"error", message}}));
  answer.status = status;
  return answer;
}

PageRoutes::PageRoutes(PageSetup setup) : setup_(std::move(setup)) {}

PageRoutes::Made PageRoutes::made(const std::string& key, const std::shared_ptr<const void>& of,
                                  const std::string& version, const MakeText& make) const {
  const std::scoped_lock lock(mutex_);
  Made& made = made_[key];
  if (made.plain == nullptr || made.of != of || made.version != version) {
    auto text = make();
    made = {of, version, nullptr, std::make_shared<const std::string>(gzip(text)), hash_of(text)};
    made.plain = std::make_shared<const std::string>(std::move(text));
  }
  return made;
}

PageAnswer PageRoutes::of_made(const Made& made, const PageRequest& request) {
  PageAnswer answer{.etag = made.etag};
  if (request.if_none_match == made.etag) {
    answer.status = 304;
    return answer;
  }
  answer.gzipped = request.takes_gzip;
  answer.body = request.takes_gzip ? made.packed : made.plain;
  return answer;
}

PageRoutes::Made PageRoutes::layout(const PageFabric& fabric, const LiveView& view) const {
  return made("layout " + fabric.name, view.fabric, "", [&] { return layout_json(*view.fabric); });
}

PageAnswer PageRoutes::state(const PageFabric& fabric, const LiveView& view,
                             const PageRequest& request) const {
  if (request.query.contains("at")) return past_state(fabric, view, request);
  if (view.state == nullptr) return error_answer(503, "nothing has been looked at yet");
  const auto version = fmt::format("{}.{}", setup_.boot, view.state->version);
  PageAnswer answer;
  if (const auto since = request.query.find("since");
      since != request.query.end() && since->second == version) {
    answer.status = 304;
  } else {
    const StateMarks marks{.version = version, .layout = layout(fabric, view).etag};
    const auto text = [&] { return state_json(*view.fabric, *view.state, marks); };
    answer = of_made(made("state " + fabric.name, view.fabric, version, text), request);
  }
  answer.headers.emplace_back("Weft-At", fmt::format("{}", milliseconds(view.state->at)));
  return answer;
}

PageAnswer PageRoutes::mutes(const PageFabric& fabric) {
  if (fabric.mutes == nullptr) return error_answer(501, "this watcher keeps no mutes");
  const auto mutes = fabric.mutes->mutes();
  if (!mutes) return refused(mutes.error());
  auto list = DocumentTree::array();
  for (const StandingMute& mute : *mutes)
    list.push_back({{"place", mute.place},
                    {"who", mute.who},
                    {"reason", mute.reason},
                    {"from", milliseconds(mute.from)},
                    {"until", milliseconds(mute.until)}});
  return json_answer(files::document_line({{"mutes", std::move(list)}}));
}

std::optional<PageAnswer> PageRoutes::refused_change(const PageRequest& request) const {
  if (is_of_other_site(request))
    return error_answer(403, "a page of another site asks for a change: it gets none");
  if (!setup_.token)
    return error_answer(403,
                        "this page is read-only: start the watcher with --page-token FILE, or use weft mute");
  if (is_bearer(request.authorization, *setup_.token)) return std::nullopt;
  auto answer = error_answer(401, "the token is missing or wrong");
  answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

PageAnswer PageRoutes::changed_mutes(const PageFabric& fabric, const std::string& place,
                                     const PageRequest& request) const {
  if (auto refusal = refused_change(request)) return *refusal;
  if (fabric.mutes == nullptr) return error_answer(501, "this watcher keeps no mutes");
  const bool adds = request.method == "POST";
  const auto wish = adds ? parse_mute_wish(request.body) : Result<MuteWish>();
  if (!wish) return refused(wish.error());
  const auto changed = adds ? fabric.mutes->add(*wish) : fabric.mutes->remove(place);
  if (!changed) return refused(changed.error());
  auto answer = json_answer("{}");
  answer.status = adds ? 201 : 200;
  return answer;
}

FabricRow PageRoutes::row_of(const PageFabric& fabric) const {
  const auto view = fabric.live->view();
  FabricRow row{.name = fabric.name,
                .nics = view.fabric ? view.fabric->nics().size() : 0,
                .history = fabric.history != nullptr,
                .mutes = fabric.mutes != nullptr,
                .blacklist = fabric.avoided != nullptr,
                .counters = fabric.warnings != nullptr,
                .may_change = setup_.token && fabric.mutes != nullptr};
  if (!view.state) return row;
  row.incidents = view.state->incidents.size();
  row.at = static_cast<std::uint64_t>(milliseconds(view.state->at));
  row.verdict = view.state->verdict;
  return row;
}

PageAnswer PageRoutes::fabrics(const PageRequest& request) const {
  auto list = DocumentTree::array();
  for (const PageFabric& fabric : setup_.fabrics) list.push_back(row_tree(row_of(fabric)));
  if (!request.is_passed_on)
    for (const auto& other : setup_.elsewhere) list.push_back(row_tree(other->row()));
  static const std::string version = version_of_assets();
  return json_answer(files::document_line({{"fabrics", std::move(list)}, {"page", version}}));
}

PageAnswer PageRoutes::of_asset(const PageRequest& request) const {
  const auto all = assets();
  const auto asset = std::ranges::find(
      all, request.path == "/" ? std::string_view("/index.html") : std::string_view(request.path),
      &Asset::path);
  if (asset == all.end()) return error_answer(404, "there is no such page");
  const auto text = made("asset " + std::string(asset->path), nullptr, std::string(asset->hash),
                         [&] { return std::string(asset->text); });
  auto answer = of_made(text, request);
  answer.type = asset->type;
  return answer;
}

PageAnswer PageRoutes::of_fabric(const PageFabric& fabric, const std::string& rest,
                                 const PageRequest& request) const {
  constexpr std::string_view kLinks = "links/";
  constexpr std::string_view kMutes = "mutes/";
  if (rest == "mutes" && request.method == "POST") return changed_mutes(fabric, "", request);
  if (rest.starts_with(kMutes) && request.method == "DELETE")
    return changed_mutes(fabric, rest.substr(kMutes.size()), request);
  if (request.method != "GET") return error_answer(405, "only GET is allowed here");
  if (rest == "mutes") return mutes(fabric);
  const auto view = fabric.live->view();
  if (view.fabric == nullptr) return error_answer(503, "the fabric is not known yet");
  if (rest == "layout") return of_made(layout(fabric, view), request);
  if (rest == "state") return state(fabric, view, request);
  if (rest == "blacklist") return blacklist_of(fabric, view);
  if (rest == "counters") return counters_of(fabric, view);
  if (rest == "incidents") return incidents_of(fabric, view, request);
  if (rest.starts_with(kLinks)) return link_of(fabric, view, rest.substr(kLinks.size()), request);
  return error_answer(404, "there is no such page");
}

PageAnswer PageRoutes::answer(const PageRequest& request) const {
  if (request.path.starts_with(kFabrics)) {
    if (request.path == kFabrics && request.method == "GET") return fabrics(request);
    for (const PageFabric& fabric : setup_.fabrics) {
      const auto start = fmt::format("{}/{}/", kFabrics, fabric.name);
      if (request.path.starts_with(start))
        return of_fabric(fabric, request.path.substr(start.size()), request);
    }
    if (request.is_passed_on) return error_answer(404, "there is no such fabric here");
    for (const auto& other : setup_.elsewhere) {
      if (!request.path.starts_with(fmt::format("{}/{}/", kFabrics, other->name()))) continue;
      if (request.method != "GET" && is_of_other_site(request)) return *refused_change(request);
      return other->ask(request);
    }
    return error_answer(404, "there is no such fabric");
  }
  if (request.method != "GET") return error_answer(405, "only GET is allowed here");
  if (request.path == "/metrics" && setup_.metrics) {
    const auto asked = request.query.find("all");
    const bool all = asked != request.query.end() && asked->second == "1";
    // Of a large fabric they are a hundred megabytes.
    std::unique_lock alone(all_metrics_, std::defer_lock);
    if (all && !alone.try_lock()) return error_answer(503, "somebody else asks for all metrics: try again");
    auto answer = json_answer(setup_.metrics(all));
    answer.type = "text/plain; version=0.0.4; charset=utf-8";
    return answer;
  }
  return of_asset(request);
}

}  // namespace weft::web
