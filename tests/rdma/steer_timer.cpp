// For benchmarks within a guest: gives a job's processes two lists of labels by turns, and prints for each
// turn the milliseconds from a list's being there until each queue pair tells that it has its label; -1: it
// has not after 10 s.
//   steer_timer DIR TURNS LIST_A LIST_B
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

#include "balancer/steer/label_list.hpp"
#include "balancer/steer/process_qps.hpp"

namespace {

namespace fs = std::filesystem;
using namespace weft::steer;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{10};
/// The files tell when they were written, so that looking seldom costs no precision; often, it would take the
/// guest's one processor from the job.
constexpr std::chrono::milliseconds kLook{20};

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<ProcessQps> processes(const fs::path& directory) {
  std::vector<ProcessQps> all;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() != ".qps") continue;
    const auto text = bytes_of(entry.path());
    if (auto process = decode_qps(std::as_bytes(std::span(text)))) all.push_back(*std::move(process));
  }
  return all;
}

void give(const fs::path& directory, const LabelList& list) {
  const auto bytes = encode_labels(list).value();
  std::ofstream(directory / "new", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  fs::permissions(directory / "new", fs::perms(0600));
  fs::rename(directory / "new", directory / "labels");
}

bool has_its_label(const QpRecord& qp, const LabelList& list) {
  const PairLabels* const pair = list.find(qp.own, qp.peer, std::nullopt, qp.role);
  return pair == nullptr || (qp.label && std::ranges::count(pair->labels, *qp.label) > 0);
}

void turn(const fs::path& directory, const LabelList& list) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> took;  // by process and number
  const auto start = Clock::now();
  const auto asked = std::chrono::system_clock::now().time_since_epoch();
  give(directory, list);
  for (bool waits = true; waits && Clock::now() - start < kPatience;) {
    std::this_thread::sleep_for(kLook);
    waits = false;
    for (const ProcessQps& process : processes(directory))
      for (const QpRecord& qp : process.qps) {
        const auto key = std::pair(process.pid, qp.number.value());
        double& milliseconds = took.try_emplace(key, -1).first->second;
        if (milliseconds < 0 && process.generation == list.generation && has_its_label(qp, list))
          milliseconds = std::chrono::duration<double, std::milli>(process.written - asked).count();
        waits = waits || milliseconds < 0;
      }
    waits = waits || took.empty();
  }
  for (const auto& [key, milliseconds] : took) fmt::print("{:.1f} ", milliseconds);
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 64;
  const fs::path directory = argv[1];
  std::uint64_t last = 0;
  for (const ProcessQps& process : processes(directory)) last = std::max(last, process.generation);
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    const auto text = bytes_of(argv[3 + i % 2]);
    auto list = decode_labels(std::as_bytes(std::span(text)));
    if (!list) return 3;
    list->generation = ++last;
    turn(directory, *list);
  }
  return 0;
}
