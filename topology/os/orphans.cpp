#include "topology/os/orphans.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

namespace weft::os {
namespace {

namespace fs = std::filesystem;

constexpr auto kBetweenSweeps = std::chrono::milliseconds(5);
constexpr int kMaxLooks = 400;  // two seconds: a process that the kernel holds longer is left

/// Of all threads of this process. Nothing where the kernel has no such list (CONFIG_PROC_CHILDREN).
std::set<pid_t> children() {
  std::set<pid_t> found;
  std::error_code error;
  for (fs::directory_iterator thread("/proc/self/task", error), end; !error && thread != end;
       thread.increment(error)) {
    std::ifstream list(thread->path() / "children");
    for (pid_t child = 0; list >> child;) found.insert(child);
  }
  return found;
}

std::string name_of(pid_t pid) {
  std::ifstream file(fs::path("/proc") / std::to_string(pid) / "comm");
  std::string name;
  std::getline(file, name);
  return name.empty() ? std::to_string(pid) : name;
}

}  // namespace

Orphans::Orphans() : known_(children()) {
  prctl(PR_GET_CHILD_SUBREAPER, &was_reaper_);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Orphans::~Orphans() { prctl(PR_SET_CHILD_SUBREAPER, was_reaper_); }

std::vector<std::string> Orphans::end() {
  std::vector<std::string> names;
  std::set<pid_t> killed;
  for (int look = 0; look < kMaxLooks; ++look) {
    bool any = false;
    for (const pid_t child : children()) {
      if (known_.contains(child) || waitpid(child, nullptr, WNOHANG) == child) continue;
      any = true;
      if (!killed.insert(child).second) continue;
      names.push_back(name_of(child));
      kill(child, SIGKILL);
    }
    if (!any) break;
    std::this_thread::sleep_for(kBetweenSweeps);
  }
  return names;
}

}  // namespace weft::os
