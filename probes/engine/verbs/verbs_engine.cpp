#include "probes/engine/verbs/verbs_engine.hpp"

#include "probes/engine/verbs/addressed_exchange.hpp"
#include "probes/engine/verbs/flow_run.hpp"
#include "probes/engine/verbs/ping_run.hpp"
#include "probes/engine/verbs/transfer_run.hpp"
#include "probes/engine/verbs/verbs_responder.hpp"

namespace weft::verbs {
namespace {

Result<rdma::QpKind> kind_of_probes(datapath::ProbeTransport wish, const rdma::VerbsDevice& device) {
  return choose_probe_kind(wish, device.name(), device.driver(), device.is_infiniband());
}

constexpr Bytes kHugePage(2 << 20);

class QueuePairEngine final : public VerbsEngine {
 public:
  QueuePairEngine(std::shared_ptr<const rdma::VerbsDevice> device, std::unique_ptr<VerbsResponder> responder,
                  VerbsOptions options, rdma::QpKind probes, packet::MemoryPath path)
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
                       probes_ == rdma::QpKind::datagram ? "datagrams (UD)" : "connections (UC)",
                       responder_->stamps() ? "device" : "host", to_string(path_),
                       path_ == packet::MemoryPath::host_huge_pages ? " where they take 2 MB" : "",
                       by_address_ ? "; peers found by address (librdmacm)" : "");
  }

  bool is_infiniband() const override { return device_->is_infiniband(); }

  void meet(datapath::PeerExchange& exchange) override {
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
    if (offer.kind == rdma::QpKind::datagram)
      WEFT_TRY_VOID(kind_of_probes(datapath::ProbeTransport::datagram, *device_));
    WEFT_TRY(const auto connected, responder_->connect(from, offer));
    return encode(connected);
  }

  Result<std::vector<datapath::HopAnswer>> trace(const datapath::TraceRequest&, std::stop_token) override {
    return fail(ErrorKind::not_supported, "queue pairs carry no TTL: traces go by raw packets");
  }
  Result<std::vector<datapath::PingTally>> ping(const datapath::PingRequest& request,
                                                std::stop_token stop) override {
    WEFT_TRY_VOID(check_met());
    auto tallies =
        run_pings(device_, probes_, options_.memory.probes, options_.traffic, access(), request, stop);
    WEFT_TRY_VOID(device_->check_standing());
    return tallies;
  }
  Result<std::vector<datapath::ReceivedTally>> received(BatchId batch) override {
    return responder_->received(batch);
  }
  Result<std::vector<datapath::FlowTally>> run(const datapath::FlowRequest& request,
                                               std::stop_token stop) override {
    WEFT_TRY_VOID(check_met());
    auto tallies = run_flows(device_, options_.memory.flows, options_.traffic, access(), request, stop);
    WEFT_TRY_VOID(device_->check_standing());
    if (tallies && request.flow_options.operation == FlowOperation::read) note_reads(request, *tallies);
    return tallies;
  }
  Result<std::vector<datapath::TransferTally>> transfer(const datapath::TransferRequest& request,
                                                        std::stop_token stop) override {
    WEFT_TRY_VOID(check_met());
    auto tallies = run_transfers(device_, options_.memory.flows, options_.traffic, access(), request, stop);
    WEFT_TRY_VOID(device_->check_standing());
    return tallies;
  }

 private:
  void note_reads(const datapath::FlowRequest& request, const std::vector<datapath::FlowTally>& tallies) {
    for (const datapath::FlowTally& tally : tallies)
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

  std::shared_ptr<const rdma::VerbsDevice> device_;
  std::unique_ptr<VerbsResponder> responder_;
  VerbsOptions options_;
  PeerAddresses addresses_;
  rdma::QpKind probes_;
  packet::MemoryPath path_;  // of flows
  datapath::PeerExchange* exchange_ = nullptr;
  std::unique_ptr<AddressedExchange> by_address_;  // its thread asks all of the above
};

/// Whether, and how, the device takes the memory of flows: tried before the first flow, with what would lie
/// on huge pages, else with a page.
Result<packet::MemoryPath> try_memory(const std::shared_ptr<const rdma::VerbsDevice>& device,
                                      const packet::BufferFactory& memory) {
  constexpr Bytes kPage(4096);
  auto trial = Slots::make(device, memory, 1, kHugePage);
  if (!trial) trial = Slots::make(device, memory, 1, kPage);
  if (!trial) return pass_on(trial);
  return (*trial)->buffer().path();
}

}  // namespace

Result<std::shared_ptr<VerbsEngine>> open_verbs_engine(const VerbsOptions& options) {
  WEFT_TRY(auto library, rdma::VerbsLibrary::load());
  return open_verbs_engine(std::move(library), options);
}

Result<std::shared_ptr<VerbsEngine>> open_verbs_engine(std::shared_ptr<const rdma::VerbsLibrary> library,
                                                       const VerbsOptions& options) {
  WEFT_TRY(auto device, rdma::VerbsDevice::open(std::move(library), options.gid));
  WEFT_TRY(const auto probes, kind_of_probes(options.probes, *device));
  WEFT_TRY(const auto path, try_memory(device, options.memory.flows));
  WEFT_TRY(auto responder, VerbsResponder::start(device, options.memory, options.traffic));
  auto engine =
      std::make_shared<QueuePairEngine>(std::move(device), std::move(responder), options, probes, path);
  if (options.by_address)
    WEFT_TRY_VOID(engine->exchange_by_address(options.gid.address, *options.by_address));
  return engine;
}

Result<rdma::QpKind> choose_probe_kind(datapath::ProbeTransport wish, const std::string& device,
                                       rdma::RdmaDriver driver, bool is_infiniband) {
  const bool labels_datagrams = is_infiniband || driver == rdma::RdmaDriver::mlx5;
  if (wish == datapath::ProbeTransport::connected) return rdma::QpKind::unreliable;
  if (wish == datapath::ProbeTransport::by_device)
    return labels_datagrams ? rdma::QpKind::datagram : rdma::QpKind::unreliable;
  if (driver == rdma::RdmaDriver::soft_roce)
    return fail(
        ErrorKind::not_supported,
        "{}: soft-RoCE ties the port of a datagram to its queue pair's number, so that datagrams would "
        "not take the paths of their labels: probe with --probe-transport uc (or auto)",
        device);
  return rdma::QpKind::datagram;
}

}  // namespace weft::verbs
