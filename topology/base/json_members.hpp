// JSON of values that processes and runs of weft pass to each other, with the members named once for both
// ways:
//   template <class Io>
//   void members(Io& io, TraceSpec& m) { io("peer", m.peer), io("label", m.label), io("hops", m.max_hops); }
// One value is an object. A table (io("specs", table(m.specs))) has each name once, however many rows:
//   {"rows": 2, "peer": [0, 1], "label": [50000, 50001], "hops": [5, 5]}
// What is absent is left out: a member, or a column in which no row has it. A type without members() has
// write_json(OneValue, value) and read_json(OneValue, from, into). Readers trust nothing and throw BadField,
// of which read_as makes an Error; writers call members() on a copy, which it may change.
//
// All these functions are found by argument-dependent lookup: those of a type of another module stand in
// weft::json_members, where Io and OneValue are. They are static, not in an unnamed namespace, where that
// lookup does not go; so a type has them in one source file of the program, and others call functions of
// that.
#pragma once

#include <chrono>
#include <concepts>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/ip.hpp"
#include "topology/base/json_limits.hpp"
#include "topology/base/units.hpp"

namespace weft::json_members {

using Json = nlohmann::json;

struct OneValue {};

struct BadField : std::runtime_error {
  using std::runtime_error::runtime_error;
  std::string place = {};  // "nics[2].mtu", as far as it is known
};

const Json& field(const Json& object, const char* name);
/// For an error: what another program sent, as it may be shown (outside_text) and no longer than it is worth.
std::string quoted(const Json& value);
/// "nics[2].mtu" of the name, the item and the place within it.
std::string place_of(std::string_view name, std::optional<std::size_t> item, const std::string& within);

/// A whole number that fits T.
template <std::unsigned_integral T>
T whole(const Json& value) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::numeric_limits<T>::max())
    throw BadField(
        fmt::format("{} is no whole number from 0 to {}", quoted(value), std::numeric_limits<T>::max()));
  return static_cast<T>(value.get<std::uint64_t>());
}
/// Bytes or nanoseconds (at most 97 years), zero or more: three of them add up to no more than 64 bits hold.
std::int64_t whole_signed(const Json& value);

inline constexpr std::size_t kMaxTextLength = 4096;
std::string text(const Json& value, std::size_t longest = kMaxTextLength);
bool truth(const Json& value);
/// A finite number, zero or more.
double amount(const Json& value);
Fraction share(const Json& value);
IpAddress address(const Json& value);

/// Runs `read`; what it throws is said of `name`, and of its item.
template <class Read>
void placed(const char* name, std::optional<std::size_t> item, Read read) {
  try {
    read();
  } catch (BadField& bad) {
    bad.place = place_of(name, item, bad.place);
    throw;
  }
}

// A table or list of which at most so much is read: one that is longer is refused, before anything is kept of
// it.
template <class T>
struct Table {
  std::vector<T>& rows;
  std::size_t most;
};
template <class T>
Table<T> table(std::vector<T>& rows, std::size_t most = std::numeric_limits<std::size_t>::max()) {
  return {rows, most};
}

template <class List>
struct AtMost {
  List& all;
  std::size_t most;
};
template <class List>
AtMost<List> at_most(std::size_t most, List& all) {
  return {all, most};
}
inline void check_count(std::size_t count, std::size_t most) {
  if (count > most) throw BadField(fmt::format("{} in a list of at most {}", count, most));
}

template <class T, template <class...> class Of>
inline constexpr bool kIs = false;
template <template <class...> class Of, class... Parts>
inline constexpr bool kIs<Of<Parts...>, Of> = true;

template <class T>
Json write_value(const T& value);
template <class T>
void read_value(const Json& from, T&& into);

class ObjectWriter {
 public:
  static constexpr bool kReads = false;
  template <class T>
  void operator()(const char* name, const T& value) {
    if (auto json = write_value(value); !json.is_null()) object_[name] = std::move(json);
  }
  Json take() && { return std::move(object_); }

 private:
  Json object_ = Json::object();
};

class ObjectReader {
 public:
  static constexpr bool kReads = true;
  explicit ObjectReader(const Json& object) : object_(object) {
    if (!object.is_object()) throw BadField("an object is expected");
  }
  template <class T>
  void operator()(const char* name, T&& value) {
    if (const auto found = object_.find(name); found != object_.end())
      return placed(name, std::nullopt, [&] { read_value(*found, value); });
    if constexpr (kIs<std::remove_cvref_t<T>, std::optional>)
      value.reset();
    else
      throw BadField(fmt::format("'{}' is missing", name));
  }

