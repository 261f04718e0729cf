// VerbsResponder: the far end of other NICs' queue pairs. Makes matching ones when asked, echoes and counts
// probes in a thread of its own, gives flows memory to write into, and keeps the counts after the queue pairs
// have gone.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "probes/engine/verbs/receipt_book.hpp"
#include "probes/engine/verbs/served_group.hpp"

namespace weft::verbs {

class VerbsResponder {
 public:
  static Result<std::unique_ptr<VerbsResponder>> start(std::shared_ptr<const rdma::VerbsDevice> device,
                                                       VerbsMemory memory, rdma::VerbsTraffic traffic);
  ~VerbsResponder();

  /// Any thread. A NIC asks for one batch after the other: an offer ends its groups of others. Errors: those
  /// of ServedGroup; conflict (more messages under way than its completion queue holds, more memory than a
  /// host can spare, more queue pairs than a request has).
  Result<QpsConnected> connect(PortId from, const ConnectQps& offer);
  /// The specs of flows whose bytes in memory are not those that were sent.
  std::vector<std::uint32_t> close(PortId from, const CloseQps& done);
  /// Error: its completion queue failed, so that nothing was counted or echoed from then on.
  Result<std::vector<datapath::ReceivedTally>> received(BatchId batch) const;
  /// What came to this NIC because its own engine read it.
  void note(const datapath::ReceivedTally& tally);
  /// Its times are the device's, not the host's.
  bool stamps() const { return queue_->stamps(); }

 private:
  VerbsResponder(std::shared_ptr<const rdma::VerbsDevice> device, VerbsMemory memory,
                 rdma::VerbsTraffic traffic, std::unique_ptr<rdma::CompletionQueue> queue);
  void serve(const std::stop_token& stop);
  void take(const rdma::Completion& completion, bool waited);
  Result<void> make_room(PortId from, const ConnectQps& offer);
  template <class Which>
  void drop(Which which);

  std::shared_ptr<const rdma::VerbsDevice> device_;
  VerbsMemory memory_;
  rdma::VerbsTraffic traffic_;
  std::unique_ptr<rdma::CompletionQueue> queue_;
  mutable std::mutex mutex_;
  std::uint32_t last_serial_ = 0;    // of groups
  std::size_t under_way_ = 0;        // messages that may complete at once
  std::uint64_t memory_in_use_ = 0;  // bytes, of the groups
  std::atomic<int> busy_groups_ = 0;
  std::optional<Error> broken_;  // why it serves no longer
  std::vector<std::unique_ptr<ServedGroup>> groups_;
  std::map<QpNum, ServedGroup*> serving_;
  ReceiptBook receipts_;
  std::jthread thread_;
};

}  // namespace weft::verbs
