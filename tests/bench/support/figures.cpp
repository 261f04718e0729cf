#include "tests/bench/support/figures.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/places.hpp"

namespace weft::bench {
namespace {

/// "model name" of the first CPU and how many there are.
std::string machine() {
  std::ifstream cpus("/proc/cpuinfo");
  std::string model = "unknown CPU";
  for (std::string line; std::getline(cpus, line);)
    if (line.starts_with("model name")) {
      model = line.substr(std::min(line.find(':') + 2, line.size()));
      break;
    }
  return fmt::format("{}, {} cores", model, std::thread::hardware_concurrency());
}

}  // namespace

Figures::Figures(std::string name) : name_(std::move(name)) {
  fmt::print("{:<34} {:>12}   {}\n", "figure", "measured", "to reach");
}

void Figures::keep_earlier() {
  std::ifstream file(bench_folder() / (name_ + ".json"));
  const auto document = nlohmann::ordered_json::parse(file, nullptr, false);
  if (!document.is_object() || document.value("machine", "") != machine()) return;
  const auto figures = document.find("figures");
  if (figures == document.end() || !figures->is_object()) return;
  for (const auto& [figure, value] : figures->items())
    if (value.is_number() && !find(figure)) note(figure, value.get<double>());
}

std::optional<double> Figures::find(std::string_view figure) const {
  const auto at = std::ranges::find(figures_, figure, &std::pair<std::string, double>::first);
  if (at == figures_.end()) return std::nullopt;
  return at->second;
}

void Figures::note(std::string_view figure, double value) {
  const auto at = std::ranges::find(figures_, figure, &std::pair<std::string, double>::first);
  if (at == figures_.end())
    figures_.emplace_back(figure, value);
  else
    at->second = value;
}

void Figures::add(std::string_view figure, double value, std::string_view target) {
  note(figure, value);
  fmt::print("{:<34} {:>12.4g}   {}\n", figure, value, target);
  std::fflush(stdout);
}

int Figures::write() const {
  nlohmann::ordered_json document{{"schema", "weft.bench/1"}, {"machine", machine()}};
  auto& figures = document["figures"] = nlohmann::ordered_json::object();
  for (const auto& [figure, value] : figures_) figures[figure] = value;
  const auto path = bench_folder() / (name_ + ".json");
  std::ofstream file(path);
  file << document.dump(2) << '\n';
  file.flush();
  if (file) return 0;
  fmt::print(stderr, "cannot write {}\n", path.string());
  return 70;
}

std::filesystem::path bench_folder() {
  // Of the project, wherever under build/ this program stands.
  const auto folder = std::filesystem::path(WEFT_BINARY_DIR).parent_path() / "bench";
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  return folder;
}

double cpu_milliseconds(const std::function<void()>& work) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
  };
  const double start = now();
  work();
  return now() - start;
}

}  // namespace weft::bench
