// Reads observation lines (docs/schema/observation.schema.json), as a stream: feed() takes the bytes as they
// come, cut anywhere. A line that is broken or contradicts the fabric is counted and named by its number, one
// that repeats a row before it is counted; the rest is used. Lines of probes in the shape that
// observation_lines() writes are scanned by hand (half a million a second and more); whatever looks unusual
// goes to the JSON library. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/result.hpp"
#include "topology/findings/observation.hpp"

namespace weft {
class Fabric;
}

namespace weft::files {

struct BrokenLine {
  std::uint64_t line = 0;  // from 1
  std::string message;     // what is wrong with it
};

struct ReadObservations {
  Observations observations;
  std::uint64_t lines = 0;               // not blank
  std::uint64_t broken = 0;              // of these
  std::vector<BrokenLine> first_broken;  // up to ObservationReader::kNamed
  std::uint64_t repeated = 0;            // left out: rows that were read before (repeated_rows.hpp)
  std::uint64_t first_repeated = 0;      // the line where they begin; 0: none
};

class ObservationReader {
 public:
  static constexpr std::size_t kNamed = 20;
  /// Above any line a run writes: 64 paths of ten long names each.
  static constexpr std::size_t kMaxLineLength = 1 << 20;

  /// The fabric must outlive the reader.
  explicit ObservationReader(const Fabric& fabric);
  ~ObservationReader();

  void feed(std::string_view bytes);
  /// Everything read; a last line without its newline counts. The reader is done for.
  ReadObservations finish() &&;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Reads a whole file; an Error only where it cannot be opened or read.
Result<ReadObservations> read_observation_file(const Fabric& fabric, const std::filesystem::path& path);

}  // namespace weft::files
