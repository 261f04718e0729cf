// AddressedExchange: engines that find each other by the addresses of their NICs alone, through librdmacm,
// with no coordinator between them. A question and its answer are two messages of a stream of their own. A
// thread answers what comes to the NIC's address.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "probes/datapath/peer_exchange.hpp"
#include "probes/datapath/run_nics.hpp"
#include "probes/engine/verbs/message_stream.hpp"

namespace weft::verbs {

/// A question as it goes over the stream, and back: "12 question", from NIC 12.
struct AddressedQuestion {
  PortId from;
  std::string_view text;  // a view into the message
};
std::string encode_addressed(const AddressedQuestion& question);
/// Absent: it is none.
std::optional<AddressedQuestion> decode_addressed(std::string_view message);

class AddressedExchange final : public datapath::PeerExchange {
 public:
  /// What the engine here says to the question of the engine of NIC `from`. Any thread.
  using Answer = std::function<Result<std::string>(PortId from, std::string_view question)>;
  inline static constexpr std::uint16_t kPort = 47'910;  // free of what IANA assigns

  /// NICs are asked where `nics` has them. Errors: absent (the address is none of an RDMA device's), conflict
  /// (another run is using it).
  static Result<std::unique_ptr<AddressedExchange>> open(const StreamCalls& calls, const IpAddress& own,
                                                         PortId self, const packet::RunKey& key,
                                                         datapath::SharedNics nics, Answer answer,
                                                         std::uint16_t port = kPort);

  Result<std::string> ask(PortId to, std::string_view question, Nanoseconds limit) override;

 private:
  AddressedExchange(const StreamCalls& calls, PortId self, const packet::RunKey& key,
                    datapath::SharedNics nics, Answer answer, std::uint16_t port)
      : calls_(calls),
        self_(self),
        key_(key),
        nics_(std::move(nics)),
        answer_(std::move(answer)),
        port_(port) {}
  void serve(const std::stop_token& stop);
  void serve_one(const MessageStream& stream) const;

  StreamCalls calls_;
  PortId self_;
  packet::RunKey key_;
  datapath::SharedNics nics_;
  Answer answer_;
  std::uint16_t port_;
  std::optional<MessageStream> listener_;
  std::jthread thread_;
};

}  // namespace weft::verbs
