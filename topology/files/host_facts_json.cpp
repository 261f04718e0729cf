#include "topology/files/host_facts_json.hpp"

#include "topology/base/json_members.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/host_inventory_json.hpp"
#include "topology/files/json_view.hpp"

namespace weft::json_members {

namespace {

constexpr std::size_t kMaxItems = 256;
constexpr const char* kSchema = "weft.host_facts/1";

}  // namespace

/// An inventory's own file names its members.
struct FactsInventory {
  HostInventory host;
};
static Json write_json(OneValue, const FactsInventory& inventory) {
  return files::host_inventory_value(inventory.host);
}
static void read_json(OneValue, const Json& from, FactsInventory& into) {
  auto read = files::host_inventory_from(from);
  if (!read) throw BadField(read.error().message);
  into.host = std::move(*read);
}

template <class Io>
static void members(Io& io, KernelOffence& m) {
  word(io, "kind", m.kind, parse_offence_kind);
  rarely(io, "device", m.device);
  io("code", m.code);
  io("count", m.count);
  io("last", m.last);
}
template <class Io>
static void members(Io& io, FileRoom& m) {
  io("path", m.path);
  io("free", m.free);
}
template <class Io>
static void members(Io& io, PathToNic& m) {
  io("from", m.from);
  io("to", m.to);
  io("answered", m.small_answered);
  io("full", m.full);
  io("full_answered", m.full_answered);
}
template <class Io>
static void members(Io& io, HostFacts& m) {
  io("version", m.version);
  io("protocol", m.protocol);
  io("program", m.program);
  io("machine", m.machine);
  io("kernel", m.kernel);
  io("identity", m.identity);
  io("sends_raw", m.sends_raw);
  io("locks_any_memory", m.locks_any_memory);
  io("lock_limit", m.lock_limit);
  io("clock", m.clock);
  io("clock_follows", m.clock_follows);
  io("gpu_driver", m.gpu_driver);
  io("gpu_driver_is_open", m.gpu_driver_is_open);
  io("drivers", at_most(kMaxItems, m.drivers));
  io("rooms", at_most(kMaxItems, m.rooms));
  io("addresses", m.addresses);
  if (Io::kReads) check_count(m.addresses.size(), kMaxItems);
  io("kernel_log_read", m.kernel_log_read);
  io("offences", at_most(kMaxItems, m.offences));
  io("reaches_coordinator", m.reaches_coordinator);
  io("unreached_because", m.unreached_because);
  io("coordinator_takes_full", m.coordinator_takes_full);
  io("paths", at_most(kMaxItems, m.paths));
  FactsInventory inventory{std::move(m.inventory)};
  io("inventory", inventory);
  m.inventory = std::move(inventory.host);
}

}  // namespace weft::json_members

namespace weft::files {
namespace {

using namespace json_members;

constexpr JsonLimits kLimits{static_cast<std::size_t>(kMaxHostFacts.count()), 12, 50'000};
constexpr std::size_t kMaxVersion = 100;
constexpr std::string_view kWhat = "what the host reports";

/// The last line that could be a document: a login may greet before it.
std::string_view document_in(std::string_view output) {
  while (!output.empty() && (output.back() == '\n' || output.back() == '\r' || output.back() == ' '))
    output.remove_suffix(1);
  const auto line = output.rfind('\n');
  return line == std::string_view::npos ? output : output.substr(line + 1);
}

/// What a report of any protocol tells.
HostFacts speaker_of(const Json& value) {
  HostFacts speaker;
  const auto version = value.find("version");
  if (version != value.end() && version->is_string()) speaker.version = text(*version, kMaxVersion);
  speaker.protocol = whole<std::uint32_t>(field(value, "protocol"));
  return speaker;
}

Result<HostFacts> read_report(const Json& value, std::uint32_t ours) {
  try {
    if (auto speaker = speaker_of(value); speaker.protocol != ours) return speaker;
  } catch (const BadField& bad) {
    return fail(ErrorKind::invalid_input, "{} does not fit: {}", kWhat, bad.what());
  }
  return read_as<HostFacts>(value, kWhat);
}

}  // namespace

nlohmann::json host_facts_value(const HostFacts& report) {
  Json value = write_value(report);
  value["schema"] = kSchema;
  return value;
}

std::string host_facts_text(const HostFacts& report) { return to_text(host_facts_value(report)); }

Result<HostFacts> read_host_facts(std::string_view output, std::uint32_t ours) {
  WEFT_TRY(auto value, parse(document_in(output), kLimits, kWhat));
  make_harmless(value);
  if (!value.is_object() || !value.contains("schema") || value["schema"] != kSchema)
    return fail(ErrorKind::invalid_input, "{} is no {}", kWhat, kSchema);
  return read_report(value, ours);
}

}  // namespace weft::files
