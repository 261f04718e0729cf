#include "probes/discover/subnet_firmware.hpp"

#include <algorithm>
#include <set>

#include "probes/mad/mad_attributes.hpp"
#include "topology/model/fabric.hpp"

namespace weft::discover {
namespace {

struct Device {
  NodeId node;
  Guid guid;
  Lid lid;
};

/// One LID of each device of the vendor, in the order of nodes.
std::vector<Device> devices_of(const InfinibandFabric& whole) {
  std::vector<Device> devices;
  std::set<Guid> seen;
  for (std::uint32_t n = 0; n < whole.fabric.node_count(); ++n) {
    const NodeId node(n);
    const IbNode& about = whole.inventory.nodes[n];
    if (about.vendor != mad::kMellanox) continue;
    for (const PortId port : whole.fabric.ports_of(node)) {
      const IbPort& at = whole.inventory.ports[port.value()];
      const auto& lids = whole.fabric.is_host(node) ? at.lids : about.lids;
      if (lids && seen.insert(at.node_guid).second) devices.push_back({node, at.node_guid, lids->base});
    }
  }
  return devices;
}

class FirmwareQuestions : public mad::MadDialogue {
 public:
  explicit FirmwareQuestions(std::vector<Device> devices)
      : devices_(std::move(devices)), found_(devices_.size()) {}

  std::optional<mad::MadQuestion> next() override {
    if (at_ == devices_.size()) return std::nullopt;
    const auto index = at_++;
    return mad::MadQuestion{.to = devices_[index].lid,
                            .mad_class = mad::MadClass::mellanox,
                            .attribute = mad::MadAttribute::general_info,
                            .tag = index};
  }

  void answered(const mad::MadQuestion& question, const mad::MadAnswer& answer) override {
    if (answer.outcome != mad::MadOutcome::answered) return;
    if (const auto info = mad::decode_general_info(answer.data)) found_[question.tag] = *info;
  }

  FirmwareReading result() const {
    FirmwareReading reading;
    for (std::size_t i = 0; i < devices_.size(); ++i)
      if (const auto& info = found_[i])
        reading.devices.push_back({devices_[i].node, devices_[i].guid, info->device, info->firmware});
    reading.unread = devices_.size() - reading.devices.size();
    return reading;
  }

 private:
  std::vector<Device> devices_;
  std::vector<std::optional<mad::GeneralInfo>> found_;
  std::size_t at_ = 0;
};

}  // namespace

Result<FirmwareReading> read_firmware(mad::Mads& mads, const InfinibandFabric& fabric,
                                      const mad::MadLimits& limits, std::stop_token stop) {
  FirmwareQuestions questions(devices_of(fabric));
  const auto done = converse(mads, questions, limits, stop);
  if (!done) return pass_on(done, "reading firmware versions");
  return questions.result();
}

}  // namespace weft::discover
