#include "cli/record_files.hpp"

#include <algorithm>
#include <set>

#include "topology/base/outside_text.hpp"
#include "topology/files/file_text.hpp"

namespace weft::cli {
namespace {

constexpr std::array kOptions{"lldp", "sonic", "netbox"};
constexpr Bytes kMaxRecordBytes(256'000'000);

Result<std::vector<std::filesystem::path>> files_of(const std::string& given) {
  std::error_code error;
  if (!std::filesystem::is_directory(given, error)) return std::vector{std::filesystem::path(given)};
  std::vector<std::filesystem::path> found;
  for (std::filesystem::directory_iterator at(given, error), end; !error && at != end; at.increment(error))
    if (at->is_regular_file(error)) found.push_back(at->path());
  if (error) return fail(ErrorKind::usage, "{}: {}", given, error.message());
  if (found.empty()) return fail(ErrorKind::usage, "{}: no file is in it", given);
  std::ranges::sort(found);
  return found;
}

/// leaf1 of leaf1.json, leaf1.lldp.txt and leaf1.example.org.json.
std::string device_of(const std::filesystem::path& file) {
  auto name = file.stem();
  for (const char* ending : {".lldp", ".config_db", ".neighbors"})
    if (name.extension() == ending) name = name.stem();
  return outside_text(name.string());
}

}  // namespace

void add_record_options(po::options_description& options) {
  const auto several = [] {
    return po::value<std::vector<std::string>>()->composing()->value_name("FILE|DIR");
  };
  options.add_options()(
      "lldp", several(),
      "LLDP tables of hosts and switches, each in a file named after its device: `lldpcli show neighbors -f "
      "json`, SONiC's `show lldp table` or `show lldp neighbors`, `nv show interface --lldp -o json`")(
      "sonic", several(), "SONiC's config_db.json, minigraph.xml or `show lldp table` of each switch")(
      "netbox", several(), "cables of NetBox, exported as CSV or from its API");
}

bool names_records(const po::variables_map& values) {
  return std::ranges::any_of(kOptions, [&](const char* option) { return values.count(option) != 0; });
}

Result<std::vector<files::CableList>> read_records(const po::variables_map& values) {
  std::vector<files::CableList> lists;
  std::map<std::string, std::string> tables;  // of a device, and the file that has it
  for (const char* option : kOptions) {
    if (!values.count(option)) continue;
    for (const std::string& given : values[option].as<std::vector<std::string>>()) {
      WEFT_TRY(const auto files, files_of(given));
      for (const auto& file : files) {
        WEFT_TRY(const auto text, files::read_text_file(file, kMaxRecordBytes));
        WEFT_TRY(auto list, files::parse_cable_record(text, {file.string(), device_of(file)}));
        for (const auto& device : list.devices)
          if (const auto [at, is_new] = tables.emplace(device, file.string()); !is_new)
            return fail(ErrorKind::invalid_input, "{} and {} are both the table of {}: rename one of them",
                        at->second, file.string(), device);
        lists.push_back(std::move(list));
      }
    }
  }
  return lists;
}

}  // namespace weft::cli
