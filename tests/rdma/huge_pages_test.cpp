// Memory of flows on huge pages: a guest is a kernel of its own, which can reserve some.
#include <gmock/gmock.h>

#include <thread>

#include "tests/rdma/queue_pairs_rig.hpp"

namespace weft {
namespace {

using testing::HasSubstr;

/// While it lives a guest has eight huge pages.
class Reserved {
 public:
  Reserved(const RdmaRig& rig, std::string host) : rig_(rig), host_(std::move(host)) { reserve("8"); }
  ~Reserved() { reserve("0"); }
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;

  /// The fewest that were free in the seconds from now on.
  int fewest_free(int seconds) const {
    const auto answer = rig_.in(
        host_, {"sh", "-c",
                fmt::format("i=0; while [ $i -lt {} ]; do awk '/HugePages_Free/ {{print $2}}' /proc/meminfo; "
                            "usleep 100000; i=$((i + 1)); done | sort -n | head -n 1",
                            seconds * 10)});
    EXPECT_EQ(answer.status, 0) << answer.errors;
    return answer.output.empty() ? -1 : std::stoi(answer.output);
  }

 private:
  void reserve(const char* pages) const {
    const auto answer = rig_.in(host_, {"sh", "-c",
                                        fmt::format("echo {0} >/proc/sys/vm/nr_hugepages; grep -q "
                                                    "'HugePages_Total: *{0}$' /proc/meminfo",
                                                    pages)});
    EXPECT_EQ(answer.status, 0) << "the guest does not reserve " << pages << ": " << answer.errors;
  }
  const RdmaRig& rig_;
  std::string host_;
};

/// Eight flows of 64 messages of 8 KiB from host1: two huge pages.
session::WorkItem many(session::WorkItem work) {
  auto& request = std::get<datapath::FlowRequest>(work.work);
  request.specs.resize(8, request.specs.at(0));
  request.flow_options = {.message = Bytes(8192), .depth = 64};
  return work;
}

/// Does the work; how few pages of host1 were free meanwhile.
int run_watched(const RdmaRig& rig, const Reserved& pages, const session::WorkItem& work, RigAnswers& done) {
  int fewest = -1;
  std::jthread watch([&] { fewest = pages.fewest_free(5); });
  done = rig.run({"host1", "host3"}, {{work}});
  watch.join();
  EXPECT_TRUE(done.blamed.empty()) << done.blamed.at(0).text;
  return fewest;
}

TEST_F(QueuePairs, MoveTheirBytesOnHugePagesWhereSomeAreReservedAndSaySo) {
  const Reserved pages(rig(), "host1");
  RigAnswers done;
  EXPECT_LE(run_watched(rig(), pages, many(flows({50'000}, seconds(2))), done), 6);
  EXPECT_EQ(pages.fewest_free(1), 8) << "they are given back";
  EXPECT_THAT(done.uses[rig().nic("host1")],
              HasSubstr("flows in host memory, huge pages where they take 2 MB"));
  EXPECT_THAT(done.uses[rig().nic("host3")], HasSubstr("flows in host memory;"));
}

TEST_F(QueuePairs, DoWithoutHugePagesThatAControlGroupForbids) {
  const Reserved pages(rig(), "host1");
  const RdmaRig::Restricted forbidden(
      rig(), "host1",
      "mkdir -p /tmp/cg; grep -q /tmp/cg /proc/mounts || mount -t cgroup2 none /tmp/cg; echo +hugetlb "
      ">/tmp/cg/cgroup.subtree_control; mkdir -p /tmp/cg/none; echo 0 >/tmp/cg/none/hugetlb.2MB.max; echo $$ "
      ">/tmp/cg/none/cgroup.procs; exec");
  RigAnswers done;
  EXPECT_EQ(run_watched(rig(), pages, many(flows({50'000}, seconds(2))), done), 8);
  EXPECT_THAT(done.uses[rig().nic("host1")], HasSubstr("flows in host memory;"));
}

}  // namespace
}  // namespace weft
