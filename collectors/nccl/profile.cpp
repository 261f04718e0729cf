#include "collectors/nccl/profile.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "topology/base/outside_text.hpp"
#include "topology/files/json_view.hpp"

namespace weft::nccl {
namespace {

using files::JsonView;

constexpr std::string_view kSchema = "weft.nccl_profile/1";
constexpr std::size_t kMaxLine = 4096;
constexpr std::array<std::string_view, kWaits> kNames{"gpu", "peer", "network", "data", "flush"};
constexpr std::array<std::string_view, kWaits> kMembers{"gpu_ns", "peer_ns", "network_ns", "data_ns",
                                                        "flush_ns"};
constexpr std::uint64_t kMaxTime = 4'000'000'000'000'000;  // nanoseconds: 46 days
constexpr std::int64_t kMaxRank = 1 << 24;
constexpr std::size_t kMaxQpsOfOperation = 64;

template <std::unsigned_integral T>
Result<T> count_of(const JsonView& line, std::string_view name) {
  WEFT_TRY(const auto view, line.need(name));
  return view.count<T>();
}
Result<std::string> text_of(const JsonView& line, std::string_view name) {
  WEFT_TRY(const auto view, line.need(name));
  WEFT_TRY(const auto text, view.text());
  return std::string(text);
}
Result<bool> truth_of(const JsonView& line, std::string_view name) {
  WEFT_TRY(const auto view, line.need(name));
  return view.boolean();
}
Result<std::int64_t> rank_of(const JsonView& line, std::string_view name) {
  WEFT_TRY(const auto view, line.need(name));
  WEFT_TRY(const double rank, view.number());
  if (!(rank >= -1 && rank <= static_cast<double>(kMaxRank))) return view.error("expected a rank");
  return static_cast<std::int64_t>(rank);
}
Result<Nanoseconds> time_of(const JsonView& view) {
  WEFT_TRY(const auto count, view.count<std::uint64_t>());
  if (count > kMaxTime) return view.error("expected at most {}", kMaxTime);
  return Nanoseconds(static_cast<std::int64_t>(count));
}

/// Numbers of the file to places here. A number that is used again is the later one's from then on.
class Reader {
 public:
  explicit Reader(RankProfile& into) : into_(into) {}

  Result<void> read(const JsonView& line) {
    if (line.find("schema")) return communicator(line);
    if (line.find("collective")) return collective(line);
    if (line.find("operation")) return operation(line);
    if (line.find("waiting")) return waiting(line);
    WEFT_TRY(const auto dropped, count_of<std::uint32_t>(line, "dropped"));
    into_.dropped += dropped;
    return {};
  }
  void end() {
    for (const auto& [key, each] : waits_) into_.waiting.push_back(each);
  }

 private:
  using Operation = std::tuple<std::size_t, std::int64_t, std::uint32_t, bool>;

  Result<void> communicator(const JsonView& line) {
    if (const auto checked = check_schema(line, kSchema); !checked) return pass_on(checked);
    ProfileCommunicator made;
    WEFT_TRY(made.id, text_of(line, "communicator"));
    WEFT_TRY(made.name, text_of(line, "name"));
    WEFT_TRY(made.pid, count_of<std::uint64_t>(line, "pid"));
    WEFT_TRY(made.rank, rank_of(line, "rank"));
    WEFT_TRY(made.ranks, count_of<std::uint32_t>(line, "ranks"));
    WEFT_TRY(made.every, count_of<std::uint32_t>(line, "every"));
    if (line.find("tuner_checksum")) {
      WEFT_TRY(made.tuner, text_of(line, "tuner_checksum"));
    }
    if (line.find("host")) {
      WEFT_TRY(const auto host, text_of(line, "host"));
      made.host = outside_text(host);
    }
    if (line.find("job_rank")) {
      WEFT_TRY(made.job_rank, count_of<std::uint32_t>(line, "job_rank"));
    }
    WEFT_TRY(const auto place, count_of<std::uint32_t>(line, "place"));
    places_[place] = into_.communicators.size();
    into_.communicators.push_back(std::move(made));
    return {};
  }

  Result<void> collective(const JsonView& line) {
    ProfileCollective made;
    WEFT_TRY(const auto place, count_of<std::uint32_t>(line, "place"));
    const auto found = places_.find(place);
    if (found == places_.end()) return line.error("of a communicator that no line describes");
    made.communicator = found->second;
    WEFT_TRY(made.function, text_of(line, "function"));
    WEFT_TRY(made.sequence, count_of<std::uint64_t>(line, "sequence"));
    WEFT_TRY(made.count, count_of<std::uint64_t>(line, "count"));
    WEFT_TRY(made.type, text_of(line, "type"));
    if (line.find("algorithm")) {
      WEFT_TRY(made.algorithm, text_of(line, "algorithm"));
      WEFT_TRY(made.protocol, text_of(line, "protocol"));
    }
    WEFT_TRY(const auto serial, count_of<std::uint64_t>(line, "collective"));
    serials_[serial] = into_.collectives.size();
    into_.collectives.push_back(std::move(made));
    return {};
  }

