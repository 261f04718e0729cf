#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/topology.hpp"
#include "topology/base/text.hpp"
#include "topology/files/fabric_file.hpp"

namespace weft::cli {
namespace {

using namespace std::string_view_literals;

/// A form of the fabric file: the option's keys, and what the file calls them.
struct Key {
  std::string_view given;
  std::string_view in_file;
  bool needed = true;
};
constexpr std::array kClosKeys{Key{"leaves", "leaves"}, Key{"spines", "spines"},
                               Key{"hosts", "hosts_per_leaf"}, Key{"pods", "pods", false},
                               Key{"cores", "cores", false}};
constexpr std::array kRailsKeys{Key{"groups", "groups"},    Key{"hosts", "hosts_per_group"},
                                Key{"rails", "rails"},      Key{"spines", "spines"},
                                Key{"pods", "pods", false}, Key{"cores", "cores", false}};

/// "leaves=4,spines=4" as "leaves: 4, spines: 4"; the file's reader judges the numbers.
Result<std::string> members(std::string_view option, std::string_view text, std::span<const Key> keys) {
  std::vector<std::string_view> known;
  for (const Key& key : keys) known.push_back(key.given);
  std::vector<std::string> written;
  std::set<std::string_view> given;
  while (!text.empty()) {
    const auto item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const auto equals = item.find('=');
    const auto name = item.substr(0, equals);
    const auto key = std::ranges::find(keys, name, &Key::given);
    if (key == keys.end())
      return fail(ErrorKind::usage, "--{}: '{}' is not known; expected {}{}", option, name,
                  fmt::join(known, ", "), did_you_mean(name, known));
    const auto number = equals == std::string_view::npos ? ""sv : item.substr(equals + 1);
    if (number.empty() || number.find_first_not_of("0123456789") != std::string_view::npos)
      return fail(ErrorKind::usage, "--{}: expected {}=NUMBER, found '{}'", option, name, item);
    written.push_back(fmt::format("{}: {}", key->in_file, number));
    given.insert(key->given);
  }
  for (const Key& key : keys)
    if (key.needed && !given.contains(key.given))
      return fail(ErrorKind::usage, "--{}: {}=NUMBER is missing", option, key.given);
  return fmt::format("{}", fmt::join(written, ", "));
}

Result<std::string> body(const po::variables_map& values) {
  const auto clos = text_option(values, "clos");
  const auto rails = text_option(values, "rails");
  if (clos.has_value() == rails.has_value())
    return fail(ErrorKind::usage,
                "expected one of --clos and --rails, as in --clos leaves=4,spines=4,hosts=4");
  WEFT_TRY(const auto numbers,
           clos ? members("clos", *clos, kClosKeys) : members("rails", *rails, kRailsKeys));
  const auto link = parse_bandwidth(values["link"].as<std::string>());
  if (!link) return pass_on(link, "--link");
  return fmt::format("{}: {{{}, link: {}}}\n", clos ? "clos" : "rails", numbers,
                     values["link"].as<std::string>());
}

/// The file in its short form, read back to be sure that it is one.
Result<std::string> short_file(const po::variables_map& values) {
  WEFT_TRY(const auto form, body(values));
  const auto name = values["name"].as<std::string>();
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  };
  if (name.empty() || !std::ranges::all_of(name, allowed))
    return fail(ErrorKind::usage, "--name {}: expected letters, digits, '-', '_' and '.'", name);
  std::string text =
      fmt::format("fabric: \"{}\"\nkind: {}\n{}", name, values["kind"].as<std::string>(), form);
  std::string lab;
  for (const auto& [option, key] : {std::pair("lab-rate", "link_rate"), std::pair("family", "family")})
    if (const auto given = text_option(values, option))
      lab += fmt::format("{}{}: {}", lab.empty() ? "" : ", ", key, *given);
  if (!lab.empty()) text += fmt::format("lab: {{{}}}\n", lab);
  return text;
}

int generate(const po::variables_map& values) {
  const auto text = short_file(values);
  if (!text) return report(text.error());
  const auto file = files::parse_fabric_file(*text, "the fabric asked for");
  if (!file) return report(Error{ErrorKind::usage, file.error().message});
  fmt::print("{}", values.count("explicit")
                       ? files::write_fabric_file(file->fabric, file->lab, {}, file->domains)
                       : *text);
  return kExitHealthy;
}

}  // namespace

OptionParser topology_generate_options() {
  OptionParser parser("weft topology generate (--clos KEY=N,... | --rails KEY=N,...) [options]",
                      "Writes the file of a fabric of a usual shape on stdout.",
                      "  weft topology generate --clos leaves=4,spines=4,hosts=4 > fabric.yaml\n"
                      "  weft topology generate --clos pods=2,leaves=2,spines=2,cores=4,hosts=4 --link 200G\n"
                      "  weft topology generate --rails groups=2,hosts=4,rails=8,spines=8 --explicit\n");
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  parser.options().add_options()("clos", text("KEY=N,..."),
                                 "leaves, spines, hosts (a leaf); with pods and cores three tiers")(
      "rails", text("KEY=N,..."), "groups, hosts (a group), rails, spines; with pods and cores three tiers")(
      "link", text("BW")->default_value("400G"), "the rate of every link")(
      "name", text("NAME")->default_value("fabric"), "of the fabric")(
      "kind", text("roce|infiniband")->default_value("roce"), "roce or infiniband")(
      "lab-rate", text("BW"), "what a lab shapes every link to, or none")(
      "family", text("ipv4|ipv6"), "of a lab: ipv4 or ipv6")("explicit",
                                                             "every node and link by itself, to be edited");
  return parser;
}

int topology_generate_command(const Arguments& arguments) {
  auto parser = topology_generate_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  return OptionParser::help_was_asked(*values) ? kExitHealthy : generate(*values);
}

}  // namespace weft::cli
