#include "tests/support/verbs_job.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "tests/places.hpp"

namespace weft {
namespace {

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

VerbsJob::VerbsJob()
    : preload(WEFT_BINARY_DIR "/libweft-nccl.so"), scratch_(os::ScratchDirectory::make().value()) {
  std::filesystem::create_directory(directory());
}

void VerbsJob::tell(const steer::LabelList& list) const {
  const auto bytes = steer::encode_labels(list).value();
  tell_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, steer::labels_file(list.job));
}

void VerbsJob::tell_bytes(std::string_view bytes, const std::string& file) const {
  const auto beside = directory() / "new";
  std::ofstream(beside, std::ios::binary) << bytes;
  std::filesystem::permissions(beside, std::filesystem::perms(0600));
  std::filesystem::rename(beside, directory() / file);
}

void VerbsJob::start(std::vector<std::string> options, std::vector<std::string> env) {
  options.insert(options.begin(),
                 {WEFT_BINARY_DIR "/verbs_client", WEFT_BINARY_DIR "/libweft_fake_ibverbs.so"});
  env.push_back("LD_PRELOAD=" + preload);
  // Those of the test come first and count.
  env.insert(env.end(), {"WEFT_NCCL_DIR=" + directory().string(), "RANK=3"});
  child_ = os::ChildProcess::start({.argv = options,
                                    .env = env,
                                    .output = os::ToFile{scratch_.path() / "out"},
                                    .errors = os::ToFile{scratch_.path() / "err"}})
               .value();
}

std::vector<SeenQp> VerbsJob::end(std::chrono::seconds most) {
  const auto ended = child_->wait_for(most);
  said = bytes_of(scratch_.path() / "err");
  if (!ended || !*ended || !(*ended)->success()) {
    said += ended && *ended ? to_string(**ended) : "it does not end";
    return {};
  }
  std::vector<SeenQp> seen;
  std::istringstream lines(bytes_of(scratch_.path() / "out"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    SeenQp qp;
    std::size_t index = 0;
    words >> index >> qp.first_label >> qp.messages >> qp.wrong >> qp.drains;
    qp.labels.assign(std::istream_iterator<std::uint32_t>(words), {});
    seen.push_back(std::move(qp));
  }
  return seen;
}

void VerbsJob::kill(int signal) {
  EXPECT_TRUE(child_->send_signal(signal));
  const auto ended = child_->wait_for(std::chrono::seconds(10));
  EXPECT_TRUE(ended && *ended && (*ended)->signal == signal) << "signal " << signal << " does not end it";
  child_.reset();
}

std::filesystem::path VerbsJob::own_file() const {
  for (const auto& entry : std::filesystem::directory_iterator(directory()))
    if (entry.path().extension() == ".qps") return entry.path();
  return {};
}

std::optional<steer::ProcessQps> VerbsJob::read() const {
  for (const auto& entry : std::filesystem::directory_iterator(directory()))
    if (entry.path().extension() == ".qps") {
      const std::string bytes = bytes_of(entry.path());
      if (auto process = steer::decode_qps(std::as_bytes(std::span(bytes)))) return *process;
    }
  return std::nullopt;
}

void VerbsJob::nap() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

void expect_nothing_lost(const std::vector<SeenQp>& qps) {
  for (const SeenQp& qp : qps) EXPECT_EQ(qp.wrong, 0u);
}

steer::PairLabels labels_of_pair(std::vector<std::uint32_t> labels, steer::Role role) {
  steer::PairLabels pair{.own = steer::gid_of(IpAddress(IpAddress::V4{10, 0, 0, 1})),
                         .peer = steer::gid_of(IpAddress(IpAddress::V4{10, 0, 0, 2})),
                         .peer_lids = std::nullopt,
                         .role = role,
                         .labels = {}};
  for (const auto label : labels) pair.labels.emplace_back(label);
  return pair;
}

}  // namespace weft
