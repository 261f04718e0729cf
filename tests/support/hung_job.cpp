#include "tests/support/hung_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>

#include "topology/model/clos.hpp"
#include "topology/routing/ecmp_routing.hpp"

namespace weft {
namespace {

using nccl::Rank;

constexpr double kStepMs = 20;  // of a collective
constexpr double kLateMs = 80;  // a slow GPU's delay
constexpr std::int64_t kTimeoutMs = 600'000;
constexpr std::size_t kQpsPerPeer = 4;  // NCCL_IB_QPS_PER_CONNECTION

enum class GroupKind { tensor, data, world };

struct Call {
  GroupKind kind;
  std::uint64_t number;  // within its group
  std::string name;
  std::int64_t elements;
  std::string type = "BFloat16";
};

/// All ranks call the same, in the same order.
std::vector<Call> calls_of(std::size_t count) {
  std::vector<Call> calls;
  std::map<GroupKind, std::uint64_t> numbers;
  const auto add = [&](GroupKind kind, const char* name, std::int64_t elements) {
    calls.push_back({kind, ++numbers[kind], name, elements});
  };
  while (calls.size() < count) {
    add(GroupKind::tensor, "nccl:all_reduce", 1 << 20);
    add(GroupKind::data, "nccl:_all_gather_base", 1 << 22);
    add(GroupKind::tensor, "nccl:all_reduce", 1 << 21);
    add(GroupKind::data, "nccl:_reduce_scatter_base", 1 << 23);
    if (calls.size() % 8 == 0) add(GroupKind::world, "nccl:all_reduce", 1 << 10);
  }
  return calls;
}

class Builder {
 public:
  Builder(const HungJobSpec& spec, HungJob& job) : spec_(&spec), job_(&job), random_(mix_bits(spec.seed)) {
    hosts_ = spec.pods * spec.hosts_per_pod;
    world_ = hosts_ * spec.rails;
    calls_ = calls_of(spec.entries + 60);
    // The collective that hangs stands in the middle of what a dump shows.
    hung_ = spec.entries + 8 + draw(30);
    if (network() || spec.with_proxies)  // within a host NCCL needs no proxies
      while (calls_[hung_].kind == GroupKind::tensor) ++hung_;
    if (network()) {
      place_qps();
      pick_channel();
    }
    if (needs_rank()) {
      job.faulty_rank = static_cast<Rank>(draw(world_));
      victim_ = *job.faulty_rank;
    }
  }

  void build() {
    if (!network()) place_qps();
    find_positions();
    write_dumps();
    if (spec_->with_ras) job_->ras = ras_text();
    if (spec_->with_qps) write_tables();
  }

 private:
  struct Qp {
    std::uint32_t host = 0;  // of the sender
    std::uint32_t rail = 0;
    std::uint32_t peer = 0;  // host
    std::uint32_t number = 0;
    std::uint32_t peer_number = 0;
    PathLabel label;
    bool data = true;  // or only answers: the receiver's end
    GroupKind use = GroupKind::data;
    bool crosses = false;
  };

  std::uint64_t draw(std::uint64_t below) { return random_() % below; }
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  bool network() const {
    return spec_->fault == JobFault::black_hole || spec_->fault == JobFault::loss ||
           spec_->fault == JobFault::slow_channel;
  }
  bool slow() const { return spec_->fault == JobFault::slow_channel || spec_->fault == JobFault::slow_gpu; }
  bool needs_rank() const { return spec_->fault != JobFault::none && !network(); }
  std::uint32_t host_of(Rank rank) const { return rank / spec_->rails; }
  PortId nic(std::uint32_t host, std::uint32_t rail) const {
    return job_->fabric.ports_of(job_->fabric.hosts()[host])[rail];
  }

  std::vector<Rank> members(GroupKind kind, Rank rank) const {
    std::vector<Rank> all;
    switch (kind) {
      case GroupKind::tensor:
        for (std::uint32_t i = 0; i < spec_->rails; ++i) all.push_back(host_of(rank) * spec_->rails + i);
        break;
      case GroupKind::data:
        for (std::uint32_t host = 0; host < hosts_; ++host)
          all.push_back(host * spec_->rails + rank % spec_->rails);
        break;
      case GroupKind::world:
        for (Rank i = 0; i < world_; ++i) all.push_back(i);
        break;
    }
    return all;
  }
  std::string group_name(GroupKind kind, Rank rank) const {
    switch (kind) {
      case GroupKind::tensor:
        return std::to_string(1 + host_of(rank));
      case GroupKind::data:
        return std::to_string(1 + hosts_ + rank % spec_->rails);
      case GroupKind::world:
        return "0";
    }
    return {};
  }
  const std::string& ranks_of(GroupKind kind, Rank rank) {
    std::string& text = ranks_texts_[group_name(kind, rank)];
    if (text.empty()) text = fmt::format("[{}]", fmt::join(members(kind, rank), ", "));
    return text;
  }
  static std::string description(GroupKind kind) {
    return kind == GroupKind::tensor ? "tp" : kind == GroupKind::data ? "dp" : "default_pg";
  }

