#include "collectors/counters/prometheus_answer.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>

#include "topology/base/outside_text.hpp"

namespace weft::counters {
namespace {

constexpr std::size_t kMaxLabels = 64;
constexpr std::size_t kMaxText = 1024;
constexpr std::size_t kMaxEscaped = 4 * kMaxLabels;  // texts with escapes, of a series or between two
constexpr std::size_t kMaxSeriesPoints = 1'000'000;
constexpr int kMaxDepth = 32;
constexpr double kMaxTime = 9e9;  // seconds since 1970: 64 bits of nanoseconds end in 2262

void put_utf8(unsigned code, std::string& into) {
  const auto put = [&](unsigned byte) { into += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0U | code >> 6U), put(0x80U | (code & 0x3fU));
  } else if (code < 0x10000) {
    put(0xe0U | code >> 12U), put(0x80U | (code >> 6U & 0x3fU)), put(0x80U | (code & 0x3fU));
  } else {
    put(0xf0U | code >> 18U), put(0x80U | (code >> 12U & 0x3fU)), put(0x80U | (code >> 6U & 0x3fU));
    put(0x80U | (code & 0x3fU));
  }
}

/// {"status", "error", "data": {"resultType", "result": [{"metric": {}, "values": [[t, "v"]]}]}} (Prometheus,
/// HTTP API). Each function reads what its name says and answers whether it could; `why_` says why not.
class AnswerReader {
 public:
  AnswerReader(std::string_view text, const std::function<Result<void>(const PrometheusSeries&)>& take)
      : text_(text), take_(take) {}

  Result<void> read() {
    const bool is_whole = object([&](std::string_view name) { return answer_member(name); }) && ends();
    if (failed_) return tl::unexpected<Error>(*failed_);
    if (!is_whole) return refuse(why_.empty() ? fmt::format("it is no JSON at byte {}", at_ + 1) : why_);
    if (!error_.empty())
      return fail(ErrorKind::invalid_input, "the server refuses: {}", outside_text(error_));
    if (!is_success_ || !is_matrix_) return refuse("no answer of a Prometheus");
    return {};
  }

 private:
  static tl::unexpected<Error> refuse(std::string_view why) {
    return fail(ErrorKind::invalid_input, "the answer of the server cannot be used: {}", why);
  }
  bool stop(std::string_view why) { return why_ = why, false; }

  char next() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool is_next(char c) { return next() == c && at_ < text_.size(); }
  bool take(char c) { return is_next(c) && ++at_ > 0; }
  bool ends() { return next() == '\0' && at_ == text_.size(); }

  /// `item()` reads one; between brackets and commas.
  template <class Item>
  bool listed(char open, char close, Item item) {
    if (!take(open)) return false;
    if (++depth_ > kMaxDepth) return stop("it is nested deeper than any");
    if (!take(close)) {
      do {
        if (!item()) return false;
      } while (take(','));
      if (!take(close)) return false;
    }
    --depth_;
    return true;
  }
  template <class Member>
  bool object(Member member) {
    return listed('{', '}', [&] {
      std::string_view name;
      return string(name) && take(':') && member(name);
    });
  }
  template <class Item>
  bool array(Item item) {
    return listed('[', ']', item);
  }