  Result<std::size_t> collective_of(const JsonView& line, std::string_view name) const {
    WEFT_TRY(const auto serial, count_of<std::uint64_t>(line, name));
    const auto found = serials_.find(serial);
    if (found == serials_.end()) return line.error("of a collective that no line describes");
    return found->second;
  }

  Result<void> operation(const JsonView& line) {
    ProfileOperation made;
    WEFT_TRY(made.collective, collective_of(line, "operation"));
    WEFT_TRY(made.peer, rank_of(line, "peer"));
    WEFT_TRY(made.channel, count_of<std::uint32_t>(line, "channel"));
    WEFT_TRY(made.sends, truth_of(line, "sends"));
    WEFT_TRY(made.steps, count_of<std::uint64_t>(line, "steps"));
    WEFT_TRY(made.bytes, count_of<std::uint64_t>(line, "bytes"));
    WEFT_TRY(const auto took, line.need("took_ns"));
    WEFT_TRY(made.took, time_of(took));
    for (std::size_t i = 0; i < kWaits; ++i)
      if (const auto view = line.find(kMembers[i])) {
        WEFT_TRY(made.waited[i], time_of(*view));
      }
    if (const auto qps = line.find("qps")) {
      WEFT_TRY(made.qps, qps_of(*qps));
    }
    waits_.erase(Operation{made.collective, made.peer, made.channel, made.sends});
    into_.operations.push_back(std::move(made));
    return {};
  }

  static Result<std::vector<ProfileQp>> qps_of(const JsonView& view) {
    WEFT_TRY(const auto size, view.size());
    if (size > kMaxQpsOfOperation) return view.error("more than {} queue pairs", kMaxQpsOfOperation);
    return files::read_array<ProfileQp>(view, qp_of);
  }

  /// [number, steps, nanoseconds]
  static Result<ProfileQp> qp_of(const JsonView& view) {
    WEFT_TRY(const auto size, view.size());
    if (size != 3) return view.error("expected a number, steps and a time");
    WEFT_TRY(const auto number, view.at(0).count<std::uint32_t>());
    ProfileQp qp{.number = QpNum(number)};
    WEFT_TRY(qp.steps, view.at(1).count<std::uint32_t>());
    WEFT_TRY(qp.network, time_of(view.at(2)));
    return qp;
  }

  Result<void> waiting(const JsonView& line) {
    ProfileWaiting made;
    WEFT_TRY(made.collective, collective_of(line, "waiting"));
    WEFT_TRY(made.peer, rank_of(line, "peer"));
    WEFT_TRY(made.channel, count_of<std::uint32_t>(line, "channel"));
    WEFT_TRY(made.sends, truth_of(line, "sends"));
    WEFT_TRY(const auto wait, text_of(line, "for"));
    const auto* const found = std::ranges::find(kNames, wait);
    if (found == kNames.end()) return line.error("waits for nothing known");
    made.wait = static_cast<Wait>(found - kNames.begin());
    WEFT_TRY(const auto since, line.need("since_ns"));
    WEFT_TRY(made.since, time_of(since));
    waits_[Operation{made.collective, made.peer, made.channel, made.sends}] = made;
    return {};
  }

  RankProfile& into_;
  std::map<std::uint32_t, std::size_t> places_;
  std::map<std::uint64_t, std::size_t> serials_;
  std::map<Operation, ProfileWaiting> waits_;
};

}  // namespace

std::string_view to_string(Wait wait) { return kNames[static_cast<std::size_t>(wait)]; }

double ProfileOperation::seconds(Wait wait) const {
  double all = 0;
  for (const Nanoseconds each : waited) all += static_cast<double>(each.count());
  if (all <= 0) return 0;
  return static_cast<double>(waited[static_cast<std::size_t>(wait)].count()) / all *
         static_cast<double>(took.count()) / 1e9;
}

Result<RankProfile> parse_profile(std::string_view text, std::string_view file) {
  RankProfile profile;
  profile.file = file;
  Reader reader(profile);
  for (std::size_t lines = 0; !text.empty(); ++lines) {
    if (lines == kMaxProfileLines)
      return fail(ErrorKind::invalid_input, "{}: more than {} lines", file, kMaxProfileLines);
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const auto json = line.size() <= kMaxLine
                          ? files::parse_json(line, file)
                          : Result<nlohmann::json>(fail(ErrorKind::invalid_input, "too long"));
    if (!json || !reader.read(JsonView(*json, file))) ++profile.unread;
  }
  reader.end();
  if (profile.communicators.empty())
    return fail(ErrorKind::invalid_input, "{}: no profile of NCCL: no line of a communicator ({})", file,
                kSchema);
  return profile;
}

}  // namespace weft::nccl
