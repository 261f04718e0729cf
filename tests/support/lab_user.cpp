#include "tests/support/lab_user.hpp"

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/places.hpp"
#include "tests/support/text_of.hpp"
#include "topology/base/check.hpp"

namespace weft {
namespace {

constexpr std::chrono::seconds kMaxCommandLength{60};
constexpr std::chrono::seconds kMaxWait{20};
constexpr std::chrono::milliseconds kPoll{5};

/// proc(5): the parent's pid is the second field after the name in parentheses.
pid_t parent_of(pid_t process) {
  const std::string stat = text_of(fmt::format("/proc/{}/stat", process));
  std::istringstream fields(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
  char state = 0;
  pid_t parent = 0;
  fields >> state >> parent;
  return parent;
}

bool has_word(pid_t process, const std::string& word) {
  std::istringstream words(text_of(fmt::format("/proc/{}/cmdline", process)));
  for (std::string each; std::getline(words, each, '\0');)
    if (each == word) return true;
  return false;
}

template <class Condition>
bool comes_true(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + kMaxWait;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

}  // namespace

void RunningCommand::signal(int number) {
  const auto sent = child_.send_signal(number);
  EXPECT_TRUE(sent) << sent.error().message;
}

Answer RunningCommand::wait(Nanoseconds limit) {
  const auto ended = child_.wait_for(limit);
  if (!ended || !*ended) {
    ADD_FAILURE() << "it hangs: " << text_of(errors_);
    return {};
  }
  return {(*ended)->shell_status(), text_of(output_), text_of(errors_)};
}

std::string RunningCommand::errors_so_far() const { return text_of(errors_); }

LabUser::LabUser(std::string_view fabric, std::vector<std::string> before) : before_(std::move(before)) {
  chmod(scratch_.path().c_str(), 0777);
  std::filesystem::create_directories(temporary());
  chmod(temporary().c_str(), 0777);
  std::filesystem::copy_file(WEFT_BINARY_DIR "/weft", program());
  std::ofstream(fabric_file()) << fabric;
}

LabUser::~LabUser() { weft({"lab", "down", "--name", lab, "--force"}); }

RunningCommand LabUser::start(const std::vector<std::string>& words,
                              std::vector<std::string> environment) const {
  return start_after(before_, words, std::move(environment));
}

RunningCommand LabUser::start_after(std::vector<std::string> argv, const std::vector<std::string>& words,
                                    std::vector<std::string> environment) const {
  argv.push_back(program());
  argv.insert(argv.end(), words.begin(), words.end());
  environment.push_back("XDG_RUNTIME_DIR=" + scratch_.path().string());
  environment.push_back("TMPDIR=" + temporary().string());
  const auto output = scratch_.path() / fmt::format("out{}", commands_);
  const auto errors = scratch_.path() / fmt::format("err{}", commands_++);
  auto child = os::ChildProcess::start(
      {.argv = argv, .env = environment, .output = os::ToFile{output}, .errors = os::ToFile{errors}});
  if (!child) fmt::print(stderr, "{}\n", child.error().message);
  WEFT_CHECK(child.has_value());
  return {std::move(*child), output, errors};
}

Answer LabUser::weft(const std::vector<std::string>& words, std::vector<std::string> environment) const {
  return start(words, std::move(environment)).wait(kMaxCommandLength);
}

void LabUser::fault(const std::string& link, std::vector<std::string> settings) const {
  std::vector<std::string> words{"lab", "fault", link, "--name", lab};
  words.insert(words.end(), settings.begin(), settings.end());
  const auto answer = weft(words);
  EXPECT_EQ(answer.status, 0) << answer.errors;
}

std::vector<std::string> as_nobody() {
  return {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"};
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto process = static_cast<pid_t>(std::atoi(entry.path().filename().c_str()));
    if (process > 0 && parent_of(process) == parent) children.push_back(process);
  }
  return children;
}

std::optional<pid_t> child_with_word(pid_t parent, const std::string& word) {
  std::optional<pid_t> found;
  comes_true([&] {
    for (const pid_t child : children_of(parent))
      if (has_word(child, word)) found = child;
    return found.has_value();
  });
  return found;
}

testing::AssertionResult send_signal(std::optional<pid_t> process, int signal) {
  if (!process || *process <= 0) return testing::AssertionFailure() << "no such process";
  if (kill(*process, signal) == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "kill " << *process << ": " << strerror(errno);
}

std::uint64_t packets_sent(pid_t process) {
  // Of interface p1: proc(5), /proc/PID/net/dev.
  std::istringstream lines(text_of(fmt::format("/proc/{}/net/dev", process)));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name;
    fields >> name;
    if (name != "p1:") continue;
    std::uint64_t value = 0;
    for (int i = 0; i < 10; ++i) fields >> value;
    return value;
  }
  return 0;
}

testing::AssertionResult probes_from(pid_t process, std::uint64_t packets) {
  const auto before = packets_sent(process);
  if (comes_true([&] { return packets_sent(process) >= before + packets; }))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << packets_sent(process) - before << " packets sent";
}

testing::AssertionResult becomes_empty(const std::filesystem::path& directory) {
  if (comes_true([&] { return std::filesystem::is_empty(directory); })) return testing::AssertionSuccess();
  return testing::AssertionFailure() << std::filesystem::directory_iterator(directory)->path() << " is left";
}

testing::AssertionResult all_gone(const std::vector<pid_t>& processes) {
  for (const pid_t process : processes)
    if (!comes_true([&] { return kill(process, 0) != 0; }))
      return testing::AssertionFailure() << "process " << process << " is left";
  return testing::AssertionSuccess();
}

}  // namespace weft
