// Flows from the memory of one GPU into that of another: GPUs made of host memory (tests/gpu/fake_cuda.cpp)
// and, where there is one, this machine's; devices in the process (tests/fakes/fake_verbs).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_hosts.hpp"
#include "probes/gpu/cuda_buffer.hpp"
#include "tests/fakes/flipping_buffer.hpp"
#include "tests/gpu/real_gpu.hpp"
#include "tests/places.hpp"

namespace weft::verbs {
namespace {

using ::testing::HasSubstr;

packet::BufferFactory of_gpu(std::shared_ptr<const gpu::CudaContext> context) {
  return [context = std::move(context)](Bytes size) -> Result<std::unique_ptr<packet::TransferBuffer>> {
    WEFT_TRY(auto buffer, gpu::CudaBuffer::allocate(context, size));
    return std::unique_ptr<packet::TransferBuffer>(std::move(buffer));
  };
}

/// Its staged copy changes a bit of what arrives.
packet::BufferFactory of_bad_gpu(std::shared_ptr<const gpu::CudaContext> context) {
  return [well = of_gpu(std::move(context))](Bytes size) -> Result<std::unique_ptr<packet::TransferBuffer>> {
    WEFT_TRY(auto buffer, well(size));
    return std::make_unique<FlippingBuffer>(std::move(buffer));
  };
}

enum class Gpu { fake, real };

Result<std::shared_ptr<const gpu::CudaContext>> open_gpu(Gpu which) {
  if (which == Gpu::real) return gpu::real_gpu();
  WEFT_TRY(const auto library, gpu::CudaLibrary::load(WEFT_FAKE_CUDA));
  return gpu::CudaContext::open(library, 0);
}

class GpuFlows : public ::testing::TestWithParam<std::tuple<Gpu, FlowOperation>> {
 protected:
  void SetUp() override {
    const auto gpu = open_gpu(std::get<0>(GetParam()));
    if (!gpu) GTEST_SKIP() << gpu.error().message;
    memory = of_gpu(*gpu);
    bad_memory = of_bad_gpu(*gpu);
  }
  FlowOperation operation() const { return std::get<1>(GetParam()); }
  packet::BufferFactory memory, bad_memory;
};

std::string name_of_gpu_flow(const ::testing::TestParamInfo<GpuFlows::ParamType>& tested) {
  return std::string(to_string(std::get<1>(tested.param)));
}
INSTANTIATE_TEST_SUITE_P(OnAFake, GpuFlows,
                         ::testing::Combine(::testing::Values(Gpu::fake), every_operation()),
                         name_of_gpu_flow);
INSTANTIATE_TEST_SUITE_P(OnAGpu, GpuFlows,
                         ::testing::Combine(::testing::Values(Gpu::real), every_operation()),
                         name_of_gpu_flow);

TEST_P(GpuFlows, CarryThePatternAndProbesStayInTheHostsMemory) {
  FakeHosts hosts;
  hosts.here = hosts.open(FakeHosts::kHere, memory);
  hosts.there = hosts.open(FakeHosts::kThere, memory);
  EXPECT_THAT(hosts.here->uses(), HasSubstr("flows in GPU memory by a staged copy"))
      << "the device takes no dma-buf, and no peer memory is loaded";
  auto request = hosts.flows({50'000, 51'000});
  request.flow_options.operation = operation();
  const auto tallies = hosts.here->run(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  for (const datapath::FlowTally& tally : *tallies) EXPECT_FALSE(tally.error) << *tally.error;
  EXPECT_GT(tallies->at(0).measure->bytes, 0u);
  EXPECT_EQ(hosts.here->ping(hosts.pings(3), {}).value().at(0).answered, 3u);
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST_P(GpuFlows, AByteThatChangesInTheMemoryOfAGpuIsSilentCorruption) {
  FakeHosts hosts;
  const bool reads = operation() == FlowOperation::read;
  hosts.here = hosts.open(FakeHosts::kHere, reads ? bad_memory : memory);
  hosts.there = hosts.open(FakeHosts::kThere, reads ? memory : bad_memory);
  auto request = hosts.flows({50'000});
  request.flow_options.operation = operation();
  const auto tallies = hosts.here->run(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  ASSERT_TRUE(tallies->at(0).error);
  EXPECT_THAT(*tallies->at(0).error, HasSubstr("passed every checksum"));
}

}  // namespace
}  // namespace weft::verbs
