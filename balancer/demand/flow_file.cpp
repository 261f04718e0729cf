#include "balancer/demand/flow_file.hpp"

#include "topology/files/json_view.hpp"

namespace weft {
namespace {

using nlohmann::json;

Result<PortId> nic(const Fabric& fabric, const json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_string())
    return fail(ErrorKind::invalid_input, "\"{}\" is missing or no text: expected a NIC, as in host1/p1",
                key);
  return fabric.find_nic(found->get_ref<const std::string&>());
}

Result<Bytes> size(const json& line) {
  const auto found = line.find("bytes");
  if (found == line.end() || !found->is_number())
    return fail(ErrorKind::invalid_input, "\"bytes\" is missing or no number");
  const double bytes = found->get<double>();
  if (!(bytes >= 1) || bytes > static_cast<double>(kMaxFlowBytes))
    return fail(ErrorKind::invalid_input, "{} bytes: expected 1 to {}", found->dump(), kMaxFlowBytes);
  return Bytes(static_cast<std::int64_t>(bytes));
}

Result<std::size_t> phase_of(const json& line) {
  const auto found = line.find("phase");
  if (found == line.end()) return std::size_t{1};
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() < 1 ||
      found->get<std::uint64_t>() > kMaxPhases)
    return fail(ErrorKind::invalid_input, "\"phase\" is {}: expected 1 to {}", found->dump(), kMaxPhases);
  return found->get<std::size_t>();
}

struct PhasedFlow {
  Flow flow;
  std::size_t phase;
};

Result<PhasedFlow> read_line(const Fabric& fabric, const json& line) {
  if (!line.is_object()) return fail(ErrorKind::invalid_input, "no JSON object");
  WEFT_TRY(const auto src, nic(fabric, line, "src"));
  WEFT_TRY(const auto dst, nic(fabric, line, "dst"));
  WEFT_TRY(const auto bytes, size(line));
  WEFT_TRY(const auto phase, phase_of(line));
  return PhasedFlow{{src, dst, bytes}, phase};
}

std::string text_at(const json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "?";
}

/// "line 3: host1 -> host99", or "line 3" where the line names no flow.
std::string describe_line(std::size_t number, const json& line) {
  if (!line.is_object()) return fmt::format("line {}", number);
  return fmt::format("line {}: {} -> {}", number, text_at(line, "src"), text_at(line, "dst"));
}

}  // namespace

FlowFile read_flows(const Fabric& fabric, std::string_view text) {
  FlowFile file;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    json document = json::parse(line, nullptr, false);
    make_harmless(document);
    const auto read = read_line(fabric, document);
    if (!read) {
      file.refused.push_back({describe_line(number, document), read.error().message});
      continue;
    }
    auto& phases = file.demand.phases;
    while (phases.size() < read->phase) phases.push_back({fmt::format("phase {}", phases.size() + 1), {}});
    phases[read->phase - 1].flows.push_back(read->flow);
  }
  return file;
}

std::string write_flows(const Fabric& fabric, const Demand& demand) {
  std::string text;
  for (std::size_t phase = 0; phase < demand.phases.size(); ++phase)
    for (const Flow& flow : demand.phases[phase].flows) {
      json line{{"src", fabric.name_of_nic(flow.src)},
                {"dst", fabric.name_of_nic(flow.dst)},
                {"bytes", flow.bytes.count()}};
      if (demand.phases.size() > 1) line["phase"] = phase + 1;
      text += line.dump() + "\n";
    }
  return text;
}

}  // namespace weft
