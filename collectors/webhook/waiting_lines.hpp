// Events as lines of a file or of standard output, whole and in order whatever the disk does: what it does
// not take waits in memory and is tried again. Not thread-safe.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "topology/base/result.hpp"

namespace weft::webhook {

/// Takes the text from its begin on; how many bytes of it. Error: none, and why.
using LineSink = std::function<Result<std::size_t>(std::string_view text)>;

/// Appends, all of a text or nothing. The file is opened each time, so that it may be moved away (logrotate);
/// it is made readable for its owner and group. Errors: not_found, permission, absent (the disk is full).
LineSink file_sink(std::filesystem::path path);
/// The descriptor stays the caller's.
LineSink descriptor_sink(int descriptor);

class WaitingLines {
 public:
  explicit WaitingLines(LineSink sink, std::size_t most = 10'000) : sink_(std::move(sink)), most_(most) {}

  /// Writes it behind those that wait. Error: it waits too; above `most` the oldest is dropped.
  Result<void> add(std::string line);
  /// Writes what waits. Error: some still does.
  Result<void> flush();
  std::size_t waiting() const { return lines_.size(); }
  std::size_t dropped() const { return dropped_; }

 private:
  LineSink sink_;
  std::size_t most_;
  std::deque<std::string> lines_;  // of the first one what is left
  bool is_begun_ = false;          // a part of the first one is written: it is not dropped
  std::size_t dropped_ = 0;
};

}  // namespace weft::webhook
