#include "probes/engine/verbs/verbs_engine.hpp"

#include "probes/engine/verbs/addressed_exchange.hpp"
#include "probes/engine/verbs/flow_run.hpp"
#include "probes/engine/verbs/ping_run.hpp"
#include "probes/engine/verbs/transfer_run.hpp"
#include "probes/engine/verbs/verbs_responder.hpp"

namespace weft {
namespace {

Result<QpKind> kind_of_probes(ProbeTransport wish, const VerbsDevice& device) {
  return choose_probe_kind(wish, device.name(), device.driver(), device.is_infiniband());
}

constexpr Bytes kHugePage(2 << 20);

class QueuePairEngine final : public VerbsEngine {
 public:
  QueuePairEngine(std::shared_ptr<const VerbsDevice> device, std::unique_ptr<VerbsResponder> responder,
                  VerbsOptions options, QpKind probes, MemoryPath path)
      : device_(std::move(device)),
        responder_(std::move(responder)),
        options_(std::move(options)),
        addresses_(options_.nics, {.gid = device_->address().gid,
                                   .infiniband = device_->is_infiniband(),
                                   .by_index = options_.gid.index.has_value()}),
        probes_(probes),
        path_(path) {}

  std::string uses() const override {
    return fmt::format("{}; probes by {}; time stamps of the {}; flows in {}{}{}", describe(device_->gid()),
                       probes_ == QpKind::datagram ? "datagrams (UD)" : "connections (UC)",
                       responder_->stamps() ? "device" : "host", to_string(path_),
                       path_ == MemoryPath::host_huge_pages ? " where they take 2 MB" : "",
                       by_address_ ? "; peers found by address (librdmacm)" : "");
  }

  bool is_infiniband() const override { return device_->is_infiniband(); }

  void meet(PeerExchange& exchange) override {
    if (!by_address_) exchange_ = &exchange;
  }

  /// From now on peers are asked, and answered, at the addresses of their NICs.
  Result<void> exchange_by_address(const IpAddress& own, const ExchangeByAddress& how) {
    WEFT_TRY(const auto calls, load_rdma_streams());
    WEFT_TRY(auto opened, AddressedExchange::open(calls, own, how.self, how.key, options_.nics,
                                                  [this](PortId from, std::string_view question) {
                                                    return answer(from, question);
                                                  }));
    by_address_ = std::move(opened);
    exchange_ = by_address_.get();
    return {};
  }

  Result<std::string> answer(PortId from, std::string_view question) override {
    WEFT_TRY(const auto asked, decode_qp_question(question));
    if (const auto* done = std::get_if<CloseQps>(&asked))
      return encode_differing(responder_->close(from, *done));
    const auto& offer = std::get<ConnectQps>(asked);
    WEFT_TRY_VOID(addresses_.check(from, offer.from));
    // What it would not send of itself it does not answer: the answers' labels are its own affair.
    if (offer.kind == QpKind::datagram) WEFT_TRY_VOID(kind_of_probes(ProbeTransport::datagram, *device_));
    WEFT_TRY(const auto connected, responder_->connect(from, offer));
    return encode(connected);
  }

  Result<std::vector<HopAnswer>> trace(const TraceRequest&, std::stop_token) override {
    return fail(ErrorKind::not_supported, "queue pairs carry no TTL: traces go by raw packets");
  }
  Result<std::vector<PingTally>> ping(const PingRequest& request, std::stop_token stop) override {
    WEFT_TRY_VOID(check_met());
    auto tallies =
        run_pings(device_, probes_, options_.memory.probes, options_.traffic, access(), request, stop);
    WEFT_TRY_VOID(device_->check_standing());
    return tallies;
  }
  Result<std::vector<ReceivedTally>> received(BatchId batch) override { return responder_->received(batch); }
  Result<std::vector<FlowTally>> run(const FlowRequest& request, std::stop_token stop) override {
    WEFT_TRY_VOID(check_met());
    auto tallies = run_flows(device_, options_.memory.flows, options_.traffic, access(), request, stop);
    WEFT_TRY_VOID(device_->check_standing());
    if (tallies && request.flow_options.operation == FlowOperation::read) note_reads(request, *tallies);
    return tallies;
  }
  Result<std::vector<TransferTally>> transfer(const TransferRequest& request, std::stop_token stop) override {
    WEFT_TRY_VOID(check_met());
    auto tallies = run_transfers(device_, options_.memory.flows, options_.traffic, access(), request, stop);
    WEFT_TRY_VOID(device_->check_standing());
    return tallies;
  }

