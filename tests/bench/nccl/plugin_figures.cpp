#include "tests/bench/nccl/plugin_figures.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

#include "balancer/flowsim/strategies.hpp"
#include "balancer/nccl/plugin_api.hpp"
#include "balancer/tune/nccl_tuning.hpp"
#include "tests/places.hpp"
#include "topology/base/check.hpp"
#include "topology/base/splitmix.hpp"
#include "topology/base/statistics.hpp"
#include "topology/model/clos.hpp"
#include "topology/os/run_program.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::bench {
namespace {

namespace api = nccl::api;
using steer::TunerRow;
using steer::TunerTable;
using Clock = std::chrono::steady_clock;

constexpr int kAlgorithms = 7;
constexpr int kProtocols = 3;
constexpr std::uint64_t kGigabyte = 1'000'000'000;

std::uint64_t below(SplitMix64& random, std::uint64_t end) { return random() % end; }

/// Rows at random, of communicators of 64 ranks on 8 nodes and of others.
TunerTable random_table(SplitMix64& random, std::size_t rows, std::uint64_t epoch) {
  TunerTable table{epoch, {}};
  std::uint64_t up_to = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    up_to += 1 + below(random, 2 * kGigabyte / rows);
    const bool ours = below(random, 4) != 0;
    table.rows.push_back({static_cast<steer::NcclFunction>(below(random, 5)), ours ? 64u : 16u,
                          ours ? 8u : 2u, up_to,
                          static_cast<steer::NcclAlgorithm>(below(random, kAlgorithms)),
                          static_cast<steer::NcclProtocol>(below(random, kProtocols)),
                          static_cast<std::uint32_t>(below(random, 33))});
  }
  return table;
}

template <class Interface>
const Interface& interface_of(void* library, const char* name) {
  const void* const found = library == nullptr ? nullptr : dlsym(library, name);
  WEFT_CHECK(found != nullptr);
  return *static_cast<const Interface*>(found);
}

/// Nanoseconds of one question, the clock's own included: 99 of 100 take at most this.
double tuner_ns(void* library) {
  constexpr int kQuestions = 200'000;
  const auto& tuner = interface_of<api::TunerV5>(library, "ncclTunerPlugin_v5");
  void* context = nullptr;
  tuner.init(&context, 1, 64, 8, nullptr, nullptr, nullptr);
  SplitMix64 random(1);
  std::vector<double> took;
  took.reserve(kQuestions);
  float costs[kAlgorithms][kProtocols];
  for (int i = 0; i < kQuestions; ++i) {
    for (auto& row : costs)
      for (float& cost : row) cost = 5;
    const auto bytes = below(random, 2 * kGigabyte);
    int channels = 0;
    const auto start = Clock::now();
    tuner.get_coll_info(context, static_cast<int>(i % 5), bytes, 1, reinterpret_cast<float**>(costs),
                        kAlgorithms, kProtocols, 0, &channels);
    took.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
  }
  tuner.finalize(context);
  return quantile(took, .99);
}

/// One sampled all-reduce: 16 operations of 8 steps. The calls into the library.
int record_collective(const api::ProfilerV5& profiler, void* context, std::uint64_t sequence) {
  constexpr int kOperations = 16;
  constexpr int kSteps = 8;
  api::Descriptor event{};
  event.type = api::kCollective;
  event.collective = {sequence,      "AllReduce", nullptr, nullptr, 1024,    0,
                      "ncclFloat32", 8,           4,       "RING",  "SIMPLE"};
  void* collective = nullptr;
  profiler.start(context, &collective, &event);
  for (int i = 0; i < kOperations; ++i) {
    event.type = api::kProxyOp;
    event.parent = collective;
    event.proxy_op = {getpid(), static_cast<std::uint8_t>(i / 2), 1, kSteps, 4096, i % 2};
    void* operation = nullptr;
    profiler.start(context, &operation, &event);
    event.type = api::kProxyStep;
    event.parent = operation;
    const api::StateArguments bytes{4096};
    for (int step = 0; step < kSteps; ++step) {
      event.proxy_step = step;
      void* handle = nullptr;
      profiler.start(context, &handle, &event);
      for (const int state : {api::kSendGpuWait, api::kSendPeerWait, api::kSendWait})
        profiler.record(handle, state, &bytes);
      profiler.stop(handle);
    }
    profiler.stop(operation);
  }
  profiler.stop(collective);
  return 2 + kOperations * (2 + kSteps * 5);
}

double profiler_ns(void* library) {
  constexpr int kRounds = 15;
  constexpr int kCollectives =
      200;  // 3,400 records: the ring has room for 8,192 and is drained ten times a second
  const auto& profiler = interface_of<api::ProfilerV5>(library, "ncclProfiler_v5");
  void* context = nullptr;
  int mask = 0;
  profiler.init(&context, 7, &mask, "bench", 2, 2, 0, nullptr);
  WEFT_CHECK(mask != 0);
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    int events = 0;
    const auto start = Clock::now();
    for (int i = 0; i < kCollectives; ++i)
      events += record_collective(profiler, context, static_cast<std::uint64_t>(i));
    rounds.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count() / events);
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
  }
  profiler.finalize(context);
  return median(rounds);
}

