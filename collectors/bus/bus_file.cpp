#include "collectors/bus/bus_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "collectors/bus/bus_key.hpp"
#include "topology/base/json_members.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::bus {

template <class Io>
static void members(Io& io, StreamLimits& m) {
  io("windows", m.windows);
  io("events", m.events);
}
template <class Io>
static void members(Io& io, BusKey& m) {
  io("seed", m.seed);
  io("authority", m.authority);
}
template <class Io>
static void members(Io& io, BusFile& m) {
  io("url", m.url);
  io("fabric", m.fabric);
  io("name", m.name);
  io("key", m.key);
  io("runs", m.runs);
  io("limits", m.limits);
}

namespace {

constexpr std::size_t kMost = 16'384;
constexpr JsonLimits kFile{.bytes = kMost, .depth = 3, .values = 30};

/// The owner alone, or root's: systemd hands credentials to a service as files of root that a list of access
/// rights opens to it, which shows as a group that may read.
Result<void> check_is_private(int file, std::string_view where) {
  struct stat about {};
  if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode))
    return fail(ErrorKind::invalid_input, "{} is no ordinary file", where);
  if (about.st_uid != geteuid() && about.st_uid != 0)
    return fail(ErrorKind::permission, "{} belongs to another user, who may change it: chown {} {}", where,
                geteuid(), where);
  const mode_t loose = about.st_uid == 0 ? S_IWGRP | S_IXGRP | S_IRWXO : S_IRWXG | S_IRWXO;
  if ((about.st_mode & loose) != 0)
    return fail(ErrorKind::permission, "{} holds a key and others may use it (mode {:04o}): chmod 600 {}",
                where, about.st_mode & 07777, where);
  return {};
}

Result<std::string> read_all(int file, std::string_view where) {
  std::string text;
  std::array<char, 4096> piece{};
  while (text.size() <= kMost) {
    const auto got = read(file, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(ErrorKind::invalid_input, "{} cannot be read: {}", where, std::strerror(errno));
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return fail(ErrorKind::invalid_input, "{} has more than {} bytes: it is no credential of the bus", where,
              kMost);
}

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
  if (const auto names = check_names(file.fabric, file.name); !names) return pass_on(names, what);
  if (!file.url.starts_with("tls://"))
    return fail(ErrorKind::invalid_input, "{}: its url does not begin with tls://", what);
  if (!is_harmless(file.url) || !is_harmless(file.fabric) || !is_harmless(file.name))
    return fail(ErrorKind::invalid_input, "{}: its url or a name has characters that cannot be shown", what);
  return file;
}

Result<BusFile> read_bus_file(const std::filesystem::path& path) {
  const auto where = outside_text(path.string());
  // Of a pipe that nobody writes the opening would wait.
  const os::FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file)
    return fail(errno == EACCES ? ErrorKind::permission : ErrorKind::not_found,
                "the credential {} cannot be opened: {}", where, std::strerror(errno));
  WEFT_TRY_VOID(check_is_private(file.get(), where));
  WEFT_TRY(const auto text, read_all(file.get(), where));
  return parse_bus_file(text, where);
}

}  // namespace weft::bus
