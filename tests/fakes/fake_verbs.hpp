// FakeVerbs: RDMA devices in this process, behind the functions of libibverbs, so that engines meet queue
// pairs where no device is. What is posted arrives at once and is a real copy between the memories. A device
// can be cut off, a call refused, and what is not given back is counted. One at a time; thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "probes/rdma/verbs_device.hpp"
#include "topology/base/ip.hpp"

namespace weft::fakes {

struct FakeVerbsState;

class FakeVerbs {
 public:
  enum class Call {
    open_device,
    alloc_pd,
    reg_mr,
    create_comp_channel,
    create_cq,
    create_qp,
    create_ah,
    modify_qp,
    post_send
  };

  /// One device for each address, with it as its RoCE v2 GID: fake0, fake1, ...
  explicit FakeVerbs(std::vector<IpAddress> addresses);
  ~FakeVerbs();
  FakeVerbs(const FakeVerbs&) = delete;
  FakeVerbs& operator=(const FakeVerbs&) = delete;

  std::shared_ptr<const rdma::VerbsLibrary> library() const;

  /// After so many more messages nothing passes to or from the device: a reliable queue pair that sends
  /// there ends with status 12, what an unreliable one sends is lost.
  void cut(std::size_t device, std::size_t after = 0);
  /// Of what the device sends to this LID every so-many-th message is lost; of reliable queue pairs none.
  void lose(std::size_t device, Lid to, std::size_t one_in);
  /// After `after` more calls of the kind, one fails with this error number.
  void refuse(Call call, int error, std::size_t after = 0);
  /// After `after` more messages that the device was given, it ends one with this completion status, and
  /// those of its queue pair behind it are flushed.
  void end_with(std::size_t device, int status, std::size_t after = 0);
  /// The device's GID is in its table no more; queue pairs that have it go on.
  void forget_gid(std::size_t device);
  /// From now on the device is an InfiniBand adapter: its port has these LIDs, its one GID no type of RoCE.
  void join_subnet(std::size_t device, const LidRange& lids);
  /// The device opened next is by this driver; before, by none that is known.
  void drive(std::size_t device, rdma::RdmaDriver driver);
  /// The device's port is down; queue pairs that it has go on.
  void take_down(std::size_t device);
  /// The device stamps completions from now on, by a clock of its own of 1 GHz that is `ahead` of the host's.
  void stamp(std::size_t device, std::chrono::nanoseconds ahead);
  /// What the device tells of RDMA reads to who opens it from now on; before: 16 and 16.
  void limit_reads(std::size_t device, const rdma::ReadLimits& limits);
  /// With what its queue pair that was connected last was: the numbers given to modify_qp.
  rdma::ReadLimits reads_given(std::size_t device) const;
  /// Queue pairs of the device have drained once they were asked so many times; those with completions that
  /// nobody has looked at never do, as with soft-RoCE 6.1 now and then, and are of no use any more.
  void drain_slowly(std::size_t device, int asks);
  /// Completion queues hold so many entries at most, whatever was asked for: one more and they overrun.
  void shrink_queues(std::size_t entries);
  /// A look at a completion queue tells of one at most.
  void tell_one_by_one();
  /// Contexts, protection domains, memory, channels, queues and queue pairs that were made and not given
  /// back.
  std::size_t held() const;
  std::size_t queue_pairs() const;  // that there are
  /// How the queue pairs and address handles that there are mark what is sent by them.
  struct Marks {
    std::uint32_t flow_label = 0;
    std::uint8_t traffic_class = 0;
    std::uint8_t service_level = 0;
    std::uint16_t dlid = 0;  // InfiniBand
    std::uint8_t path_bits = 0;
    friend auto operator<=>(const Marks&, const Marks&) = default;
  };
  std::vector<Marks> marks() const;
  /// The devices as they stood when a message arrived.
  struct Seen {
    std::vector<Marks> marks;
    std::size_t queue_pairs = 0;
  };
  /// Keeps that of the next message; seen() is the one kept last.
  void watch_next_message();
  Seen seen() const;
  /// Of all devices so far: messages that arrived, calls that posted some, and messages copied as they were
  /// posted. A device refuses to copy more than its queue pair was given.
  std::size_t messages() const;
  std::size_t doorbells() const;
  std::size_t copied() const;

 private:
  std::unique_ptr<FakeVerbsState> state_;
};

}  // namespace weft::fakes
