#include "topology/base/json_members.hpp"

#include "topology/base/outside_text.hpp"

namespace weft::json_members {

const Json& field(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name)) throw BadField(fmt::format("'{}' is missing", name));
  return object[name];
}

namespace {

std::string cut(std::string_view text) {
  constexpr std::size_t kMaxQuote = 80;
  return outside_text(text.substr(0, kMaxQuote)) + (text.size() > kMaxQuote ? "..." : "");
}

}  // namespace

std::string quoted(const Json& value) {
  if (value.is_string()) return '"' + cut(value.get_ref<const std::string&>()) + '"';
  if (value.is_structured()) return value.is_array() ? "an array" : "an object";
  return value.dump();
}

std::string place_of(std::string_view name, std::optional<std::size_t> item, const std::string& within) {
  return cut(name) + (item ? fmt::format("[{}]", *item) : "") +
         (within.empty() || within.starts_with('[') ? "" : ".") + within;
}

std::int64_t whole_signed(const Json& value) {
  const auto count = whole<std::uint64_t>(value);
  if (count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() / 3))
    throw BadField(fmt::format("{} is too much", count));
  return static_cast<std::int64_t>(count);
}

std::string text(const Json& value, std::size_t longest) {
  if (!value.is_string() || value.get_ref<const std::string&>().size() > longest)
    throw BadField("a short text is expected");
  return value.get<std::string>();
}

bool truth(const Json& value) {
  if (!value.is_boolean()) throw BadField(quoted(value) + " is not true or false");
  return value.get<bool>();
}

double amount(const Json& value) {
  if (!value.is_number() || !(value.get<double>() >= 0) || value.get<double>() > 1e18)
    throw BadField(quoted(value) + " is no amount from 0 to 1e18");
  return value.get<double>();
}

Fraction share(const Json& value) {
  const double number = amount(value);
  if (number > 1) throw BadField(quoted(value) + " is no share from 0 to 1");
  return Fraction(number);
}

IpAddress address(const Json& value) {
  const auto parsed = IpAddress::parse(text(value));
  if (!parsed) throw BadField(parsed.error().message);
  return *parsed;
}

Result<Json> parse(std::string_view text, const JsonLimits& limits, std::string_view what) {
  WEFT_TRY_VOID(check_json_limits(text, limits));
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded())
    return fail(ErrorKind::invalid_input, "{} of {} bytes is no JSON", what, text.size());
  return value;
}

std::string to_text(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace weft::json_members