 private:
  void note_reads(const FlowRequest& request, const std::vector<FlowTally>& tallies) {
    for (const FlowTally& tally : tallies)
      if (tally.measure)
        responder_->note({.batch = request.batch,
                          .from = request.peers[request.specs[tally.spec].peer].nic,
                          .spec = tally.spec,
                          .packets = tally.measure->packets,
                          .bytes = tally.measure->bytes,
                          .last = tally.elapsed});
  }
  PeerAccess access() const { return {*exchange_, addresses_}; }
  Result<void> check_met() const {
    if (exchange_ != nullptr) return {};
    return fail(ErrorKind::internal, "an RDMA engine was asked to probe before it could speak to its peers");
  }

  std::shared_ptr<const VerbsDevice> device_;
  std::unique_ptr<VerbsResponder> responder_;
  VerbsOptions options_;
  PeerAddresses addresses_;
  QpKind probes_;
  MemoryPath path_;  // of flows
  PeerExchange* exchange_ = nullptr;
  std::unique_ptr<AddressedExchange> by_address_;  // its thread asks all of the above
};

/// Whether, and how, the device takes the memory of flows: tried before the first flow, with what would lie
/// on huge pages, else with a page.
Result<MemoryPath> try_memory(const std::shared_ptr<const VerbsDevice>& device, const BufferFactory& memory) {
  constexpr Bytes kPage(4096);
  auto trial = Slots::make(device, memory, 1, kHugePage);
  if (!trial) trial = Slots::make(device, memory, 1, kPage);
  if (!trial) return pass_on(trial);
  return (*trial)->buffer().path();
}

}  // namespace

Result<std::shared_ptr<VerbsEngine>> open_verbs_engine(const VerbsOptions& options) {
  WEFT_TRY(auto library, VerbsLibrary::load());
  return open_verbs_engine(std::move(library), options);
}

Result<std::shared_ptr<VerbsEngine>> open_verbs_engine(std::shared_ptr<const VerbsLibrary> library,
                                                       const VerbsOptions& options) {
  WEFT_TRY(auto device, VerbsDevice::open(std::move(library), options.gid));
  WEFT_TRY(const auto probes, kind_of_probes(options.probes, *device));
  WEFT_TRY(const auto path, try_memory(device, options.memory.flows));
  WEFT_TRY(auto responder, VerbsResponder::start(device, options.memory, options.traffic));
  auto engine =
      std::make_shared<QueuePairEngine>(std::move(device), std::move(responder), options, probes, path);
  if (options.by_address)
    WEFT_TRY_VOID(engine->exchange_by_address(options.gid.address, *options.by_address));
  return engine;
}

Result<QpKind> choose_probe_kind(ProbeTransport wish, const std::string& device, RdmaDriver driver,
                                 bool is_infiniband) {
  const bool labels_datagrams = is_infiniband || driver == RdmaDriver::mlx5;
  if (wish == ProbeTransport::connected) return QpKind::unreliable;
  if (wish == ProbeTransport::by_device) return labels_datagrams ? QpKind::datagram : QpKind::unreliable;
  if (driver == RdmaDriver::soft_roce)
    return fail(
        ErrorKind::not_supported,
        "{}: soft-RoCE ties the port of a datagram to its queue pair's number, so that datagrams would "
        "not take the paths of their labels: probe with --probe-transport uc (or auto)",
        device);
  return QpKind::datagram;
}

}  // namespace weft
