#include "balancer/steer/process_qps.hpp"

#include <gmock/gmock.h>

namespace weft::steer {
namespace {

using testing::HasSubstr;

ProcessQps sample() {
  QpRecord qp{.own = gid_of(IpAddress(IpAddress::V4{10, 0, 0, 1})),
              .peer = gid_of(IpAddress(IpAddress::V4{10, 0, 0, 2})),
              .number = QpNum(17),
              .peer_number = QpNum(18),
              .label = PathLabel(50'000),
              .source = LabelSource::weft,
              .role = Role::answers,
              .move = Move::not_at_rest,
              .failed = true,
              .bytes = 1ull << 40U,
              .under_way = 3,
              .stalled = std::chrono::seconds(4),
              .errors = 2,
              .moves = 5,
              .busy = std::chrono::seconds(6),
              .quiet = std::chrono::milliseconds(7),
              .timeout = 20,
              .retries = 7,
              .device = "mlx5_0"};
  ProcessQps process{.pid = 4711,
                     .rank = 3,
                     .generation = 9,
                     .written = std::chrono::seconds(1'800'000'000),
                     .left_out = 1,
                     .list_written = std::chrono::seconds(1'700'000'000),
                     .holds_lock = true,
                     .job = "4711",
                     .host = "gpu3",
                     .program = "train",
                     .note = "a label list of version 2",
                     .qps = {qp, qp}};
  process.qps[1].label.reset();
  process.qps[1].quiet.reset();
  process.qps[1].timeout.reset();
  return process;
}

TEST(ProcessQpsCodec, ReadsBackWhatItWrote) {
  EXPECT_EQ(decode_qps(encode_qps(sample())).value(), sample());
  EXPECT_EQ(decode_qps(encode_qps({})).value(), ProcessQps());
}

TEST(ProcessQpsCodec, RefusesEveryByteThatChangedAndEveryLengthCut) {
  const auto good = encode_qps(sample());
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto changed = good;
    changed[i] ^= std::byte{1};
    EXPECT_FALSE(decode_qps(changed)) << i;
    EXPECT_FALSE(decode_qps(ByteSpan(good).first(i))) << i;
  }
}

TEST(ProcessQpsCodec, LeavesOutAndCountsWhatIsTooMuchAndCutsTexts) {
  ProcessQps process = sample();
  process.qps.resize(kMaxQps + 7, process.qps[0]);
  process.program = std::string(200, 'a');
  process.note = std::string(1000, 'b');
  const auto read = decode_qps(encode_qps(process)).value();
  EXPECT_EQ(read.qps.size(), kMaxQps);
  EXPECT_EQ(read.left_out, 8u);
  EXPECT_EQ(read.program, std::string(63, 'a'));
  EXPECT_EQ(read.note, std::string(159, 'b'));
}

TEST(ProcessQpsCodec, OfALibraryThatTellsNoJobAndTakesNoLockThereIsNone) {
  ProcessQps process = sample();
  process.job.clear();
  process.holds_lock = false;
  const auto bytes = encode_qps(process);
  // As older libraries leave them.
  EXPECT_THAT(std::vector(bytes.begin() + 352, bytes.begin() + kQpsHeader), testing::Each(std::byte{0}));
  EXPECT_EQ(decode_qps(bytes).value(), process);
  EXPECT_EQ(peek_lock(ByteSpan(bytes).first(kQpsHeader)), false);
}

TEST(ProcessQpsCodec, SaysByItsHeaderAloneThatTheProcessHoldsALock) {
  auto bytes = encode_qps(sample());
  bytes.resize(kQpsHeader);
  EXPECT_EQ(peek_lock(bytes), true);
  EXPECT_EQ(peek_lock(ByteSpan(bytes).first(kQpsHeader - 1)), std::nullopt);
  bytes[0] ^= std::byte{1};
  EXPECT_EQ(peek_lock(bytes), std::nullopt);
}

TEST(ProcessQpsCodec, CallsAJobAsItsFilesDo) {
  for (const std::string& job : {std::string("4711"), std::string(200, 'a'), std::string("a\x1b[31m/b")}) {
    ProcessQps process = sample();
    process.job = job;
    EXPECT_EQ(decode_qps(encode_qps(process)).value().job, job_text(job)) << job;
  }
  EXPECT_EQ(job_text("4711"), "4711");
}

TEST(ProcessFileName, SaysOnWhichKernelTheProcessRuns) {
  const auto kernel = kernel_name("gpu-3.rack 7", "0f9c1d2e-6a1b-4b7e-9d0f-c1d2e3f4a5b6");
  EXPECT_EQ(kernel, (KernelName{"gpu-3.rack-7", "0f9c1d2e"}));
  EXPECT_EQ(kernel_of_file("gpu-3.rack-7-0f9c1d2e-4026531836-4711.qps"), kernel);
  EXPECT_EQ(kernel_name("", ""), (KernelName{"host", std::string(kUnknownBoot)}));
  for (const char* other : {"", ".qps", "4711.qps", "a-b-c.qps", "a-b-c-d.qps", "-0f9c1d2e-1-2.qps",
                            "---.qps", "gpu3-0f9c1d2e-1-2", "gpu3-0f9c1d2e-1-2.profile.jsonl"})
    EXPECT_EQ(kernel_of_file(other), std::nullopt) << other;
}

TEST(ProcessQpsCodec, ShowsTextOfAProcessHarmlessly) {
  ProcessQps process = sample();
  process.program = "tr\x1b[31main";
  EXPECT_EQ(decode_qps(encode_qps(process)).value().program, "tr\\x1b[31main");
}

TEST(ProcessQpsCodec, TakesNoTimeThatNoClockSays) {
  ProcessQps process = sample();
  process.written = std::chrono::nanoseconds(-5);
  EXPECT_EQ(decode_qps(encode_qps(process)).value().written.count(), 0);
}

}  // namespace
}  // namespace weft::steer
