#include "tests/support/infiniband_lab.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "cli/lab_place.hpp"
#include "tests/places.hpp"
#include "tests/support/text_of.hpp"
#include "topology/lab/ibsim/ib_simulator.hpp"
#include "topology/model/fabric.hpp"

namespace weft {
namespace {

bool has_program(const char* name) {
  for (const char* folder : {"/usr/bin/", "/usr/sbin/"})
    if (access((std::string(folder) + name).c_str(), X_OK) == 0) return true;
  return false;
}

}  // namespace

InfinibandLab::InfinibandLab(std::string_view lab_part, std::string_view rate)
    : InfinibandLab(Shape{fmt::format(
          "clos: {{leaves: 3, spines: 2, hosts_per_leaf: 2, link: {}}}\nlab: {}\n", rate, lab_part)}) {}

InfinibandLab::InfinibandLab(const Shape& shape)
    : before_(shape.before),
      name_("ibtest-" + std::to_string(getpid()) + shape.name_end),
      path_("/tmp/weft-" + name_ + ".yaml"),
      out_("/tmp/weft-" + name_ + ".out"),
      launch_("/tmp/weft-" + name_ + ".sh") {
  std::ofstream(path_) << "fabric: ib-test\nkind: infiniband\n" << shape.text;
  up = weft({"lab", "up", path_, "--name", name_});
  if (up.status == 0) write_launcher();
}

InfinibandLab::~InfinibandLab() {
  (void)lab::ib_lab_down(name_, cli::ib_lab_root());
  std::error_code ignored;
  for (const auto& file : {path_, out_, out_ + ".err", launch_}) std::filesystem::remove(file, ignored);
}

InfinibandLab::Answer InfinibandLab::weft(std::vector<std::string> words, Nanoseconds limit) {
  words.insert(words.begin(), WEFT_BINARY_DIR "/weft");
  return run({.argv = std::move(words)}, limit);
}

InfinibandLab::Answer InfinibandLab::weft_in_subnet(std::vector<std::string> words) {
  words.insert(words.begin(), WEFT_BINARY_DIR "/weft");
  const auto lab = lab::ib_lab_open(name_, cli::ib_lab_root());
  EXPECT_TRUE(lab) << lab.error().message;
  return lab ? run({.argv = lab::in_directory(lab->directory, std::move(words)),
                    .env = lab->environment_for_commands()})
             : Answer{};
}

InfinibandLab::Answer InfinibandLab::run_at(const std::string& nic, std::vector<std::string> argv,
                                            std::vector<std::string> env) {
  const auto lab = lab::ib_lab_open(name_, cli::ib_lab_root());
  EXPECT_TRUE(lab) << lab.error().message;
  const auto at = lab ? lab->fabric.find_nic(nic) : Result<PortId>(tl::unexpected(lab.error()));
  EXPECT_TRUE(at) << at.error().message;
  if (!at) return {};
  for (auto& variable : lab->environment_at(*at)) env.push_back(std::move(variable));
  return run({.argv = lab::in_directory(lab->directory, std::move(argv)), .env = std::move(env)});
}

InfinibandLab::Answer InfinibandLab::run(os::ChildSpec spec, Nanoseconds limit) {
  spec.argv.insert(spec.argv.begin(), before_.begin(), before_.end());
  spec.output = os::ToFile{out_};
  spec.errors = os::ToFile{out_ + ".err"};
  auto child = os::ChildProcess::start(spec);
  const auto ended = child ? child->wait_for(limit) : Result<std::optional<os::ExitStatus>>(std::nullopt);
  Answer answer{-1, text_of(out_), text_of(out_ + ".err")};
  if (ended && *ended) answer.status = (*ended)->shell_status();
  return answer;
}

/// Each host's own adapter; and the engine's word is ibsim's, which hands requests to subnet managers alone.
void InfinibandLab::write_launcher() {
  const auto lab = lab::ib_lab_open(name_, cli::ib_lab_root());
  ASSERT_TRUE(lab) << lab.error().message;
  std::ofstream script(launch_);
  script << "host=$1; shift\ncase $host in\n";
  for (const PortId nic : lab->fabric.nics()) {
    script << lab->fabric.name_of(lab->fabric.port(nic).node) << ")";
    for (const auto& variable : lab->environment_at(nic)) script << " export '" << variable << "';";
    script << ";\n";
  }
  script << "esac\nfor word; do shift; test \"$word\" = umad && word=ibsim; set -- \"$@\" \"$word\"; done\n"
         << "cd " << lab->directory.string() << " && exec \"$@\"\n";
}

void InfinibandLabTest::SetUp() {
  if (!has_program("ibsim") || !has_program("opensm")) GTEST_SKIP() << "ibsim or opensm is not installed";
  if (!has_program("nats-server")) GTEST_SKIP() << "nats-server is not installed";
}

}  // namespace weft
