// The real NCCL, without a GPU: it loads the library as its env plugin, which puts itself in the place of
// dlvsym.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/places.hpp"
#include "topology/os/run_program.hpp"

namespace weft::nccl {
namespace {

using std::chrono::seconds;
using testing::EndsWith;
using testing::HasSubstr;

/// Of the CUDA toolkit; empty: there is none.
std::string libnccl() {
  for (const char* path : {"/usr/local/cuda/lib/libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2",
                           "/usr/local/cuda-13.0/lib/libnccl.so.2", "/usr/lib/x86_64-linux-gnu/libnccl.so.2"})
    if (std::filesystem::exists(path)) return path;
  return {};
}

Result<std::string> after_an_id(const std::vector<std::string>& env) {
  std::vector<std::string> words{"env"};
  words.insert(words.end(), env.begin(), env.end());
  words.insert(words.end(), {WEFT_BINARY_DIR "/nccl_client", libnccl()});
  return os::run_program(words, "", seconds(60));
}

constexpr const char* kLibrary = WEFT_BINARY_DIR "/libweft-nccl.so";

TEST(RealNccl, TakesFunctionsFromTheEnvPluginOnceItHasGivenAnId) {
  if (libnccl().empty()) GTEST_SKIP() << "no libnccl.so.2 of a CUDA toolkit";
  const auto plain = after_an_id({});
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_THAT(*plain, testing::Not(HasSubstr("weft")));
  const auto with = after_an_id({std::string("NCCL_ENV_PLUGIN=") + kLibrary});
  ASSERT_TRUE(with) << with.error().message;
  EXPECT_THAT(*with, EndsWith("libweft-nccl.so\n"));
}

TEST(RealNccl, TakesFunctionsFromThePreloadedLibrary) {
  if (libnccl().empty()) GTEST_SKIP() << "no libnccl.so.2 of a CUDA toolkit";
  const auto with = after_an_id({std::string("LD_PRELOAD=") + kLibrary});
  ASSERT_TRUE(with) << with.error().message;
  EXPECT_THAT(*with, EndsWith("libweft-nccl.so\n"));
}

}  // namespace
}  // namespace weft::nccl
