#include "collectors/bus/credential.hpp"

#include <nlohmann/json.hpp>

namespace weft {
namespace {

using Json = nlohmann::json;
constexpr const char* kMembers[] = {"user", "password", "certificate"};

}  // namespace

std::string credential_line(const BusCredential& credential) {
  if (const auto* token = std::get_if<std::string>(&credential)) return *token;
  const auto& login = std::get<BusLogin>(credential);
  // JSON writes the line ends of a certificate as \n.
  return Json{{"user", login.user}, {"password", login.password}, {"certificate", login.certificate}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

BusCredential read_credential(std::string_view line) {
  const Json value = line.starts_with('{') ? Json::parse(line, nullptr, false) : Json();
  if (!value.is_object() || value.size() != std::size(kMembers)) return std::string(line);
  for (const char* member : kMembers)
    if (!value.contains(member) || !value[member].is_string()) return std::string(line);
  return BusLogin{value["user"], value["password"], value["certificate"]};
}

}  // namespace weft