  // Queue pairs: in each rail a ring over the hosts and, as experts have it, exchanges at several distances.
  void place_qps() {
    std::set<std::uint32_t> strides{1};
    for (std::uint32_t stride = spec_->hosts_per_pod / 4; stride > 0 && stride < hosts_; stride += stride)
      strides.insert(stride);
    const bool apart = spec_->equal == EqualNumbers::none;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> used;  // by host and device
    const auto next = [&](std::uint32_t host, std::uint32_t rail) {
      return 100 + used[apart ? std::pair{0u, 0u} : std::pair{host, rail}]++;
    };
    for (std::uint32_t rail = 0; rail < spec_->rails; ++rail)
      for (std::uint32_t host = 0; host < hosts_; ++host)
        for (const std::uint32_t stride : strides)
          for (std::size_t i = 0; i < kQpsPerPeer; ++i) {
            const std::uint32_t peer = (host + stride) % hosts_;
            if (peer == host) continue;
            Qp one{.host = host, .rail = rail, .peer = peer, .number = next(host, rail)};
            one.peer_number = next(peer, rail);
            one.label = PathLabel(static_cast<std::uint32_t>(49152 + draw(16384)));
            Qp other = one;
            std::swap(other.host, other.peer);
            std::swap(other.number, other.peer_number);
            other.data = false;
            other.label = PathLabel(static_cast<std::uint32_t>(49152 + draw(16384)));
            qps_.push_back(one);
            qps_.push_back(other);
          }
    const routing::EcmpRouting routing(job_->fabric, {.seed = spec_->seed});
    std::map<std::pair<PortId, PortId>, std::map<std::vector<ChannelId>, std::set<PathLabel>>> map;
    std::vector<ChannelId> path;
    for (const Qp& qp : qps_) {
      const PortId src = nic(qp.host, qp.rail);
      const PortId dst = nic(qp.peer, qp.rail);
      routing.path_of(src, dst, qp.label, path);
      map[{src, dst}][path].insert(qp.label);
      ways_.push_back(path);
    }
    for (const auto& [ends, paths] : map) {
      PairPaths pair{ends.first, ends.second, {}};
      for (const auto& [channels, labels] : paths)
        pair.paths.push_back({job_->paths.table.intern(channels), {labels.begin(), labels.end()}});
      job_->paths.pairs.push_back(std::move(pair));
    }
  }

  void pick_channel() {
    const auto& way = ways_[2 * draw(qps_.size() / 2)];
    job_->faulty_channel = way[draw(way.size())];
    const auto crosses = [&](std::size_t i) {
      return std::ranges::find(ways_[i], *job_->faulty_channel) != ways_[i].end();
    };
    // Acknowledgements of one end's data take the way of the other end's.
    for (std::size_t i = 0; i < qps_.size(); i += 2)
      qps_[i].crosses = qps_[i + 1].crosses = crosses(i) || crosses(i + 1);
  }

  /// The call in which each rank waits: it entered it, and not all of its group did.
  void find_positions() {
    position_.assign(world_, hung_);
    if (spec_->fault == JobFault::none) {
      std::ranges::fill(position_, calls_.size());
      return;
    }
    // What hangs is the group of the faulty rank or, of the network, one of the groups.
    const Rank of = victim_.value_or(0);
    for (std::size_t i = hung_; i < hung_ + 6; ++i) {
      std::map<std::string, bool> all_here;
      for (Rank rank = 0; rank < world_; ++rank) {
        bool& here = all_here.try_emplace(group_name(calls_[i].kind, rank), true).first->second;
        here = here && position_[rank] >= i;
      }
      const auto faulty = group_name(calls_[i].kind, of);
      for (Rank rank = 0; rank < world_; ++rank) {
        const auto name = group_name(calls_[i].kind, rank);
        const bool hung = network() ? i == hung_ : name == faulty;
        if (position_[rank] == i && all_here[name] && !hung) position_[rank] = i + 1;
      }
    }
  }

