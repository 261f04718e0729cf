// What the fake driver's queue pairs have seen, for the client that posted.
#pragma once

#include <cstdint>

struct ibv_qp;

struct FakeTally {
  static constexpr int kMaxLabels = 16;
  std::uint64_t posted = 0;
  std::uint64_t messages = 0;
  std::uint64_t wrong = 0;                // not in the order of posting, or with other bytes than were posted
  std::uint32_t first_label = 0;          // it was connected with
  std::uint32_t labels[kMaxLabels] = {};  // messages went by, each change once
  int count = 0;
  std::uint32_t drains = 0;
};
extern "C" void fake_tally(ibv_qp* qp, FakeTally* tally);
/// From now on it is in error, as one whose peer does not answer: what is under way comes back.
extern "C" void fake_fail(ibv_qp* qp);
/// As the device's own call: whatever is under way.
extern "C" int fake_modify_port(ibv_qp* qp, std::uint16_t port);
