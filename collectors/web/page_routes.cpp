#include "collectors/web/page_routes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "collectors/web/assets.hpp"
#include "collectors/web/gzip.hpp"
#include "collectors/web/layout_json.hpp"
#include "collectors/web/link_json.hpp"
#include "collectors/web/mute_wish.hpp"
#include "collectors/web/state_json.hpp"

namespace weft::web {
namespace {

using files::DocumentTree;

constexpr std::string_view kFabrics = "/api/v1/fabrics";
constexpr std::size_t kMostListed = 500;  // incidents of a range

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
  constexpr std::int64_t kMost = 9'000'000'000'000;  // the year 2255: as nanoseconds it fits
  std::int64_t number = 0;
  const std::string& text = found->second;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || number < 0 || number > kMost)
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
  const auto incidents = fabric.history->incidents(*range, kMostListed);
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
  auto incidents = fabric.history->incidents({*at, *at + std::chrono::milliseconds(1)}, kMostListed);
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

PageAnswer of_asset(const std::string& path, const PageRequest& request) {
  const auto all = assets();
  const auto asset =
      std::ranges::find(all, path == "/" ? std::string_view("/index.html") : path, &Asset::path);
  if (asset == all.end()) return error_answer(404, "there is no such page");
  PageAnswer answer{.type = std::string(asset->type), .etag = std::string(asset->hash)};
  if (request.if_none_match == answer.etag)
    answer.status = 304;
  else
    answer.body = std::make_shared<const std::string>(asset->text);
  return answer;
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

PageAnswer PageRoutes::mutes(const PageFabric& fabric, const PageRequest& request) const {
  if (fabric.mutes == nullptr) return error_answer(501, "this watcher keeps no mutes");
  if (request.method == "GET") {
    const auto mutes = fabric.mutes->mutes();
    if (!mutes) return refused(mutes.error());
    auto list = DocumentTree::array();
    for (const StandingMute& mute : *mutes)
      list.push_back({{"place", mute.place}, {"reason", mute.reason}, {"until", milliseconds(mute.until)}});
    return json_answer(files::document_line({{"mutes", std::move(list)}}));
  }
  if (!setup_.token)
    return error_answer(403,
                        "this page is read-only: start the watcher with a token file, or use weft mute add");
  if (!is_bearer(request.authorization, *setup_.token)) {
    auto answer = error_answer(401, "the token is missing or wrong");
    answer.headers.emplace_back("WWW-Authenticate", "Bearer");
    return answer;
  }
  const auto wish = parse_mute_wish(request.body);
  if (!wish) return refused(wish.error());
  if (const auto added = fabric.mutes->add(*wish); !added) return refused(added.error());
  auto answer = json_answer("{}");
  answer.status = 201;
  return answer;
}

PageAnswer PageRoutes::fabrics() const {
  auto list = DocumentTree::array();
  for (const PageFabric& fabric : setup_.fabrics) {
    const auto view = fabric.live->view();
    DocumentTree row{{"name", fabric.name},
                     {"nics", view.fabric ? view.fabric->nics().size() : 0},
                     {"history", fabric.history != nullptr},
                     {"mutes", fabric.mutes != nullptr}};
    if (view.state) {
      row["verdict"] = to_string(view.state->verdict);
      row["incidents"] = view.state->incidents.size();
    }
    list.push_back(std::move(row));
  }
  return json_answer(
      files::document_line({{"fabrics", std::move(list)}, {"may_change", setup_.token.has_value()}}));
}

PageAnswer PageRoutes::of_fabric(const PageFabric& fabric, const std::string& rest,
                                 const PageRequest& request) const {
  constexpr std::string_view kLinks = "links/";
  if (rest == "mutes") return mutes(fabric, request);
  if (request.method != "GET") return error_answer(405, "only GET is allowed here");
  const auto view = fabric.live->view();
  if (view.fabric == nullptr) return error_answer(503, "the fabric is not known yet");
  if (rest == "layout") return of_made(layout(fabric, view), request);
  if (rest == "state") return state(fabric, view, request);
  if (rest == "incidents") return incidents_of(fabric, view, request);
  if (rest.starts_with(kLinks)) return link_of(fabric, view, rest.substr(kLinks.size()), request);
  return error_answer(404, "there is no such page");
}

PageAnswer PageRoutes::answer(const PageRequest& request) const {
  if (request.path.starts_with(kFabrics)) {
    if (request.path == kFabrics && request.method == "GET") return fabrics();
    for (const PageFabric& fabric : setup_.fabrics) {
      const auto start = fmt::format("{}/{}/", kFabrics, fabric.name);
      if (request.path.starts_with(start))
        return of_fabric(fabric, request.path.substr(start.size()), request);
    }
    return error_answer(404, "there is no such fabric");
  }
  if (request.method != "GET") return error_answer(405, "only GET is allowed here");
  if (request.path == "/metrics" && setup_.metrics) {
    auto answer = json_answer(setup_.metrics());
    answer.type = "text/plain; version=0.0.4; charset=utf-8";
    return answer;
  }
  return of_asset(request.path, request);
}

}  // namespace weft::web
