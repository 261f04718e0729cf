// Whatever the bytes, in whatever pieces: an error, or values above zero that compare with themselves; what
// is read may be shown as it is.
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "collectors/compare/comparison.hpp"
#include "collectors/compare/recorded_run.hpp"
#include "collectors/report/comparison_report.hpp"
#include "topology/base/outside_text.hpp"

namespace {

using namespace weft;

Result<compare::Run> read(std::string_view text, std::size_t piece) {
  compare::RecordedRunReader reader("fuzz");
  for (std::size_t at = 0; at < text.size(); at += piece)
    if (const auto taken = reader.take(text.substr(at, piece)); !taken) return pass_on(taken);
  return std::move(reader).finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto whole = read(text, size + 1);
  const auto pieces = read(text, 7);
  if (whole.has_value() != pieces.has_value()) std::abort();
  if (!whole) return is_harmless(whole.error().message) ? 0 : (std::abort(), 0);
  if (whole->cells.size() != pieces->cells.size() || whole->remarks != pieces->remarks) std::abort();
  for (const std::string& remark : whole->remarks)
    if (!is_harmless(remark)) std::abort();
  for (const std::string& mtu : whole->mtus)
    if (!is_harmless(mtu)) std::abort();
  for (const auto& [cell, value] : whole->cells) {
    for (const auto& word : cell.work)
      if (!is_harmless(word)) std::abort();
    if (!(value.number > 0) || !std::isfinite(value.number) || !std::isfinite(value.grain)) std::abort();
  }
  const std::vector<compare::Run> runs{*whole, *whole, *pieces};
  const auto comparison = compare::compare(runs, runs, {});
  if (!comparison || comparison->decision() == compare::Decision::differs) std::abort();
  const auto table = report::comparison_table({*comparison, runs, runs});
  if (table.find("nan") != std::string::npos && text.find("nan") == std::string_view::npos) std::abort();
  return 0;
}
