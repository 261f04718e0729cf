// `weft nccl qps` with a kernel that lists queue pairs of processes without the library.
#include "cli/nccl_kernel_qps.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/exit_status.hpp"
#include "cli/nccl.hpp"
#include "cli/topology.hpp"
#include "probes/packet/roce.hpp"
#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"
#include "topology/os/clocks.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::cli {
namespace {

using host::RdmaQp;
using host::RdmaQpState;
using host::RdmaQpType;
using testing::HasSubstr;
using testing::Not;

RdmaQp qp_of(std::uint32_t thread, std::uint32_t number, std::uint32_t peer, const char* device = "mlx5_0") {
  return {.device = device,
          .number = QpNum(number),
          .peer = QpNum(peer),
          .type = RdmaQpType::rc,
          .state = RdmaQpState::rts,
          .thread = thread};
}

/// Process 50 (train) with threads 50 and 51; of other threads the process is not known by name.
host::RdmaResources resources(std::vector<RdmaQp> qps) {
  host::RdmaResources known;
  known.told.devices = {{0, "mlx5_0", true}, {1, "mlx5_1", false}};
  known.told.qps = std::move(qps);
  known.process_of = {{50, {50, "train"}}, {51, {50, "train"}}};
  return known;
}

std::uint32_t port_of(std::uint32_t own, std::uint32_t peer) {
  return packet::udp_port_of(packet::default_flow_label(QpNum(own), QpNum(peer))).value();
}

Result<host::RdmaResources> the_kernel() {
  auto qps =
      std::vector{qp_of(51, 17, 20), qp_of(50, 18, 21, "mlx5_1"), qp_of(50, 19, 22), qp_of(50, 30, 31)};
  qps[2].type = RdmaQpType::other;
  qps[3].peer = std::nullopt;
  qps[3].state = RdmaQpState::init;
  qps.push_back(qp_of(60, 40, 41));
  qps.push_back(qp_of(0, 42, 43));
  qps.back().thread = std::nullopt;
  return resources(std::move(qps));
}
Result<host::RdmaResources> no_rdma() {
  return fail(ErrorKind::absent, "this kernel has no RDMA subsystem (Protocol not supported)");
}

struct EmptyDirectory {
  template <auto kernel>
  Outcome qps(Arguments words = {}) const {
    words.insert(words.begin(), scratch.path().string());
    return call([](const Arguments& all) { return nccl_qps_command(all, kernel); }, words);
  }
  os::ScratchDirectory scratch = os::ScratchDirectory::make().value();
};

TEST(NcclKernelQps, QueuePairsThatNoLibraryTellsOfStandBelowWithThePortOfLinuxRule) {
  const EmptyDirectory job;
  const auto said = job.qps<the_kernel>();
  EXPECT_EQ(said.status, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("no process of a job tells"));
  EXPECT_THAT(said.out, HasSubstr("\n\nprocess 50, train, by the kernel's list alone\n"));
  EXPECT_THAT(said.out, HasSubstr(fmt::format("mlx5_0/17  -/20  {}  rule  RTS\n", port_of(17, 20))));
  EXPECT_THAT(said.out, HasSubstr("mlx5_0/30  -         -  -     INIT\n"));
  EXPECT_THAT(said.out, HasSubstr("mlx5_1/18  -/21      -  -     RTS\n")) << "InfiniBand has no ports";
  EXPECT_THAT(said.out, Not(HasSubstr("/19"))) << "no datagrams";
  EXPECT_THAT(said.out, HasSubstr("process 60, by the kernel's list alone\n"));
  EXPECT_THAT(unwrapped(said.out), HasSubstr("of processes that it does not name: of another pid namespace"));
  EXPECT_EQ(said.err, "");
}

TEST(NcclKernelQps, TheDocumentSaysWhereTheyAreFromAndNothingOfTheirWork) {
  const EmptyDirectory job;
  const auto said = job.qps<the_kernel>({"-o", "json"});
  expect_matches_schema(said.out, "qps");
  const auto document = nlohmann::json::parse(said.out);
  ASSERT_EQ(document["processes"].size(), 3u);
  const auto& process = document["processes"][0];
  EXPECT_EQ(process["source"], "kernel");
  EXPECT_EQ(process["pid"], 50);
  EXPECT_EQ(process["host"], this_hosts_name());
  const auto& qp = process["qps"][0];
  EXPECT_EQ(qp["label"], port_of(17, 20));
  EXPECT_EQ(qp["label_by"], "rule");
  EXPECT_EQ(qp["state"], "RTS");
  for (const char* unknown : {"peer_gid", "bytes", "outstanding", "errors"})
    EXPECT_FALSE(qp.contains(unknown));
  EXPECT_EQ(document["processes"][2]["pid"], 0);
  const auto tables = nccl::parse_qp_tables(said.out, "qps.json");
  ASSERT_TRUE(tables) << tables.error().message;
  EXPECT_TRUE(tables->front().by_kernel);
  EXPECT_FALSE(nccl::parse_qp_tables(
      R"({"schema":"weft.qps/1","processes":[{"host":"a","at_ns":0,"pid":1,"source":"a","qps":[]}]})", "it"));
}

TEST(NcclKernelQps, WithoutRdmaThereIsANoteAndNoFailure) {
  const EmptyDirectory job;
  const auto said = job.qps<no_rdma>();
  EXPECT_EQ(said.status, 0);
  EXPECT_EQ(said.err,
            "weft: queue pairs that no library tells of are not shown: this kernel has no RDMA subsystem "
            "(Protocol not supported)\n");
  expect_matches_schema(job.qps<no_rdma>({"-o", "json"}).out, "qps");
}

/// Of one process (pid 50) with the queue pairs 17 and 18 of a device.
steer::ProcessQps telling(const std::string& host, std::uint32_t pid, const char* device) {
  steer::ProcessQps process{.pid = pid, .written = os::wall_now(), .host = host, .program = "train"};
  for (const std::uint32_t number : {17, 18})
    process.qps.push_back({.number = QpNum(number), .peer_number = QpNum(20), .device = device});
  return process;
}

std::vector<std::uint32_t> numbers_beside(const steer::ProcessQps& process, const char* file,
                                          std::vector<RdmaQp> qps) {
  KernelQps kernel("gpu1", "0123abcd");
  kernel.ask([&] { return Result<host::RdmaResources>(resources(std::move(qps))); });
  kernel.leave_out(process, file);
  std::vector<std::uint32_t> numbers;
  for (const auto& table : kernel.tables(Nanoseconds(1)))
    for (const auto& qp : table.qps) numbers.push_back(qp.number.value());
  return numbers;
}

TEST(NcclKernelQps, WhatAProcessTellsHasNoSecondRow) {
  using testing::ElementsAre;
  const std::vector<RdmaQp> three{qp_of(51, 17, 20), qp_of(50, 18, 20), qp_of(50, 19, 20)};
  const auto of_pod = telling("pod-7", 1, "mlx5_0");  // its own pid namespace and host name
  EXPECT_THAT(numbers_beside(of_pod, "/run/pod-7-0123abcd-40265-1.qps", three), ElementsAre(19));
  EXPECT_THAT(numbers_beside(of_pod, "/run/pod-7-99999999-40265-1.qps", three), ElementsAre(17, 18, 19))
      << "of another host that shares the directory";
  EXPECT_THAT(numbers_beside(telling("gpu1", 50, "mlx5_0"), "/run/a.qps", three), ElementsAre(19));
  EXPECT_THAT(numbers_beside(telling("gpu1", 51, "mlx5_0"), "/run/a.qps", three), ElementsAre(17, 18, 19));
  EXPECT_THAT(numbers_beside(telling("gpu1", 50, "mlx5_1"), "/run/gpu1-0123abcd-1-50.qps", three),
              ElementsAre(17, 18, 19));
  const std::vector<RdmaQp> long_name{qp_of(50, 17, 20, "bnxt_re_of_the_left_side")};
  EXPECT_THAT(numbers_beside(telling("gpu1", 50, "bnxt_re_of_the_"), "/run/a.qps", long_name), ElementsAre());
}

TEST(NcclKernelQps, FlushQueuePairsOfAProcessWithTheLibraryAreLeftOut) {
  using testing::ElementsAre;
  std::vector<RdmaQp> qps{qp_of(50, 17, 20), qp_of(50, 33, 33), qp_of(50, 34, 35), qp_of(60, 36, 36)};
  EXPECT_THAT(numbers_beside(telling("gpu1", 50, "mlx5_0"), "/run/a.qps", qps), ElementsAre(34, 36));
}

TEST(NcclKernelQps, AProcessWithADeviceOpenAndNoQueuePairInTheListIsNoted) {
  auto known = resources({qp_of(50, 17, 20)});
  known.told.users = {{"mlx5_0", 50}, {"mlx5_0", 70}};
  known.process_of[70] = {70, "osu_bw"};
  KernelQps kernel("gpu1", "");
  kernel.ask([&] { return Result<host::RdmaResources>(known); });
  ASSERT_EQ(kernel.notes().size(), 1u);
  EXPECT_THAT(kernel.notes()[0], HasSubstr("1 process with an RDMA device open has no queue pairs in the "
                                           "kernel's list (70 osu_bw): those that a program makes by DEVX"));
}

}  // namespace
}  // namespace weft::cli
