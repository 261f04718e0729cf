#include "cli/infiniband_source.hpp"

#include "cli/infiniband_lab.hpp"
#include "cli/lab_place.hpp"
#include "probes/engine/umad/umad_mads.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/ibnetdiscover.hpp"

namespace weft {
namespace {

constexpr Bytes kMaxDumpBytes = Bytes(512'000'000);  // 100,000 adapters take about 60 MB
constexpr unsigned kMaxPort = 254;                   // IBTA vol. 1, 14.2.5.6
constexpr unsigned kMaxWindow = 128;                 // see MadLimits

}  // namespace

void add_subnet_options(po::options_description& options) {
  options.add_options()(
      "device", po::value<std::string>()->value_name("HCA")->default_value(""),
      "the InfiniBand adapter of this host to ask through (default: the first with an active "
      "port)")("port", po::value<unsigned>()->value_name("N")->default_value(0),
               "its port (default: the first active)");
}

Result<void> refuse_subnet_options(const po::variables_map& values) {
  for (const char* name : {"device", "port"})
    if (!values[name].defaulted())
      return fail(ErrorKind::usage, "--{} is of a live InfiniBand fabric: give its file with --fabric", name);
  return {};
}

Result<std::unique_ptr<Mads>> open_subnet(const po::variables_map& values) {
  const auto port = values["port"].as<unsigned>();
  if (port > kMaxPort) return fail(ErrorKind::usage, "--port {}: expected 1 to {}", port, kMaxPort);
  return open_umad({.device = values["device"].as<std::string>(), .port = static_cast<std::uint8_t>(port)});
}

void add_infiniband_options(po::options_description& options) {
  options.add_options()("lab", po::value<std::string>()->implicit_value(kDefaultLabName)->value_name("NAME"),
                        "an InfiniBand lab");
  add_subnet_options(options);
  options.add_options()("window", po::value<unsigned>()->value_name("N")->default_value(64),
                        "questions in flight at once, 1 to 128")(
      "timeout", po::value<std::string>()->value_name("TIME")->default_value("600ms"),
      "for one question with its repeats")("node-names", po::value<std::string>()->value_name("FILE"),
                                           "names by GUID: lines of 0xGUID \"name\"")(
      "dump", po::value<std::string>()->value_name("FILE"), "read this ibnetdiscover dump and ask nobody");
}

namespace {

/// The management datagrams of the port that the options name.
Result<std::unique_ptr<Mads>> open_mads(const po::variables_map& values, const Arguments& words) {
  if (const auto name = text_option(values, "lab")) {
    const auto lab = ib_lab_open(*name, ib_lab_root());
    if (!lab) return pass_on(lab);
    if (const auto entered = enter_infiniband_lab(*lab, words); !entered) return pass_on(entered);
    return open_lab_mads(*lab);
  }
  return open_subnet(values);
}

}  // namespace

Result<MadLimits> mad_limits(const po::variables_map& values) {
  const auto window = values["window"].as<unsigned>();
  if (window < 1 || window > kMaxWindow)
    return fail(ErrorKind::usage, "--window {}: expected 1 to {}", window, kMaxWindow);
  const auto timeout = read_option<Nanoseconds>(values, "timeout", parse_duration);
  if (!timeout) return pass_on(timeout);
  if (**timeout < std::chrono::milliseconds(10))
    return fail(ErrorKind::usage, "--timeout: expected 10ms or more");
  return MadLimits{.window = window, .timeout = **timeout};
}

Result<IbNodeNames> node_names(const po::variables_map& values) {
  const auto file = text_option(values, "node-names");
  if (!file) return IbNodeNames();
  const auto text = read_text_file(*file, kMaxDumpBytes);
  if (!text) return pass_on(text);
  const auto names = parse_node_names(*text);
  if (!names) return pass_on(names, *file);
  return *names;
}

namespace {

Result<FoundFabric> fabric_of_dump(const std::string& dump, const std::string& name,
                                   const IbNodeNames& names) {
  const auto text = read_text_file(dump, kMaxDumpBytes);
  if (!text) return pass_on(text);
  const auto subnet = parse_ibnetdiscover(*text);
  if (!subnet) return pass_on(subnet, dump);
  auto fabric = build_infiniband_fabric(*subnet, name, names);
  if (!fabric) return pass_on(fabric, dump);
  return FoundFabric{.fabric = std::move(*fabric), .firmware = {}, .tally = {}};
}

}  // namespace

Result<FoundFabric> find_fabric(const po::variables_map& values, const std::string& name,
                                const Arguments& words, bool with_firmware) {
  const auto names = node_names(values);
  if (!names) return pass_on(names);
  if (const auto dump = text_option(values, "dump")) return fabric_of_dump(*dump, name, *names);
  const auto limits = mad_limits(values);
  if (!limits) return pass_on(limits);
  const auto mads = open_mads(values, words);
  if (!mads) return pass_on(mads);
  const auto start = (*mads)->now();
  const auto found = discover_subnet(**mads, *limits);
  if (!found) return pass_on(found);
  const auto took = (*mads)->now() - start;
  auto fabric = build_infiniband_fabric(found->subnet, name, *names);
  if (!fabric) return pass_on(fabric);
  FoundFabric result{.fabric = std::move(*fabric), .firmware = {}, .tally = found->tally, .took = took};
  if (!with_firmware) return result;
  auto firmware = read_firmware(**mads, result.fabric, *limits);
  if (!firmware) return pass_on(firmware);
  result.firmware = std::move(*firmware);
  return result;
}

Result<FoundRoutes> find_routes(const po::variables_map& values, const Arguments& words) {
  if (text_option(values, "dump"))
    return fail(ErrorKind::usage, "--dump: a dump of the cables has no forwarding tables to read");
  const auto names = node_names(values);
  if (!names) return pass_on(names);
  const auto limits = mad_limits(values);
  if (!limits) return pass_on(limits);
  const auto mads = open_mads(values, words);
  if (!mads) return pass_on(mads);
  const auto found = discover_subnet(**mads, *limits);
  if (!found) return pass_on(found);
  auto fabric = build_infiniband_fabric(found->subnet, "discovered", *names);
  if (!fabric) return pass_on(fabric);
  auto tables = read_tables(**mads, *fabric, found->routes, *limits);
  if (!tables) return pass_on(tables);
  std::optional<std::string> engine;
  if (const auto name = text_option(values, "lab"))
    if (const auto lab = ib_lab_open(*name, ib_lab_root())) engine = ib_lab_engine(*lab);
  return FoundRoutes{std::move(*fabric), std::move(*tables), std::move(engine)};
}

}  // namespace weft
