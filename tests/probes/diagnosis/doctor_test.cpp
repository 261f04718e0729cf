#include "probes/diagnosis/host/doctor.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/support/doctored_fleet.hpp"

namespace weft::diagnosis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Doctor, FindsNothingInAFleetWithoutTrouble) {
  const auto report = DoctoredFleet().examined();
  EXPECT_TRUE(report.findings.empty()) << report.findings.front().what;
  EXPECT_EQ(report.verdict(), Verdict::healthy);
  EXPECT_TRUE(report.notes.empty());
}

TEST(Doctor, NamesEachTroubleAloneWithItsHostAndTheCommandThatMendsIt) {
  std::set<HostTrouble> named;
  for (const TroubleCase& each : trouble_cases()) {
    SCOPED_TRACE(to_string(each.trouble));
    DoctoredFleet fleet;
    each.put_in(fleet);
    const auto report = fleet.examined();
    ASSERT_EQ(report.findings.size(), 1u) << (report.findings.empty() ? "" : report.findings.back().what);
    const DoctorFinding& finding = report.findings.front();
    EXPECT_EQ(finding.trouble, each.trouble) << finding.what;
    EXPECT_THAT(finding.hosts, testing::Contains(each.host));
    EXPECT_THAT(finding.remedy, HasSubstr(each.command));
    EXPECT_THAT(finding.remedy, Not(HasSubstr("@"))) << "a mark was not filled";
    EXPECT_NE(report.verdict(), Verdict::healthy);
    named.insert(finding.trouble);
  }
  for (const HostTrouble trouble : all_host_troubles())
    EXPECT_TRUE(named.contains(trouble)) << to_string(trouble);
}

TEST(Doctor, HostsOfWhichTheSameHoldsAreOneFinding) {
  DoctoredFleet fleet;
  for (const std::size_t host : {6u, 1u, 3u})
    fleet.silence(host, 127, "sh: 1: /usr/bin/weft: not found in line " + std::to_string(host));
  const auto report = fleet.examined();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_THAT(report.findings[0].hosts, ElementsAre("gpu2", "gpu4", "gpu7"));
  EXPECT_THAT(report.findings[0].evidence, ElementsAre(HasSubstr("line 1"))) << "of the first alone";
  EXPECT_EQ(report.verdict(), Verdict::unknown);
}

TEST(Doctor, WhatHurtsMostStandsFirst) {
  DoctoredFleet fleet;
  fleet.silence(0, 255, "ssh: connect to host gpu1 port 22: No route to host");
  fleet.nic(1).mtu = Bytes(1500);
  fleet.nic(2).port_state = "DOWN";
  const auto report = fleet.examined();
  ASSERT_EQ(report.findings.size(), 3u);
  EXPECT_EQ(report.findings[0].trouble, HostTrouble::port_not_active);
  EXPECT_EQ(report.findings[1].trouble, HostTrouble::mtu_differs);
  EXPECT_EQ(report.findings[2].trouble, HostTrouble::unreachable);
  EXPECT_EQ(report.verdict(), Verdict::failed);
}

TEST(Doctor, WhatAHostCallsItsPartsCannotSteerTheShellOfWhoPastesTheRemedy) {
  DoctoredFleet fleet;
  fleet.nic(2).interface = "eth0;reboot";
  fleet.nic(2).port_state = "DOWN";
  const auto report = fleet.examined();
  ASSERT_FALSE(report.findings.empty());
  for (const DoctorFinding& finding : report.findings) EXPECT_THAT(finding.remedy, Not(HasSubstr(";reboot")));
}

TEST(Doctor, AClockIsJudgedByWhatIsKnownOfTheTimeOfTheAnswer) {
  DoctoredFleet fleet;
  fleet.hosts[2].answered += std::chrono::seconds(4);  // a slow login: four seconds of doubt
  fleet.facts(2).clock += std::chrono::seconds(4);
  EXPECT_TRUE(fleet.examined().findings.empty());
}

