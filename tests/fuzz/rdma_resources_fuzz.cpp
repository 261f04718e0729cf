// The kernel's list of RDMA resources: any bytes are read without harm, what is told is within its bounds and
// can be shown, and nothing is taken from beyond a message's own end.
#include <cstdint>

#include "topology/base/check.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/host/rdma_resources.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  host::RdmaAnswer answer;
  const auto taken = host::take_rdma_datagram(std::as_bytes(std::span(data, size)), answer);
  WEFT_CHECK(taken || is_harmless(taken.error().message));
  // Each has an attribute of four bytes at least.
  WEFT_CHECK(answer.qps.size() + answer.users.size() + answer.devices.size() <= size / 4);
  for (const auto& qp : answer.qps) {
    WEFT_CHECK(!qp.device.empty() && is_harmless(qp.device) && !to_string(qp.state).empty());
    WEFT_CHECK(qp.number.value() <= 0xFFFFFF && (!qp.peer || qp.peer->value() <= 0xFFFFFF));
    WEFT_CHECK(qp.thread != 0u);
  }
  for (const auto& device : answer.devices) WEFT_CHECK(!device.name.empty() && is_harmless(device.name));
  for (const auto& user : answer.users) WEFT_CHECK(user.thread > 0);
  return 0;
}
