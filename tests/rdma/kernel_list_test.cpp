// Programs without libweft-nccl.so over soft-RoCE and real packets: `weft nccl qps` has their queue pairs
// from the kernel, with the ports that captured packets carry.
#include <gmock/gmock.h>

#include "tests/rdma/jobs_of_others.hpp"

namespace weft {
namespace {

class WithoutTheLibrary : public Ring {
 protected:
  struct Rows {
    std::set<std::uint32_t> ports;
    std::size_t count = 0;           // connected, in RTS
    std::size_t of_ring_client = 0;  // of these
    Json document;
  };
  /// What the kernel of host1 lists; asked by a user without rights, who sees the same.
  Rows rows() {
    Rows made;
    const auto answer = rig().in("host1", {"setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups",
                                           "weft", "nccl", "qps", "/tmp/nobody", "-o", "json"});
    // A guest's kernel writes to the console that answers come by: then once more.
    made.document = Json::parse(answer.output, nullptr, false);
    if (!made.document.is_object()) return made;
    for (auto& process : made.document["processes"])
      for (auto& qp : process["qps"]) {
        if (process["source"] != "kernel" || qp["state"] != "RTS" || !qp.contains("label")) continue;
        ++made.count;
        made.of_ring_client += process["program"] == "ring_client" ? 1 : 0;
        made.ports.insert(qp["label"].get<std::uint32_t>());
      }
    return made;
  }
};

TEST_F(WithoutTheLibrary, TheKernelsListHasTheQueuePairsWithThePortsOfTheirPackets) {
  rig().in("host1", {"mkdir", "-p", "/tmp/nobody"});
  Rows listed;
  const auto ports = rig().ports_used("host1", [&] {
    auto processes = start("0", "4096", {}, false);
    const auto until = std::chrono::steady_clock::now() + kMaxWait;
    while (listed.count < 2 * kRing && std::chrono::steady_clock::now() < until) listed = rows();
    std::this_thread::sleep_for(seconds(2));  // each has sent
    stop(processes);
  });
  EXPECT_EQ(listed.count, 2 * kRing) << listed.document.dump(1);
  // The other half was made by a thread that has ended: the kernel does not say whose they are.
  EXPECT_GE(listed.of_ring_client, kRing) << listed.document.dump(1);
  EXPECT_EQ(listed.ports, seen(ports));
}

}  // namespace
}  // namespace weft