  bool is_lost(double share) { return share > 0 && uniform(0, 1) < share; }

  void write_dumps() {
    for (Rank rank = 0; rank < world_; ++rank) {
      const bool silent =
          victim_ == rank && (spec_->fault == JobFault::dead || spec_->fault == JobFault::host_stopped);
      if (silent || is_lost(spec_->lost_dumps)) continue;
      std::string bytes = dump(rank);
      if (is_lost(spec_->cut_dumps)) bytes.resize(bytes.size() * (1 + draw(8)) / 10);
      job_->dumps.push_back({rank, std::move(bytes)});
    }
  }

  std::string dump(Rank rank) {
    PickleWriter out;
    out.dict().text("version").text("2.4").text("pg_config").dict();
    for (const GroupKind kind : {GroupKind::world, GroupKind::tensor, GroupKind::data}) {
      const std::string name = group_name(kind, rank);
      out.text(name).dict().text("name").text(name).text("desc").text(description(kind));
      out.text("ranks").text(ranks_of(kind, rank)).end_dict();
    }
    out.end_dict().text("pg_status").dict().end_dict().text("entries").list();
    const std::size_t at = position_[rank];
    const bool absent = victim_ == rank && spec_->fault == JobFault::never_entered;
    std::size_t end = absent ? at : std::min(at + 1 + draw(3), calls_.size());
    if (spec_->fault == JobFault::none) end = at;
    const std::int64_t clock =
        1'750'000'000'000'000'000 + static_cast<std::int64_t>(draw(7200)) * 1'000'000'000;
    for (std::size_t i = end - std::min(end, spec_->entries); i < end; ++i) write_entry(out, rank, i, clock);
    out.end_list();
    if (spec_->with_proxies) write_proxies(out, rank, end > at ? std::optional(at) : std::nullopt);
    out.end_dict();
    return std::move(out).end();
  }

  /// `waits_in`: the call that it entered and did not complete.
  void write_proxies(PickleWriter& out, Rank rank, std::optional<std::size_t> waits_in) {
    out.text("nccl_comm_state").dict();
    for (const GroupKind kind : {GroupKind::world, GroupKind::data}) {
      const auto all = members(kind, rank);
      const auto own = static_cast<std::size_t>(std::ranges::find(all, rank) - all.begin());
      std::string active;
      if (waits_in && calls_[*waits_in].kind == kind)
        for (const std::size_t channel : {0, 1}) {  // a ring each way round
          const std::size_t next = (own + (channel == 0 ? 1 : all.size() - 1)) % all.size();
          const std::size_t before = (own + (channel == 0 ? all.size() - 1 : 1)) % all.size();
          for (const auto& [type, remote] : {std::pair("SEND", next), {"RECV", before}})
            active += fmt::format(R"({}{{"opCount":{},"channelId":{},"opType":"{}","remoteRank":{}}})",
                                  active.empty() ? "" : ",", *waits_in, channel, type, remote);
        }
      out.text("0xfeed" + group_name(kind, rank)).dict().text("rank").text(std::to_string(own));
      out.text("PT_activeOps").text("[" + active + "]").end_dict();
    }
    out.end_dict();
  }

  double duration_ms(Rank rank, std::size_t index) {
    double ms = kStepMs * uniform(0.8, 1.25);
    if (spec_->fault == JobFault::slow_channel) ms *= 4;
    if (spec_->fault != JobFault::slow_gpu) return ms;
    // It is late for its tensor group, which is late then for the data groups; there all meet.
    const bool of_host = host_of(rank) == host_of(*victim_);
    if (calls_[index].kind == GroupKind::tensor && of_host && rank != *victim_) ms += kLateMs;
    if (calls_[index].kind == GroupKind::data && !of_host) ms += kLateMs;
    return ms;
  }

