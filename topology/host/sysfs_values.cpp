#include "topology/host/sysfs_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>

namespace weft::host {
namespace {

constexpr std::size_t kPage = 4096;  // a sysfs file holds at most that
constexpr std::size_t kMaxNames = 4096;
constexpr std::uint32_t kMaxCpu = 65535;

std::string_view without_blanks(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

template <class T>
std::optional<T> number_before(std::string_view text, std::string_view unit) {
  text = without_blanks(text);
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  const auto rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (!without_blanks(rest).starts_with(unit)) return std::nullopt;
  return number;
}

std::optional<std::uint32_t> cpu_number(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number > kMaxCpu) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::string> sysfs_line(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return std::nullopt;
  std::ifstream in(file, std::ios::binary);
  std::string bytes(kPage, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  const auto line = without_blanks(std::string_view(bytes).substr(0, bytes.find('\n')));
  const bool plain = std::ranges::none_of(line, [](unsigned char c) { return std::iscntrl(c) != 0; });
  if (line.empty() || !plain || line.size() > 512) return std::nullopt;
  return std::string(line);
}

std::optional<std::uint64_t> sysfs_number(const std::filesystem::path& file) {
  const auto line = sysfs_line(file);
  std::uint64_t number = 0;
  if (!line) return std::nullopt;
  const auto [end, error] = std::from_chars(line->data(), line->data() + line->size(), number);
  if (error != std::errc{} || end != line->data() + line->size()) return std::nullopt;
  return number;
}

std::vector<std::string> sysfs_names(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  auto entry = std::filesystem::directory_iterator(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator() && names.size() < kMaxNames;
       entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::optional<std::string> sysfs_target(const std::filesystem::path& link) {
  std::error_code error;
  const auto target = std::filesystem::read_symlink(link, error);
  if (error || target.filename().empty()) return std::nullopt;
  return target.filename().string();
}

std::optional<PcieSpeed> parse_pcie_speed(std::string_view text) {
  const auto speed = number_before<double>(text, "GT/s");
  if (!speed || !(*speed > 0 && *speed <= 1024)) return std::nullopt;
  return PcieSpeed::giga_transfers(*speed);
}

std::optional<Bandwidth> parse_port_rate(std::string_view text) {
  const auto rate = number_before<double>(text, "Gb/sec");
  if (!rate || !(*rate > 0 && *rate <= 100'000)) return std::nullopt;
  return Bandwidth::gbit(*rate);
}

std::optional<std::string> parse_port_state(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto word = without_blanks(text.substr(colon + 1));
  if (word.empty()) return std::nullopt;
  return std::string(word);
}

std::optional<std::vector<std::uint32_t>> parse_cpu_list(std::string_view text) {
  std::vector<std::uint32_t> cpus;
  text = without_blanks(text);
  while (!text.empty()) {
    const auto part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const auto dash = part.find('-');
    const auto first = cpu_number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : cpu_number(part.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    for (std::uint32_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
    if (cpus.size() > kMaxCpu + 1) return std::nullopt;
  }
  std::ranges::sort(cpus);
  const auto repeated = std::ranges::unique(cpus);
  cpus.erase(repeated.begin(), repeated.end());
  return cpus;
}

std::string to_ranges(const std::vector<std::uint32_t>& ascending) {
  std::string text;
  for (std::size_t i = 0; i < ascending.size();) {
    std::size_t end = i + 1;
    while (end < ascending.size() && ascending[end] == ascending[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", ascending[i]);
    if (end - i > 1) text += fmt::format("-{}", ascending[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace weft::host
