#include "balancer/steer/tuner_table.hpp"

#include <algorithm>
#include <tuple>

#include "balancer/steer/label_list.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/whole_number.hpp"

namespace weft::steer {
namespace {

// weft-tuner/1:EPOCH:ROW:...:ROW:CHECKSUM with FUNCTION/RANKS/NODES/BYTES/ALGORITHM/PROTOCOL/CHANNELS as a
// row; the checksum, in hexadecimal, is of all that stands before it.
constexpr std::string_view kFormat = "weft-tuner/1";
constexpr std::size_t kRowParts = 7;
constexpr std::array<std::string_view, 5> kFunctions{"broadcast", "reduce", "all_gather", "reduce_scatter",
                                                     "all_reduce"};
constexpr std::array<std::string_view, 7> kAlgorithms{
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
constexpr std::array<std::string_view, 3> kProtocols{"ll", "ll128", "simple"};

template <class Word, std::size_t kCount>
std::optional<Word> word_of(const std::array<std::string_view, kCount>& words, std::string_view text) {
  const auto found = std::ranges::find(words, text);
  if (found == words.end()) return std::nullopt;
  return static_cast<Word>(found - words.begin());
}

auto place_of(const TunerRow& row) { return std::tuple(row.function, row.ranks, row.nodes, row.up_to); }

/// Of `text` up to `mark`, which goes with it.
std::string_view take(std::string_view& text, char mark) {
  const auto end = std::min(text.find(mark), text.size());
  const auto part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

Result<TunerRow> parse_row(std::string_view text) {
  const auto all = text;
  const auto is_whole = static_cast<std::size_t>(std::ranges::count(text, '/')) == kRowParts - 1;
  const auto function = parse_nccl_function(take(text, '/'));
  const auto ranks = parse_whole_number<std::uint32_t>(take(text, '/'));
  const auto nodes = parse_whole_number<std::uint32_t>(take(text, '/'));
  const auto up_to = parse_whole_number<std::uint64_t>(take(text, '/'));
  const auto algorithm = parse_nccl_algorithm(take(text, '/'));
  const auto protocol = parse_nccl_protocol(take(text, '/'));
  const auto channels = parse_whole_number<std::uint32_t>(text);
  if (!is_whole || !function || !ranks || !nodes || !up_to || !algorithm || !protocol || !channels)
    return fail(ErrorKind::invalid_input,
                "\"{}\" is no row: expected FUNCTION/RANKS/NODES/BYTES/ALGORITHM/PROTOCOL/CHANNELS",
                outside_text(all.substr(0, 80)));
  return TunerRow{*function, *ranks, *nodes, *up_to, *algorithm, *protocol, *channels};
}

Result<void> check(const TunerTable& table) {
  if (table.rows.size() > kMaxTunerRows)
    return fail(ErrorKind::invalid_input, "{} rows: at most {}", table.rows.size(), kMaxTunerRows);
  for (const TunerRow& row : table.rows) {
    if (row.ranks < 2 || row.ranks > kMaxTunerRanks || row.nodes < 1 || row.nodes > row.ranks)
      return fail(ErrorKind::invalid_input,
                  "a row for {} ranks on {} nodes: expected 2 to {} on 1 to as many", row.ranks, row.nodes,
                  kMaxTunerRanks);
    if (row.channels > kMaxNcclChannels)
      return fail(ErrorKind::invalid_input, "a row with {} channels: at most {}", row.channels,
                  kMaxNcclChannels);
  }
  const auto twice = std::ranges::adjacent_find(
      table.rows, [](const TunerRow& a, const TunerRow& b) { return place_of(a) >= place_of(b); });
  if (twice != table.rows.end())
    return fail(ErrorKind::invalid_input, "two rows for {} of {} ranks up to {} bytes, or rows out of order",
                to_string(twice->function), twice->ranks, twice->up_to);
  return {};
}

}  // namespace

std::string_view to_string(NcclFunction function) { return kFunctions[static_cast<std::size_t>(function)]; }
std::string_view to_string(NcclAlgorithm algorithm) {
  return kAlgorithms[static_cast<std::size_t>(algorithm)];
}
std::string_view to_string(NcclProtocol protocol) { return kProtocols[static_cast<std::size_t>(protocol)]; }

std::optional<NcclFunction> parse_nccl_function(std::string_view word) {
  return word_of<NcclFunction>(kFunctions, word);
}
std::optional<NcclAlgorithm> parse_nccl_algorithm(std::string_view word) {
  return word_of<NcclAlgorithm>(kAlgorithms, word);
}
std::optional<NcclProtocol> parse_nccl_protocol(std::string_view word) {
  return word_of<NcclProtocol>(kProtocols, word);
}

std::uint64_t tuner_checksum(std::string_view text) { return checksum(std::as_bytes(std::span(text))); }

Result<std::string> encode_tuner(const TunerTable& table) {
  TunerTable ordered = table;
  std::ranges::sort(ordered.rows);
  WEFT_TRY_VOID(check(ordered));
  std::string text = fmt::format("{}:{}:", kFormat, ordered.epoch);
  for (const TunerRow& row : ordered.rows)
    text += fmt::format("{}/{}/{}/{}/{}/{}/{}:", to_string(row.function), row.ranks, row.nodes, row.up_to,
                        to_string(row.algorithm), to_string(row.protocol), row.channels);
  text += fmt::format("{:016x}", tuner_checksum(text));
  if (text.size() > kMaxTunerText)
    return fail(ErrorKind::invalid_input, "a tuner table of {} bytes: at most {}", text.size(),
                kMaxTunerText);
  return text;
}

Result<TunerTable> decode_tuner(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.size() > kMaxTunerText)
    return fail(ErrorKind::invalid_input, "a tuner table of {} bytes: at most {}", text.size(),
                kMaxTunerText);
  const auto last = text.rfind(':');
  std::string_view rest = text;
  if (const auto format = take(rest, ':'); format != kFormat)
    return fail(ErrorKind::invalid_input, "no tuner table: it begins with \"{}\", and \"{}\" is read",
                outside_text(format.substr(0, 40)), kFormat);
  const auto says = parse_whole_number<std::uint64_t>(text.substr(last + 1), 16);
  if (!says || *says != tuner_checksum(text.substr(0, last + 1)))
    return fail(ErrorKind::invalid_input, "a tuner table cut short or changed: its checksum does not fit");
  const auto epoch = parse_whole_number<std::uint64_t>(take(rest, ':'));
  if (!epoch) return fail(ErrorKind::invalid_input, "a tuner table without a number as its epoch");
  TunerTable table{*epoch, {}};
  while (rest.find(':') != std::string_view::npos) {
    if (table.rows.size() == kMaxTunerRows)
      return fail(ErrorKind::invalid_input, "a tuner table of more than {} rows", kMaxTunerRows);
    WEFT_TRY(const auto row, parse_row(take(rest, ':')));
    table.rows.push_back(row);
  }
  WEFT_TRY_VOID(check(table));
  return table;
}

CommunicatorTuner::CommunicatorTuner(const TunerTable& table, std::uint64_t ranks, std::uint64_t nodes) {
  for (const TunerRow& row : table.rows)
    if (row.ranks == ranks && row.nodes == nodes)
      rows_[static_cast<std::size_t>(row.function)].push_back(row);
}

std::optional<std::uint32_t> CommunicatorTuner::choose(std::uint64_t function, std::uint64_t bytes,
                                                       CostTable costs) const {
  if (function >= rows_.size()) return std::nullopt;
  const auto& rows = rows_[function];
  const auto row = std::ranges::lower_bound(rows, bytes, {}, &TunerRow::up_to);
  if (row == rows.end()) return std::nullopt;
  const auto protocol = static_cast<std::size_t>(row->protocol);
  const std::size_t place = static_cast<std::size_t>(row->algorithm) * costs.protocols + protocol;
  if (protocol >= costs.protocols || place >= costs.costs.size()) return std::nullopt;
  if (!(costs.costs[place] >= 0)) return std::nullopt;  // NCCL_ALGO_PROTO_IGNORE (-1)
  costs.costs[place] = 0;
  return row->channels;
}

}  // namespace weft::steer
