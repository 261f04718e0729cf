// FakeChangeLog: the changes of a shared ledger in memory, for several ends. It may go away, keep a change
// without a word, lose what it has, and have another one come before.
#pragma once

#include <deque>
#include <functional>

#include "probes/watch/seams.hpp"

namespace weft::fakes {

class FakeChangeLog : public watch::ChangeLog {
 public:
  std::deque<watch::StoredChange> kept;
  std::uint64_t last_sequence = 0;
  bool is_away = false;
  int answers_lost = 0;                      // of the next appends: kept, and not said
  std::function<void()> before_append = {};  // once

  Result<std::uint64_t> append(std::uint64_t last, std::string_view text) override {
    if (before_append) std::exchange(before_append, nullptr)();
    if (is_away) return away();
    if (last != (kept.empty() ? 0 : kept.back().sequence))
      return fail(ErrorKind::conflict, "another message came before");
    kept.push_back({++last_sequence, std::string(text)});
    if (answers_lost > 0) return --answers_lost, fail(ErrorKind::timeout, "no answer in 4 s");
    return last_sequence;
  }
  Result<std::optional<watch::StoredChange>> last() override {
    if (is_away) return away();
    return kept.empty() ? std::nullopt : std::optional(kept.back());
  }
  Result<std::optional<watch::StoredChange>> next(std::uint64_t sequence) override {
    if (is_away) return away();
    for (const watch::StoredChange& change : kept)
      if (change.sequence > sequence) return change;
    return std::optional<watch::StoredChange>();
  }

 private:
  static tl::unexpected<Error> away() { return fail(ErrorKind::absent, "no NATS server answers"); }
};

}  // namespace weft::fakes
