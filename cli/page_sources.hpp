// What the live page of `weft watch` shows beside the latest state: the history in the database of --state,
// the links of --blacklist, and the paths that the watcher knows. Thread-safe, as the page asks.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>

#include "collectors/store/database.hpp"
#include "collectors/web/page_source.hpp"
#include "probes/watch/watcher.hpp"

namespace weft::cli {

/// The page's threads share one connection that reads. The fabric outlives it.
class StoredHistory final : public web::HistorySource {
 public:
  StoredHistory(store::Database database, const Fabric& fabric)
      : database_(std::move(database)), fabric_(fabric) {}

  web::TimeRange kept() const override;
  Result<std::vector<Incident>> incidents(web::TimeRange range, std::size_t most) const override;
  Result<std::vector<web::LinkSums>> link_sums(LinkId link, web::TimeRange range,
                                               std::size_t most) const override;
  Result<std::vector<web::ChannelSum>> sums_at(Nanoseconds at) const override;

 private:
  mutable std::mutex mutex_;
  mutable store::Database database_;
  const Fabric& fabric_;
};

/// At most about `most` buckets, in which neighbours are added up; none of them holds a gap.
std::vector<web::LinkSums> coarser(std::vector<web::LinkSums> sums, std::size_t most);

/// A blacklist (`weft.blacklist/1`) of this fabric, read again when the file has changed.
class FileBlacklist final : public web::AvoidSource {
 public:
  FileBlacklist(std::filesystem::path file, const Fabric& fabric) : file_(std::move(file)), fabric_(fabric) {}
  web::Avoided avoided() const override;

 private:
  struct Seen {
    std::filesystem::file_time_type changed;
    std::uintmax_t size = 0;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  void read() const;

  const std::filesystem::path file_;
  const Fabric& fabric_;
  mutable std::mutex mutex_;
  mutable std::optional<Seen> seen_;
  mutable web::Avoided avoided_;
};

/// Questions of the page's threads to the thread of the watch, which alone may look at the watcher.
class AskedPaths {
 public:
  /// Waits two seconds at most. Error: timeout, the watch is busy. Empty while no watcher is active here.
  Result<std::vector<web::CrossingPath>> ask(LinkId link, std::size_t most);
  /// By the thread of the watch, at least once a second while it is the active one.
  void answer(const watch::Watcher& watcher, Nanoseconds now);

 private:
  struct Question {
    LinkId link;
    std::size_t most = 0;
    std::optional<std::vector<web::CrossingPath>> answer = std::nullopt;
  };
  std::mutex mutex_;
  std::condition_variable answered_;
  std::vector<std::shared_ptr<Question>> asked_;
  std::optional<std::chrono::steady_clock::time_point> last_;  // call of answer()
};

}  // namespace weft::cli
