#include "cli/trace_words.hpp"

#include <array>
#include <utility>

#include "cli/agent_arguments.hpp"
#include "cli/cluster_arguments.hpp"
#include "cli/output_files.hpp"
#include "cli/time_limit.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {
namespace {

constexpr std::uint32_t kMaxAudited = 1024;
constexpr std::uint32_t kMaxLabels = 16384;  // the dynamic ports that RoCE uses

Result<session::AuditOrder> read_audit(const po::variables_map& values) {
  session::AuditOrder order{.move = values.count("move") != 0};
  if (!values.count("audit")) {
    if (order.move) return fail(ErrorKind::usage, "--move moves audited queue pairs: add --audit N");
    return order;
  }
  order.queue_pairs = values["audit"].as<std::uint32_t>();
  if (order.queue_pairs < 1 || order.queue_pairs > kMaxAudited)
    return fail(ErrorKind::usage, "--audit {}: expected 1 to {} queue pairs", order.queue_pairs, kMaxAudited);
  if (values.count("simulate"))
    return fail(ErrorKind::usage, "--audit needs RDMA devices: leave out --simulate");
  return order;
}

/// Traces are packets of our own, whichever engine serves beside.
Result<std::optional<run::EngineKind>> read_trace_engine(const po::variables_map& values) {
  const auto given = values["engine"].as<std::string>();
  const auto engine = run::parse_engine(given);
  if (given == "auto") return std::nullopt;
  if (engine != run::EngineKind::raw && engine != run::EngineKind::dpdk)
    return fail(ErrorKind::usage, "--engine {}: expected auto, raw or dpdk", given);
  return engine;
}

}  // namespace

Result<TraceWords> read_trace_words(const po::variables_map& values) {
  WEFT_TRY(const auto output, read_output_format(values));
  if (!values.count("src") || !values.count("dst"))
    return fail(ErrorKind::usage, "two hosts are needed: weft trace SRC DST");
  const auto labels = values["labels"].as<std::uint32_t>();
  if (labels < 1 || labels > kMaxLabels)
    return fail(ErrorKind::usage, "--labels {}: expected 1 to {}", labels, kMaxLabels);
  if (values.count("lab") + values.count("fabric") != 1)
    return fail(ErrorKind::usage, "give either --lab=NAME or --fabric FABRIC.yaml");
  WEFT_TRY(const auto audit, read_audit(values));
  WEFT_TRY(const auto exchange, read_exchange(values));
  if (audit.queue_pairs > 0 && output != OutputFormat::table && output != OutputFormat::json)
    return fail(ErrorKind::usage, "-o {}: an audit is a table or json", values["output"].as<std::string>());
  if (audit.queue_pairs == 0 && !values["exchange"].defaulted())
    return fail(ErrorKind::usage, "--exchange is how audited queue pairs find their peers: add --audit N");
  if (audit.queue_pairs == 0 && values.count("html"))
    return fail(ErrorKind::usage, "--html shows an audit: add --audit N");
  constexpr std::array kFiles{"html"};
  constexpr std::array kRead{"fabric"};
  WEFT_TRY_VOID(check_output_files(values, kFiles, kRead));
  WEFT_TRY(const auto limit, read_time_limit(values));
  const session::MapOrder map{.all_labels = values.count("map") != 0};
  if (map.all_labels && (audit.queue_pairs > 0 || !values["labels"].defaulted()))
    return fail(ErrorKind::usage, "--map chooses the labels itself: leave out --labels and --audit");
  const bool every_path = values.count("every-path") != 0;
  if (every_path && (audit.queue_pairs > 0 || map.all_labels || !values["labels"].defaulted()))
    return fail(ErrorKind::usage,
                "--every-path chooses the labels itself: leave out --labels, --map and --audit");
  const bool fields = values.count("fields") != 0;
  if (fields && (audit.queue_pairs > 0 || map.all_labels || every_path || !values["labels"].defaulted()))
    return fail(ErrorKind::usage,
                "--fields chooses the packets itself: leave out --labels, --map, --every-path and --audit");
  const auto hash = routing::parse_hash(values["hash"].as<std::string>());
  if (!hash) return pass_on(hash, "--hash");
  WEFT_TRY(const auto engine, read_trace_engine(values));
  if (engine && values.count("simulate"))
    return fail(ErrorKind::usage, "--engine {}: with --simulate nothing is sent", to_string(*engine));
  if (values.count("dpdk-args") && values.count("simulate"))
    return fail(ErrorKind::usage, "--dpdk-args: with --simulate nothing is sent");
  if (engine && audit.queue_pairs > 0)
    return fail(ErrorKind::usage, "--engine {}: --audit traces by queue pairs", to_string(*engine));
  WEFT_TRY(auto dpdk_args, read_dpdk_arguments(values, engine.value_or(run::EngineKind::automatic)));
  return TraceWords{values["src"].as<std::string>(),
                    values["dst"].as<std::string>(),
                    labels,
                    output,
                    audit,
                    exchange,
                    limit,
                    map,
                    *hash,
                    engine,
                    std::move(dpdk_args),
                    every_path,
                    fields,
                    text_option(values, "html")};
}

Result<plan::NicPair> find_pair(const Fabric& fabric, const TraceWords& words) {
  WEFT_TRY(const auto src, fabric.find_nic(words.src));
  WEFT_TRY(const auto dst, fabric.find_nic(words.dst));
  if (src == dst) return fail(ErrorKind::usage, "{} and {} are the same NIC", words.src, words.dst);
  return plan::NicPair{src, dst};
}

void choose_engine(run::AgentSite& site, const TraceWords& words) {
  site.agent_options.dpdk_args = words.dpdk_args;
  if (words.engine) site.agent_options.engine = *words.engine;
  if (!words.engine && !words.dpdk_args.empty()) site.agent_options.engine = run::EngineKind::automatic;
  if (words.audit.queue_pairs == 0) return;
  site.agent_options.engine = run::EngineKind::verbs;
  site.agent_options.exchange = words.exchange;
}

Result<run::Cluster> cluster_to_trace(const po::variables_map& values, const TraceWords& words,
                                      const files::FabricFile& file, const std::vector<NodeId>& hosts) {
  if (words.audit.queue_pairs > 0 && values.count("credential"))
    return fail(ErrorKind::usage,
                "--audit connects queue pairs of agents that it starts: leave --credential out");
  WEFT_TRY(const auto launch, read_agents_of(values, file.fabric));
  WEFT_TRY(auto cluster, cluster_of(launch, file, hosts));
  cluster.timing.limit = words.limit;
  cluster.site.agent_options.engine = run::EngineKind::automatic;
  choose_engine(cluster.site, words);
  return cluster;
}

}  // namespace weft::cli
