#include "topology/files/nic_list.hpp"

#include "topology/base/json_limits.hpp"
#include "topology/files/json_text.hpp"
#include "topology/files/json_view.hpp"

namespace weft::files {
namespace {

constexpr std::string_view kSchema = "weft.nics/1";
constexpr JsonLimits kLimits{.bytes = 1'000'000, .depth = 8, .values = 50'000};
constexpr std::size_t kMaxName = 64;

Result<ListedNic> read_nic(const JsonView& view) {
  ListedNic nic;
  WEFT_TRY(const auto name_at, view.need("interface"));
  WEFT_TRY(const auto name, name_at.text());
  if (name.empty() || name.size() > kMaxName)
    return name_at.error("expected a name of 1 to {} characters", kMaxName);
  nic.interface = name;
  if (const auto addresses = view.find("addresses")) {
    WEFT_TRY(const auto texts, read_texts(*addresses));
    for (const std::string& text : texts) {
      const auto address = IpAddress::parse(text);
      if (!address) return addresses->error("{}", address.error().message);
      nic.addresses.push_back(*address);
    }
  }
  if (const auto device = view.find("rdma_device")) {
    WEFT_TRY(const auto text, device->text());
    nic.rdma_device = std::string(text);
  }
  if (const auto rate = view.find("rate")) {
    WEFT_TRY(const auto bits, rate->number());
    if (bits >= 1 && bits <= 1e15) nic.rate = Bandwidth::bit(bits);
  }
  if (const auto up = view.find("up")) {
    WEFT_TRY(nic.up, up->boolean());
  }
  return nic;
}

}  // namespace

std::string nic_list_json(const NicList& list, const DocumentStamp& stamp) {
  auto tree = stamped_tree(kSchema, stamp);
  tree["host"] = list.host;
  if (list.reached_by) tree["reached_by"] = to_string(*list.reached_by);
  auto& nics = tree["nics"] = DocumentTree::array();
  for (const ListedNic& nic : list.nics) {
    DocumentTree one{{"interface", nic.interface}, {"up", nic.up}};
    auto& addresses = one["addresses"] = DocumentTree::array();
    for (const IpAddress& address : nic.addresses) addresses.push_back(to_string(address));
    if (nic.rdma_device) one["rdma_device"] = *nic.rdma_device;
    if (nic.rate) one["rate"] = nic.rate->bits_per_second();
    nics.push_back(std::move(one));
  }
  return document_text(tree) + "\n";
}

Result<NicList> parse_nic_list(std::string_view text, std::string_view what) {
  if (const auto fits = check_json_limits(text, kLimits); !fits) return pass_on(fits, what);
  WEFT_TRY(const auto value, parse_json(text, what));
  const JsonView root(value, what);
  WEFT_TRY_VOID(check_schema(root, kSchema));
  WEFT_TRY(const auto host_at, root.need("host"));
  WEFT_TRY(const auto host, host_at.text());
  WEFT_TRY(const auto nics_at, root.need("nics"));
  WEFT_TRY(auto nics, read_array<ListedNic>(nics_at, read_nic));
  NicList list{std::string(host), std::move(nics)};
  if (const auto by = root.find("reached_by")) {
    WEFT_TRY(const auto address, by->text());
    WEFT_TRY(list.reached_by, IpAddress::parse(address));
  }
  return list;
}

}  // namespace weft::files
