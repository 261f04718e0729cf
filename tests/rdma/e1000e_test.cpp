// Counters of a NIC that is a PCIe device with a driver of its own: an emulated Intel 82574L (e1000e) in a
// guest behind a root port. `ethtool -S`, and an error of PCIe (AER) that the kernel's aer_inject makes: that
// of QEMU's monitor (pcie_aer_inject_error, 7.2) stays in the device's registers and reaches no root port.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/collectors/bus/watch_rig.hpp"
#include "tests/places.hpp"
#include "tests/support/rdma_rig.hpp"
#include "tests/support/text_of.hpp"
#include "topology/lab/guests/guest_commands.hpp"
#include "topology/lab/guests/guests.hpp"
#include "topology/os/child_process.hpp"

namespace weft {
namespace {

using testing::HasSubstr;

constexpr auto kE1000eBoots = std::chrono::minutes(3), kErrorIsSeen = std::chrono::minutes(1);
constexpr auto kLinkIsUp = std::chrono::minutes(1);
const IpAddress kForwarded(IpAddress::V4{127, 0, 0, 1});

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

/// A guest without a lab: QEMU's own network of users carries its commands and its traffic.
class E1000eGuest {
 public:
  E1000eGuest() {
    const std::string image = WEFT_BINARY_DIR "/guest";
    auto started = os::ChildProcess::start(
        {.argv = {"qemu-system-x86_64",
                  "-accel",
                  "tcg",
                  "-M",
                  "q35",
                  "-m",
                  "256",
                  "-nodefaults",
                  "-no-reboot",
                  "-display",
                  "none",
                  "-serial",
                  "stdio",
                  "-kernel",
                  image + "/kernel",
                  "-initrd",
                  image + "/initrd",
                  "-netdev",
                  fmt::format("user,id=m,hostfwd=tcp:127.0.0.1:{}-:{}", port_, lab::kGuestCommandPort),
                  "-device",
                  "virtio-net-pci,netdev=m,mac=52:54:00:00:00:01,romfile=",
                  "-netdev",
                  "user,id=n,net=10.9.0.0/24",
                  "-device",
                  "pcie-root-port,id=root,chassis=1",
                  "-device",
                  "e1000e,netdev=n,bus=root,mac=52:54:00:00:00:02,romfile=",
                  "-append",
                  "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check weft.name=host1 "
                  "weft.mgmt=52:54:00:00:00:01,10.0.2.15/24 "
                  // QEMU answers at 10.9.0.2, and has that address in its MAC.
                  "weft.nic=nic0,52:54:00:00:00:02,10.9.0.15/24,10.9.0.2,52:55:0a:09:00:02,1500"},
         .output = os::ToFile{files_.path() / "console"},
         .errors = os::ToFile{files_.path() / "errors"}});
    if (started) machine_ = std::move(*started);
  }

  bool is_ready() const {
    const auto end = std::chrono::steady_clock::now() + kE1000eBoots;
    while (machine_ && std::chrono::steady_clock::now() < end) {
      if (run({"true"}).first == 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return false;
  }
  std::string said() const { return text_of(files_.path() / "console") + text_of(files_.path() / "errors"); }

  /// Its exit status and what it printed.
  std::pair<int, std::string> run(const std::vector<std::string>& argv) const {
    testing::internal::CaptureStdout();
    const auto status = lab::run_in_guest(kForwarded, port_, {argv, {}, false});
    std::fflush(stdout);
    return {status.value_or(-1), testing::internal::GetCapturedStdout()};
  }

 private:
  const TestDirectory files_;
  const std::uint16_t port_ = bus::free_port();
  std::optional<os::ChildProcess> machine_;
};

TEST(CountersOfE1000e, AreThoseOfItsDriverAndItsPcieErrors) {
  if (const auto missing = missing_for_guests(); !missing.empty()) GTEST_SKIP() << missing;
  const E1000eGuest guest;
  ASSERT_TRUE(guest.is_ready()) << guest.said();

  // Its link comes up a while after the guest does.
  const auto until = std::chrono::steady_clock::now() + kLinkIsUp;
  while (guest.run({"ping", "-q", "-c", "1", "-W", "1", "10.9.0.2"}).first != 0)
    ASSERT_LT(std::chrono::steady_clock::now(), until) << "nobody answers over nic0";
  EXPECT_EQ(guest.run({"ping", "-q", "-c", "20", "-i", "0.1", "10.9.0.2"}).first, 0);
  const auto shown = guest.run({"weft", "counters", "nic", "nic0"}).second;
  EXPECT_THAT(shown, HasSubstr("nic0, e1000e"));
  EXPECT_THAT(shown, testing::ContainsRegex("fcs_errors +0  rx_crc_errors"));
  EXPECT_THAT(shown, HasSubstr("not read: FEC: the driver does not tell"));
  EXPECT_THAT(shown, testing::Not(HasSubstr("PCIe: correctable")));

  const auto told = guest.run({"weft", "counters", "nic", "nic0", "-o", "json"}).second;
  const auto line = nlohmann::json::parse(told.substr(told.find('\n') + 1), nullptr, false);
  ASSERT_TRUE(line.is_object()) << told;
  EXPECT_GE(line["counters"].value("frames_in", 0), 20) << told;
  EXPECT_GE(line["counters"].value("frames_out", 0), 20) << told;
  EXPECT_EQ(line.value("pci_id", ""), "8086:10d3") << told;

  // struct aer_error_inj of the kernel: bus, device, function; uncorrectable, correctable (bit 6: BadTLP),
  // four words of a header, domain.
  const std::string words = "\\1" + repeated("\\0", 7) + "\\100" + repeated("\\0", 23);
  ASSERT_EQ(guest.run({"sh", "-c", "printf '" + words + "' >/dev/aer_inject"}).first, 0);
  const auto end = std::chrono::steady_clock::now() + kErrorIsSeen;
  std::string after;
  while (after.find("BadTLP") == std::string::npos && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    after = guest.run({"weft", "counters", "nic", "nic0"}).second;
  }
  EXPECT_THAT(after, HasSubstr("PCIe: correctable BadTLP: 1"));
}

}  // namespace
}  // namespace weft
