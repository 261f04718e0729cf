#include "tests/support/left_labs.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "cli/lab_place.hpp"
#include "topology/lab/ibsim/ib_lab.hpp"
#include "topology/lab/netns/holder.hpp"
#include "topology/lab/netns/lab_control.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

// As test_lab.cpp, infiniband_lab.cpp and netns/names.cpp name them; the first group is the pid.
const std::regex kLab("t([0-9]{1,7})-[0-9]+");
const std::regex kNamespace("weft-t([0-9]{1,7})-[0-9]+-.+");
const std::regex kScratch("weft-test-([0-9]{1,7})-[0-9]+");
const std::regex kInfinibandLab("ibtest-([0-9]{1,7})");
const std::regex kInfinibandFile("weft-ibtest-([0-9]{1,7})\\.(yaml|out|out\\.err|sh)");

bool has_gone(pid_t process) { return kill(process, 0) != 0 && errno == ESRCH; }

bool is_ours(const fs::path& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && info.st_uid == geteuid();
}

/// The entries with a name of this pattern whose process has gone.
std::vector<fs::path> left_in(const fs::path& directory, const std::regex& pattern) {
  std::vector<fs::path> left;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(directory, none)) {
    const std::string name = entry.path().filename();
    std::smatch parts;
    if (std::regex_match(name, parts, pattern) && has_gone(std::stoi(parts[1]))) left.push_back(entry.path());
  }
  return left;
}

std::vector<fs::path> ours_left_in(const fs::path& directory, const std::regex& pattern) {
  auto left = left_in(directory, pattern);
  std::erase_if(left, [](const fs::path& path) { return !is_ours(path); });
  return left;
}

bool take_down(const std::string& lab, const fs::path& state_root) {
  const auto down = lab::lab_down(lab, state_root, lab::WhenLoaded::end_it);
  if (!down) fmt::print(stderr, "left lab {}: {}\n", lab, down.error().message);
  return down.has_value();
}

bool take_down_all(const std::vector<fs::path>& states) {
  bool all = true;
  for (const fs::path& state : states) all &= take_down(state.filename(), state.parent_path());
  return all;
}

/// Namespaces whose lab's state went before them.
std::set<std::string> labs_of_left_namespaces() {
  std::set<std::string> labs;
  if (!lab::may_build_as_root()) return labs;
  for (const fs::path& file : ours_left_in("/run/netns", kNamespace)) {
    const std::string name = file.filename();
    const auto begin = name.find('-') + 1;
    labs.insert(name.substr(begin, name.find('-', name.find('-', begin) + 1) - begin));
  }
  return labs;
}

}  // namespace

void remove_left_labs() {
  std::error_code ignored;
  take_down_all(ours_left_in(cli::lab_state_root(), kLab));
  for (const fs::path& scratch : ours_left_in(fs::temp_directory_path(), kScratch)) {
    // In a scratch directory of ours root also ends the labs that its test made as another user.
    const bool own = take_down_all(left_in(scratch, kLab));
    const bool users = take_down_all(left_in(scratch / "weft/labs", kLab));
    if (own && users) fs::remove_all(scratch, ignored);
  }
  for (const std::string& lab : labs_of_left_namespaces()) take_down(lab, cli::lab_state_root());
  for (const fs::path& lab : ours_left_in(cli::ib_lab_root(), kInfinibandLab))
    (void)lab::ib_lab_down(lab.filename(), cli::ib_lab_root());
  for (const fs::path& file : ours_left_in("/tmp", kInfinibandFile)) fs::remove(file, ignored);
}

}  // namespace weft