TEST(Doctor, WhereNothingSetsAnyClockThatIsANote) {
  DoctoredFleet fleet;
  for (AskedHost& host : fleet.hosts) host.report->clock_follows = false;
  const auto report = fleet.examined();
  EXPECT_TRUE(report.findings.empty());
  EXPECT_THAT(report.notes, ElementsAre(HasSubstr("clock")));
}

TEST(Doctor, StoragePortsHaveSettingsOfTheirOwn) {
  DoctoredFleet fleet;
  for (AskedHost& host : fleet.hosts) host.report->inventory.nics[1].mtu = Bytes(9000);
  EXPECT_TRUE(fleet.examined().findings.empty());
}

TEST(Doctor, WhatAHostDoesNotTellIsNoFault) {
  DoctoredFleet fleet;
  for (AskedHost& host : fleet.hosts) {
    const HostFacts known = *host.report;
    host.report = HostFacts{.version = known.version, .protocol = known.protocol};
    host.report->identity = known.identity;
    host.report->clock = known.clock;
    host.report->inventory.nics = {{.interface = "eth0", .up = true}};
    host.report->addresses = {{"eth0", {"10.0.0.1"}}};
  }
  EXPECT_TRUE(fleet.examined().findings.empty());
}

TEST(Doctor, AFabricFileSaysWhichNicsRatesAndMtu) {
  DoctoredFleet fleet;
  for (AskedHost& host : fleet.hosts) {
    fleet.expectations.nics[host.name] = {{"10.0.0.1", Bandwidth::gbit(400)}};
    host.report->inventory.nics[0].served_as = "10.0.0.1";
    host.report->inventory.nics[0].serves = true;
    host.report->inventory.nics[1].port_state = "DOWN";  // not of this fabric
  }
  EXPECT_TRUE(fleet.examined().findings.empty());
  for (AskedHost& host : fleet.hosts) host.report->inventory.nics[0].rate = Bandwidth::gbit(200);
  fleet.expectations.mtu = Bytes(9000);
  const auto report = fleet.examined();
  ASSERT_EQ(report.findings.size(), 2u) << "all alike, and all below the file";
  EXPECT_EQ(report.findings[0].hosts.size(), 8u);
}

/// Hosts without RDMA: one interface, which the doctor was not told of.
DoctoredFleet plain_fleet(const char* driver, std::optional<bool> up, const char* address) {
  DoctoredFleet fleet;
  for (AskedHost& host : fleet.hosts) {
    host.report->inventory.nics = {{.interface = "net0", .driver = driver, .mtu = Bytes(1500), .up = up}};
    host.report->addresses = {{"net0", {address}}};
    host.report->drivers = {"nvidia"};
  }
  return fleet;
}

TEST(Doctor, AnInterfaceWithAnAddressIsLookedAtWhereThereIsNoRdma) {
  for (const char* driver : {"veth", "bonding", "macvlan", "bridge", "mlx5_core"}) {
    DoctoredFleet fleet = plain_fleet(driver, true, "10.0.0.1");
    auto report = fleet.examined();
    EXPECT_TRUE(report.findings.empty()) << driver << report.findings.front().what;
    EXPECT_THAT(report.notes, ElementsAre(HasSubstr("8 of 8 hosts have no RDMA device")));
    fleet.nic(2).mtu = Bytes(9000);
    report = fleet.examined();
    ASSERT_EQ(report.findings.size(), 1u) << driver;
    EXPECT_EQ(report.findings[0].trouble, HostTrouble::mtu_differs);
  }
  const auto down = plain_fleet("bonding", false, "10.0.0.1").examined();
  ASSERT_EQ(down.findings.size(), 1u);
  EXPECT_EQ(down.findings[0].trouble, HostTrouble::nic_down);
}