struct Site {
  Fabric fabric;
  std::vector<assign::Avoided> down;
};

/// Three fabrics, each healthy and with two and with a tenth of the links between switches down.
std::vector<Site> sites() {
  std::vector<Fabric> fabrics{
      make_clos({.leaves = 8, .spines = 2, .hosts_per_leaf = 4}).value(),
      make_pod_clos({.pods = 2, .leaves = 4, .spines = 4, .cores = 4, .hosts_per_leaf = 4}).value(),
      make_rails({.groups = 4, .hosts_per_group = 4, .rails = 4, .spines = 2}).value()};
  std::vector<Site> all;
  SplitMix64 random(3);
  for (const Fabric& fabric : fabrics) {
    std::vector<LinkId> links;
    for (std::uint32_t i = 0; i < fabric.link_count(); ++i)
      if (!fabric.is_host(fabric.source_node(Fabric::a_to_b(LinkId(i)))) &&
          !fabric.is_host(fabric.target_node(Fabric::a_to_b(LinkId(i)))))
        links.emplace_back(i);
    for (const std::size_t count : {std::size_t{0}, std::size_t{2}, links.size() / 10}) {
      Site& site = all.emplace_back(Site{fabric, {}});
      for (std::size_t i = 0; i < count; ++i) {
        const LinkId link = links[below(random, links.size())];
        site.down.push_back({Fabric::a_to_b(link), 0});
        site.down.push_back({Fabric::b_to_a(link), 0});
      }
    }
  }
  return all;
}

struct Judged {
  double regret = 1;  // what the table chooses over the best choice, at the worst size from 1 KB to 1 GB
  double estimate_off = 1;  // the simulated time of a byte over what the table's maker expected, either way
};

/// By the flow simulator.
Judged judge(const Site& site, std::size_t count, SplitMix64& random) {
  // Ranks in no order, so that most flows cross the fabric.
  auto hosts = demand::first_hosts(site.fabric, site.fabric.hosts().size()).value();
  std::ranges::shuffle(hosts, random);
  hosts.resize(count);
  const tune::TunedJob job{hosts, 0, site.down, {std::chrono::microseconds(5), std::chrono::microseconds(5)}};
  const auto rows = tune::all_reduce_rows(site.fabric, job).value();
  auto choices = tune::all_reduce_choices(site.fabric, job);
  Judged judged;
  for (tune::ChoiceTime& choice : choices) {
    const auto collective =
        choice.algorithm == steer::NcclAlgorithm::ring ? demand::Collective::ring : demand::Collective::tree;
    const auto demand =
        make_hierarchical(site.fabric, job.hosts, collective, Bytes(static_cast<std::int64_t>(kGigabyte)));
    const double seconds =
        flowsim::simulate(site.fabric, demand, {flowsim::Spread::weft, 1}, {.avoid = site.down}).seconds;
    // A fluid's time grows with its bytes; LL sends twice as many.
    const double expected = choice.seconds_per_byte;
    choice.seconds_per_byte =
        seconds / static_cast<double>(kGigabyte) * (choice.protocol == steer::NcclProtocol::ll ? 2 : 1);
    WEFT_CHECK(choice.seconds_per_byte > 0 && choice.seconds_per_byte < 1);
    const double off = choice.seconds_per_byte / expected;
    judged.estimate_off = std::max({judged.estimate_off, off, 1 / off});
  }
  for (double bytes = 1000; bytes <= static_cast<double>(kGigabyte); bytes *= 1.3) {
    const auto row = std::ranges::lower_bound(rows, static_cast<std::uint64_t>(bytes), {}, &TunerRow::up_to);
    double taken = 0;
    double best = std::numeric_limits<double>::infinity();
    for (const tune::ChoiceTime& choice : choices) {
      best = std::min(best, choice.of(bytes));
      if (choice.algorithm == row->algorithm && choice.protocol == row->protocol) taken = choice.of(bytes);
    }
    judged.regret = std::max(judged.regret, taken / best);
  }
  return judged;
}

struct Question {
  std::uint64_t function = 0;
  std::uint64_t bytes = 0;
  std::uint64_t ignored = 0;  // bits of the cost table that NCCL cannot do: the same on all ranks
};

/// What a rank of 64 on 8 nodes is to decide of each, a line each, as plugin_host prints it.
std::string expected(const std::string& text, const std::vector<Question>& questions) {
  const auto table = steer::decode_tuner(text);
  const steer::CommunicatorTuner tuner(table ? *table : TunerTable{}, 64, 8);
  std::string lines;
  for (const Question& question : questions) {
    std::array<float, kAlgorithms * kProtocols> costs{};
    for (std::size_t i = 0; i < costs.size(); ++i)
      costs[i] = (question.ignored >> i & 1U) != 0 ? -1.0F : 5.0F;
    const auto channels = tuner.choose(question.function, question.bytes, {costs, kProtocols});
    const auto at = std::ranges::find(costs, 0.0F) - costs.begin();
    lines += channels ? fmt::format("{} {} {}\n", at / kProtocols, at % kProtocols, *channels) : "declined\n";
  }
  return lines;
}

