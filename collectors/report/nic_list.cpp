#include "collectors/report/nic_list.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "collectors/report/words.hpp"
#include "topology/base/instant.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/readable.hpp"
#include "topology/base/text.hpp"
#include "topology/base/text_table.hpp"
#include "topology/files/json_text.hpp"
#include "topology/files/row_text.hpp"

namespace weft::report {
namespace {

using files::DocumentTree;
using Counts = std::map<std::string, std::size_t>;  // NICs, by what they have

struct Kind {
  Counts drivers, firmwares;
};

std::string kind_of(const ReportedNic& nic) { return nic.pci_id.empty() ? nic.driver : nic.pci_id; }

/// Empty: none told.
std::string usual_of(const Counts& counts) {
  std::string usual;
  std::size_t most = 0;
  for (const auto& [word, count] : counts)
    if (count >= most) usual = word, most = count;
  return usual;
}

std::map<std::string, Kind> kinds_of(const std::vector<ReportedNic>& nics) {
  std::map<std::string, Kind> kinds;
  for (const ReportedNic& nic : nics) {
    Kind& kind = kinds[kind_of(nic)];
    if (!nic.driver.empty()) ++kind.drivers[nic.driver];
    if (!nic.firmware.empty()) ++kind.firmwares[nic.firmware];
  }
  return kinds;
}

std::string when_reported(Nanoseconds time) {
  return instant_text(std::chrono::floor<std::chrono::seconds>(time));
}

std::string module_of_nic(const ReportedNic& nic) {
  if (nic.module_serial.empty()) return nic.module_part;
  return nic.module_part + (nic.module_part.empty() ? "" : " ") + nic.module_serial;
}

/// "firmware 22.35 at 14, 22.31 at 2".
std::string mixed_text(std::string_view what, const Counts& counts) {
  if (counts.size() < 2) return "";
  std::vector<std::pair<std::size_t, std::string>> order;
  for (const auto& [word, count] : counts) order.emplace_back(count, word);
  std::ranges::sort(order, std::ranges::greater());
  std::string text;
  for (const auto& [count, word] : order)
    text += fmt::format("{}{} at {}", text.empty() ? "" : ", ", outside_text(word), count);
  return fmt::format("{} {}", what, text);
}

std::string mixed_kinds(const NicList& list, std::size_t columns) {
  std::vector<ReportedNic> nics;
  for (const ListedNic& one : list.nics) nics.push_back(one.nic);
  std::string text;
  for (const auto& [name, kind] : kinds_of(nics))
    for (const auto& mixed : {mixed_text("driver", kind.drivers), mixed_text("firmware", kind.firmwares)})
      if (!mixed.empty())
        text += wrapped(fmt::format("differ: {}: {}", outside_text(name), mixed), 0, columns, 2);
  return text;
}

}  // namespace

std::vector<ListedNic> listed_nics(const std::vector<ReportedNic>& nics) {
  const auto kinds = kinds_of(nics);
  std::vector<ListedNic> listed;
  for (const ReportedNic& nic : nics) {
    ListedNic& one = listed.emplace_back(ListedNic{nic, {}});
    const Kind& kind = kinds.at(kind_of(nic));
    const auto compare = [&](std::string_view what, const std::string& has, const Counts& all) {
      if (const auto usual = usual_of(all); !has.empty() && has != usual)
        one.differs.push_back(fmt::format("{} {} (most have {})", what, has, usual));
    };
    compare("driver", nic.driver, kind.drivers);
    compare("firmware", nic.firmware, kind.firmwares);
  }
  return listed;
}

std::string nic_table(const NicList& list, std::size_t columns) {
  const auto differing = static_cast<std::size_t>(
      std::ranges::count_if(list.nics, [](const ListedNic& one) { return !one.differs.empty(); }));
  std::string text =
      fmt::format("{}: {} told by standing agents{}\n", list.fabric, counted(list.nics.size(), "NIC", ' '),
                  differing == 0 ? "" : fmt::format(", {} (*) unlike most of their kind", differing));
  if (list.nics.empty()) return text;
  TextTable table({{""},
                   {"NIC"},
                   {"driver"},
                   {"firmware"},
                   {"PCIe"},
                   {"kind"},
                   {"link"},
                   {"module"},
                   {"agent"},
                   {"told"}});
  for (const auto& [nic, differs] : list.nics)
    table.add({differs.empty() ? "" : "*", nic.nic, outside_text(nic.driver), outside_text(nic.firmware),
               outside_text(nic.pci), outside_text(nic.pci_id), nic.speed ? readable(*nic.speed) : "down",
               outside_text(module_of_nic(nic)), outside_text(nic.agent), when_reported(nic.told)});
  return text + mixed_kinds(list, columns) + '\n' + table.text(columns, 0);
}

std::string nic_json(const NicList& list, const files::DocumentStamp& stamp) {
  DocumentTree tree = files::stamped_tree("weft.inventory/1", stamp);
  tree["fabric"] = list.fabric;
  tree["nics"] = DocumentTree::array();
  for (const auto& [nic, differs] : list.nics) {
    DocumentTree one{{"nic", nic.nic}, {"host", nic.host}};
    const auto put = [&](const char* name, const std::string& word) {
      if (!word.empty()) one[name] = word;
    };
    put("interface", nic.interface);
    put("driver", nic.driver);
    put("firmware", nic.firmware);
    put("pci", nic.pci);
    put("pci_id", nic.pci_id);
    if (nic.speed) one["bits_per_second"] = nic.speed->bits_per_second();
    put("module_part", nic.module_part);
    put("module_serial", nic.module_serial);
    put("agent", nic.agent);
    one["told"] = when_reported(nic.told);
    if (!differs.empty()) one["differs"] = differs;
    tree["nics"].push_back(std::move(one));
  }
  return files::document_text(tree);
}

std::string nic_csv(const NicList& list) {
  files::RowSet set{
      .columns = {"nic", "host", "interface", "driver", "firmware", "pci", "pci_id", "bits_per_second",
                  "module_part", "module_serial", "agent", "told", "differs"},
      .rows = {}};
  for (const auto& [nic, differs] : list.nics)
    set.rows.push_back({nic.nic, nic.host, nic.interface, nic.driver, nic.firmware, nic.pci, nic.pci_id,
                        nic.speed ? files::RowValue(nic.speed->bits_per_second()) : files::RowValue(),
                        nic.module_part, nic.module_serial, nic.agent, when_reported(nic.told), differs});
  return files::csv_text(set);
}

}  // namespace weft::report