  /// A view of the answer, or of `unescaped_` where it has escapes.
  bool string(std::string_view& into) {
    if (!take('"')) return false;
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\') ++at_;
    if (at_ == text_.size()) return false;
    if (text_[at_] == '"') {
      into = text_.substr(begin, at_++ - begin);
      return true;
    }
    if (unescaped_.size() > kMaxEscaped) return stop("it has more escaped texts than any");
    std::string whole(text_.substr(begin, at_ - begin));
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_)
      if (text_[at_] != '\\')
        whole += text_[at_];
      else if (!escape(whole))
        return false;
    if (at_++ >= text_.size()) return false;
    into = unescaped_.emplace_back(std::move(whole));
    return true;
  }
  /// At a backslash; ends at the last character of the escape (RFC 8259, 7).
  bool escape(std::string& into) {
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    if (++at_ >= text_.size()) return false;
    if (const auto found = kNames.find(text_[at_]); found != kNames.npos) return into += kMeant[found], true;
    unsigned code = 0, low = 0;
    if (!hexadecimal(code)) return false;
    if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_ + 1, 2) == "\\u") {
      at_ += 2;
      if (!hexadecimal(low) || low < 0xdc00 || low >= 0xe000) return false;
      code = 0x10000 + ((code - 0xd800) << 10U) + (low - 0xdc00);
    }
    if (code >= 0xd800 && code < 0xe000) return false;
    put_utf8(code, into);
    return true;
  }
  /// At the u of \uXXXX.
  bool hexadecimal(unsigned& code) {
    if (text_[at_] != 'u' || at_ + 4 >= text_.size()) return false;
    const char* const from = text_.data() + at_ + 1;
    const auto [end, bad] = std::from_chars(from, from + 4, code, 16);
    at_ += 4;
    return bad == std::errc() && end == from + 4;
  }

  bool pass_over() {
    const char c = next();
    if (c == '{')
      return object([&](std::string_view) {
        unescaped_.clear();
        return pass_over();
      });
    if (c == '[') return array([&] { return pass_over(); });
    std::string_view unused;
    if (c == '"') {
      const bool done = string(unused);
      unescaped_.clear();
      return done;
    }
    const auto end = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
    if (end == at_) return false;
    at_ = end;
    return true;
  }

  bool answer_member(std::string_view name) {
    if (name == "data" && is_next('{'))
      return object([&](std::string_view inner) { return data_member(inner); });
    std::string_view word;
    if (!is_next('"')) return pass_over();
    const bool is_status = name == "status", is_error = name == "error";
    if (!string(word)) return false;
    if (is_status) is_success_ = word == "success";
    if (is_error) error_ = word.substr(0, kMaxText);
    unescaped_.clear();
    return true;
  }
  bool data_member(std::string_view name) {
    if (name == "result" && is_next('[')) return array([&] { return series(); });
    if (name != "resultType" || !is_next('"')) return pass_over();
    std::string_view word;
    if (!string(word)) return false;
    is_matrix_ = word == "matrix";
    return true;
  }

  bool series() {
    series_.labels.clear();
    series_.points.clear();
    unescaped_.clear();
    const bool is_read = object([&](std::string_view name) {
      if (name == "metric" && is_next('{'))
        return object([&](std::string_view label_name) { return label(label_name); });
      if (name == "values" && is_next('[')) return array([&] { return point(); });
      return pass_over_in_series();
    });
    if (!is_read) return false;
    if (const auto taken = take_(series_); !taken) return failed_ = taken.error(), false;
    return true;
  }
  /// Labels that were read stay: what is passed over must not free them.
  bool pass_over_in_series() {
    std::deque<std::string> kept;
    std::swap(kept, unescaped_);
    const bool done = pass_over();
    std::swap(kept, unescaped_);
    return done;
  }
  bool label(std::string_view name) {
    if (!is_next('"')) return pass_over_in_series();
    std::string_view value;
    if (!string(value)) return false;
    if (series_.labels.size() >= kMaxLabels) return stop("a series has more labels than any");
    series_.labels.emplace_back(name.substr(0, kMaxText), value.substr(0, kMaxText));
    return true;
  }
  bool point() {
    double time = 0;
    const auto number = [&](std::string_view text, double& into) {
      const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), into);
      return bad == std::errc() && end == text.data() + text.size();
    };
    if (!take('[')) return false;
    next();
    const auto end = std::min(text_.find_first_of(", ]", at_), text_.size());
    if (!number(text_.substr(at_, end - at_), time) || !(time > 0 && time < kMaxTime))
      return stop("a sample has no time");
    at_ = end;
    std::string_view word;
    if (!take(',') || !string(word) || !take(']')) return false;
    if (series_.points.size() >= kMaxSeriesPoints) return stop("a series has more samples than any");
    double value = 0;
    if (!number(word, value)) value = std::numeric_limits<double>::quiet_NaN();
    const auto milliseconds = static_cast<std::int64_t>(std::llround(time * 1e3));  // all that it has
    series_.points.emplace_back(std::chrono::milliseconds(milliseconds), value);
    return true;
  }

  const std::string_view text_;
  const std::function<Result<void>(const PrometheusSeries&)>& take_;
  std::size_t at_ = 0;
  int depth_ = 0;
  PrometheusSeries series_;
  std::deque<std::string> unescaped_;  // of the series that is being read: places do not move
  std::string error_;
  bool is_success_ = false, is_matrix_ = false;
  std::string why_;
  std::optional<Error> failed_;
};

}  // namespace

std::string_view PrometheusSeries::label(std::string_view name) const {
  const auto found = std::ranges::find(labels, name, [](const auto& each) { return each.first; });
  return found == labels.end() ? std::string_view() : found->second;
}

Result<void> read_matrix(std::string_view answer,
                         const std::function<Result<void>(const PrometheusSeries&)>& take) {
  return AnswerReader(answer, take).read();
}

}  // namespace weft::counters
