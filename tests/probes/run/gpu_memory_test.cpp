// Which GPU's memory a NIC moves, over GPUs made of host memory (tests/gpu/fake_cuda.cpp).
#include "probes/run/gpu_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "probes/gpu/cuda_library.hpp"
#include "tests/places.hpp"
#include "topology/findings/host_inventory.hpp"

namespace weft::run {
namespace {

using testing::HasSubstr;

/// The fake module's two GPUs, each with a NIC beside it; a third NIC is near none.
HostInventory two_gpus() {
  HostInventory host;
  host.gpus.push_back({.pci = "0000:18:00.0", .nearest_nics = {"eth0"}});
  host.gpus.push_back({.pci = "0000:19:00.0", .nearest_nics = {"mlx5_1"}});
  host.nics.push_back({.interface = "eth0", .served_as = "10.0.0.1"});
  host.nics.push_back({.interface = "eth1", .rdma_device = "mlx5_1"});
  host.nics.push_back({.interface = "eth2"});
  return host;
}

TEST(NearGpu, IsTheOneThatCountsTheNicAmongItsNearest) {
  const HostInventory host = two_gpus();
  EXPECT_EQ(gpu_near(host, "10.0.0.1")->pci, "0000:18:00.0");
  EXPECT_EQ(gpu_near(host, "eth1")->pci, "0000:19:00.0") << "known by its RDMA device";
  EXPECT_EQ(gpu_near(host, "eth2")->pci, "0000:18:00.0") << "near none: the first";
  EXPECT_EQ(gpu_near({}, "eth0"), nullptr);
}

TEST(GpuMemory, IsOfTheGpuNearTheNicAndTheResultNamesIt) {
  const auto memory = gpu_memory(two_gpus(), WEFT_FAKE_CUDA);
  const auto flows = memory("eth1");
  ASSERT_TRUE(flows) << flows.error().message;
  EXPECT_EQ(flows->of, "of GPU 0000:19:00.0 (fake GPU 1)");
  const auto buffer = flows->buffers(Bytes(4096));
  ASSERT_TRUE(buffer) << buffer.error().message;
  EXPECT_EQ((*buffer)->paths().back(), packet::MemoryPath::staged);
  EXPECT_EQ(gpu_memory(std::nullopt, WEFT_FAKE_CUDA)("eth1")->of, "of GPU 0000:18:00.0 (fake GPU 0)");
}

TEST(GpuMemory, OfADriverThatIsTooOldIsAnErrorThatSaysSo) {
  setenv("WEFT_FAKE_CUDA_DRIVER", "old", 1);
  const auto old = gpu_memory(two_gpus(), WEFT_FAKE_CUDA)("eth0");
  unsetenv("WEFT_FAKE_CUDA_DRIVER");
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().kind, ErrorKind::not_supported);
  EXPECT_THAT(old.error().message, HasSubstr("too old"));
}

TEST(GpuMemory, ThatIsNotThereIsAnErrorThatSaysWhatIsMissing) {
  const auto without_module = gpu_memory(two_gpus(), "/nowhere/libweft_cuda.so")("eth0");
  ASSERT_FALSE(without_module);
  EXPECT_THAT(without_module.error().message, HasSubstr("memory of a GPU"));
  EXPECT_THAT(without_module.error().message, HasSubstr("no CUDA part"));
  EXPECT_EQ(cuda_module_file().filename(), gpu::kCudaModuleName);
}

}  // namespace
}  // namespace weft::run
