#include "probes/run/shared_plan.hpp"

#include <charconv>

namespace weft::run {
namespace {

constexpr std::size_t kPart = 900'000;  // of a value, whose longest is a million bytes

std::string key_of(std::size_t part) { return fmt::format("plan-part-{}", part); }

/// Of which bytes a part is, and of how many parts: "HASH COUNT\n" stands before it.
std::string head_of(std::string_view bytes, std::size_t count) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x} {}\n", hash, count);
}

std::size_t count_in(std::string_view head) {
  const auto digits = head.substr(std::min(head.find(' '), head.size() - 1) + 1);
  std::size_t count = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), count);
  return count;
}

}  // namespace

Result<void> SharedPlan::set(std::string bytes) {
  if (bytes.size() > kMaxSharedPlan)
    return fail(ErrorKind::not_supported,
                "the plan has {} bytes, and at most {} are shared with other watchers", bytes.size(),
                kMaxSharedPlan);
  parts_ = std::max<std::size_t>(1, (bytes.size() + kPart - 1) / kPart);
  head_ = head_of(bytes, parts_);
  bytes_ = std::move(bytes);
  written_ = 0;
  return {};
}

Result<void> SharedPlan::write_some() {
  if (written_ == parts_) return {};
  const auto key = key_of(written_);
  const auto text = head_ + bytes_.substr(written_ * kPart, kPart);
  auto& revision = revisions_[key];
  auto put = values_.put(key, revision, text);
  if (!put && put.error().kind == ErrorKind::conflict) {  // another watcher wrote there
    WEFT_TRY(const auto stored, values_.get(key));
    put = values_.put(key, stored.revision, text);
  }
  if (!put) return pass_on(put);
  revision = *put;
  if (++written_ == parts_) bytes_ = std::string();
  return {};
}

Result<std::string> SharedPlan::read() {
  std::string head, bytes;
  for (std::size_t i = 0, count = 1; i < count; ++i) {
    WEFT_TRY(const auto stored, values_.get(key_of(i)));
    revisions_[key_of(i)] = stored.revision;
    const auto end = stored.text.find('\n');
    if (end == std::string::npos) return fail(ErrorKind::not_found, "no plan is shared");
    if (i == 0) head = stored.text.substr(0, end + 1), count = count_in(head);
    if (count < 1 || count > kMaxSharedPlan / kPart + 1 || !stored.text.starts_with(head))
      return fail(ErrorKind::not_found, "the shared plan is not whole");
    bytes += std::string_view(stored.text).substr(head.size());
    if (i + 1 == count && head != head_of(bytes, count))
      return fail(ErrorKind::not_found, "the shared plan is not whole");
  }
  return bytes;
}

}  // namespace weft::run
