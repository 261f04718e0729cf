// CudaBuffer over a GPU made of host memory (tests/gpu/fake_cuda.cpp), over the real module where there is no
// GPU behind it, and over a GPU where there is one.
#include "probes/gpu/cuda_buffer.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "tests/gpu/real_gpu.hpp"
#include "tests/places.hpp"

namespace weft::gpu {
namespace {

constexpr Bytes kSize(1'000'000);

std::shared_ptr<const CudaContext> fake_gpu(int device) {
  const auto library = CudaLibrary::load(WEFT_FAKE_CUDA);
  EXPECT_TRUE(library) << library.error().message;
  const auto context = CudaContext::open(*library, device);
  EXPECT_TRUE(context) << context.error().message;
  return *context;
}

/// A buffer on a host whose /sys says that nvidia_peermem is loaded, or not. It is read as the buffer is
/// made.
std::unique_ptr<CudaBuffer> buffer_of(int device, bool peermem) {
  std::string sysfs = (std::filesystem::temp_directory_path() / "weft-test-XXXXXX").string();
  EXPECT_NE(mkdtemp(sysfs.data()), nullptr);
  std::filesystem::create_directories(sysfs + (peermem ? "/module/nvidia_peermem" : "/module"));
  auto buffer = CudaBuffer::allocate(fake_gpu(device), kSize, sysfs);
  std::filesystem::remove_all(sysfs);
  EXPECT_TRUE(buffer) << buffer.error().message;
  return std::move(*buffer);
}

TEST(CudaBuffer, OffersDmaBufThenPeerMemoryThenAStagedCopy) {
  using enum packet::MemoryPath;
  EXPECT_EQ(buffer_of(0, true)->paths(), (std::vector{dma_buf, peer_memory, staged}));
  EXPECT_EQ(buffer_of(0, false)->paths(), (std::vector{dma_buf, staged}));
  EXPECT_EQ(buffer_of(1, true)->paths(), (std::vector{peer_memory, staged}));
  EXPECT_EQ(buffer_of(1, false)->paths(), std::vector{staged});
}

TEST(CudaBuffer, ADmaBufCoversTheBufferAndClosesWithIt) {
  auto buffer = buffer_of(0, false);
  const auto reach = buffer->take(packet::MemoryPath::dma_buf);
  ASSERT_TRUE(reach && reach->dma_buf);
  EXPECT_EQ(buffer->path(), packet::MemoryPath::dma_buf);
  struct stat status {};
  ASSERT_EQ(fstat(*reach->dma_buf, &status), 0);
  EXPECT_GE(status.st_size, kSize.count());
  buffer.reset();
  EXPECT_EQ(fstat(*reach->dma_buf, &status), -1);
}

TEST(CudaBuffer, ADeviceThatCannotIsTakenTheNextWay) {
  const auto buffer = buffer_of(1, false);
  const auto refused = buffer->take(packet::MemoryPath::dma_buf);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::not_supported);
  EXPECT_FALSE(buffer->take(packet::MemoryPath::peer_memory));
  EXPECT_TRUE(buffer->take(packet::MemoryPath::staged));
  EXPECT_EQ(buffer->path(), packet::MemoryPath::staged);
}

TEST(CudaBuffer, AStagedCopyCarriesThePatternToAnotherGpu) {
  const auto from = buffer_of(0, false);
  const auto to = buffer_of(1, false);
  const auto sent = from->take(packet::MemoryPath::staged);
  const auto received = to->take(packet::MemoryPath::staged);
  const packet::BufferRange range{32, 500'000};
  ASSERT_TRUE(from->fill(range, 5, 64));
  ASSERT_TRUE(from->before_send(range));
  std::memcpy(received->address, sent->address, static_cast<std::size_t>(kSize.count()));  // the fabric
  EXPECT_GT(to->verify(range, 5, 64)->bytes, 0u) << "not yet on the GPU";
  ASSERT_TRUE(to->after_receive(range));
  EXPECT_EQ(to->verify(range, 5, 64)->bytes, 0u);
}

TEST(CudaBuffer, AFlipInGpuMemoryIsFound) {
  const auto buffer = buffer_of(0, true);
  const auto reach = buffer->take(packet::MemoryPath::peer_memory);
  ASSERT_TRUE(buffer->fill({0, 999'999}, 8, 0));
  static_cast<std::byte*>(reach->address)[123'456] ^= std::byte{1};
  const auto difference = buffer->verify({0, 999'999}, 8, 0);
  EXPECT_EQ(difference->bytes, 1u);
  EXPECT_EQ(difference->first, std::vector<std::uint64_t>{123'456});
}

TEST(CudaBuffer, TooMuchMemoryIsAnErrorThatSaysHowMuch) {
  const auto buffer = CudaBuffer::allocate(fake_gpu(1), Bytes(std::int64_t{100} << 20));
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().kind, ErrorKind::absent);
  EXPECT_NE(buffer.error().message.find("104857600"), std::string::npos) << buffer.error().message;
}

TEST(CudaBuffer, ARangeOutsideIsRefused) {
  const auto buffer = buffer_of(0, false);
  EXPECT_FALSE(buffer->fill({0, 1'000'001}, 1, 0));
  EXPECT_FALSE(buffer->before_send({1'000'000, 1}));
}

TEST(CudaLibrary, TellsItsDevices) {
  const auto devices = (*CudaLibrary::load(WEFT_FAKE_CUDA))->devices();
  ASSERT_TRUE(devices);
  ASSERT_EQ(devices->size(), 2u);
  EXPECT_EQ((*devices)[1].pci, "0000:19:00.0");
  EXPECT_FALSE(CudaContext::open(*CudaLibrary::load(WEFT_FAKE_CUDA), 2));
}

TEST(CudaLibrary, AMissingModuleAndOneThatIsNoneAreToldApart) {
  const auto missing = CudaLibrary::load("/nowhere/libweft_cuda.so");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::absent);
  EXPECT_NE(missing.error().message.find("no CUDA part"), std::string::npos);
  const auto text = CudaLibrary::load("/proc/self/status");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().kind, ErrorKind::not_supported);
  const auto other = CudaLibrary::load("libm.so.6");
  EXPECT_FALSE(other);
}

TEST(CudaLibrary, TheRealModuleLoadsWithoutADriverAndSaysSo) {
  const auto file = std::filesystem::path(WEFT_BINARY_DIR) / kCudaModuleName;
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "built without the CUDA toolkit";
  const auto library = CudaLibrary::load(file);
  ASSERT_TRUE(library) << library.error().message;
  const auto devices = (*library)->devices();
  if (devices) GTEST_SKIP() << "there is a GPU: tests/gpu covers it";
  EXPECT_TRUE(devices.error().kind == ErrorKind::absent || devices.error().kind == ErrorKind::not_supported);
  EXPECT_NE(devices.error().message.find("driver"), std::string::npos) << devices.error().message;
}

/// A buffer on this machine's first GPU.
class BufferOnAGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto gpu = real_gpu();
    if (!gpu) GTEST_SKIP() << gpu.error().message;
    context = *gpu;
    auto made = CudaBuffer::allocate(context, kSize);
    ASSERT_TRUE(made) << made.error().message;
    buffer = std::move(*made);
  }
  std::shared_ptr<const CudaContext> context;
  std::unique_ptr<CudaBuffer> buffer;
};

TEST_F(BufferOnAGpu, GivesItsMemoryByEachWayThatItOffersAndSaysWhyByNoOther) {
  using enum packet::MemoryPath;
  const auto offered = buffer->paths();
  EXPECT_EQ(offered.back(), staged);
  for (const auto path : {dma_buf, peer_memory, staged}) {
    const auto reach = buffer->take(path);
    EXPECT_EQ(reach.has_value(), std::ranges::count(offered, path) == 1) << to_string(path);
    std::cout << to_string(path) << ": " << (reach ? "given" : reach.error().message) << '\n';
    if (!reach || !reach->dma_buf) continue;
    EXPECT_GE(lseek(*reach->dma_buf, 0, SEEK_END), kSize.count());
  }
}

TEST_F(BufferOnAGpu, CarriesThePatternByAStagedCopyAndFindsAFlip) {
  auto other = CudaBuffer::allocate(context, kSize);
  ASSERT_TRUE(other) << other.error().message;
  const auto sent = buffer->take(packet::MemoryPath::staged);
  const auto received = (*other)->take(packet::MemoryPath::staged);
  const packet::BufferRange range{32, 500'003};
  ASSERT_TRUE(buffer->fill(range, 5, 64));
  ASSERT_TRUE(buffer->before_send(range));
  std::memcpy(received->address, sent->address, static_cast<std::size_t>(kSize.count()));
  EXPECT_GT((*other)->verify(range, 5, 64)->bytes, 0u) << "not yet on the GPU";
  ASSERT_TRUE((*other)->after_receive(range));
  EXPECT_EQ((*other)->verify(range, 5, 64)->bytes, 0u);
  static_cast<std::byte*>(received->address)[123'456] ^= std::byte{1};
  ASSERT_TRUE((*other)->after_receive(range));
  const auto difference = (*other)->verify(range, 5, 64);
  EXPECT_EQ(difference->first, std::vector<std::uint64_t>{123'456 - 32});
}

TEST_F(BufferOnAGpu, MoreThanItHasIsAnErrorThatSaysHowMuch) {
  const auto too_much = CudaBuffer::allocate(context, Bytes(std::int64_t{1} << 42));
  ASSERT_FALSE(too_much);
  EXPECT_EQ(too_much.error().kind, ErrorKind::absent);
  EXPECT_NE(too_much.error().message.find("4398046511104"), std::string::npos) << too_much.error().message;
  EXPECT_TRUE(buffer->fill({0, 4096}, 1, 0)) << "and the device goes on";
}

}  // namespace
}  // namespace weft::gpu
