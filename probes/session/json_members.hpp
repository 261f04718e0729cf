// JSON of values that name their members once, for both ways:
//   template <class Io>
//   void members(Io& io, TraceSpec& m) { io("peer", m.peer), io("label", m.label), io("hops", m.max_hops); }
// One value is an object. A table (io("specs", table(m.specs))) has each name once, however many rows:
//   {"rows": 2, "peer": [0, 1], "label": [50000, 50001], "hops": [5, 5]}
// What is absent is left out: a member, or a column in which no row has it. A type without members() has
// write_json(value) and read_json(from, into). Readers trust nothing and throw BadField, of which the one
// caller (messages_json.cpp) makes an Error; writers call members() on a copy, which it may change.
#pragma once

#include <chrono>
#include <concepts>
#include <limits>
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
#include "topology/base/units.hpp"

namespace weft::json_members {

using Json = nlohmann::json;

struct BadField : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline const Json& field(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name)) throw BadField(fmt::format("'{}' is missing", name));
  return object[name];
}

/// For an error: what another program sent is quoted no longer than it is worth.
inline std::string quoted(const Json& value) {
  constexpr std::size_t kMaxQuote = 80;
  auto text = value.dump();
  if (text.size() > kMaxQuote) text.replace(kMaxQuote, std::string::npos, "...");
  return text;
}

/// A whole number that fits T.
template <std::unsigned_integral T>
T whole(const Json& value) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::numeric_limits<T>::max())
    throw BadField(
        fmt::format("{} is no whole number from 0 to {}", quoted(value), std::numeric_limits<T>::max()));
  return static_cast<T>(value.get<std::uint64_t>());
}

template <class Id>
Id id(const Json& value) {
  return Id(whole<typename Id::rep>(value));
}

inline bool truth(const Json& value) {
  if (!value.is_boolean()) throw BadField(quoted(value) + " is not true or false");
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
    throw BadField(quoted(value) + " is no amount from 0 to 1e18");
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

template <class T>
struct Table {
  std::vector<T>& rows;
};
template <class T>
Table<T> table(std::vector<T>& rows) {
  return {rows};
}

/// A list of which no more is read: one that is longer is refused, before anything is kept of it.
template <class T>
struct AtMost {
  std::vector<T>& all;
  std::size_t most;
};
template <class T>
AtMost<T> at_most(std::size_t most, std::vector<T>& all) {
  return {all, most};
}
inline void check_count(std::size_t count, std::size_t most) {
  if (count > most) throw BadField(fmt::format("{} in a list of at most {}", count, most));
}

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsTable = false;
template <class T>
inline constexpr bool kIsTable<Table<T>> = true;
template <class T>
inline constexpr bool kIsAtMost = false;
template <class T>
inline constexpr bool kIsAtMost<AtMost<T>> = true;
template <class T>
inline constexpr bool kIsStrong = false;
template <class Tag, class Rep>
inline constexpr bool kIsStrong<Strong<Tag, Rep>> = true;

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
    if (const auto found = object_.find(name); found != object_.end()) return read_value(*found, value);
    if constexpr (kIsOptional<std::remove_cvref_t<T>>)
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
    if (column != nullptr) return read_value((*column)[row_], value);
    if constexpr (kIsOptional<std::remove_cvref_t<T>>)
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
  if constexpr (kIsOptional<T>) {
    return value ? write_value(*value) : Json();
  } else if constexpr (kIsTable<T>) {
    return write_table(value.rows);
  } else if constexpr (kIsAtMost<T>) {
    return write_value(value.all);
  } else if constexpr (kIsVector<T>) {
    return rows(value, [](const auto& item) { return write_value(item); });
  } else if constexpr (std::integral<T> || std::same_as<T, double> || std::same_as<T, std::string>) {
    return Json(value);
  } else if constexpr (kIsStrong<T>) {
    return Json(value.value());
  } else if constexpr (std::same_as<T, Nanoseconds>) {
    return Json(value.count());
  } else if constexpr (std::same_as<T, IpAddress>) {
    return Json(to_string(value));
  } else if constexpr (requires { write_json(value); }) {
    return write_json(value);
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
  if constexpr (kIsOptional<Value>) {
    if (from.is_null())
      into.reset();
    else
      read_value(from, into.emplace());
  } else if constexpr (kIsTable<Value>) {
    into.rows = read_table<typename std::remove_cvref_t<decltype(into.rows)>::value_type>(from);
  } else if constexpr (kIsAtMost<Value>) {
    check_count(from.size(), into.most);
    read_value(from, into.all);
  } else if constexpr (kIsVector<Value>) {
    using Item = typename Value::value_type;
    into = list<Item>(from, [](const Json& each) {
      Item item{};
      read_value(each, item);
      return item;
    });
  } else if constexpr (std::same_as<Value, bool>) {
    into = truth(from);
  } else if constexpr (std::unsigned_integral<Value>) {
    into = whole<Value>(from);
  } else if constexpr (std::same_as<Value, double>) {
    into = amount(from);
  } else if constexpr (std::same_as<Value, std::string>) {
    into = text(from);
  } else if constexpr (kIsStrong<Value>) {
    into = id<Value>(from);
  } else if constexpr (std::same_as<Value, Nanoseconds>) {
    into = time(from);
  } else if constexpr (std::same_as<Value, IpAddress>) {
    into = address(from);
  } else if constexpr (requires { read_json(from, into); }) {
    read_json(from, into);
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

/// The alternative of that name (`names` are in their order), as `read` fills it.
template <class Variant, std::size_t Index = 0, class Read>
Variant read_kind(const char* const* names, const std::string& kind, Read read) {
  if constexpr (Index < std::variant_size_v<Variant>) {
    if (kind != names[Index]) return read_kind<Variant, Index + 1>(names, kind, read);
    std::variant_alternative_t<Index, Variant> value;
    read(value);
    return value;
  } else {
    throw BadField("unknown kind '" + kind + "'");
  }
}

}  // namespace weft::json_members