  void write_entry(PickleWriter& out, Rank rank, std::size_t index, std::int64_t clock) {
    Call call = calls_[index];
    const std::size_t at = position_[rank];
    const char* state = index < at ? "completed" : index == at ? "started" : "scheduled";
    if (victim_ == rank && index == at && spec_->fault == JobFault::gpu_stuck) state = "scheduled";
    if (victim_ == rank && index == hung_ && spec_->fault == JobFault::mismatch) {
      const std::uint64_t how = mix_bits(spec_->seed) % 3;
      if (how == 0) call.name = "nccl:broadcast";
      if (how == 1) call.elements += 1024;
      if (how == 2) call.type = "Float";
    }
    const std::int64_t created = clock + static_cast<std::int64_t>(index) * 100'000'000;
    const bool started = state[2] != 'h';
    const bool completed = state[0] == 'c';
    if (completed && spec_->only_under_way) return;
    const auto duration = static_cast<std::int64_t>(1e6 * duration_ms(rank, index));
    const auto sizes = [&](std::int64_t elements) {
      out.list().list().whole(elements).end_list().end_list();
    };
    out.dict();
    out.text("record_id")
        .whole(static_cast<std::int64_t>(index))
        .text("pg_id")
        .whole(static_cast<int>(call.kind));
    out.text("process_group").text(group_name(call.kind, rank)).text(description(call.kind)).pair();
    out.text("collective_seq_id").whole(static_cast<std::int64_t>(call.number)).text("p2p_seq_id").whole(0);
    out.text("op_id").whole(static_cast<std::int64_t>(call.number)).text("profiling_name").text(call.name);
    out.text("time_created_ns").whole(created).text("input_sizes"), sizes(call.elements);
    out.text("input_dtypes").list().text(call.type).end_list().text("output_sizes"), sizes(call.elements);
    out.text("output_dtypes").list().text(call.type).end_list().text("state").text(state);
    out.text("time_discovered_started_ns");
    started ? out.whole(created + 1'000'000) : out.none();
    out.text("time_discovered_completed_ns");
    completed ? out.whole(created + 1'000'000 + duration) : out.none();
    out.text("retired").truth(completed).text("timeout_ms").whole(kTimeoutMs).text("is_p2p").truth(false);
    out.end_dict();
  }

  std::string ras_text() const {
    std::string ranks;
    std::string missing;
    for (Rank rank = 0; rank < world_; ++rank) {
      const bool silent =
          victim_ == rank && (spec_->fault == JobFault::dead || spec_->fault == JobFault::host_stopped);
      std::string& list = silent ? missing : ranks;
      list += fmt::format(R"({}{{"rank":{},"host":"{}","pid":{},"cuda_dev":{},"nvml_dev":{},"status":)",
                          list.empty() ? "" : ",", rank, address(host_of(rank)), pid(rank),
                          rank % spec_->rails, rank % spec_->rails);
      list += silent ? fmt::format(R"({{"unresponsive":true,"considered_dead":{}}}}})",
                                   spec_->fault == JobFault::dead ? "true" : "false")
                     : R"({"init_state":0,"async_error":0,"finalize_called":false,"destroy_flag":false,)"
                       R"("abort_flag":false},"collective_counts":{"AllReduce":12}})";
    }
    return fmt::format(
        "OK\n{{\"nccl_version\":\"2.28.9\",\"communicators_count\":1,\"communicators\":[{{"
        "\"hash\":\"0xae94423cfbb2ef4a\",\"size\":{},\"ranks_count\":{},\"missing_ranks_count\":{},"
        "\"ranks\":[{}],\"missing_ranks\":[{}]}}],\"ras\":{{\"timeouts_count\":0}}}}\n",
        world_, world_ - (missing.empty() ? 0 : 1), missing.empty() ? 0 : 1, ranks, missing);
  }
  static std::string address(std::uint32_t host) {
    return fmt::format("172.16.{}.{}", host / 250, host % 250 + 1);
  }
  std::uint64_t pid(Rank rank) const { return spec_->equal == EqualNumbers::of_pods ? 7 : 4000 + rank; }
  /// Of the process that has a rail's device.
  Rank owner(std::uint32_t host, std::uint32_t rail) const {
    const std::uint32_t devices = spec_->equal == EqualNumbers::of_devices ? 2 : 1;
    return host * spec_->rails + rail / devices * devices;
  }

