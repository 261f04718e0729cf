#include "topology/files/yaml_tree.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <limits>
#include <sstream>
#include <unordered_map>

#include "topology/base/outside_text.hpp"

namespace weft::files {
namespace {

constexpr std::size_t kDeepest = 16;                // a fabric file needs 4
constexpr std::size_t kMaxItems = 30'000'000;       // 2,000,000 links of 7 values, and their nodes
constexpr std::size_t kMaxTextBytes = 512'000'000;  // those links written out with long names
constexpr std::size_t kMaxShown = 40;

/// Stops yaml-cpp's parser from within an event; caught in YamlTree::parse.
struct Refused {
  int line;
  std::string why;
};

std::uint32_t line_of(const YAML::Mark& mark) { return static_cast<std::uint32_t>(mark.line + 1); }

}  // namespace

class YamlTreeBuilder final : public YAML::EventHandler {
 public:
  explicit YamlTreeBuilder(YamlTree& tree) : tree_(tree) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(mark, anchor, YamlKind::null); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
    auto& item = add(mark, anchor, YamlKind::scalar);
    item.text_at = static_cast<std::uint32_t>(tree_.text_.size());
    const auto shown = outside_text(value);
    item.text_size = static_cast<std::uint32_t>(shown.size());
    tree_.text_ += shown;
    if (tree_.text_.size() > kMaxTextBytes) refuse(mark, "the file is too large");
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto target = anchors_.find(anchor);
    if (target == anchors_.end()) refuse(mark, "an alias names nothing");
    auto& item = add(mark, YAML::NullAnchor, YamlKind::null);
    item.alias = true;
    item.first = target->second;
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, YamlKind::sequence);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, YamlKind::map);
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  struct Open {
    std::uint32_t index;
    std::uint32_t last_child;
  };

  [[noreturn]] static void refuse(const YAML::Mark& mark, std::string why) {
    throw Refused{static_cast<int>(line_of(mark)), std::move(why)};
  }

  YamlTree::Item& add(const YAML::Mark& mark, YAML::anchor_t anchor, YamlKind kind) {
    if (tree_.items_.size() >= kMaxItems) refuse(mark, "the file holds too many values");
    const auto index = static_cast<std::uint32_t>(tree_.items_.size());
    if (anchor != YAML::NullAnchor) anchors_[anchor] = index;
    if (!open_.empty()) {
      auto& parent = open_.back();
      (parent.last_child == 0 ? tree_.items_[parent.index].first : tree_.items_[parent.last_child].next) =
          index;
      parent.last_child = index;
    }
    tree_.items_.push_back({.kind = kind, .line = line_of(mark)});
    return tree_.items_.back();
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, YamlKind kind) {
    if (open_.size() >= kDeepest) refuse(mark, fmt::format("nested more than {} deep", kDeepest));
    const auto index = static_cast<std::uint32_t>(tree_.items_.size());
    add(mark, anchor, kind);
    open_.push_back({index, 0});
  }

  YamlTree& tree_;
  std::vector<Open> open_;
  std::unordered_map<YAML::anchor_t, std::uint32_t> anchors_;
};

namespace {

/// The parser reads on to the last bracket that is open before it says that one is: 240 bytes of memory for
/// each. Brackets in quotes and comments count too; no file has a thousand of them open.
constexpr int kMaxOpenBrackets = 1000;

/// The line where more brackets are open.
std::optional<int> line_of_too_many_brackets(std::string_view text) {
  int open = 0, line = 1;
  for (const char c : text) {
    if (c == '\n') ++line;
    if (c == '[' || c == '{') ++open;
    if ((c == ']' || c == '}') && open > 0) --open;
    if (open > kMaxOpenBrackets) return line;
  }
  return std::nullopt;
}

}  // namespace

Result<YamlTree> YamlTree::parse(std::string_view text, std::string_view file) {
  YamlTree tree;
  tree.file_ = file;
  if (text.size() > kMaxTextBytes)
    return fail(ErrorKind::invalid_input, "{}: {} bytes are more than the {} a fabric file may have", file,
                text.size(), kMaxTextBytes);
  if (const auto line = line_of_too_many_brackets(text))
    return fail(ErrorKind::invalid_input, "{}:{}: nested more than {} deep", file, *line, kDeepest);
  std::istringstream in{std::string(text)};
  try {
    YAML::Parser parser(in);
    YamlTreeBuilder builder(tree);
    if (!parser.HandleNextDocument(builder) || tree.items_.empty())
      return fail(ErrorKind::invalid_input, "{}: the file is empty", file);
    YamlTree rest;
    YamlTreeBuilder second(rest);
    if (parser.HandleNextDocument(second))
      return fail(ErrorKind::invalid_input, "{}: expected one YAML document, found a second", file);
  } catch (const Refused& refused) {
    return fail(ErrorKind::invalid_input, "{}:{}: {}", file, refused.line, refused.why);
  } catch (const YAML::Exception& error) {
    return fail(ErrorKind::invalid_input, "{}:{}: not YAML: {}", file, error.mark.line + 1,
                outside_text(error.msg));
  }
  return tree;
}

const YamlTree::Item& YamlTree::named(std::uint32_t index) const {
  const Item& item = items_[index];
  return item.alias ? items_[item.first] : item;  // what an anchor names is no alias itself
}

YamlKind YamlView::kind() const { return tree_->named(index_).kind; }
std::uint32_t YamlView::line() const { return tree_->named(index_).line; }

std::string_view YamlView::text() const {
  const auto& item = tree_->named(index_);
  return std::string_view(tree_->text_).substr(item.text_at, item.text_size);
}

std::string YamlView::described() const {
  switch (kind()) {
    case YamlKind::null:
      return "nothing";
    case YamlKind::sequence:
      return "a list";
    case YamlKind::map:
      return "a map";
    case YamlKind::scalar:
      break;
  }
  // The cut may go through a character.
  return fmt::format("'{}{}'", outside_text(text().substr(0, kMaxShown)),
                     text().size() > kMaxShown ? "..." : "");
}

std::optional<YamlView> YamlView::first() const {
  const auto& item = tree_->named(index_);
  return item.first == 0 ? std::nullopt : std::optional(YamlView(*tree_, item.first));
}

std::optional<YamlView> YamlView::next() const {
  const auto next = tree_->items_[index_].next;
  return next == 0 ? std::nullopt : std::optional(YamlView(*tree_, next));
}

tl::unexpected<Error> YamlView::located(std::string message) const {
  return fail(ErrorKind::invalid_input, "{}:{}: {}", tree_->file_, line(), message);
}

}  // namespace weft::files