TEST(Doctor, AHostWithNothingToVouchForIsUnknown) {
  for (const DoctoredFleet& fleet :
       {plain_fleet("wireguard", true, "10.0.0.1"), plain_fleet("bridge", false, "172.17.0.1"),
        plain_fleet("veth", std::nullopt, "10.0.0.1"), plain_fleet("veth", true, "fe80::1")}) {
    const auto report = fleet.examined();
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_EQ(report.findings[0].trouble, HostTrouble::no_nic);
    EXPECT_EQ(report.findings[0].hosts.size(), 8u);
    EXPECT_EQ(report.verdict(), Verdict::unknown);
  }
}

TEST(Doctor, ManagementInterfacesStandInForNoRdmaDeviceOfAnInfinibandFabric) {
  DoctoredFleet fleet = plain_fleet("veth", true, "10.0.0.1");
  fleet.expectations.roce = false;
  const auto report = fleet.examined();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].trouble, HostTrouble::no_nic);
}

TEST(Doctor, AHostToWhichTheFabricFileGivesNoNicIsUnknown) {
  DoctoredFleet fleet;
  for (AskedHost& host : fleet.hosts) {
    if (host.name == "gpu3") continue;
    fleet.expectations.nics[host.name] = {{"10.0.0.1", Bandwidth::gbit(400)}};
    host.report->inventory.nics[0].served_as = "10.0.0.1";
    host.report->inventory.nics[0].serves = true;
  }
  const auto report = fleet.examined();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].trouble, HostTrouble::no_nic);
  EXPECT_THAT(report.findings[0].hosts, ElementsAre("gpu3"));
}

TEST(WhySilent, TheShellsWordsTellAMissingFileFromOneThatMayNotRun) {
  EXPECT_EQ(why_silent(126, "bash: /usr/bin/weft: Permission denied"), HostTrouble::no_weft);
  EXPECT_EQ(why_silent(255, "gpu1: Permission denied (publickey,password)."), HostTrouble::login_refused);
  EXPECT_EQ(why_silent(1, "srun: error: Unable to allocate resources: Invalid node name specified"),
            HostTrouble::unreachable);
  EXPECT_EQ(why_silent(255, ""), HostTrouble::unreachable);
  EXPECT_EQ(why_silent(127, ""), HostTrouble::no_weft);
  EXPECT_EQ(why_silent(std::nullopt, ""), HostTrouble::bad_answer);
}

TEST(WhySilent, ALoginThatIsRefusedIsNoHostThatIsAway) {
  const std::string adopted =
      "Access denied by pam_slurm_adopt: you have no active jobs on this node\nConnection closed by "
      "10.0.0.1\n";
  EXPECT_EQ(why_silent(255, adopted), HostTrouble::login_refused);
  const std::string expired = "Password change required but no TTY available.\n";
  EXPECT_EQ(why_silent(1, expired), HostTrouble::login_refused);
  for (const auto& [words, helps] : {std::pair(adopted, "salloc"), {expired, "passwd"}}) {
    DoctoredFleet fleet;
    fleet.hosts[3].report.reset();
    fleet.hosts[3].silence = HostTrouble::login_refused;
    fleet.hosts[3].words = telling_line(255, words);
    const auto report = fleet.examined();
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_THAT(report.findings[0].remedy, HasSubstr(helps)) << "a key does not help there";
  }
}

TEST(WhySilent, TheLineThatTellsItIsItsEvidence) {
  EXPECT_EQ(telling_line(64, "weft: unknown command 'doctor-report'\ntry: weft --help\n"),
            "weft: unknown command 'doctor-report'");
  EXPECT_EQ(telling_line(255, "Welcome\nroot@a: Permission denied (publickey).\r\nbye\n"),
            "root@a: Permission denied (publickey).");
  EXPECT_EQ(telling_line(1, "one\ntwo\n\n"), "two");
  EXPECT_EQ(telling_line(1, "\n"), "");
}

