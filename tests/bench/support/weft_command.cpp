#include "tests/bench/support/weft_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/places.hpp"
#include "tests/support/text_of.hpp"

namespace weft::bench {
namespace {

constexpr auto kLimit = std::chrono::minutes(2);

std::filesystem::path new_scratch() {
  static int commands = 0;
  return std::filesystem::temp_directory_path() / fmt::format("weft-bench{}-{}.out", getpid(), commands++);
}

os::ChildProcess started(const std::vector<std::string>& arguments, std::vector<std::string> before,
                         const std::filesystem::path& output) {
  os::ChildSpec spec{.argv = std::move(before), .output = os::ToFile{output}};
  spec.argv.push_back(WeftCommand::kProgram);
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  auto child = os::ChildProcess::start(spec);
  if (child) return std::move(*child);
  fmt::print(stderr, "{}\n", child.error().message);
  std::exit(70);
}

}  // namespace

const std::string WeftCommand::kProgram = WEFT_BINARY_DIR "/weft";

WeftCommand::WeftCommand(const std::vector<std::string>& arguments, std::vector<std::string> before)
    : scratch_(new_scratch()), child_(started(arguments, std::move(before), scratch_)) {}

WeftCommand::~WeftCommand() {
  std::error_code ignored;
  std::filesystem::remove(scratch_, ignored);
}

std::string WeftCommand::output() {
  [[maybe_unused]] const auto ended = child_.wait_for(kLimit);
  return text_of(scratch_);
}

std::string weft_output(const std::vector<std::string>& arguments) { return WeftCommand(arguments).output(); }

}  // namespace weft::bench
