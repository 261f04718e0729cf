#include "tests/bench/support/figures.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

namespace weft::bench {

std::string machine() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  std::string model = "unknown processor";
  while (std::getline(file, line))
    if (line.starts_with("model name")) {
      model = line.substr(std::min(line.find(':') + 2, line.size()));
      break;
    }
  return fmt::format("{}, {} cores", model, std::thread::hardware_concurrency());
}

Result<std::string> write_figures(std::string_view name, const Figures& figures) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(WEFT_BINARY_DIR).parent_path() / "bench";
  std::error_code error;
  fs::create_directories(folder, error);
  nlohmann::ordered_json document{{"schema", "weft.bench/1"}, {"machine", machine()}};
  document["figures"] = nlohmann::ordered_json::object();
  for (const auto& [key, value] : figures) document["figures"][key] = value;
  const fs::path path = folder / (std::string(name) + ".json");
  std::ofstream file(path);
  file << document.dump(2) << '\n';
  if (!file.flush()) return fail(ErrorKind::internal, "cannot write {}", path.string());
  return path.string();
}

}  // namespace weft::bench
