#include "topology/files/json_fields.hpp"

#include "topology/base/instant.hpp"

namespace weft::files {

Result<std::string> as_text(const JsonView& view) {
  WEFT_TRY(const auto text, view.text());
  return std::string(text);
}

Result<double> as_number(const JsonView& view) { return view.number(); }
Result<std::uint64_t> as_count(const JsonView& view) { return view.count<std::uint64_t>(); }
Result<std::uint16_t> as_short(const JsonView& view) { return view.count<std::uint16_t>(); }
Result<bool> as_boolean(const JsonView& view) { return view.boolean(); }

Result<double> as_share(const JsonView& view) {
  WEFT_TRY(const auto number, view.number());
  if (!(number >= 0 && number <= 1)) return view.error("expected 0 to 1, found {}", number);
  return number;
}

Result<UtcTime> as_time(const JsonView& view) {
  WEFT_TRY(const auto text, view.text());
  const auto time = parse_utc(text);
  if (!time) return view.error("{}", time.error().message);
  return *time;
}

Result<Nanoseconds> as_instant(const JsonView& view) {
  WEFT_TRY(const auto text, view.text());
  const auto time = parse_instant(text);
  if (!time) return view.error("{}", time.error().message);
  return *time;
}

}  // namespace weft::files
