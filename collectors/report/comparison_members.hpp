// Members of a document of a comparison, read: whatever stands in them was written by somebody else. For
// readers in .cpp files only: it brings nlohmann/json in.
#pragma once

#include <array>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/report/comparison_report.hpp"
#include "topology/files/json_view.hpp"

namespace weft::report {

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

inline Result<std::string> text_at(const files::JsonView& object, std::string_view key) {
  WEFT_TRY(const files::JsonView member, object.need(key));
  WEFT_TRY(const auto text, member.text());
  return std::string(text);
}

template <class Word, std::size_t N>
Result<Word> word_at(const files::JsonView& object, std::string_view key, const std::array<Word, N>& words) {
  WEFT_TRY(const files::JsonView member, object.need(key));
  WEFT_TRY(const auto text, member.text());
  for (const Word word : words)
    if (to_string(word) == text) return word;
  return member.error("'{}' is no word that stands here", text);
}

inline Result<double> number_at(const files::JsonView& object, std::string_view key) {
  WEFT_TRY(const files::JsonView member, object.need(key));
  return member.number();
}

/// What no JSON can say, as infinity, is written as null.
inline Result<double> number_or(const files::JsonView& object, std::string_view key, double otherwise) {
  const auto member = object.find(key);
  if (!member) return otherwise;
  return member->number();
}

inline Result<double> measured(const files::JsonView& value) {
  WEFT_TRY(const double number, value.number());
  if (!compare::is_comparable(number)) return value.error("expected a number from 1e-30 to 1e30");
  return number;
}

inline Result<double> measured_at(const files::JsonView& object, std::string_view key) {
  WEFT_TRY(const files::JsonView member, object.need(key));
  return measured(member);
}

inline Result<std::size_t> count_at(const files::JsonView& object, std::string_view key) {
  WEFT_TRY(const files::JsonView member, object.need(key));
  return member.count<std::size_t>();
}

inline Result<bool> flag_at(const files::JsonView& object, std::string_view key) {
  WEFT_TRY(const files::JsonView member, object.need(key));
  return member.boolean();
}

/// Empty, where the object has no such member.
template <class T, class ReadItem>
Result<std::vector<T>> items_of(const files::JsonView& object, std::string_view key, ReadItem read_item) {
  const auto member = object.find(key);
  if (!member) return std::vector<T>();
  return files::read_array<T>(*member, read_item);
}

inline Result<std::vector<std::string>> texts_of(const files::JsonView& object, std::string_view key) {
  const auto member = object.find(key);
  if (!member) return std::vector<std::string>();
  return files::read_texts(*member);
}

/// Of a member that must be there.
template <class T, class ReadItem>
Result<std::vector<T>> need_items(const files::JsonView& object, std::string_view key, ReadItem read_item) {
  WEFT_TRY(const files::JsonView member, object.need(key));
  return files::read_array<T>(member, read_item);
}

inline Result<std::vector<std::string>> need_texts(const files::JsonView& object, std::string_view key) {
  WEFT_TRY(const files::JsonView member, object.need(key));
  return files::read_texts(member);
}

/// Of the member `names`, and of those of the document's root that go with it. Errors: invalid_input, with
/// the place.
Result<ComparedFabrics> read_fabrics(const files::JsonView& root, const files::JsonView& names,
                                     std::span<const compare::CellResult> cells);

}  // namespace weft::report
