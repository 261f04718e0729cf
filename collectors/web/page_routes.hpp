// PageRoutes: from a request to the page to its answer, as values: no socket, no clock. Thread-safe. What is
// asked again and again (the layout, the state) is made once for each version.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
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
  bool takes_gzip = false;
  std::string body = {};
};

struct PageAnswer {
  int status = 200;
  std::string type = "application/json; charset=utf-8";
  std::shared_ptr<const std::string> body = nullptr;  // null: none
  std::string etag = {};                              // empty: not to be kept
  bool gzipped = false;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

struct PageSetup {
  std::vector<PageFabric> fabrics;
  std::function<std::string()> metrics = {};  // for /metrics; empty: not found
  std::optional<std::string> token = {};      // who has it may change something; absent: nobody
  std::string boot = {};                      // of this server's start: versions of others are not its own
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
  PageAnswer fabrics() const;
  PageAnswer of_fabric(const PageFabric& fabric, const std::string& rest, const PageRequest& request) const;
  Made layout(const PageFabric& fabric, const LiveView& view) const;
  PageAnswer state(const PageFabric& fabric, const LiveView& view, const PageRequest& request) const;
  PageAnswer mutes(const PageFabric& fabric, const PageRequest& request) const;

  PageSetup setup_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Made> made_;
};

/// An answer of an error: {"error": ...}.
PageAnswer error_answer(int status, std::string_view message);

}  // namespace weft::web
