#include "topology/host/nic_reader.hpp"

#include "topology/files/file_text.hpp"
#include "topology/host/ethtool_socket.hpp"
#include "topology/host/hwmon.hpp"
#include "topology/host/interfaces.hpp"
#include "topology/host/module_eeprom.hpp"
#include "topology/host/rdma_counters.hpp"
#include "topology/os/run_program.hpp"

namespace weft::host {
namespace {

constexpr Bytes kMaxAer(65'536);  // a file of sysfs
constexpr Bytes kMaxTool(262'144);
constexpr Nanoseconds kToolLimit = std::chrono::seconds(20);

/// "15b3:101d", of the files of a PCI device, which have "0x15b3".
std::optional<std::string> pci_id(const std::filesystem::path& device) {
  std::string id;
  for (const char* part : {"vendor", "device"}) {
    const auto text = files::read_text_file(device / part, kMaxAer);
    if (!text || !text->starts_with("0x")) return std::nullopt;
    const auto end = text->find_last_not_of(" \n");
    id += (id.empty() ? "" : ":") + text->substr(2, end - 1);
  }
  return id;
}

class NicReader {
 public:
  NicReader(const std::filesystem::path& sys, const std::string& interface, const std::stop_token& stop)
      : sys_(sys), stop_(stop) {
    reading_.interface = interface;
  }

  NicReading read(bool with_module) {
    const std::string& name = reading_.interface;
    const auto known = interface_of_kernel(name);
    if (!known) {
      note("the interface", "this network namespace has none of that name");
      return std::move(reading_);
    }
    reading_.driver = known->driver.value_or("");
    reading_.firmware = known->firmware.value_or("");
    reading_.pci = known->pci;
    reading_.speed = known->speed;
    if (reading_.pci) reading_.pci_id = pci_id(sys_ / "bus/pci/devices" / *reading_.pci);
    if (reading_.pci) reading_.temperatures = hwmon_temperatures(sys_ / "bus/pci/devices" / *reading_.pci);
    take("link statistics", link_statistics(name));
    if (auto counts = driver_statistics(name))
      reading_.driver_counters = std::move(*counts);
    else
      note("counters of the driver (ethtool -S)", counts.error().message);
    if (auto rdma = rdma_counters(sys_, name, {})) reading_.rdma = std::move(rdma->values);
    read_ethtool(with_module);
    read_pcie();
    if (reading_.module && reading_.module->celsius) reading_.temperatures.module = reading_.module->celsius;
    return std::move(reading_);
  }

 private:
  void note(std::string what, std::string why) {
    reading_.not_read.push_back({std::move(what), std::move(why)});
  }
  void take(const char* what, Result<NamedCounts> counts) {
    if (counts)
      reading_.kernel.merge(*counts);
    else
      note(what, counts.error().message);
  }

  void read_ethtool(bool with_module) {
    auto socket = EthtoolSocket::open();
    if (!socket) return note("FEC, standard statistics and module", socket.error().message);
    const std::string& name = reading_.interface;
    if (auto fec = socket->fec(name)) {
      reading_.fec = fec->mode;
      if (fec->counts.empty()) note("FEC counters", "the driver does not tell");
      reading_.kernel.merge(fec->counts);
    } else {
      note("FEC", fec.error().message);
    }
    take("standard statistics", socket->statistics(name));
    take("pause frames", socket->pause(name));
    if (!with_module) return;
    auto module = read_module([&](const HalfPage& at) { return socket->half_page(name, at); });
    if (module)
      reading_.module = std::move(*module);
    else
      note("module", module.error().message);
    read_firmware_tool();
  }

  /// mlxlink, where it is installed: of a module that the kernel does not give, and errors of lanes.
  void read_firmware_tool() {
    if (reading_.driver != "mlx5_core" || !reading_.pci) return;
    auto answer = ask_mlxlink(*reading_.pci, "mlxlink", stop_);
    if (!answer && answer.error().kind == ErrorKind::absent) return;  // not installed
    if (!answer) return note("mlxlink", answer.error().message);
    reading_.driver_counters.merge(answer->counts);
    if (!reading_.module) reading_.module = std::move(answer->module);
  }

  void read_pcie() {
    if (!reading_.pci) return;
    const auto folder = sys_ / "bus/pci/devices" / *reading_.pci;
    bool any = false;
    for (const char* kind : {"correctable", "nonfatal", "fatal"})
      if (const auto text = files::read_text_file(folder / fmt::format("aer_dev_{}", kind), kMaxAer)) {
        take_aer(*text, kind, reading_.pcie);
        any = true;
      }
    if (!any) note("PCIe errors (AER)", "the device does not report them");
  }

  std::filesystem::path sys_;
  const std::stop_token& stop_;
  NicReading reading_;
};

}  // namespace

// One call for all: most of its time goes into reaching the firmware (.8 s of a ConnectX-7 with MFT 4.34, the
// histogram .05 s of it, as others measured).
Result<MlxlinkAnswer> ask_mlxlink(const std::string& pci, const std::string& program,
                                  const std::stop_token& stop) {
  const auto ask = [&](std::vector<std::string> what) -> Result<MlxlinkAnswer> {
    what.insert(what.begin(), {program, "-d", pci, "-m", "-c"});
    what.emplace_back("--json");
    WEFT_TRY(const auto said,
             os::run_strange_program(what, "", kToolLimit / 2, kMaxTool, os::Leftovers::group, stop));
    return read_mlxlink(said);
  };
  auto answer = ask({"--rx_fec_histogram", "--show_histogram"});
  if (answer || answer.error().kind == ErrorKind::absent || stop.stop_requested()) return answer;
  return ask({});
}

NicReading read_nic(const std::filesystem::path& sys, const std::string& interface, bool with_module,
                    const std::stop_token& stop) {
  return NicReader(sys, interface, stop).read(with_module);
}

}  // namespace weft::host
