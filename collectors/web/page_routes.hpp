// PageRoutes: from a request to the page to its answer, as values: no socket, no clock. Thread-safe. What is
// asked again and again (the layout, the state) is made once for each version.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collectors/web/page_source.hpp"

namespace weft::web {

struct PageRequest {
  std::string method = "GET";  // GET stands for HEAD too
  std::string path;            // decoded, without the query
  std::map<std::string, std::string> query = {};
  std::string if_none_match = {};
  std::string authorization = {};
  std::string origin = {};      // of the page that sends it, where a browser says so
  std::string fetch_site = {};  // Sec-Fetch-Site: how that page and this server are related
  std::string host = {};        // the name by which this server was asked
  bool takes_gzip = false;
  bool is_passed_on = false;  // by another page, which shows this one's fabrics
  std::string body = {};
};

/// The header of each answer: the server's wall clock in milliseconds since 1970. With Weft-At, when the
/// state was made, it says how old that is, whatever the clock of a browser.
inline constexpr std::string_view kNow = "Weft-Now";
/// The header of what is passed on.
inline constexpr std::string_view kPassedOn = "Weft-Passed-On";

struct PageAnswer {
  int status = 200;
  std::string type = "application/json; charset=utf-8";
  std::shared_ptr<const std::string> body = nullptr;  // null: none
  std::string etag = {};                              // empty: not to be kept
  bool gzipped = false;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// What the list of fabrics says of one.
struct FabricRow {
  std::string name;
  std::uint64_t nics = 0;
  std::uint64_t incidents = 0;
  std::uint64_t at = 0;  // of its state, in milliseconds since 1970; 0: there is none yet
  bool history = false;
  bool mutes = false;
  bool blacklist = false;
  bool counters = false;
  bool may_change = false;
  std::optional<Verdict> verdict = std::nullopt;
  std::string trouble = {};  // why nothing is known of it
};

/// A fabric of which another page knows. Thread-safe.
class Elsewhere {
 public:
  virtual ~Elsewhere() = default;
  virtual std::string name() const = 0;
  virtual FabricRow row() const = 0;
  /// Answers as PageRoutes does, within some seconds.
  virtual PageAnswer ask(const PageRequest& request) const = 0;
};

struct PageSetup {
  std::vector<PageFabric> fabrics;
  std::vector<std::shared_ptr<Elsewhere>> elsewhere = {};  // of other names
  /// For /metrics, of what is not healthy or (?all=1) of all channels; empty: not found.
  std::function<std::string(bool all)> metrics = {};
  std::optional<std::string> token = {};  // who has it may change something; absent: nobody
  std::string boot = {};                  // of this server's start: versions of others are not its own
};

class PageRoutes {
 public:
  explicit PageRoutes(PageSetup setup);
  PageAnswer answer(const PageRequest& request) const;

 private:
  /// What was made of one object and version, for as long as that is the newest.
  struct Made {
    std::shared_ptr<const void> of;
    std::string version;
    std::shared_ptr<const std::string> plain;
    std::shared_ptr<const std::string> packed;
    std::string etag;
  };
  using MakeText = std::function<std::string()>;

  /// `make` makes the text under the lock: it asks for nothing else that is made.
  Made made(const std::string& key, const std::shared_ptr<const void>& of, const std::string& version,
            const MakeText& make) const;
  static PageAnswer of_made(const Made& made, const PageRequest& request);
  PageAnswer fabrics(const PageRequest& request) const;
  FabricRow row_of(const PageFabric& fabric) const;
  PageAnswer of_asset(const PageRequest& request) const;
  PageAnswer of_fabric(const PageFabric& fabric, const std::string& rest, const PageRequest& request) const;
  Made layout(const PageFabric& fabric, const LiveView& view) const;
  PageAnswer state(const PageFabric& fabric, const LiveView& view, const PageRequest& request) const;
  static PageAnswer mutes(const PageFabric& fabric);
  std::optional<PageAnswer> refused_change(const PageRequest& request) const;
  PageAnswer changed_mutes(const PageFabric& fabric, const std::string& place,
                           const PageRequest& request) const;

  PageSetup setup_;
  mutable std::mutex mutex_;
  mutable std::mutex all_metrics_;  // one answer of them at a time
  mutable std::map<std::string, Made> made_;
};

/// An answer of an error: {"error": ...}.
PageAnswer error_answer(int status, std::string_view message);

}  // namespace weft::web
