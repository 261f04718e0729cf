// ReceiptBook: what a NIC received, by sender, batch and spec, after the queue pairs that it came by have
// gone. A row each, whatever the senders ask for, and so many of one sender: its oldest batches make room, no
// other's. Pure; one thread.
#pragma once

#include <list>
#include <map>

#include "probes/datapath/probe_engine.hpp"

namespace weft::verbs {

class ReceiptBook {
 public:
  /// About 10 MB; as many as a responder of raw packets has for all senders.
  explicit ReceiptBook(std::size_t rows_of_a_sender = 65'536) : most_(rows_of_a_sender) {}

  /// The row of this batch, sender and spec, made where there is none yet. It stays where it is until room is
  /// made.
  datapath::ReceivedTally& row(BatchId batch, PortId from, std::uint32_t spec);
  /// Forgets the oldest batches of the sender where it has too many rows, but not `keep`.
  void make_room(PortId from, BatchId keep);
  /// What was dropped of each row stands as that of all of them together, as ReceivedTally has it.
  std::vector<datapath::ReceivedTally> received(BatchId batch) const;

 private:
  struct Batch {
    BatchId id;
    std::map<std::uint32_t, datapath::ReceivedTally> by_spec;
  };
  struct Sender {
    std::list<Batch> batches;  // oldest first
    std::size_t rows = 0;      // of all of them
  };
  std::size_t most_;
  std::map<PortId, Sender> senders_;
};

}  // namespace weft::verbs
