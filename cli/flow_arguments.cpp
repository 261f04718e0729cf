#include "cli/flow_arguments.hpp"

#include <array>

#include "cli/agent_arguments.hpp"
#include "probes/packet/transfer_buffer.hpp"

namespace weft::cli {
namespace {

constexpr std::uint32_t kMaxQpsPerFlow = 64;
constexpr std::int64_t kMinMessage = 64;
constexpr Nanoseconds kMaxLoad = std::chrono::minutes(10);
/// Where flows have a volume, a round may take so long unless --load-time says otherwise.
constexpr Nanoseconds kTimeForVolume = std::chrono::seconds(30);

constexpr std::array kOfQueuePairs{"operation", "qps",    "message",   "depth",          "warm-up",
                                   "volume",    "memory", "busy-poll", "probe-transport"};

template <class T>
Result<void> read_count(const po::variables_map& values, const char* name, T most, T& into) {
  if (!values.count(name)) return {};
  const auto value = values[name].as<std::int64_t>();
  if (value < 1 || value > static_cast<std::int64_t>(most))
    return fail(ErrorKind::usage, "--{} {}: expected 1 to {}", name, value, most);
  into = static_cast<T>(value);
  return {};
}

/// A power of two, in the largest unit that options know.
std::string binary(std::uint64_t bytes) {
  return bytes >= 1ULL << 30U ? fmt::format("{}GiB", bytes >> 30U) : fmt::format("{}MiB", bytes >> 20U);
}

Result<std::optional<Bytes>> read_size(const po::variables_map& values, const char* name, std::int64_t least,
                                       std::uint64_t most) {
  const auto size = read_option(values, name, parse_bytes);
  if (!size || !*size) return size;
  if ((*size)->count() < least || static_cast<std::uint64_t>((*size)->count()) > most)
    return fail(ErrorKind::usage, "--{} {}: expected {}B to {}", name, values[name].as<std::string>(), least,
                binary(most));
  return size;
}

Result<void> read_time(const po::variables_map& values, const char* name, Nanoseconds& into) {
  WEFT_TRY(const auto time, read_option(values, name, parse_duration));
  if (time && *time > kMaxLoad)
    return fail(ErrorKind::usage, "--{} {}: expected at most {}", name, to_string(*time),
                to_string(kMaxLoad));
  if (time) into = *time;
  return {};
}

Result<void> read_flow_options(const po::variables_map& values, session::SweepOptions& options) {
  datapath::FlowOptions& flow_options = options.flow_options;
  if (const auto text = text_option(values, "operation")) {
    const auto operation = parse_flow_operation(*text);
    if (!operation) return fail(ErrorKind::usage, "--operation {}: expected write, read or send", *text);
    flow_options.operation = *operation;
  }
  WEFT_TRY(const auto message, read_size(values, "message", kMinMessage, datapath::kMaxFlowMessageBytes));
  flow_options.message = message;
  WEFT_TRY(const auto volume, read_size(values, "volume", 1, datapath::kMaxVolume));
  flow_options.volume = volume;
  if (const auto read = read_count(values, "qps", kMaxQpsPerFlow, options.qps); !read) return read;
  if (const auto read = read_count(values, "depth", datapath::kDeepestFlow, flow_options.depth); !read)
    return read;
  return read_time(values, "warm-up", flow_options.warm_up);
}

}  // namespace

void add_flow_options(po::options_description& options) {
  options.add_options()("operation", po::value<std::string>()->value_name("write|read|send"),
                        "what queue pairs load with: write, read or send (default write)")(
      "qps", po::value<std::int64_t>()->value_name("N"),
      "queue pairs that share the rate and the path of each flow (default 1)")(
      "message", po::value<std::string>()->value_name("SIZE"),
      "of one message, up to 1MiB (default: one packet)")("depth", po::value<std::int64_t>()->value_name("N"),
                                                          "messages of a queue pair under way (default 8)")(
      "warm-up", po::value<std::string>()->value_name("TIME"),
      "load for so long before each round counts (default 0s)")(
      "volume", po::value<std::string>()->value_name("SIZE"),
      "a queue pair of a round ends when it has moved so much (default: it goes on for --load-time)")(
      "load-time", po::value<std::string>()->value_name("TIME"),
      "of a round of load (default 500ms; with --volume at most 30s)")(
      "busy-poll",
      "queue pairs are watched without ever sleeping while they are probed: latencies without "
      "waking up, at the price of a core on each host");
}

Result<void> read_flow_options(const po::variables_map& values, run::EngineKind engine,
                               session::SweepOptions& options) {
  for (const char* name : kOfQueuePairs)
    if (values.count(name) && engine != run::EngineKind::verbs)
      return fail(ErrorKind::usage, "--{} is of queue pairs: {}", name,
                  engine == run::EngineKind::ibsim ? "an InfiniBand lab moves management datagrams alone"
                                                   : "it needs --engine verbs");
  if (const auto read = read_flow_options(values, options); !read) return read;
  if (const auto message = options.flow_options.message;
      message && text_option(values, "memory") == to_string(run::MemoryOf::gpu) &&
      message->count() % packet::kMemoryUnit.count() != 0)
    return fail(ErrorKind::usage, "--message {}: GPUs fill and check memory in units of {} bytes",
                values["message"].as<std::string>(), packet::kMemoryUnit.count());
  options.busy_poll = values.count("busy-poll") != 0;
  if (options.flow_options.volume) options.load_round = kTimeForVolume;
  if (const auto read = read_time(values, "load-time", options.load_round); !read) return read;
  if (options.load_round < std::chrono::milliseconds(100))
    return fail(ErrorKind::usage, "--load-time {}: expected 100ms at least", to_string(options.load_round));
  return {};
}

}  // namespace weft::cli