/// Each host's NICs have addresses: 10.NIC.0.HOST.
DoctoredFleet addressed_fleet() {
  DoctoredFleet fleet;
  for (std::size_t host = 0; host < fleet.hosts.size(); ++host)
    for (std::size_t nic = 0; nic < 2; ++nic)
      fleet.facts(host).addresses[*fleet.facts(host).inventory.nics[nic].interface] = {
          "fe80::1", "fd00::" + std::to_string(host + 1), fmt::format("10.{}.0.{}", nic, host + 1)};
  return fleet;
}

TEST(DoctorPaths, EachNicTriesTheOneOfItsNameOfTheNextHost) {
  auto fleet = addressed_fleet();
  fleet.hosts.resize(3);
  const auto tries = paths_to_try(fleet.hosts, fleet.expectations).of_host;
  using Tries = std::vector<NicsToTry>;
  EXPECT_EQ(tries, (std::vector<Tries>{{{"10.0.0.1", "10.0.0.2"}, {"10.1.0.1", "10.1.0.2"}},
                                       {{"10.0.0.2", "10.0.0.3"}, {"10.1.0.2", "10.1.0.3"}},
                                       {{"10.0.0.3", "10.0.0.1"}, {"10.1.0.3", "10.1.0.1"}}}));
}

TEST(DoctorPaths, WhatCannotBeReachedIsNotTried) {
  auto fleet = addressed_fleet();
  fleet.hosts.resize(6);
  fleet.silence(0, 255, "ssh: connect to host gpu1 port 22: Connection refused");
  fleet.facts(1).identity = fleet.facts(2).identity;                    // two names of one host
  fleet.facts(3).addresses["eth0"] = fleet.facts(4).addresses["eth0"];  // an address that two hosts have
  fleet.facts(4).addresses.erase("eth1");
  fleet.facts(5).inventory.nics[0].link_layer = "InfiniBand";
  const auto tries = paths_to_try(fleet.hosts, fleet.expectations).of_host;
  ASSERT_EQ(tries.size(), 6u);
  for (const std::size_t host : {0u, 2u, 4u}) EXPECT_TRUE(tries[host].empty()) << host;
  EXPECT_THAT(tries[1], ElementsAre(NicsToTry{"10.1.0.2", "10.1.0.4"})) << "eth0 has nobody left to try";
  EXPECT_THAT(tries[3], ElementsAre(NicsToTry{"10.1.0.4", "10.1.0.6"}));
  EXPECT_THAT(tries[5], ElementsAre(NicsToTry{"10.1.0.6", "10.1.0.2"}));
  EXPECT_EQ(paths_to_try(fleet.hosts, fleet.expectations).left_out, 4u);
}

TEST(DoctorPaths, WhatIsNoAddressStandsInNoCommand) {
  auto fleet = addressed_fleet();
  for (const char* text : {"10.0.0.1;reboot", "$(reboot)", "a=b", "", "127.0.0.1", "0.0.0.0", "224.0.0.1",
                           "::1", "ff02::1", "FE80::1", "--nic"}) {
    fleet.facts(0).addresses = {{"eth0", {text}}, {"eth1", {text}}};
    const auto paths = paths_to_try(fleet.hosts, fleet.expectations);
    EXPECT_TRUE(paths.of_host[0].empty()) << text;
    for (const auto& tries : paths.of_host)
      for (const NicsToTry& one : tries) EXPECT_NE(one.other, text);
  }
}

TEST(DoctorPaths, WithoutAFabricFileNoEchoIsANoteAndAnMtuHoleAFault) {
  DoctoredFleet fleet;
  fleet.expectations.paired_by_name = true;
  fleet.facts(2).paths = {{"10.0.0.3", "10.0.0.4", false, std::nullopt, false}};
  const auto silent = fleet.examined();
  EXPECT_TRUE(silent.findings.empty());
  EXPECT_THAT(silent.notes, testing::Contains(HasSubstr("no echo between 1 pairs of NICs")));
  fleet.facts(2).paths = {{"10.0.0.3", "10.0.0.4", true, Bytes(4200), false}};
  ASSERT_EQ(fleet.examined().findings.size(), 1u);
}

}  // namespace
}  // namespace weft::diagnosis
