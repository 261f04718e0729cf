#include "topology/files/observation_lines.hpp"

#include <deque>

#include "topology/base/outside_text.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/json_view.hpp"
#include "topology/files/observation_members.hpp"
#include "topology/files/repeated_rows.hpp"

namespace weft::files {
namespace {

template <class... Args>
tl::unexpected<Error> broken(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorKind::invalid_input, format, std::forward<Args>(args)...);
}

}  // namespace

class ObservationReader::Impl {
 public:
  explicit Impl(const Fabric& fabric) : rows_(fabric) {}

  void feed(std::string_view bytes) {
    while (true) {
      const auto end = bytes.find('\n');
      if (end == std::string_view::npos) return keep(bytes);
      if (rest_.empty() && !overlong_) {
        add_line(bytes.substr(0, end));
      } else {
        keep(bytes.substr(0, end));
        end_kept_line();
      }
      bytes.remove_prefix(end + 1);
    }
  }

  ReadObservations finish() {
    if (!rest_.empty() || overlong_) end_kept_line();
    read_.observations = std::move(rows_).finish();
    return std::move(read_);
  }

 private:
  /// Half a line, until its end comes; of one that is too long nothing is kept.
  void keep(std::string_view bytes) {
    if (rest_.size() + bytes.size() > kMaxLineLength) overlong_ = true;
    if (overlong_) {
      rest_.clear();
    } else {
      rest_ += bytes;
    }
  }
  void end_kept_line() {
    if (overlong_) {
      ++number_;
      ++read_.lines;
      note(fmt::format("longer than {} bytes", kMaxLineLength));
    } else {
      add_line(rest_);
    }
    rest_.clear();
    overlong_ = false;
  }

  void add_line(std::string_view line) {
    ++number_;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
    ++read_.lines;
    const Result<void> added = line.size() > kMaxLineLength ? broken("longer than {} bytes", kMaxLineLength)
                               : scan_probe_line(line, probe_) ? add_usual(line)
                                                               : add_unusual(line);
    if (!added) note(added.error().message);
  }

  /// Tells a row that was read before from a new one, and takes back those just before it that turn out to be
  /// repeats.
  bool is_repeat(const RepeatedRows::Row& row) {
    const auto [repeat, before] = repeated_.next(row);
    if (!repeat) {
      ends_.push_back(rows_.ends());
      if (ends_.size() > RepeatedRows::kMinRow) ends_.pop_front();
      return false;
    }
    if (read_.repeated == 0) read_.first_repeated = number_ - before;
    read_.repeated += 1 + before;
    if (before > 0) {
      rows_.take_back_to(ends_[ends_.size() - before]);
      ends_.clear();
    }
    return true;
  }
  Result<void> add_usual(std::string_view line) {
    if (is_repeat({line, probe_.row, probe_.start_us.has_value()})) return {};
    return rows_.add(probe_);
  }
  Result<void> add_unusual(std::string_view line) {
    WEFT_TRY(const auto json, parse_json(line, "line"));
    const JsonView view(json, "line");
    WEFT_TRY(const auto number, read_count(view, "row", 0));
    const auto row = view.find("row") ? std::optional(number) : std::nullopt;
    if (is_repeat({line, row, view.find("window").has_value()})) return {};
    return rows_.add(view);
  }
  void note(const std::string& message) {
    ++read_.broken;
    if (read_.first_broken.size() < kNamed) read_.first_broken.push_back({number_, outside_text(message)});
  }

  ObservationRows rows_;
  ReadObservations read_;     // its observations stay in rows_ until the end
  std::uint64_t number_ = 0;  // of the line last read
  std::string rest_;
  bool overlong_ = false;
  ProbeLine probe_;
  RepeatedRows repeated_;
  std::deque<ObservationRows::Ends> ends_;  // before each of the last rows
};

ObservationReader::ObservationReader(const Fabric& fabric) : impl_(std::make_unique<Impl>(fabric)) {}
ObservationReader::~ObservationReader() = default;
void ObservationReader::feed(std::string_view bytes) { impl_->feed(bytes); }
ReadObservations ObservationReader::finish() && { return impl_->finish(); }

Result<ReadObservations> read_observation_file(const Fabric& fabric, const std::filesystem::path& path) {
  ObservationReader reader(fabric);
  WEFT_TRY_VOID(read_pieces(path, [&reader](std::string_view piece) -> Result<void> {
    reader.feed(piece);
    return {};
  }));
  return std::move(reader).finish();
}

}  // namespace weft::files