 private:
  const Json& object_;
};

/// members() names the columns of each row in one order.
class TableWriter {
 public:
  static constexpr bool kReads = false;
  explicit TableWriter(std::size_t rows) : rows_(rows) {}
  template <class T>
  void operator()(const char* name, const T& value) {
    if (at_ == columns_.size()) {
      columns_.push_back({name, {}, true});
      columns_.back().cells.reserve(rows_);
    }
    Column& column = columns_[at_++];
    column.cells.push_back(write_value(value));
    column.empty = column.empty && column.cells.back().is_null();
  }
  void end_row() { at_ = 0; }
  Json take() && {
    Json object{{"rows", rows_}};
    for (Column& column : columns_)
      if (!column.empty) object[column.name] = std::move(column.cells);
    return object;
  }

 private:
  struct Column {
    const char* name;
    Json::array_t cells;
    bool empty;
  };
  std::size_t rows_;
  std::size_t at_ = 0;
  std::vector<Column> columns_;
};

class TableReader {
 public:
  static constexpr bool kReads = true;
  explicit TableReader(const Json& table)
      : table_(table), rows_(whole<std::uint32_t>(field(table, "rows"))) {}
  bool at_end() const { return row_ == rows_; }
  template <class T>
  void operator()(const char* name, T&& value) {
    if (row_ == 0) columns_.push_back(find(name));
    const Json* column = columns_[at_++];
    if (column != nullptr) return placed(name, row_, [&] { read_value((*column)[row_], value); });
    if constexpr (kIs<std::remove_cvref_t<T>, std::optional>)
      value.reset();
    else
      throw BadField(fmt::format("the column '{}' is missing", name));
  }
  void end_row() { at_ = 0, ++row_; }

 private:
  const Json* find(const char* name) const {
    const auto column = table_.find(name);
    if (column == table_.end()) return nullptr;
    if (!column->is_array() || column->size() != rows_)
      throw BadField(fmt::format("'{}' is no column of {} rows", name, rows_));
    return &*column;
  }
  const Json& table_;
  std::size_t rows_;
  std::size_t row_ = 0;
  std::size_t at_ = 0;
  std::vector<const Json*> columns_;  // in the order of members(); null: not there
};

template <class T>
Json write_table(const std::vector<T>& all) {
  TableWriter writer(all.size());
  for (T row : all) {
    members(writer, row);
    writer.end_row();
  }
  return std::move(writer).take();
}

template <class T>
std::vector<T> read_table(const Json& from, std::size_t most = std::numeric_limits<std::size_t>::max()) {
  check_count(whole<std::uint32_t>(field(from, "rows")), most);
  std::vector<T> all;
  for (TableReader reader(from); !reader.at_end(); reader.end_row()) members(reader, all.emplace_back());
  return all;
}

template <class T>
Json write_value(const T& value) {
  if constexpr (kIs<T, std::optional>) {
    return value ? write_value(*value) : Json();
  } else if constexpr (kIs<T, Table>) {
    return write_table(value.rows);
  } else if constexpr (kIs<T, AtMost>) {
    return write_value(value.all);
  } else if constexpr (kIs<T, std::vector>) {
    Json array = Json::array();
    for (const auto& item : value) array.push_back(write_value(item));
    return array;
  } else if constexpr (kIs<T, std::map>) {
    Json object = Json::object();
    for (const auto& [key, each] : value) object[key] = write_value(each);
    return object;
  } else if constexpr (std::integral<T> || std::same_as<T, double> || std::same_as<T, std::string>) {
    return Json(value);
  } else if constexpr (kIs<T, Strong> || std::same_as<T, Fraction>) {
    return Json(value.value());
  } else if constexpr (std::same_as<T, Nanoseconds> || std::same_as<T, Bytes>) {
    return Json(static_cast<std::uint64_t>(value.count()));
  } else if constexpr (std::same_as<T, Bandwidth>) {
    return Json(value.bits_per_second());
  } else if constexpr (std::same_as<T, IpAddress>) {
    return Json(to_string(value));
  } else if constexpr (requires { write_json(OneValue(), value); }) {
    return write_json(OneValue(), value);
  } else {
    ObjectWriter writer;
    T copy = value;
    members(writer, copy);
    return std::move(writer).take();
  }
}

