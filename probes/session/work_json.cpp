#include "probes/session/work_json.hpp"

#include "probes/session/flow_json.hpp"
#include "probes/session/tally_order_json.hpp"

namespace weft {
namespace {

using namespace json_fields;

constexpr std::size_t kMaxCounters = 1024;  // a ConnectX has about a hundred
constexpr std::size_t kMaxNameLength = 128;

Json peers_json(const std::vector<Peer>& peers) {
  return rows(peers, [](const Peer& p) { return Json::array({p.nic.value(), to_string(p.address)}); });
}

std::vector<Peer> peers_from(const Json& value) {
  return list<Peer>(value, [](const Json& row) {
    return Peer{id<PortId>(element(row, 0)), address(element(row, 1))};
  });
}

Json pace_json(const Pace& pace) { return Json::array({pace.packets_per_second, pace.answer_wait.count()}); }
Pace pace_from(const Json& value) { return {amount(element(value, 0)), time(element(value, 1))}; }

/// What a spec may point at: an index into the peers of its request.
std::uint32_t peer_index(const Json& value, const std::vector<Peer>& peers) {
  const auto index = whole<std::uint32_t>(value);
  if (index >= peers.size()) throw BadField(fmt::format("peer {} of {}", index, peers.size()));
  return index;
}

Bytes packet_size(const Json& value) { return Bytes(whole<std::uint16_t>(value)); }

Json request_json(const TraceRequest& r) {
  return {{"kind", "trace"},
          {"run", r.run.value()},
          {"batch", r.batch.value()},
          {"peers", peers_json(r.peers)},
          {"attempts", r.attempts},
          {"pace", pace_json(r.pace)},
          {"specs", rows(r.specs, [](const TraceSpec& s) {
             return Json::array({s.peer, s.label.value(), s.max_hops});
           })}};
}

TraceRequest trace_from(const Json& v) {
  TraceRequest r{.run = id<RunId>(field(v, "run")),
                 .batch = id<BatchId>(field(v, "batch")),
                 .peers = peers_from(field(v, "peers")),
                 .specs = {},
                 .attempts = whole<std::uint8_t>(field(v, "attempts")),
                 .pace = pace_from(field(v, "pace"))};
  r.specs = list<TraceSpec>(field(v, "specs"), [&r](const Json& row) {
    return TraceSpec{peer_index(element(row, 0), r.peers), id<PathLabel>(element(row, 1)),
                     whole<std::uint8_t>(element(row, 2))};
  });
  return r;
}

Json request_json(const PingRequest& r) {
  const auto row = [](const PingSpec& s) {
    return Json::array({s.peer, s.label.value(), s.back_label.value(), s.count, s.size.count()});
  };
  return {{"kind", "ping"},
          {"run", r.run.value()},
          {"batch", r.batch.value()},
          {"peers", peers_json(r.peers)},
          {"pace", pace_json(r.pace)},
          {"busy", r.busy_poll},
          {"specs", rows(r.specs, row)}};
}

PingRequest ping_from(const Json& v) {
  PingRequest r{.run = id<RunId>(field(v, "run")),
                .batch = id<BatchId>(field(v, "batch")),
                .peers = peers_from(field(v, "peers")),
                .specs = {},
                .pace = pace_from(field(v, "pace")),
                .busy_poll = truth(field(v, "busy"))};
  r.specs = list<PingSpec>(field(v, "specs"), [&r](const Json& row) {
    return PingSpec{peer_index(element(row, 0), r.peers), id<PathLabel>(element(row, 1)),
                    id<PathLabel>(element(row, 2)), whole<std::uint32_t>(element(row, 3)),
                    packet_size(element(row, 4))};
  });
  return r;
}

Json label_json(const std::optional<PathLabel>& label) { return label ? Json(label->value()) : Json(); }
std::optional<PathLabel> label_from(const Json& value) {
  return value.is_null() ? std::nullopt : std::optional(id<PathLabel>(value));
}

Json request_json(const FlowRequest& r) {
  const auto row = [](const FlowSpec& s) {
    return Json::array(
        {s.peer, label_json(s.label), s.rate.bits_per_second(), s.size.count(), label_json(s.then)});
  };
  Json json{{"kind", "flow"},
            {"run", r.run.value()},
            {"batch", r.batch.value()},
            {"peers", peers_json(r.peers)},
            {"duration", r.duration.count()},
            {"specs", rows(r.specs, row)}};
  if (r.flow_options != FlowOptions()) json["manner"] = flow_options_json(r.flow_options);
  return json;
}

FlowRequest flow_from(const Json& v) {
  FlowRequest r{.run = id<RunId>(field(v, "run")),
                .batch = id<BatchId>(field(v, "batch")),
                .peers = peers_from(field(v, "peers")),
                .specs = {},
                .duration = time(field(v, "duration"))};
  if (v.contains("manner")) r.flow_options = flow_options_from(v["manner"]);
  r.specs = list<FlowSpec>(field(v, "specs"), [&r](const Json& row) {
    return FlowSpec{peer_index(element(row, 0), r.peers), label_from(element(row, 1)),
                    Bandwidth::bit(amount(element(row, 2))), packet_size(element(row, 3)),
                    label_from(element(row, 4))};
  });
  return r;
}

Json request_json(const TransferRequest& r) {
  const auto row = [](const TransferSpec& s) {
    return Json::array({s.peer, s.label.value(), s.back_label.value(), s.packets});
  };
  return {{"kind", "transfer"},           {"run", r.run.value()},       {"batch", r.batch.value()},
          {"peers", peers_json(r.peers)}, {"size", r.size.count()},     {"window", r.window},
          {"limit", r.limit.count()},     {"specs", rows(r.specs, row)}};
}

TransferRequest transfer_from(const Json& v) {
  TransferRequest r{.run = id<RunId>(field(v, "run")),
                    .batch = id<BatchId>(field(v, "batch")),
                    .peers = peers_from(field(v, "peers")),
                    .specs = {},
                    .size = packet_size(field(v, "size")),
                    .window = whole<std::uint32_t>(field(v, "window")),
                    .limit = time(field(v, "limit"))};
  r.specs = list<TransferSpec>(field(v, "specs"), [&r](const Json& row) {
    return TransferSpec{peer_index(element(row, 0), r.peers), id<PathLabel>(element(row, 1)),
                        id<PathLabel>(element(row, 2)), whole<std::uint32_t>(element(row, 3))};
  });
  return r;
}

Json request_json(const ReceivedQuery& q) { return {{"kind", "received"}, {"batch", q.batch.value()}}; }

Json request_json(const CounterQuery&) { return {{"kind", "counters"}}; }

Json rtt_json(const std::optional<RttQuantiles>& rtt) {
  return rtt ? Json::array({rtt->p50.count(), rtt->p99.count()}) : Json();
}

std::optional<RttQuantiles> rtt_from(const Json& value) {
  if (value.is_null()) return std::nullopt;
  return RttQuantiles{time(element(value, 0)), time(element(value, 1))};
}

Json answer_json(const std::vector<HopAnswer>& answers) {
  return {{"kind", "hops"},
          {"rows", rows(answers, [](const HopAnswer& a) {
             return Json::array({a.spec, a.hop, a.is_peer, to_string(a.from), a.rtt.count()});
           })}};
}

Json delays_json(const PingDelays& delays) {
  return {{"prober", rtt_json(delays.prober)},
          {"responder", rtt_json(delays.responder)},
          {"whole", rtt_json(delays.whole)},
          {"hardware", delays.by_hardware}};
}

Json answer_json(const std::vector<PingTally>& tallies) {
  return {{"kind", "pings"},
          {"rows", rows(tallies, [](const PingTally& t) {
             Json row = Json::array({t.spec, t.sent, t.answered, t.corrupt, rtt_json(t.rtt)});
             if (t.delays || t.refused) row.push_back(t.delays ? delays_json(*t.delays) : Json());
             if (t.refused) row.push_back(*t.refused);
             return row;
           })}};
}

Json answer_json(const std::vector<FlowTally>& tallies) {
  return {{"kind", "flows"},
          {"rows", rows(tallies, [](const FlowTally& t) {
             Json row = Json::array({t.spec, t.packets, t.bytes, t.elapsed.count(), t.longest_gap.count()});
             const bool last = t.moved || t.refused || t.corrupted;
             const bool more = t.measure || last;
             if (t.error || t.chosen || more) row.push_back(t.error ? Json(*t.error) : Json());
             if (t.chosen || more) row.push_back(label_json(t.chosen));
             if (more) row.push_back(t.measure ? measure_json(*t.measure) : Json());
             if (last) row.push_back(t.moved ? Json::array({t.moved->done, t.moved->how}) : Json());
             if (t.refused || t.corrupted) row.push_back(t.refused ? Json(*t.refused) : Json());
             if (t.corrupted) row.push_back(true);
             return row;
           })}};
}

Json answer_json(const std::vector<ReceivedTally>& tallies) {
  return {{"kind", "received"}, {"rows", rows(tallies, [](const ReceivedTally& t) {
                                   return Json::array({t.batch.value(), t.from.value(), t.spec, t.packets,
                                                       t.bytes, t.corrupt, t.first.count(), t.last.count()});
                                 })}};
}

Json answer_json(const std::vector<TransferTally>& tallies) {
  return {{"kind", "transfers"}, {"rows", rows(tallies, [](const TransferTally& t) {
                                    Json row = Json::array({t.spec, t.sent, t.delivered, t.elapsed.count()});
                                    if (t.first || t.error)
                                      row.push_back(t.first ? Json(t.first->count()) : Json());
                                    if (t.error) row.push_back(*t.error);
                                    return row;
                                  })}};
}

Json answer_json(const std::vector<NicCounters>& readings) {
  return {{"kind", "counters"}, {"rows", rows(readings, [](const NicCounters& c) {
                                   return Json::array({c.device, c.port, c.at.count(), c.values});
                                 })}};
}

HopAnswer hop_from(const Json& row) {
  return {whole<std::uint32_t>(element(row, 0)), whole<std::uint8_t>(element(row, 1)), truth(element(row, 2)),
          address(element(row, 3)), time(element(row, 4))};
}

PingDelays delays_from(const Json& value) {
  const auto prober = rtt_from(field(value, "prober"));
  const auto responder = rtt_from(field(value, "responder"));
  const auto whole = rtt_from(field(value, "whole"));
  if (!prober || !responder || !whole) throw BadField("delays without quantiles");
  return {*prober, *responder, *whole, truth(field(value, "hardware"))};
}

PingTally ping_tally_from(const Json& row) {
  PingTally tally{whole<std::uint32_t>(element(row, 0)), whole<std::uint32_t>(element(row, 1)),
                  whole<std::uint32_t>(element(row, 2)), whole<std::uint32_t>(element(row, 3)),
                  rtt_from(element(row, 4))};
  if (tally.answered > tally.sent)
    throw BadField(fmt::format("{} of {} probes answered", tally.answered, tally.sent));
  if (row.size() > 5 && !row[5].is_null()) tally.delays = delays_from(row[5]);
  if (row.size() > 6) tally.refused = text(row[6]);
  return tally;
}

FlowTally flow_tally_from(const Json& row) {
  FlowTally tally{whole<std::uint32_t>(element(row, 0)), whole<std::uint64_t>(element(row, 1)),
                  whole<std::uint64_t>(element(row, 2)), time(element(row, 3)), time(element(row, 4))};
  if (row.size() > 5 && !row[5].is_null()) tally.error = text(row[5]);
  if (row.size() > 6) tally.chosen = label_from(row[6]);
  if (row.size() > 7 && !row[7].is_null()) tally.measure = measure_from(row[7]);
  if (row.size() > 8 && !row[8].is_null())
    tally.moved = LabelChange{truth(element(row[8], 0)), text(element(row[8], 1))};
  if (row.size() > 9 && !row[9].is_null()) tally.refused = text(row[9]);
  if (row.size() > 10) tally.corrupted = truth(row[10]);
  return tally;
}

TransferTally transfer_tally_from(const Json& row) {
  TransferTally tally{whole<std::uint32_t>(element(row, 0)), whole<std::uint64_t>(element(row, 1)),
                      whole<std::uint64_t>(element(row, 2)), time(element(row, 3))};
  if (row.size() > 4 && !row[4].is_null()) tally.first = time(row[4]);
  if (row.size() > 5) tally.error = text(row[5]);
  return tally;
}

NicCounters counters_from(const Json& row) {
  NicCounters read{text(element(row, 0), kMaxNameLength),
                   whole<std::uint32_t>(element(row, 1)),
                   time(element(row, 2)),
                   {}};
  const Json& values = element(row, 3);
  if (!values.is_object() || values.size() > kMaxCounters) throw BadField("counters by name are expected");
  for (const auto& [name, value] : values.items())
    read.values.emplace(text(Json(name), kMaxNameLength), whole<std::uint64_t>(value));
  return read;
}

ReceivedTally received_from(const Json& row) {
  return {id<BatchId>(element(row, 0)),
          id<PortId>(element(row, 1)),
          whole<std::uint32_t>(element(row, 2)),
          whole<std::uint64_t>(element(row, 3)),
          whole<std::uint64_t>(element(row, 4)),
          whole<std::uint64_t>(element(row, 5)),
          time(element(row, 6)),
          time(element(row, 7))};
}

}  // namespace

nlohmann::json to_json_value(const TaskWork& work) {
  return std::visit([](const auto& request) { return request_json(request); }, work);
}

nlohmann::json to_json_value(const TaskAnswer& answer) {
  return std::visit(
      [](const auto& tallies) {
        using Tally = typename std::decay_t<decltype(tallies)>::value_type;
        if constexpr (requires(const Tally& each) { more_of(each); })
          return with_more(answer_json(tallies), tallies);
        else
          return answer_json(tallies);
      },
      answer);
}

TaskWork work_from_json(const nlohmann::json& value) {
  const auto kind = text(field(value, "kind"));
  if (kind == "trace") return trace_from(value);
  if (kind == "ping") return ping_from(value);
  if (kind == "flow") return flow_from(value);
  if (kind == "received") return ReceivedQuery{id<BatchId>(field(value, "batch"))};
  if (kind == "transfer") return transfer_from(value);
  if (kind == "counters") return CounterQuery{};
  throw BadField("unknown work '" + kind + "'");
}

TaskAnswer answer_from_json(const nlohmann::json& value) {
  const auto kind = text(field(value, "kind"));
  const Json& all = field(value, "rows");
  const auto with = [&value](auto tallies) { return and_more(value, std::move(tallies)); };
  if (kind == "hops") return list<HopAnswer>(all, hop_from);
  if (kind == "pings") return with(list<PingTally>(all, ping_tally_from));
  if (kind == "flows") return with(list<FlowTally>(all, flow_tally_from));
  if (kind == "received") return with(list<ReceivedTally>(all, received_from));
  if (kind == "transfers") return list<TransferTally>(all, transfer_tally_from);
  if (kind == "counters") return list<NicCounters>(all, counters_from);
  throw BadField("unknown answer '" + kind + "'");
}

}  // namespace weft
