// JsonView: a cursor into a parsed JSON value that knows its place, so that every error can say where
// ("links[3]. verdict: expected a text"). For readers in .cpp files only: it brings nlohmann/json in. A view
// must not outlive the value nor the view it came from.
#pragma once

#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "topology/base/result.hpp"

namespace weft::files {

/// One JSON value; an Error names `what`, the line and what is wrong there. Its texts are as they may be
/// shown (outside_text).
Result<nlohmann::json> parse_json(std::string_view text, std::string_view what);

/// All texts in a value that came from outside, keys too, become such as may be shown (outside_text).
void make_harmless(nlohmann::json& value);

class JsonView {
 public:
  /// `what` names the document in messages and must outlive the view.
  JsonView(const nlohmann::json& value, std::string_view what) : value_(&value), key_(what) {}

  /// A member that must be there, of an object that must be one.
  Result<JsonView> need(std::string_view key) const;
  /// Absent where the object has no such member or it is null, or where this is no object.
  std::optional<JsonView> find(std::string_view key) const;

  /// An Error where a member's name is nearly one of these and none of them: of what people write by hand.
  Result<void> check_spelling(std::span<const std::string_view> names) const;

  /// Items of an array; an Error when this is none.
  Result<std::size_t> size() const;
  JsonView at(std::size_t index) const;

  Result<std::string_view> text() const;
  Result<double> number() const;
  Result<bool> boolean() const;
  /// A whole number that T can hold.
  template <std::unsigned_integral T>
  Result<T> count() const {
    if (!value_->is_number_unsigned() || value_->get<std::uint64_t>() > std::numeric_limits<T>::max())
      return error("expected a whole number from 0 to {}", std::numeric_limits<T>::max());
    return static_cast<T>(value_->get<std::uint64_t>());
  }

  /// As JSON, for a message.
  std::string shown() const;

  /// "DOCUMENT: place: message".
  template <class... Args>
  [[nodiscard]] tl::unexpected<Error> error(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorKind::invalid_input, "{}: {}", place(),
                fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  JsonView(const nlohmann::json& value, const JsonView& parent, std::string_view key, std::size_t index)
      : value_(&value), parent_(&parent), key_(key), index_(index) {}
  std::string place() const;

  const nlohmann::json* value_;
  const JsonView* parent_ = nullptr;
  std::string_view key_;   // of a member; of the root, the document's name
  std::size_t index_ = 0;  // of an item, where key_ is empty
};

/// The document's root after a look at its `schema`, which must be `schema`.
Result<JsonView> check_schema(const JsonView& root, std::string_view schema);

/// The values of an array, each by `read_item(JsonView)`.
template <class T, class ReadItem>
Result<std::vector<T>> read_array(const JsonView& array, ReadItem read_item) {
  WEFT_TRY(const auto size, array.size());
  std::vector<T> items;
  items.reserve(size);
  for (std::size_t i = 0; i < size; ++i) {
    const JsonView view = array.at(i);
    WEFT_TRY(auto item, read_item(view));
    items.push_back(T(std::move(item)));
  }
  return items;
}

/// The texts of an array.
Result<std::vector<std::string>> read_texts(const JsonView& array);

}  // namespace weft::files