template <class T>
void read_value(const Json& from, T&& into) {
  using Value = std::remove_cvref_t<T>;
  if constexpr (kIs<Value, std::optional>) {
    if (from.is_null())
      into.reset();
    else
      read_value(from, into.emplace());
  } else if constexpr (kIs<Value, Table>) {
    into.rows = read_table<typename std::remove_cvref_t<decltype(into.rows)>::value_type>(from, into.most);
  } else if constexpr (kIs<Value, AtMost>) {
    check_count(from.size(), into.most);
    read_value(from, into.all);
  } else if constexpr (kIs<Value, std::vector>) {
    if (!from.is_array()) throw BadField("an array is expected");
    into.clear();
    into.reserve(from.size());
    for (std::size_t i = 0; i < from.size(); ++i)
      placed("", i, [&] { read_value(from[i], into.emplace_back()); });
  } else if constexpr (kIs<Value, std::map>) {
    if (!from.is_object()) throw BadField("an object is expected");
    into.clear();
    for (const auto& [key, each] : from.items())
      placed(key.c_str(), std::nullopt, [&] { read_value(each, into[key]); });
  } else if constexpr (std::same_as<Value, bool>) {
    into = truth(from);
  } else if constexpr (std::unsigned_integral<Value>) {
    into = whole<Value>(from);
  } else if constexpr (std::same_as<Value, double>) {
    into = amount(from);
  } else if constexpr (std::same_as<Value, std::string>) {
    into = text(from);
  } else if constexpr (kIs<Value, Strong>) {
    into = Value(whole<typename Value::rep>(from));
  } else if constexpr (std::same_as<Value, Nanoseconds> || std::same_as<Value, Bytes>) {
    into = Value(whole_signed(from));
  } else if constexpr (std::same_as<Value, Bandwidth>) {
    into = Bandwidth::bit(amount(from));
  } else if constexpr (std::same_as<Value, Fraction>) {
    into = share(from);
  } else if constexpr (std::same_as<Value, IpAddress>) {
    into = address(from);
  } else if constexpr (requires { read_json(OneValue(), from, into); }) {
    read_json(OneValue(), from, into);
  } else {
    ObjectReader reader(from);
    members(reader, into);
  }
}

/// A member that is left out where it is what it is by default.
template <class Io, class T>
void rarely(Io& io, const char* name, T& value) {
  auto given = value == T{} ? std::nullopt : std::optional<T>(value);
  io(name, given);
  value = given.value_or(T{});
}

/// One of two values as true or false.
template <class Io, class T>
void either(Io& io, const char* name, T& value, T if_true, T if_false) {
  bool is = value == if_true;
  io(name, is);
  value = is ? if_true : if_false;
}

/// An enumerator by its word.
template <class Io, class T>
void word(Io& io, const char* name, T& value, std::optional<T> (*parse)(std::string_view)) {
  std::string text(to_string(value));
  io(name, text);
  const auto parsed = parse(text);
  if (!parsed) throw BadField(fmt::format("no {}: {}", name, quoted(Json(text))));
  value = *parsed;
}

/// The alternative of that name (`names` are in their order), as `read` fills it.
template <class Variant, std::size_t Index = 0, class Read>
Variant read_kind(const char* const* names, const std::string& kind, Read read) {
  if constexpr (Index < std::variant_size_v<Variant>) {
    if (kind != names[Index]) return read_kind<Variant, Index + 1>(names, kind, read);
    std::variant_alternative_t<Index, Variant> value;
    read(value);
    return value;
  } else {
    throw BadField("unknown kind " + quoted(Json(kind)));
  }
}

/// `value` with what is read over it; the Error (invalid_input) calls it `what`.
template <class T>
Result<T> read_as(const Json& from, std::string_view what, T value = {}) {
  try {
    read_value(from, value);
    return value;
  } catch (const BadField& bad) {
    return fail(ErrorKind::invalid_input, "{} does not fit: {}{}{}", what, bad.place,
                bad.place.empty() ? "" : ": ", bad.what());
  }
}

Result<Json> parse(std::string_view text, const JsonLimits& limits, std::string_view what);
template <class T>
Result<T> read_text(std::string_view text, const JsonLimits& limits, std::string_view what) {
  WEFT_TRY(const auto value, parse(text, limits, what));
  return read_as<T>(value, what);
}

/// On one line. Bytes that are no UTF-8 (a text may quote what came from outside) are replaced, never thrown
/// at.
std::string to_text(const Json& value);

}  // namespace weft::json_members
