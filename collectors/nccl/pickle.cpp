// The machine that pickle's opcodes drive, without what makes them dangerous: nothing is imported or called.
// Opcodes: Python's Lib/pickletools.py; which of them PyTorch writes:
// torch/csrc/jit/serialization/pickler.cpp.
#include <bit>
#include <cstring>

#include "collectors/nccl/dump_tree.hpp"
#include "topology/base/outside_text.hpp"

namespace weft::nccl {
namespace {

using Kind = DumpValue::Kind;

constexpr std::size_t kMaxMarks = 64;  // containers in each other; a dump has five
constexpr std::string_view kIntList = "torch.jit._pickle\nbuild_intlist\n";

enum class Op : std::uint8_t {
  mark = '(',
  stop = '.',
  bin_int = 'J',
  bin_int1 = 'K',
  bin_int2 = 'M',
  none = 'N',
  reduce = 'R',
  bin_unicode = 'X',
  append = 'a',
  global = 'c',
  appends = 'e',
  bin_get = 'h',
  long_bin_get = 'j',
  bin_put = 'q',
  long_bin_put = 'r',
  set_item = 's',
  tuple = 't',
  set_items = 'u',
  empty_list = ']',
  empty_dict = '}',
  empty_tuple = ')',
  bin_float = 'G',
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  new_true = 0x88,
  new_false = 0x89,
  long1 = 0x8a,
};

class PickleMachine {
 public:
  PickleMachine(std::string_view text, DumpTree& tree) : text_(text), tree_(tree) {}

  Result<void> run() {
    if (text_.size() < 2 || text_[0] != '\x80') return fail(ErrorKind::invalid_input, "it is no pickle");
    if (text_[1] != 2)
      return fail(ErrorKind::invalid_input,
                  "offset 1: pickle protocol {}: PyTorch writes protocol 2, and no other is read",
                  static_cast<unsigned>(static_cast<unsigned char>(text_[1])));
    at_ = 2;
    stack_.reserve(256);
    memo_.reserve(256);
    while (!done_) {
      began_ = at_;
      if (at_ == text_.size()) return cut_short();
      if (!step(static_cast<Op>(text_[at_++]))) return fail(ErrorKind::invalid_input, "{}", why());
      if (stack_.size() + memo_.size() > kMaxDumpValues)
        return fail(ErrorKind::invalid_input, "offset {}: more than {} values", began_, kMaxDumpValues);
    }
    if (at_ != text_.size())
      return fail(ErrorKind::invalid_input, "offset {}: it goes on for {} bytes behind its end", at_,
                  text_.size() - at_);
    return {};
  }

 private:
  tl::unexpected<Error> cut_short() const {
    return fail(ErrorKind::invalid_input, "it is cut short: its {} bytes end within the pickle",
                text_.size());
  }
  std::string why() const {
    if (is_cut_) return cut_short().value().message;
    const auto code = static_cast<unsigned char>(text_[began_]);
    const auto shown = code > 0x20 && code < 0x7f ? fmt::format("0x{:02x} '{}'", code, text_[began_])
                                                  : fmt::format("0x{:02x}", code);
    return fmt::format("offset {}: opcode {}: {}", began_, shown,
                       why_.empty() ? "no dump of PyTorch has it: refused" : why_);
  }
  bool refuse(std::string why) {
    why_ = std::move(why);
    return false;
  }

  /// Little-endian, as all of pickle but its floating-point numbers.
  template <class T>
  bool take(T& value) {
    if (text_.size() - at_ < sizeof value) return is_cut_ = true, false;
    std::memcpy(&value, text_.data() + at_, sizeof value);
    at_ += sizeof value;
    return true;
  }
  template <class T>
  bool push_whole() {
    T value;
    return take(value) && push(DumpValue::of_whole(static_cast<std::int64_t>(value)));
  }
  bool push(DumpValue value) {
    stack_.push_back(value);
    return true;
  }
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  bool has(std::size_t count) {
    return stack_.size() - floor() >= count || refuse("too few values before it");
  }

  bool step(Op op) {  // one case an opcode
    switch (op) {
      case Op::stop:
        if (stack_.size() != 1 || !marks_.empty()) return refuse("values are left over at the end");
        tree_.root = stack_.back();
        return done_ = true;
      case Op::none:
        return push({});
      case Op::new_true:
      case Op::new_false:
        return push(DumpValue::of_whole(op == Op::new_true ? 1 : 0, Kind::truth));
      case Op::bin_int:
        return push_whole<std::int32_t>();
      case Op::bin_int1:
        return push_whole<std::uint8_t>();
      case Op::bin_int2:
        return push_whole<std::uint16_t>();
      case Op::long1:
        return take_long();
      case Op::bin_float:
        return take_float();
      case Op::bin_unicode:
        return take_text();
      case Op::bin_put:
      case Op::bin_get:
        return memoise<std::uint8_t>(op == Op::bin_put);
      case Op::long_bin_put:
      case Op::long_bin_get:
        return memoise<std::uint32_t>(op == Op::long_bin_put);
      case Op::global:
        return take_global();
      case Op::reduce:
        return reduce();
      default:
        return build(op);
    }
  }

