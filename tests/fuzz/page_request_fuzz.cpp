// Requests to the live page: the first line is a method and a path with its query, the second an
// Authorization, the rest a body. Whatever comes, there is an answer with a known status.
#include <cstdint>
#include <string>
#include <string_view>

#include "collectors/web/page_routes.hpp"
#include "topology/base/check.hpp"
#include "topology/model/clos.hpp"

namespace {

using namespace weft;

class Nothing final : public web::LiveSource, public web::HistorySource, public web::MuteSource {
 public:
  web::LiveView view() const override {
    static const auto fabric = std::make_shared<const Fabric>(
        make_clos({.name = "lab", .leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value());
    static const auto state = std::make_shared<const watch::WatchState>();
    return {fabric, state};
  }
  Result<std::vector<web::CrossingPath>> paths_over(LinkId, std::size_t) const override { return {}; }
  web::TimeRange kept() const override { return {}; }
  Result<std::vector<Incident>> incidents(web::TimeRange range, std::size_t) const override {
    WEFT_CHECK(range.from <= range.to);
    return {};
  }
  Result<std::vector<web::LinkSums>> link_sums(LinkId link, web::TimeRange, std::size_t) const override {
    WEFT_CHECK(link.value() < view().fabric->link_count());
    return {};
  }
  Result<std::vector<web::ChannelSum>> sums_at(Nanoseconds) const override { return {}; }
  Result<std::vector<web::StandingMute>> mutes() const override { return {}; }
  Result<void> add(const web::MuteWish& wish) override {
    WEFT_CHECK(!wish.place.empty() && wish.length > Nanoseconds{} && !wish.reason.empty());
    WEFT_CHECK(wish.after >= Nanoseconds{} && !wish.who.empty());
    return {};
  }
  Result<void> remove(std::string_view) override { return {}; }
};

std::string_view take_until(std::string_view& text, char mark) {
  const auto at = std::min(text.find(mark), text.size());
  const auto part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Nothing nothing;
  static const web::PageRoutes routes(
      {.fabrics = {{"lab", &nothing, &nothing, &nothing}}, .token = "0123456789abcdef"});
  std::string_view text(reinterpret_cast<const char*>(data), size);
  web::PageRequest request;
  auto line = take_until(text, '\n');
  request.method = take_until(line, ' ');
  request.path = take_until(line, '?');
  while (!line.empty()) {
    auto pair = take_until(line, '&');
    const std::string name(take_until(pair, '='));
    request.query.emplace(name, pair);
  }
  request.authorization = take_until(text, '\n');
  request.takes_gzip = size % 2 == 0;
  request.body = text;
  const auto answer = routes.answer(request);
  WEFT_CHECK(answer.status >= 200 && answer.status < 600);
  WEFT_CHECK(answer.status == 304 || answer.body != nullptr);
  return 0;
}
