// RepeatedRows: which rows of a file of observations were read before. The same rows twice say nothing more,
// but would count twice. A row with a number of its own is a repeat of an equal row. Of rows without numbers
// a run may hold two that are equal, for a plan may send the same twice at the same time; so these are
// repeats only where kMinRow rows in a row, each with its time, are equal to rows in a row before. Rows
// without number and time cannot be told from new ones. Private to topology/files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weft::files {

class RepeatedRows {
 public:
  /// Of the rows of sweeps without numbers no two in a row repeat two in a row.
  static constexpr std::size_t kMinRow = 4;

  struct Row {
    std::string_view text;
    std::optional<std::uint64_t> number = std::nullopt;
    bool has_time = false;
  };
  struct Answer {
    bool is_repeat = false;
    std::size_t before = 0;  // rows just before it, taken for new until now, that are repeats too
  };
  Answer next(const Row& row);

 private:
  using Index = std::uint32_t;

  bool is_read(std::uint64_t number, std::uint64_t hash);

  std::vector<std::uint64_t> rows_;  // hashes of those without number, in the order of the file
  std::unordered_map<std::uint64_t, Index> first_;  // where a row stands first
  /// As long as numbers rise no row can be equal to one before: these hashes are not in first_ yet.
  std::vector<std::uint64_t> rising_;
  std::uint64_t highest_ = 0;  // of their numbers
  Index like_ = 0;             // the next row is a repeat if it is equal to this one
  std::size_t alike_ = 0;      // rows in a row that were
};

}  // namespace weft::files
