#include "probes/datapath/prober.hpp"

#include "probes/datapath/peer_routes.hpp"
#include "probes/datapath/ping_book.hpp"
#include "probes/datapath/trace_book.hpp"

namespace weft {
namespace {

constexpr std::size_t kMaxProbes = std::size_t{1} << 24;  // of one request: its bookkeeping stays below 1 GB
constexpr Nanoseconds kSlack = std::chrono::seconds(5);   // for a host that is slow to schedule us

Result<std::size_t> count_probes(const TraceRequest& request) {
  if (request.attempts == 0) return fail(ErrorKind::usage, "a trace of no attempts");
  std::size_t total = 0;
  for (std::size_t i = 0; i < request.specs.size(); ++i) {
    const auto& spec = request.specs[i];
    if (auto ok = check_spec(i, spec.peer, request.peers.size(), spec.label); !ok) return pass_on(ok);
    if (spec.max_hops == 0 || spec.max_hops == 255)
      return fail(ErrorKind::usage, "spec {}: {} hops: expected 1 to 254", i, spec.max_hops);
    total += std::size_t{spec.max_hops} * request.attempts;
  }
  return total;
}

Result<std::size_t> count_probes(const PingRequest& request) {
  std::size_t total = 0;
  for (std::size_t i = 0; i < request.specs.size(); ++i) {
    const auto& spec = request.specs[i];
    if (auto ok = check_spec(i, spec.peer, request.peers.size(), spec.label); !ok) return pass_on(ok);
    if (auto ok = check_spec(i, spec.peer, request.peers.size(), spec.back_label); !ok) return pass_on(ok);
    if (spec.size.count() < 0 || spec.size.count() > 0xFFFF)
      return fail(ErrorKind::usage, "spec {}: {} bytes: expected at most 65535", i, spec.size.count());
    total += spec.count;
  }
  return total;
}

template <class Request>
Result<void> converse(const ExchangeContext& context, NextHops& next_hops, const Request& request,
                      unsigned attempts, ProbeBook& book, std::size_t probes, const std::stop_token& stop) {
  const auto macs = find_next_hops(next_hops, request.peers);
  if (!macs) return pass_on(macs);
  const auto pace = request.pace.packets_per_second;
  const auto sending = pace > 0 ? static_cast<double>(probes) / pace : 0.0;
  const auto limit =
      Nanoseconds(static_cast<std::int64_t>(sending * 1.5e9)) + request.pace.answer_wait * attempts + kSlack;
  return exchange(context, {request.batch, request.peers, *macs, request.pace, limit}, book, stop);
}

/// What is wrong with a request, whichever it is; nothing where it may go.
template <class Request>
Result<std::size_t> check(const Request& request, const ExchangeContext& context) {
  if (auto ok = check_peers(request.run, context.secrets, request.peers, context.nic); !ok)
    return pass_on(ok);
  const auto probes = count_probes(request);
  if (probes && *probes > kMaxProbes)
    return fail(ErrorKind::usage, "{} probes in one request: split it, at most {} go at once", *probes,
                kMaxProbes);
  return probes;
}

}  // namespace

Result<std::vector<HopAnswer>> Prober::trace(const TraceRequest& request, std::stop_token stop) {
  const auto probes = check(request, context_);
  if (!probes) return pass_on(probes);
  TraceBook book(request);
  if (auto ok = converse(context_, next_hops_, request, request.attempts, book, *probes, stop); !ok)
    return pass_on(ok);
  return book.answers();
}

Result<std::vector<PingTally>> Prober::ping(const PingRequest& request, std::stop_token stop) {
  const auto probes = check(request, context_);
  if (!probes) return pass_on(probes);
  PingBook book(request);
  static_cast<void>(context_.port.overruns());  // of what came before
  if (auto ok = converse(context_, next_hops_, request, 1, book, *probes, stop); !ok) return pass_on(ok);
  auto tallies = book.tallies();
  const auto dropped = context_.port.overruns();
  for (PingTally& tally : tallies) tally.dropped = dropped;
  return tallies;
}

}  // namespace weft