  void write_tables() {
    const Nanoseconds apart = std::chrono::seconds(3);
    const double stalled_s = uniform(5, 25);
    std::vector<nccl::QpTable> tables(2 * hosts_);
    for (std::uint32_t host = 0; host < hosts_; ++host)
      for (std::size_t i : {0, 1}) {
        tables[2 * host + i].host = job_->fabric.name_of(job_->fabric.hosts()[host]);
        tables[2 * host + i].at = std::chrono::seconds(1000 + draw(100'000));
        if (i == 1) tables[2 * host + 1].at = tables[2 * host].at + apart;
      }
    for (const Qp& qp : qps_) {
      const Rank rank = owner(qp.host, qp.rail);
      // A stopped or dead process has no table, or nobody asks it.
      if (victim_ == rank && (spec_->fault == JobFault::dead || spec_->fault == JobFault::host_stopped))
        continue;
      nccl::QpRecord one{.pid = pid(rank), .rank = rank, .number = QpNum(qp.number)};
      one.peer_number = QpNum(qp.peer_number);
      one.device = fmt::format("mlx5_{}", qp.rail);
      one.nic = nic_name(qp.host, qp.rail), one.peer_nic = nic_name(qp.peer, qp.rail);
      one.label = qp.label;
      one.bytes = qp.data ? 1'000'000'000 + draw(1'000'000'000) : 1'000'000 + draw(1'000'000);
      one.busy = std::chrono::seconds(10);
      nccl::QpRecord later = one;
      fill(qp, apart, stalled_s, one, later);
      tables[2 * qp.host].qps.push_back(std::move(one));
      tables[2 * qp.host + 1].qps.push_back(std::move(later));
    }
    for (std::size_t i = 0; i < tables.size(); i += 2)
      if (is_lost(spec_->lost_tables)) tables[i].qps.clear(), tables[i + 1].qps.clear();
    for (const auto& table : tables)
      job_->tables.push_back(nccl::qp_tables_json(std::span(&table, 1), {.tool_version = "test"}));
  }
  std::string nic_name(std::uint32_t host, std::uint32_t rail) const {
    return job_->fabric.name_of_nic(nic(host, rail));
  }

  void fill(const Qp& qp, Nanoseconds apart, double stalled_s, nccl::QpRecord& one, nccl::QpRecord& later) {
    const auto seconds = [](double s) { return Nanoseconds(static_cast<std::int64_t>(1e9 * s)); };
    if (slow()) {
      const bool held = spec_->fault == JobFault::slow_channel && qp.crosses && qp.data;
      later.bytes += qp.data ? 200'000'000 + draw(50'000'000) : 100'000;
      const double share = held ? uniform(0.85, 1) : (qp.data ? uniform(0.15, 0.3) : uniform(0.01, 0.05));
      *later.busy += seconds(share * 1e-9 * static_cast<double>(apart.count()));
      one.outstanding = later.outstanding = held ? 6 : 0;
      if (held) one.oldest = later.oldest = seconds(uniform(2e-4, 4e-3));
      one.quiet = later.quiet = seconds(uniform(0, 0.05));
      return;
    }
    if (spec_->fault == JobFault::loss) {
      // The job crawls: what does not cross the channel waits for what does, and moves in between.
      one.quiet = later.quiet = seconds(uniform(0, 4));
      later.bytes += qp.data ? draw(4'000'000) : draw(4'000);
    } else {
      // The calls before the one that hangs ended a moment before; who has not used its queue pair since says
      // nothing of the fault.
      one.quiet = seconds(stalled_s + (draw(4) == 0 ? uniform(0.05, 3) : -uniform(0, 0.01)) - 3);
      later.quiet = *one.quiet + apart;
    }
    if (!network() || !qp.crosses) return;
    if (spec_->fault == JobFault::black_hole) {
      one.outstanding = later.outstanding = 1 + draw(8);
      one.oldest = seconds(stalled_s - 3);
      later.oldest = seconds(stalled_s);
      return;
    }
    // Go-back-N over a lossy channel: a last packet lost costs a time-out of 4.3 s, others little.
    one.outstanding = later.outstanding = 1 + draw(8);
    later.oldest = seconds(uniform(0.05, 8));
  }

  const HungJobSpec* spec_;
  HungJob* job_;
  SplitMix64 random_;
  std::uint32_t hosts_ = 0;
  std::uint32_t world_ = 0;
  std::vector<Call> calls_;
  std::size_t hung_ = 0;
  std::optional<Rank> victim_;
  std::vector<std::size_t> position_;
  std::map<std::string, std::string> ranks_texts_;
  std::vector<Qp> qps_;
  std::vector<std::vector<ChannelId>> ways_;  // of qps_
};

}  // namespace

PickleWriter& PickleWriter::memo(char byte, char whole, std::uint32_t index) {
  return index < 256 ? op(byte).op(static_cast<char>(index)) : op(whole).bytes(index);
}

std::uint32_t PickleWriter::keep() {
  memo('q', 'r', next_);
  return next_++;
}

PickleWriter& PickleWriter::again(std::uint32_t kept) { return memo('h', 'j', kept); }

PickleWriter& PickleWriter::text(const std::string& value) {
  const auto [at, is_new] = kept_.try_emplace(value, next_);
  if (!is_new) return again(at->second);
  op('X').bytes(static_cast<std::uint32_t>(value.size()));
  out_ += value;
  keep();
  return *this;
}

PickleWriter& PickleWriter::whole(std::int64_t value) {
  if (value >= 0 && value < 256) return op('K').op(static_cast<char>(value));
  if (value >= 0 && value < 65536) return op('M').bytes(static_cast<std::uint16_t>(value));
  if (value >= INT32_MIN && value <= INT32_MAX) return op('J').bytes(static_cast<std::int32_t>(value));
  return op('\x8a').op('\x08').bytes(value);
}

HungJob::HungJob(const HungJobSpec& spec)
    : fabric(*make_rails({.groups = spec.pods,
                          .hosts_per_group = spec.hosts_per_pod,
                          .rails = spec.rails,
                          .spines = spec.spines})) {
  Builder(spec, *this).build();
}

nccl::HangInput HungJob::input() const {
  nccl::HangInput made;
  for (const Dump& dump : dumps) {
    auto read = nccl::parse_flight_dump(dump.bytes);
    const auto file = fmt::format("nccl_trace_rank_{}", dump.rank);
    if (read)
      made.dumps.push_back({dump.rank, file, *std::move(read)});
    else
      made.lost.push_back({file, dump.rank, read.error().message});
  }
  if (!ras.empty()) made.ras = nccl::parse_ras(ras).value();
  for (const std::string& table : tables)
    std::ranges::move(nccl::parse_qp_tables(table, "qps").value(), std::back_inserter(made.qps));
  return made;
}

nccl::HangVerdict HungJob::explain() const {
  return nccl::explain_hang(input(), nccl::JobFabric{&fabric, &paths, nullptr});
}

std::string large_dump(Rank rank, std::size_t entries, std::size_t frames) {
  PickleWriter out;
  out.dict().text("version").text("2.4").text("pg_config").dict().text("0").dict();
  std::string all = "[0";
  for (int i = 1; i < 1024; ++i) all += fmt::format(", {}", i);
  out.text("name").text("0").text("desc").text("default_pg").text("ranks").text(all + "]");
  out.end_dict().end_dict().text("entries").list();
  std::vector<std::uint32_t> kept;  // frames, which all entries share
  for (std::size_t i = 0; i < entries; ++i) {
    const auto number = static_cast<std::int64_t>(i + 1);
    out.dict().text("frames").list();
    for (std::size_t f = 0; f < frames; ++f) {
      if (f < kept.size()) {
        out.again(kept[f]);
        continue;
      }
      out.dict().text("name").text(fmt::format("forward_{}", f)).text("filename");
      out.text(fmt::format("/opt/train/model/layer_{}.py", f % 7)).text("line");
      kept.push_back(out.whole(static_cast<std::int64_t>(400 + f)).end_dict().keep());
    }
    out.end_list().text("record_id").whole(number).text("pg_id").whole(0);
    out.text("process_group").text("0").text("default_pg").pair().text("collective_seq_id").whole(number);
    out.text("p2p_seq_id")
        .whole(0)
        .text("op_id")
        .whole(number)
        .text("profiling_name")
        .text("nccl:all_reduce");
    out.text("time_created_ns").whole(1'750'000'000'000'000'000 + number * 1'000'000 + rank);
    out.text("input_sizes").list().list().whole(4096).whole(1024).end_list().end_list();
    out.text("input_dtypes").list().text("BFloat16").end_list();
    out.text("output_sizes").list().list().whole(4096).whole(1024).end_list().end_list();
    out.text("output_dtypes").list().text("BFloat16").end_list().text("state");
    const bool last = i + 1 == entries;
    out.text(last ? "started" : "completed").text("time_discovered_started_ns");
    out.whole(1'750'000'000'000'000'000 + number * 1'000'000 + 1000);
    out.text("time_discovered_completed_ns");
    last ? out.none() : out.whole(1'750'000'000'000'000'000 + number * 1'000'000 + 900'000);
    out.text("retired")
        .truth(!last)
        .text("timeout_ms")
        .whole(kTimeoutMs)
        .text("is_p2p")
        .truth(false)
        .end_dict();
  }
  out.end_list().end_dict();
  return std::move(out).end();
}

}  // namespace weft