  /// Lists, tuples and dictionaries.
  bool build(Op op) {
    switch (op) {
      case Op::mark:
        if (marks_.size() == kMaxMarks) return refuse("it nests too deep");
        marks_.push_back(stack_.size());
        return true;
      case Op::empty_list:
      case Op::empty_tuple:
        return push(tree_.add_container(Kind::list));
      case Op::empty_dict:
        return push(tree_.add_container(Kind::dict));
      case Op::append:
        return has(2) && extend(Kind::list, stack_.size() - 1);
      case Op::set_item:
        return has(3) && extend(Kind::dict, stack_.size() - 2);
      case Op::appends:
        return unmark() && extend(Kind::list, mark_);
      case Op::set_items:
        return unmark() && extend(Kind::dict, mark_);
      case Op::tuple:
        return unmark() && make_tuple(mark_);
      case Op::tuple1:
      case Op::tuple2:
      case Op::tuple3: {
        const std::size_t count = static_cast<std::size_t>(op) - static_cast<std::size_t>(Op::tuple1) + 1;
        return has(count) && make_tuple(stack_.size() - count);
      }
      default:
        return false;
    }
  }

  bool unmark() {
    if (marks_.empty()) return refuse("no mark before it");
    mark_ = marks_.back();
    marks_.pop_back();
    return true;
  }
  /// What stands from `begin` on goes into the container before it.
  bool extend(Kind kind, std::size_t begin) {
    if (begin <= floor() || !stack_[begin - 1].is(kind))
      return refuse(kind == Kind::list ? "no list before it" : "no dictionary before it");
    if (kind == Kind::dict && (stack_.size() - begin) % 2 != 0) return refuse("a key without a value");
    tree_.append(stack_[begin - 1], std::span(stack_).subspan(begin));
    stack_.resize(begin);
    return true;
  }
  bool make_tuple(std::size_t begin) {
    const DumpValue made = tree_.add_container(Kind::list);
    tree_.append(made, std::span(stack_).subspan(begin));
    stack_.resize(begin);
    return push(made);
  }

  bool take_long() {
    std::uint8_t size = 0;
    if (!take(size)) return false;
    if (size > 8) return refuse(fmt::format("a number of {} bytes", size));
    if (text_.size() - at_ < size) return is_cut_ = true, false;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
      value |= std::uint64_t{static_cast<unsigned char>(text_[at_ + i])} << 8 * i;
    at_ += size;
    if (size > 0 && size < 8 && (value >> (8 * size - 1) & 1) != 0) value |= ~std::uint64_t{0} << 8 * size;
    return push(DumpValue::of_whole(static_cast<std::int64_t>(value)));
  }
  bool take_float() {
    std::uint64_t bits = 0;
    if (!take(bits)) return false;
    return push(DumpValue::of_number(std::bit_cast<double>(__builtin_bswap64(bits))));
  }
  bool take_text() {
    std::uint32_t size = 0;
    if (!take(size)) return false;
    if (text_.size() - at_ < size) return is_cut_ = true, false;
    at_ += size;
    return push(DumpValue::of_text(text_.substr(at_ - size, size)));
  }
  /// Both picklers number what they keep from 0 on.
  template <class T>
  bool memoise(bool put) {
    T index = 0;
    if (!take(index) || (put && !has(1))) return false;
    if (index >= memo_.size() + (put ? 1 : 0)) return refuse(fmt::format("nothing is kept as {}", index));
    if (!put) return push(memo_[index]);
    if (index == memo_.size()) return memo_.push_back(stack_.back()), true;
    memo_[index] = stack_.back();
    return true;
  }
  bool take_global() {
    const std::size_t first = text_.find('\n', at_);
    const std::size_t second = first == std::string_view::npos ? first : text_.find('\n', first + 1);
    if (second == std::string_view::npos) return is_cut_ = true, false;
    const std::string_view name = text_.substr(at_, second + 1 - at_);
    at_ = second + 1;
    if (name == kIntList) return push(DumpValue::of_whole(0, Kind::builder));
    constexpr std::size_t kShown = 80;  // of a name that comes from outside
    return refuse(fmt::format("it names {}, which is not called: refused",
                              outside_text(name.substr(0, std::min(name.size() - 1, kShown)))));
  }
  /// build_intlist(list): the list.
  bool reduce() {
    if (!has(2)) return false;
    const DumpValue arguments = stack_.back();
    const DumpValue list = tree_.first(arguments);
    std::size_t count = 0;  // of a huge tuple no more are looked at
    tree_.items(arguments, [&](const DumpValue&) { return ++count < 2; });
    if (!stack_[stack_.size() - 2].is(Kind::builder) || count != 1 || !list.is(Kind::list))
      return refuse("a call that no dump of PyTorch makes: refused");
    stack_.resize(stack_.size() - 2);
    return push(list);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t began_ = 0;  // of the opcode
  bool done_ = false;
  bool is_cut_ = false;
  std::string why_;
  DumpTree& tree_;
  std::vector<DumpValue> stack_;
  std::vector<std::size_t> marks_;
  std::size_t mark_ = 0;  // the last one taken off
  std::vector<DumpValue> memo_;
};

}  // namespace

Result<void> read_pickle(std::string_view text, DumpTree& into) {
  if (text.size() > kMaxDumpBytes)
    return fail(ErrorKind::invalid_input, "{} bytes: expected {} at most", text.size(), kMaxDumpBytes);
  into.clear();
  return PickleMachine(text, into).run();
}

}  // namespace weft::nccl
