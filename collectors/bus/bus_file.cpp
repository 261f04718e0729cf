#include "collectors/bus/bus_file.hpp"

#include "collectors/bus/bus_key.hpp"
#include "collectors/bus/run_certificate.hpp"
#include "probes/watch/assignment_json.hpp"
#include "topology/base/json_members.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/os/private_file.hpp"

namespace weft::bus {

inline constexpr std::size_t kMaxAuthority = 32'768;  // several certificates

template <class Io>
static void members(Io& io, StreamLimits& m) {
  io("windows", m.windows);
  io("events", m.events);
}
/// Longer than other texts: certificates.
struct Pem {
  std::string& text;
};
static json_members::Json write_json(json_members::OneValue, const Pem& pem) { return pem.text; }
static void read_json(json_members::OneValue, const json_members::Json& from, const Pem& into) {
  into.text = json_members::text(from, kMaxAuthority);
}

template <class Io>
static void members(Io& io, BusKey& m) {
  io("seed", m.seed);
  io("authority", Pem{m.authority});
  auto server = m.server == kBusServerName ? std::nullopt : std::optional(m.server);
  io("server", server);
  m.server = server.value_or(kBusServerName);
}
template <class Io>
static void members(Io& io, BusFile& m) {
  io("url", m.url);
  io("fabric", m.fabric);
  io("name", m.name);
  io("key", m.key);
  io("runs", m.runs);
  io("limits", m.limits);
  rarely(io, "nics", m.nics);
  rarely(io, "steers", m.steers);
}

namespace {

constexpr std::size_t kMaxBytes = 65'536;
constexpr JsonLimits kFile{.bytes = kMaxBytes, .depth = 3, .values = 30 + 2 * watch::kMaxNicsOfHost};

}  // namespace

std::string bus_file_text(const BusFile& file) {
  return json_members::to_text(json_members::write_value(file)) + "\n";
}

Result<BusFile> parse_bus_file(std::string_view text, std::string_view where) {
  const auto what =
      fmt::format("{} is no credential of the bus, as 'weft bus init' writes them", outside_text(where));
  const auto value = json_members::parse(text, kFile, "the file");
  if (!value) return pass_on(value, what);
  WEFT_TRY(auto file, json_members::read_as<BusFile>(*value, what));
  if (const auto key = public_key_of(file.key.seed); !key) return pass_on(key, what);
  if (file.runs)
    if (const auto key = public_key_of(file.runs->seed); !key) return pass_on(key, what);
  if (file.nics.size() > watch::kMaxNicsOfHost)
    return fail(ErrorKind::invalid_input, "{}: it has {} NICs, {} at most", what, file.nics.size(),
                watch::kMaxNicsOfHost);
  if (const auto names = check_names(file.fabric, file.name); !names) return pass_on(names, what);
  if (!file.url.starts_with("tls://"))
    return fail(ErrorKind::invalid_input, "{}: its url does not begin with tls://", what);
  if (file.key.server.empty() || !is_harmless(file.key.server) ||
      (file.runs && file.runs->server != file.key.server))
    return fail(ErrorKind::invalid_input, "{}: it has no name of the server's certificate", what);
  if (!is_harmless(file.url) || !is_harmless(file.fabric) || !is_harmless(file.name))
    return fail(ErrorKind::invalid_input, "{}: its url or a name has characters that cannot be shown", what);
  return file;
}

Result<BusFile> read_bus_file(const std::filesystem::path& path) {
  WEFT_TRY(const auto text, os::read_private_file(path, "the credential", kMaxBytes));
  return parse_bus_file(text, path.string());
}

}  // namespace weft::bus
