// DumpTree: the values of a dump of PyTorch's Flight Recorder as its text gives them, pickle or JSON alike:
// numbers, texts, lists and dictionaries in flat arrays, 16 bytes a value. Texts are views into the text that
// was read (of JSON, into the tree), which must outlive it. Made by read_pickle and read_json_dump, read by
// parse_flight_dump. A dump may refer to one value many times, and to itself: a reader goes to a fixed depth
// and counts what it looks at.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/result.hpp"

namespace weft::nccl {

struct DumpValue {
  enum class Kind : std::uint8_t { none, truth, whole, number, text, list, dict, builder };
  Kind kind = Kind::none;
  std::uint32_t size = 0;  // bytes of a text
  union {
    std::int64_t whole = 0;  // truth too; of a list or dict which of the tree's containers
    double number;
    const char* bytes;
  };

  static DumpValue of_whole(std::int64_t value, Kind kind = Kind::whole) {
    DumpValue made;
    made.kind = kind;
    made.whole = value;
    return made;
  }
  static DumpValue of_number(double value) {
    DumpValue made;
    made.kind = Kind::number;
    made.number = value;
    return made;
  }
  static DumpValue of_text(std::string_view text) {
    DumpValue made;
    made.kind = Kind::text;
    made.size = static_cast<std::uint32_t>(text.size());
    made.bytes = text.data();
    return made;
  }
  bool is(Kind what) const { return kind == what; }
  /// Empty where this is no text.
  std::string_view text() const {
    return kind == Kind::text ? std::string_view(bytes, size) : std::string_view();
  }
};

class DumpTree {
 public:
  /// An empty list (or tuple) or dictionary.
  DumpValue add_container(DumpValue::Kind kind);
  /// At the end of a list; of a dictionary, keys and values in turn. Precondition: it is one of this tree.
  void append(DumpValue container, std::span<const DumpValue> values);
  /// A copy that lives as long as the tree.
  std::string_view keep(std::string&& text) { return texts_.emplace_back(std::move(text)); }

  /// Calls `take` with every item of a list, or with nothing where this is none; ends where it says false.
  template <class Take>
  void items(DumpValue list, Take take) const {
    if (!list.is(DumpValue::Kind::list)) return;
    for (auto at = static_cast<std::uint32_t>(list.whole); at != kNone; at = blocks_[at].next)
      for (std::uint32_t i = 0; i < blocks_[at].count; ++i)
        if (!take(items_[blocks_[at].begin + i])) return;
  }
  /// The same with every key and value of a dictionary.
  template <class Take>
  void members(DumpValue dict, Take take) const {
    if (!dict.is(DumpValue::Kind::dict)) return;
    for (auto at = static_cast<std::uint32_t>(dict.whole); at != kNone; at = blocks_[at].next)
      for (std::uint32_t i = 0; i + 1 < blocks_[at].count; i += 2)
        if (!take(items_[blocks_[at].begin + i], items_[blocks_[at].begin + i + 1])) return;
  }
  /// Of a list its first item, and how many it has; none of what is no list.
  DumpValue first(DumpValue list) const;
  std::size_t size(DumpValue list) const;

  /// Forgets all values and keeps the memory for the next.
  void clear();

  DumpValue root;

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  /// A container is a chain of these, of which the first is its number.
  struct Block {
    std::uint32_t begin = 0;
    std::uint32_t count = 0;
    std::uint32_t next = kNone;
    std::uint32_t tail = kNone;  // of the first: the last of the chain; none: itself
  };
  std::vector<DumpValue> items_;
  std::vector<Block> blocks_;
  std::deque<std::string> texts_;
};

/// A dump of 64 MiB holds 100,000 entries with all their stack frames; PyTorch keeps 2,000 where nothing is
/// said.
inline constexpr std::size_t kMaxDumpBytes = 64UL << 20;
inline constexpr std::size_t kMaxDumpValues = 16'000'000;

/// Runs no code: it knows the opcodes by which PyTorch's own C++ pickler (protocol 2) writes numbers, texts,
/// lists, tuples and dictionaries, those by which Python's pickle writes the same, and one function,
/// torch.jit._pickle.build_intlist, which is a list. Error (invalid_input): offset and opcode of what is
/// none of these, where the text is cut short or goes on behind its end, what is too large.
Result<void> read_pickle(std::string_view text, DumpTree& into);

/// Error (invalid_input): no JSON, or too large or deep.
Result<void> read_json_dump(std::string_view text, DumpTree& into);

}  // namespace weft::nccl
