// Checked reading of JSON that came from outside. Every function throws BadField on what does not fit; the
// one caller (messages_json.cpp) turns that into an Error at its border.
#pragma once

#include <chrono>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "topology/base/ip.hpp"
#include "topology/base/strong.hpp"
#include "topology/base/units.hpp"

namespace weft::json_fields {

using Json = nlohmann::json;

struct BadField : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline const Json& field(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name)) throw BadField(fmt::format("'{}' is missing", name));
  return object[name];
}

inline const Json& element(const Json& row, std::size_t index) {
  if (!row.is_array() || index >= row.size())
    throw BadField(fmt::format("an array of more than {} values is missing", index));
  return row[index];
}

/// A whole number that fits T.
template <std::unsigned_integral T>
T whole(const Json& value) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::numeric_limits<T>::max())
    throw BadField(
        fmt::format("{} is no whole number from 0 to {}", value.dump(), std::numeric_limits<T>::max()));
  return static_cast<T>(value.get<std::uint64_t>());
}

template <class Id>
Id id(const Json& value) {
  return Id(whole<typename Id::rep>(value));
}

inline bool truth(const Json& value) {
  if (!value.is_boolean()) throw BadField(value.dump() + " is not true or false");
  return value.get<bool>();
}

inline constexpr std::size_t kMaxTextLength = 4096;

inline std::string text(const Json& value, std::size_t longest = kMaxTextLength) {
  if (!value.is_string() || value.get_ref<const std::string&>().size() > longest)
    throw BadField("a short text is expected");
  return value.get<std::string>();
}

/// A finite number, zero or more.
inline double amount(const Json& value) {
  if (!value.is_number() || !(value.get<double>() >= 0) || value.get<double>() > 1e18)
    throw BadField(value.dump() + " is no amount from 0 to 1e18");
  return value.get<double>();
}

/// Nanoseconds, zero or more, at most 292 years.
inline Nanoseconds time(const Json& value) {
  const auto count = whole<std::uint64_t>(value);
  if (count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    throw BadField("a time is too long");
  return Nanoseconds(static_cast<std::int64_t>(count));
}

inline IpAddress address(const Json& value) {
  const auto parsed = IpAddress::parse(text(value));
  if (!parsed) throw BadField(parsed.error().message);
  return *parsed;
}

template <class T, class Read>
std::vector<T> list(const Json& value, Read read) {
  if (!value.is_array()) throw BadField("an array is expected");
  std::vector<T> items;
  items.reserve(value.size());
  for (const Json& item : value) items.push_back(read(item));
  return items;
}

template <class T, class Write>
Json rows(const std::vector<T>& items, Write write) {
  Json array = Json::array();
  for (const T& item : items) array.push_back(write(item));
  return array;
}

}  // namespace weft::json_fields
