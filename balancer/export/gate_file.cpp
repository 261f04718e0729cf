#include "balancer/export/gate_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "balancer/export/target.hpp"

namespace weft::exports {
namespace {

using std::chrono::seconds;

constexpr std::string_view kForm = "weft.gate/1";
constexpr std::size_t kMaxText = 200;
/// By which the clock of a host may be behind.
constexpr seconds kClocksDiffer = std::chrono::minutes(5);

/// The first word of a line, which loses it and the blank behind it.
std::string_view take_word(std::string_view& line) {
  const auto end = std::min(line.find(' '), line.size());
  const auto word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

HostVerdict not_known(std::string_view host, std::string text) {
  return {std::string(host), Verdict::unknown, std::move(text)};
}

/// The lines of a whole file, without its last; absent: a part is missing.
std::optional<std::string_view> complete_lines(std::string_view text) {
  if (!text.ends_with('\n')) return std::nullopt;
  const auto last = text.rfind('\n', text.size() - 2);
  if (last == std::string_view::npos) return std::nullopt;
  std::string_view end = text.substr(last + 1, text.size() - last - 2);
  std::size_t hosts = 0;
  if (take_word(end) != "end") return std::nullopt;
  const auto [rest, error] = std::from_chars(end.data(), end.data() + end.size(), hosts);
  const auto lines = text.substr(0, last + 1);
  const auto stands = static_cast<std::size_t>(std::ranges::count(lines, '\n')) - 1;
  if (error != std::errc() || rest != end.data() + end.size() || hosts != stands) return std::nullopt;
  return lines;
}

}  // namespace

std::string gate_text(const Gate& gate) {
  auto text = fmt::format("{} {} {}\n", kForm, printable(gate.fabric), weft::to_string(gate.told_at));
  for (const HostVerdict& host : gate.hosts)
    text += fmt::format("{} {} {}\n", host.host, weft::to_string(host.verdict),
                        printable(host.text).substr(0, kMaxText));
  return text + fmt::format("end {}\n", gate.hosts.size());
}

HostVerdict read_gate(std::string_view text, std::string_view host, UtcTime now, seconds longest) {
  auto lines = complete_lines(text);
  if (!lines) return not_known(host, "the file is none of weft gate publish, or a part of one");
  std::string_view first = lines->substr(0, lines->find('\n'));
  if (take_word(first) != kForm) return not_known(host, "the file is none of weft gate publish");
  const auto at = first.rfind(' ');  // a fabric's name may have blanks
  const auto told_at = parse_utc(first.substr(at == std::string_view::npos ? 0 : at + 1));
  if (!told_at) return not_known(host, "the file does not say of when it is");
  if (now - *told_at > longest || *told_at - now > kClocksDiffer)
    return not_known(host, fmt::format("the file is of {}", weft::to_string(*told_at)));
  lines->remove_prefix(lines->find('\n') + 1);
  std::optional<HostVerdict> said;
  while (!lines->empty()) {
    const auto end = lines->find('\n');
    auto line = lines->substr(0, end);
    lines->remove_prefix(end + 1);
    if (take_word(line) != host) continue;
    if (said) return not_known(host, "the file has two lines of this host");
    const auto verdict = parse_verdict(take_word(line));
    if (!verdict) return not_known(host, "the file has no verdict of this host that can be read");
    said = {std::string(host), *verdict, printable(line).substr(0, kMaxText)};
  }
  if (said) return *said;
  return not_known(host, fmt::format("the file has no host {}", printable(host)));
}

}  // namespace weft::exports
