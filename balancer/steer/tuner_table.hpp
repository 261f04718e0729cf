// Which algorithm and protocol NCCL is to take for which message size, as one line of text. The line travels
// in the environment of a job (WEFT_NCCL_TUNER), not in a file: all ranks of a communicator must decide
// alike, a launcher gives all of them one environment, and a file may change, or be missing on one host,
// between two ranks' starts. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/result.hpp"

namespace weft::steer {

/// The numbers of ncclFunc_t, of NCCL_ALGO_* and of NCCL_PROTO_* (NCCL 2.28, nccl_common.h,
/// plugin/nccl_tuner.h).
enum class NcclFunction : std::uint8_t { broadcast, reduce, all_gather, reduce_scatter, all_reduce };
enum class NcclAlgorithm : std::uint8_t { tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, pat };
enum class NcclProtocol : std::uint8_t { ll, ll128, simple };
std::string_view to_string(NcclFunction function);
std::string_view to_string(NcclAlgorithm algorithm);
std::string_view to_string(NcclProtocol protocol);
/// Absent: no such word.
std::optional<NcclFunction> parse_nccl_function(std::string_view word);
std::optional<NcclAlgorithm> parse_nccl_algorithm(std::string_view word);
std::optional<NcclProtocol> parse_nccl_protocol(std::string_view word);

struct TunerRow {
  NcclFunction function = NcclFunction::all_reduce;
  std::uint32_t ranks = 2;  // of the communicator: a row is for one of just this size
  std::uint32_t nodes = 1;
  std::uint64_t up_to = 0;  // bytes, inclusive; of rows of one kind the first that is large enough holds
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  std::uint32_t channels = 0;  // 0: as many as NCCL takes
  friend auto operator<=>(const TunerRow&, const TunerRow&) = default;
};

struct TunerTable {
  std::uint64_t epoch = 0;  // of two tables the later one has the higher
  std::vector<TunerRow> rows;
  friend bool operator==(const TunerTable&, const TunerTable&) = default;
};

inline constexpr std::size_t kMaxTunerRows = 1024;
inline constexpr std::size_t kMaxTunerText =
    65'536;  // Linux: one variable of an environment has 128 KB at most
inline constexpr std::uint32_t kMaxNcclChannels = 64;  // MAXCHANNELS of NCCL 2.28
inline constexpr std::uint32_t kMaxTunerRanks = 1U << 20U;

/// Of letters, digits and `_/:-` alone, so that a shell, Slurm and YAML take it as it is. Rows are put in
/// order. Errors: invalid_input (rows that decode_tuner would refuse).
Result<std::string> encode_tuner(const TunerTable& table);

/// The same text gives the same table or the same refusal on every rank. A line feed at its end does not
/// matter. Errors: invalid_input (no table, of another version, changed: its checksum does not fit; a row
/// that says nothing NCCL knows, or the same as another; rows out of order).
Result<TunerTable> decode_tuner(std::string_view text);

/// FNV-1a of the text as it is: what tells two tables of one epoch apart.
std::uint64_t tuner_checksum(std::string_view text);

/// What NCCL asks of one collective: the costs of algorithms (rows) by protocols (columns), below zero where
/// it cannot be done.
struct CostTable {
  std::span<float> costs;
  std::size_t protocols = 0;
};

/// The table for the communicators of one size.
class CommunicatorTuner {
 public:
  CommunicatorTuner(const TunerTable& table, std::uint64_t ranks, std::uint64_t nodes);
  /// Makes the cost of the row's choice 0, the least there is, and says how many channels it takes (0: as
  /// many as NCCL does). Absent: no row holds, or what it says cannot be done here; then the costs are as
  /// they were.
  std::optional<std::uint32_t> choose(std::uint64_t function, std::uint64_t bytes, CostTable costs) const;

 private:
  std::array<std::vector<TunerRow>, 5> rows_;  // by function, then by bytes
};

}  // namespace weft::steer
