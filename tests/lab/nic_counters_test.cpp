// The counters of a lab's NICs as the kernel tells them: veth knows its packets and its carrier, and refuses
// questions about FEC and modules, which is a gap with its reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "collectors/counters/counter_file.hpp"
#include "collectors/counters/nic_names.hpp"
#include "collectors/counters/nic_text.hpp"
#include "tests/support/test_lab.hpp"
#include "topology/host/nic_reader.hpp"
#include "topology/model/clos.hpp"
#include "topology/os/clocks.hpp"
#include "topology/os/network_namespace.hpp"

namespace weft {
namespace {

using counters::PortCounter;
using ::testing::Contains;
using ::testing::HasSubstr;

NicReading read_in(const TestLab& lab, std::string_view host, const std::string& interface) {
  const auto visit = os::NamespaceVisit::enter(lab->namespace_of(lab.node(host)));
  EXPECT_TRUE(visit);
  return host::read_nic("/sys", interface, true);
}

TEST(NicCounters, OfAVethAreItsPacketsAndCarrierAndTheRestIsAGapWithItsReason) {
  const TestLab lab(make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value());
  const std::string interface = lab->nic(lab.nic("host1")).interface;
  const NicReading before = read_in(lab, "host1", interface);
  EXPECT_EQ(before.driver, "veth");
  for (const char* what : {"FEC", "standard statistics", "module"})
    EXPECT_THAT(before.not_read, Contains(NotRead{what, "the driver does not tell"}));
  const auto counts = counters::nic_counts(before);
  EXPECT_TRUE(counts.contains({PortCounter::link_events}));
  EXPECT_FALSE(counts.contains({PortCounter::fcs_errors})) << "a veth has no frame check to be wrong";

  ASSERT_TRUE(lab.run_in("host1", {"ip", "link", "set", interface, "down"}));
  ASSERT_TRUE(lab.run_in("host1", {"ip", "link", "set", interface, "up"}));
  const auto changes = [&] {
    return counters::nic_counts(read_in(lab, "host1", interface)).at({PortCounter::link_events}).value;
  };
  // The kernel notices a carrier up to a second late.
  const auto limit = os::steady_now() + std::chrono::seconds(5);
  while (changes() < counts.at({PortCounter::link_events}).value + 2 && os::steady_now() < limit)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(changes(), counts.at({PortCounter::link_events}).value + 2) << "down and up";
}

TEST(NicCounters, AnInterfaceThatIsElsewhereIsAGap) {
  const auto reading = host::read_nic("/sys", "nosuch0", true);
  ASSERT_EQ(reading.not_read.size(), 1u);
  EXPECT_THAT(reading.not_read[0].why, HasSubstr("this network namespace has none"));
}

TEST(NicCounters, OfAHostAreReadBackAsThoseOfItsPortOfTheFabric) {
  const TestLab lab(make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value());
  const std::string interface = lab->nic(lab.nic("host2")).interface;
  const std::vector<counters::NicAt> nics{{os::wall_now(), interface, read_in(lab, "host2", interface)}};
  counters::CounterTable table;
  ASSERT_TRUE(counters::read_counter_file(lab.fabric(), counters::nic_lines("host2", "boot", nics), "file",
                                          "", os::wall_now(), table));
  ASSERT_FALSE(table.empty());
  for (const auto& series : table.series()) EXPECT_EQ(series.port, lab.nic("host2"));
}

}  // namespace
}  // namespace weft
