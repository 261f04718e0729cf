#include "topology/files/json_view.hpp"

#include <algorithm>
#include <vector>

#include "topology/base/json_members.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/text.hpp"

namespace weft::files {
namespace {

/// nlohmann's message without its own prefix "[json.exception.parse_error.101] parse error "; it quotes what
/// it has read.
std::string reason(const nlohmann::json::parse_error& error) {
  const std::string_view whole = error.what();
  const auto at = whole.find("parse error");
  return outside_text(at == std::string_view::npos ? whole : whole.substr(at));
}

/// The members of an object under keys as they may be shown; of two that become the same, one stays.
void make_keys_harmless(nlohmann::json& object) {
  std::vector<std::string> hostile;
  for (const auto& member : object.items())
    if (!is_harmless(member.key())) hostile.push_back(member.key());
  for (const std::string& key : hostile) {
    nlohmann::json value = std::move(object[key]);
    object.erase(key);
    object[outside_text(key)] = std::move(value);
  }
}

}  // namespace

void make_harmless(nlohmann::json& value) {
  std::vector<nlohmann::json*> open{&value};  // not the call stack: a message may be nested deeply
  while (!open.empty()) {
    nlohmann::json& one = *open.back();
    open.pop_back();
    if (one.is_string()) {
      auto& text = one.get_ref<std::string&>();
      if (!is_harmless(text)) text = outside_text(text);
    }
    if (one.is_object()) make_keys_harmless(one);
    if (one.is_structured())
      for (nlohmann::json& inner : one)
        if (inner.is_string() || inner.is_structured()) open.push_back(&inner);
  }
}

Result<nlohmann::json> parse_json(std::string_view text, std::string_view what) {
  try {
    auto value = nlohmann::json::parse(text);
    make_harmless(value);
    return value;
  } catch (const nlohmann::json::parse_error& error) {
    return fail(ErrorKind::invalid_input, "{}: not JSON: {}", what, reason(error));
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorKind::invalid_input, "{}: not JSON: {}", what, error.what());
  }
}

std::string JsonView::shown() const { return json_members::quoted(*value_); }

Result<JsonView> JsonView::need(std::string_view key) const {
  if (!value_->is_object()) return error("expected an object, found {}", value_->type_name());
  const auto found = value_->find(key);
  if (found == value_->end()) return error("'{}' is missing", key);
  return JsonView(*found, *this, key, 0);
}

std::optional<JsonView> JsonView::find(std::string_view key) const {
  if (!value_->is_object()) return std::nullopt;
  const auto found = value_->find(key);
  if (found == value_->end() || found->is_null()) return std::nullopt;
  return JsonView(*found, *this, key, 0);
}

Result<void> JsonView::check_spelling(std::span<const std::string_view> names) const {
  if (!value_->is_object()) return {};
  for (const auto& [name, value] : value_->items())
    if (std::ranges::find(names, name) == names.end() && closest(name, names))
      return error("no member '{}' is known{}", outside_text(name), did_you_mean(name, names));
  return {};
}

Result<std::size_t> JsonView::size() const {
  if (!value_->is_array()) return error("expected an array, found {}", value_->type_name());
  return value_->size();
}

JsonView JsonView::at(std::size_t index) const { return JsonView((*value_)[index], *this, {}, index); }

Result<std::string_view> JsonView::text() const {
  if (!value_->is_string()) return error("expected a text, found {}", value_->type_name());
  return std::string_view(value_->get_ref<const std::string&>());
}

Result<double> JsonView::number() const {
  if (!value_->is_number()) return error("expected a number, found {}", value_->type_name());
  return value_->get<double>();
}

Result<bool> JsonView::boolean() const {
  if (!value_->is_boolean()) return error("expected true or false, found {}", value_->type_name());
  return value_->get<bool>();
}

std::string JsonView::place() const {
  if (parent_ == nullptr) return std::string(key_);
  const auto before = parent_->place();
  if (key_.empty()) return fmt::format("{}[{}]", before, index_);
  return parent_->parent_ == nullptr ? fmt::format("{}: {}", before, key_)
                                     : fmt::format("{}.{}", before, key_);
}

Result<JsonView> check_schema(const JsonView& root, std::string_view schema) {
  WEFT_TRY(const auto member, root.need("schema"));
  WEFT_TRY(const auto text, member.text());
  if (text != schema) return member.error("expected '{}', found '{}'", schema, text.substr(0, 40));
  return root;
}

Result<std::vector<std::string>> read_texts(const JsonView& array) {
  return read_array<std::string>(array, [](const JsonView& item) { return item.text(); });
}

}  // namespace weft::files