/// The same by a process of its own, which takes this interface of the library and has this table in its
/// environment.
std::string decided(int version, const std::string& text, const os::ScratchDirectory& job,
                    const std::string& questions) {
  const auto answers =
      os::run_program({"env", "WEFT_NCCL_TUNER=" + text, "WEFT_NCCL_PROFILE=0",
                       "WEFT_NCCL_DIR=" + job.path().string(), WEFT_BINARY_DIR "/plugin_host",
                       WEFT_BINARY_DIR "/libweft-nccl.so", std::to_string(version), "tuner", "64", "8"},
                      questions, std::chrono::seconds(30));
  return answers ? *answers : "no answer: " + answers.error().message;
}

std::size_t different_lines(const std::string& one, const std::string& other) {
  std::istringstream a(one), b(other);
  std::size_t count = 0;
  for (std::string left, right;
       static_cast<bool>(std::getline(a, left)) | static_cast<bool>(std::getline(b, right));
       left.clear(), right.clear())
    count += left != right ? 1 : 0;
  return count;
}

struct Disagreements {
  std::size_t collectives = 0;
  std::size_t by_environment = 0;  // collectives that a rank decides otherwise than it is to
  std::size_t by_file = 0;         // had each rank the table that a file had when it started
};

/// Jobs whose ranks are processes with NCCLs of three versions, and start while a table of another epoch
/// comes into their directory: some before, some after; tables are whole, cut, or none.
Disagreements disagreements() {
  constexpr int kJobs = 100;
  constexpr std::uint64_t kRanks = 6;
  constexpr std::uint64_t kRanksOfLarge = 64;  // of every 25th job
  constexpr int kCollectives = 100;
  const auto place = os::ScratchDirectory::make().value();
  Disagreements found;
  SplitMix64 random(5);
  const auto some_text = [&](std::uint64_t epoch) {
    auto text = steer::encode_tuner(random_table(random, 1 + below(random, 12), epoch)).value();
    const auto how = below(random, 8);
    return how == 0 ? std::string() : how == 1 ? text.substr(0, below(random, text.size())) : text;
  };
  for (int job = 0; job < kJobs; ++job) {
    std::string file = some_text(1);
    const std::string of_launcher = file;  // read once, then part of every rank's environment
    std::vector<Question> questions;
    std::string input;
    for (int i = 0; i < kCollectives; ++i) {
      const Question& one = questions.emplace_back(
          Question{below(random, 6), below(random, 2 * kGigabyte), random() & random()});
      input += fmt::format("{} {} {}\n", one.function, one.bytes, one.ignored);
    }
    const std::string right = expected(of_launcher, questions);
    const std::uint64_t ranks = job % 25 == 0 ? kRanksOfLarge : kRanks;
    const auto changes_at = below(random, ranks);
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      if (rank == changes_at) file = some_text(2);
      if (rank == 0 || rank == changes_at) std::ofstream(place.path() / "tuner") << file;
      const int version = 5 - static_cast<int>(rank % 3);
      found.by_environment += different_lines(decided(version, of_launcher, place, input), right);
      found.by_file += different_lines(expected(file, questions), right);
      found.collectives += questions.size();
    }
  }
  return found;
}

}  // namespace

void add_plugin_figures(Figures& figures) {
  const auto scratch = os::ScratchDirectory::make().value();
  SplitMix64 random(2);
  setenv("WEFT_NCCL_DIR", scratch.path().c_str(), 1);
  setenv("WEFT_NCCL_PROFILE", "1", 1);
  setenv("WEFT_NCCL_TUNER",
         steer::encode_tuner(random_table(random, steer::kMaxTunerRows, 1)).value().c_str(), 1);
  void* const library = dlopen(WEFT_BINARY_DIR "/libweft-nccl.so", RTLD_NOW | RTLD_LOCAL);
  figures.add("tuner_ns_p99", tuner_ns(library), "at most 1,000");
  figures.add("profiler_ns", profiler_ns(library), "at most 200");
  Judged worst;
  for (const Site& site : sites())
    for (const std::size_t hosts : {std::size_t{4}, std::size_t{11}, std::size_t{16}}) {
      const Judged judged = judge(site, hosts, random);
      worst.regret = std::max(worst.regret, judged.regret);
      worst.estimate_off = std::max(worst.estimate_off, judged.estimate_off);
    }
  figures.add("tuner_regret", worst.regret, "at most 1.05");
  figures.add("tuner_estimate_off", worst.estimate_off);
  const auto found = disagreements();
  figures.add("tuner_disagree", static_cast<double>(found.by_environment), "0");
  figures.add("tuner_decided", static_cast<double>(found.collectives), "10,000");
  figures.add("tuner_disagree_by_file", static_cast<double>(found.by_file));
}

}  // namespace weft::bench
