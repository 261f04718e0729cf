// The NICs that standing agents told of, for people and for programs (`weft.inventory/1`), and which of them
// differ from others of their kind. Pure.
#pragma once

#include <string>
#include <vector>

#include "topology/files/document.hpp"
#include "topology/findings/reported_nic.hpp"

namespace weft::report {

struct ListedNic {
  ReportedNic nic;
  /// Its driver or firmware is not the one that most NICs of its kind have: "firmware 22.31 (most have
  /// 22.35)". Of as many of each, the greatest in the order of text counts as that of most.
  std::vector<std::string> differs;
};

/// Of one kind are NICs with the same PCI vendor and device; where that is not told, with the same driver.
/// What is not told differs from nothing. In their order.
std::vector<ListedNic> listed_nics(const std::vector<ReportedNic>& nics);

struct NicList {
  std::string fabric;
  std::vector<ListedNic> nics;
};

std::string nic_table(const NicList& list, std::size_t columns);
std::string nic_json(const NicList& list, const files::DocumentStamp& stamp);
std::string nic_csv(const NicList& list);

}  // namespace weft::report
