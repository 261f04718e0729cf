#include "collectors/nccl/dump_tree.hpp"

#include <nlohmann/json.hpp>

#include "topology/base/json_limits.hpp"
#include "topology/base/outside_text.hpp"

namespace weft::nccl {

DumpValue DumpTree::add_container(DumpValue::Kind kind) {
  blocks_.push_back({.begin = static_cast<std::uint32_t>(items_.size())});
  return DumpValue::of_whole(static_cast<std::int64_t>(blocks_.size() - 1), kind);
}

void DumpTree::append(DumpValue container, std::span<const DumpValue> values) {
  if (values.empty()) return;
  const auto head = static_cast<std::uint32_t>(container.whole);
  std::uint32_t last = blocks_[head].tail == kNone ? head : blocks_[head].tail;
  const auto end = static_cast<std::uint32_t>(items_.size());
  if (blocks_[last].count == 0) {
    blocks_[last].begin = end;
  } else if (blocks_[last].begin + blocks_[last].count != end) {
    blocks_.push_back({.begin = end});
    last = blocks_[last].next = blocks_[head].tail = static_cast<std::uint32_t>(blocks_.size() - 1);
  }
  blocks_[last].count += static_cast<std::uint32_t>(values.size());
  items_.insert(items_.end(), values.begin(), values.end());
}

void DumpTree::clear() {
  items_.clear();
  blocks_.clear();
  texts_.clear();
  root = {};
}

DumpValue DumpTree::first(DumpValue list) const {
  DumpValue found;
  items(list, [&](const DumpValue& item) {
    found = item;
    return false;
  });
  return found;
}

std::size_t DumpTree::size(DumpValue list) const {
  std::size_t count = 0;
  if (list.is(DumpValue::Kind::list))
    for (auto at = static_cast<std::uint32_t>(list.whole); at != kNone; at = blocks_[at].next)
      count += blocks_[at].count;
  return count;
}

namespace {

using Kind = DumpValue::Kind;

// PyTorch's JSON dumps: entries, their members, a list of sizes and the sizes are five levels.
constexpr std::size_t kMaxJsonDepth = 32;

/// Builds the tree as the parser meets the values; the parser calls these by name.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TreeBuilder(DumpTree& tree) : tree_(&tree) {}

  bool null() override { return put({}); }
  bool boolean(bool value) override { return put(DumpValue::of_whole(value ? 1 : 0, Kind::truth)); }
  bool number_integer(std::int64_t value) override { return put(DumpValue::of_whole(value)); }
  bool number_unsigned(std::uint64_t value) override {
    return put(value > INT64_MAX ? DumpValue::of_number(static_cast<double>(value))
                                 : DumpValue::of_whole(static_cast<std::int64_t>(value)));
  }
  bool number_float(double value, const std::string&) override { return put(DumpValue::of_number(value)); }
  bool string(std::string& value) override { return put(DumpValue::of_text(tree_->keep(std::move(value)))); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Kind::dict); }
  bool key(std::string& value) override { return put(DumpValue::of_text(tree_->keep(std::move(value)))); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Kind::list); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    why = fmt::format("no JSON at byte {}: {}", position, outside_text(error.what()));
    return false;
  }

  std::string why;

 private:
  bool open(Kind kind) {
    open_.push_back({tree_->add_container(kind), stack_.size()});
    return true;
  }
  bool close() {
    const auto [container, begin] = open_.back();
    open_.pop_back();
    tree_->append(container, std::span(stack_).subspan(begin));
    stack_.resize(begin);
    return put(container);
  }
  bool put(DumpValue value) {
    if (open_.empty())
      tree_->root = value;
    else
      stack_.push_back(value);
    return true;
  }

  struct Open {
    DumpValue container;
    std::size_t begin;
  };
  DumpTree* tree_;
  std::vector<Open> open_;
  std::vector<DumpValue> stack_;
};

}  // namespace

Result<void> read_json_dump(std::string_view text, DumpTree& into) {
  WEFT_TRY_VOID(
      check_json_limits(text, {.bytes = kMaxDumpBytes, .depth = kMaxJsonDepth, .values = kMaxDumpValues}));
  into.clear();
  TreeBuilder builder(into);
  if (!nlohmann::json::sax_parse(text, &builder))
    return fail(ErrorKind::invalid_input, "{}", builder.why.empty() ? "no JSON" : builder.why);
  return {};
}

}  // namespace weft::nccl
