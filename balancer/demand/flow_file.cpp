#include "balancer/demand/flow_file.hpp"

#include "topology/files/json_view.hpp"
#include "topology/model/fabric.hpp"

namespace weft::demand {
namespace {

Result<PortId> nic(const Fabric& fabric, const files::JsonView& line, const char* key) {
  const auto name = line.need(key).and_then(&files::JsonView::text);
  if (!name)
    return fail(ErrorKind::invalid_input, "\"{}\" is missing or no text: expected a NIC, as in host1/p1",
                key);
  return fabric.find_nic(*name);
}

Result<Bytes> size(const files::JsonView& line) {
  const auto member = line.need("bytes");
  const auto bytes = member.and_then(&files::JsonView::number);
  if (!bytes) return fail(ErrorKind::invalid_input, "\"bytes\" is missing or no number");
  if (!(*bytes >= 1) || *bytes > static_cast<double>(kMaxFlowBytes))
    return fail(ErrorKind::invalid_input, "{} bytes: expected 1 to {}", member->shown(), kMaxFlowBytes);
  return Bytes(static_cast<std::int64_t>(*bytes));
}

Result<std::size_t> phase_of(const files::JsonView& line) {
  const auto member = line.need("phase");
  if (!member) return std::size_t{1};
  const auto phase = member->count<std::size_t>();
  if (!phase || *phase < 1 || *phase > kMaxPhases)
    return fail(ErrorKind::invalid_input, "\"phase\" is {}: expected 1 to {}", member->shown(), kMaxPhases);
  return *phase;
}

struct PhasedFlow {
  Flow flow;
  std::size_t phase;
};

Result<PhasedFlow> read_line(const Fabric& fabric, const files::JsonView& line) {
  WEFT_TRY(const auto src, nic(fabric, line, "src"));
  WEFT_TRY(const auto dst, nic(fabric, line, "dst"));
  WEFT_TRY(const auto bytes, size(line));
  WEFT_TRY(const auto phase, phase_of(line));
  return PhasedFlow{{src, dst, bytes}, phase};
}

std::string_view text_at(const files::JsonView& line, const char* key) {
  return line.need(key).and_then(&files::JsonView::text).value_or("?");
}

}  // namespace

FlowFile read_flows(const Fabric& fabric, std::string_view text) {
  FlowFile file;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto document = files::parse_json(line, "the line");
    if (!document || !document->is_object()) {
      file.refused.push_back({fmt::format("line {}", number), "no JSON object"});
      continue;
    }
    const files::JsonView view(*document, "the line");
    const auto read = read_line(fabric, view);
    if (!read) {
      file.refused.push_back(
          {fmt::format("line {}: {} -> {}", number, text_at(view, "src"), text_at(view, "dst")),
           read.error().message});
      continue;
    }
    auto& phases = file.demand.phases;
    while (phases.size() < read->phase) phases.push_back({fmt::format("phase {}", phases.size() + 1), {}});
    phases[read->phase - 1].flows.push_back(read->flow);
  }
  return file;
}

}  // namespace weft::demand
