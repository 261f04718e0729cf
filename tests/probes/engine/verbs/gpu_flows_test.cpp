// Flows from the memory of one GPU into that of another: GPUs made of host memory (tests/gpu/fake_cuda.cpp),
// devices in the process (tests/fakes/fake_verbs).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_hosts.hpp"
#include "probes/gpu/cuda_buffer.hpp"
#include "tests/fakes/flipping_buffer.hpp"
#include "tests/places.hpp"

namespace weft::verbs {
namespace {

using ::testing::HasSubstr;

Result<std::unique_ptr<packet::TransferBuffer>> of_gpu(Bytes size) {
  const auto context = gpu::CudaContext::open(*gpu::CudaLibrary::load(WEFT_FAKE_CUDA), 0);
  auto buffer = gpu::CudaBuffer::allocate(*context, size);
  if (!buffer) return pass_on(buffer);
  return std::unique_ptr<packet::TransferBuffer>(std::move(*buffer));
}

Result<std::unique_ptr<packet::TransferBuffer>> of_bad_gpu(Bytes size) {
  auto buffer = of_gpu(size);
  if (!buffer) return buffer;
  return std::make_unique<FlippingBuffer>(std::move(*buffer));
}

class GpuFlows : public ::testing::TestWithParam<FlowOperation> {};
INSTANTIATE_TEST_SUITE_P(Operations, GpuFlows, every_operation(), name_of_operation);

TEST_P(GpuFlows, CarryThePatternAndProbesStayInTheHostsMemory) {
  FakeHosts hosts;
  hosts.here = hosts.open(FakeHosts::kHere, of_gpu);
  hosts.there = hosts.open(FakeHosts::kThere, of_gpu);
  EXPECT_THAT(hosts.here->uses(), HasSubstr("flows in GPU memory by a staged copy"))
      << "the device takes no dma-buf, and no peer memory is loaded";
  auto request = hosts.flows({50'000, 51'000});
  request.flow_options.operation = GetParam();
  const auto tallies = hosts.here->run(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  for (const datapath::FlowTally& tally : *tallies) EXPECT_FALSE(tally.error) << *tally.error;
  EXPECT_GT(tallies->at(0).measure->bytes, 0u);
  EXPECT_EQ(hosts.here->ping(hosts.pings(3), {}).value().at(0).answered, 3u);
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST_P(GpuFlows, AByteThatChangesInTheMemoryOfAGpuIsSilentCorruption) {
  FakeHosts hosts;
  const bool reads = GetParam() == FlowOperation::read;
  hosts.here = hosts.open(FakeHosts::kHere, reads ? of_bad_gpu : of_gpu);
  hosts.there = hosts.open(FakeHosts::kThere, reads ? of_gpu : of_bad_gpu);
  auto request = hosts.flows({50'000});
  request.flow_options.operation = GetParam();
  const auto tallies = hosts.here->run(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  ASSERT_TRUE(tallies->at(0).error);
  EXPECT_THAT(*tallies->at(0).error, HasSubstr("passed every checksum"));
}

}  // namespace
}  // namespace weft::verbs
