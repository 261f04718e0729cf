#include "collectors/web/other_page.hpp"

#include <fmt/format.h>
#include <httplib.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <semaphore>
#include <thread>

#include "collectors/web/loopback.hpp"
#include "topology/base/json_limits.hpp"
#include "topology/files/json_fields.hpp"

namespace weft::web {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kConnect = 1s;
constexpr auto kRead = 3s;                     // for its next bytes; twice that for all
constexpr auto kInterval = 5s;                 // between two questions how the fabric is
constexpr std::size_t kMaxBytes = 16'000'000;  // of an answer
constexpr std::ptrdiff_t kMaxAtOnce = 2;       // of the eight threads of this page
constexpr auto kRoom = 1s;                     // for one of them: a view asks for several things at once
constexpr JsonLimits kRowLimits{.bytes = 1'000'000, .depth = 8, .values = 20'000};

struct Place {
  std::string host;
  int port = 80;
};

Result<Place> place_of(const std::string& url) {
  const auto refused = [&] {
    return fail(ErrorKind::usage, "'{}': expected http://HOST:PORT, where another weft watch has its page",
                url);
  };
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return refused();
  auto rest = url.substr(kScheme.size());
  if (rest.ends_with('/')) rest.pop_back();
  const auto colon = rest.rfind(':');
  Place place{rest.substr(0, colon)};
  if (colon != std::string::npos) {
    const auto* end = rest.data() + rest.size();
    const auto read = std::from_chars(rest.data() + colon + 1, end, place.port);
    if (read.ec != std::errc() || read.ptr != end || place.port < 1 || place.port > 65535) return refused();
  }
  const bool is_name = std::ranges::all_of(
      place.host, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-'; });
  if (place.host.empty() || !is_name) return refused();
  return place;
}

/// All but letters, digits and a few others, and the slashes between parts.
std::string encoded(std::string_view text, bool keeps_slashes) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_' || c == '~' ||
        (c == '/' && keeps_slashes))
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string target_of(const PageRequest& request) {
  std::string target = encoded(request.path, true);
  char mark = '?';
  for (const auto& [name, value] : request.query) {
    target += fmt::format("{}{}={}", mark, encoded(name, false), encoded(value, false));
    mark = '&';
  }
  return target;
}

Result<FabricRow> fabric_row(const files::JsonView& view) {
  const auto as_verdict = files::as_word(&parse_verdict, "a verdict");
  FabricRow row;
  const auto flag = [&](std::string_view name, bool& to) {
    return read_member(view, name, to, files::as_boolean);
  };
  WEFT_TRY_VOID(in_turn(
      [&] { return need_member(view, "name", row.name, files::as_text); },
      [&] { return read_member(view, "nics", row.nics, files::as_count); },
      [&] { return read_member(view, "incidents", row.incidents, files::as_count); },
      [&] { return read_member(view, "at", row.at, files::as_count); },
      [&] { return flag("history", row.history); }, [&] { return flag("mutes", row.mutes); },
      [&] { return flag("blacklist", row.blacklist); }, [&] { return flag("counters", row.counters); },
      [&] { return flag("may_change", row.may_change); }));
  if (const auto verdict = view.find("verdict")) {
    WEFT_TRY(row.verdict, as_verdict(*verdict));
  }
  return row;
}

class HttpPage final : public Elsewhere {
 public:
  HttpPage(std::string fabric, Place place)
      : fabric_(std::move(fabric)), place_(std::move(place)), thread_([this](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          while (!stop.stop_requested()) {
            lock.unlock();
            auto row = ask_for_row();
            lock.lock();
            row_ = std::move(row);
            ended_.wait_for(lock, stop, kInterval, [] { return false; });
          }
        }) {}

  std::string name() const override { return fabric_; }

  FabricRow row() const override {
    const std::scoped_lock lock(mutex_);
    return row_;
  }

  PageAnswer ask(const PageRequest& request) const override {
    if (request.method != "GET" && !is_loopback(place_.host))
      return error_answer(403, "a token would go to " + place_.host + " in clear: change it on its own page");
    if (!room_.try_acquire_for(kRoom))
      return error_answer(503, "the page of " + fabric_ + " is slow: try again");
    const auto answer = fetch(request);
    room_.release();
    return answer ? *answer : error_answer(503, answer.error().message);
  }

 private:
  Result<PageAnswer> fetch(const PageRequest& request) const {
    const auto end = Clock::now() + 2 * kRead;
    httplib::Client client(place_.host, place_.port);
    client.set_connection_timeout(kConnect);
    client.set_read_timeout(kRead);
    client.set_write_timeout(kRead);
    client.set_url_encode(false);
    client.set_decompress(false);
    httplib::Request out;
    out.method = request.method;
    out.path = target_of(request);
    out.body = request.body;
    out.set_header(std::string(kPassedOn), "1");
    out.set_header("Accept-Encoding", request.takes_gzip ? "gzip" : "identity");
    if (!request.authorization.empty()) out.set_header("Authorization", request.authorization);
    if (!request.if_none_match.empty()) out.set_header("If-None-Match", '"' + request.if_none_match + '"');
    if (!request.body.empty()) out.set_header("Content-Type", "application/json");
    auto body = std::make_shared<std::string>();
    out.content_receiver = [&](const char* data, size_t size, std::uint64_t, std::uint64_t) {
      body->append(data, size);
      return body->size() <= kMaxBytes && Clock::now() < end;
    };
    const auto back = client.send(out);
    if (!back)
      return fail(ErrorKind::absent, "the page of {} at {}:{} does not answer ({})", fabric_, place_.host,
                  place_.port, to_string(back.error()));
    PageAnswer answer{.status = back->status, .body = std::move(body)};
    if (answer.status == 304) answer.body = nullptr;
    auto etag = back->get_header_value("ETag");
    if (etag.size() > 2 && etag.front() == '"') answer.etag = etag.substr(1, etag.size() - 2);
    answer.gzipped = back->get_header_value("Content-Encoding") == "gzip";
    for (const std::string& name : {std::string("Weft-At"), std::string(kNow)})
      if (back->has_header(name)) answer.headers.emplace_back(name, back->get_header_value(name));
    return answer;
  }

  /// How the fabric is, or why that is not known.
  FabricRow ask_for_row() const {
    FabricRow row{.name = fabric_};
    const auto answer = fetch({.path = "/api/v1/fabrics"});
    if (!answer) {
      row.trouble = answer.error().message;
      return row;
    }
    auto read = read_row(answer->body ? *answer->body : "");
    if (!read) {
      row.trouble = read.error().message;
      return row;
    }
    read->at = in_own_clock(read->at, *answer);
    return *std::move(read);
  }

  /// A time that the other server told.
  static std::uint64_t in_own_clock(std::uint64_t at, const PageAnswer& answer) {
    const auto found = std::ranges::find(answer.headers, kNow, &std::pair<std::string, std::string>::first);
    std::uint64_t theirs = 0;
    if (found != answer.headers.end())
      std::from_chars(found->second.data(), found->second.data() + found->second.size(), theirs);
    const auto own = std::chrono::system_clock::now().time_since_epoch() / 1ms;
    return at == 0 || theirs < at ? at : static_cast<std::uint64_t>(own) - (theirs - at);
  }

  Result<FabricRow> read_row(std::string_view text) const {
    WEFT_TRY_VOID(check_json_limits(text, kRowLimits));
    const auto what = fmt::format("the page of {}", fabric_);
    WEFT_TRY(const auto json, files::parse_json(text, what));
    WEFT_TRY(const auto list, files::JsonView(json, what).need("fabrics"));
    WEFT_TRY(const auto rows, files::read_array<FabricRow>(list, fabric_row));
    const auto found = std::ranges::find(rows, fabric_, &FabricRow::name);
    if (found != rows.end()) return *found;
    return fail(ErrorKind::not_found, "the page at {}:{} has no fabric '{}'", place_.host, place_.port,
                fabric_);
  }

  const std::string fabric_;
  const Place place_;
  mutable std::counting_semaphore<kMaxAtOnce> room_{kMaxAtOnce};
  mutable std::mutex mutex_;
  std::condition_variable_any ended_;
  FabricRow row_{.name = fabric_, .trouble = "its page was not asked yet"};
  std::jthread thread_;
};

}  // namespace

Result<std::shared_ptr<Elsewhere>> other_page(const std::string& fabric, const std::string& url) {
  WEFT_TRY(auto place, place_of(url));
  if (fabric.empty() || fabric.find('/') != std::string::npos)
    return fail(ErrorKind::usage, "'{}' is no name of a fabric", fabric);
  return std::shared_ptr<Elsewhere>(std::make_shared<HttpPage>(fabric, std::move(place)));
}

}  // namespace weft::web
