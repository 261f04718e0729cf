#include "cli/infiniband_source.hpp"

#include "cli/infiniband_lab.hpp"
#include "cli/lab_place.hpp"
#include "probes/engine/umad/umad_mads.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/ibnetdiscover.hpp"

namespace weft::cli {
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

Result<std::unique_ptr<mad::Mads>> open_subnet(const po::variables_map& values) {
  const auto port = values["port"].as<unsigned>();
  if (port > kMaxPort) return fail(ErrorKind::usage, "--port {}: expected 1 to {}", port, kMaxPort);
  return umad::open_umad(
      {.device = values["device"].as<std::string>(), .port = static_cast<std::uint8_t>(port)});
}

void add_infiniband_options(po::options_description& options) {
  options.add_options()("lab", po::value<std::string>()->implicit_value(kDefaultLabName)->value_name("NAME"),
                        "an InfiniBand lab; of discover a RoCE lab too");
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
Result<std::unique_ptr<mad::Mads>> open_mads(const po::variables_map& values, const Arguments& words) {
  if (const auto name = text_option(values, "lab")) {
    WEFT_TRY(const auto lab, lab::ib_lab_open(*name, ib_lab_root()));
    WEFT_TRY_VOID(enter_infiniband_lab(lab, words));
    return open_lab_mads(lab);
  }
  return open_subnet(values);
}

}  // namespace

Result<mad::MadLimits> mad_limits(const po::variables_map& values) {
  const auto window = values["window"].as<unsigned>();
  if (window < 1 || window > kMaxWindow)
    return fail(ErrorKind::usage, "--window {}: expected 1 to {}", window, kMaxWindow);
  WEFT_TRY(const auto timeout, read_option<Nanoseconds>(values, "timeout", parse_duration));
  if (*timeout < std::chrono::milliseconds(10))
    return fail(ErrorKind::usage, "--timeout: expected 10ms or more");
  return mad::MadLimits{.window = window, .timeout = *timeout};
}

Result<IbNodeNames> node_names(const po::variables_map& values) {
  const auto file = text_option(values, "node-names");
  if (!file) return IbNodeNames();
  WEFT_TRY(const auto text, files::read_text_file(*file, kMaxDumpBytes));
  const auto names = parse_node_names(text);
  if (!names) return pass_on(names, *file);
  return *names;
}

namespace {

Result<FoundFabric> fabric_of_dump(const std::string& dump, const std::string& name,
                                   const IbNodeNames& names) {
  WEFT_TRY(const auto text, files::read_text_file(dump, kMaxDumpBytes));
  const auto subnet = files::parse_ibnetdiscover(text);
  if (!subnet) return pass_on(subnet, dump);
  auto fabric = build_infiniband_fabric(*subnet, name, names);
  if (!fabric) return pass_on(fabric, dump);
  return FoundFabric{.fabric = std::move(*fabric), .firmware = {}, .tally = {}};
}

}  // namespace

Result<FoundFabric> find_fabric(const po::variables_map& values, const std::string& name,
                                const Arguments& words, bool with_firmware) {
  WEFT_TRY(const auto names, node_names(values));
  if (const auto dump = text_option(values, "dump")) return fabric_of_dump(*dump, name, names);
  WEFT_TRY(const auto limits, mad_limits(values));
  WEFT_TRY(const auto mads, open_mads(values, words));
  const auto start = mads->now();
  WEFT_TRY(const auto found, discover::discover_subnet(*mads, limits));
  const auto took = mads->now() - start;
  WEFT_TRY(auto fabric, build_infiniband_fabric(found.subnet, name, names));
  FoundFabric result{.fabric = std::move(fabric), .firmware = {}, .tally = found.tally, .took = took};
  if (!with_firmware) return result;
  WEFT_TRY(auto firmware, discover::read_firmware(*mads, result.fabric, limits));
  result.firmware = std::move(firmware);
  return result;
}

Result<FoundRoutes> find_routes(const po::variables_map& values, const Arguments& words) {
  if (text_option(values, "dump"))
    return fail(ErrorKind::usage, "--dump: a dump of the cables has no forwarding tables to read");
  WEFT_TRY(const auto names, node_names(values));
  WEFT_TRY(const auto limits, mad_limits(values));
  WEFT_TRY(const auto mads, open_mads(values, words));
  WEFT_TRY(const auto found, discover::discover_subnet(*mads, limits));
  WEFT_TRY(auto fabric, build_infiniband_fabric(found.subnet, "discovered", names));
  WEFT_TRY(auto tables, read_tables(*mads, fabric, found.routes, limits));
  std::optional<std::string> engine;
  if (const auto name = text_option(values, "lab"))
    if (const auto lab = lab::ib_lab_open(*name, ib_lab_root())) engine = ib_lab_engine(*lab);
  return FoundRoutes{std::move(fabric), std::move(tables), std::move(engine)};
}

}  // namespace weft::cli
