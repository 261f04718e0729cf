#include "cli/doctor_place.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::cli {
namespace {

using testing::ElementsAre;

/// Three hosts with the NICs that a fabric file gives them.
DoctorPlace three_hosts() {
  DoctorPlace place;
  place.hosts = {"gpu1", "gpu2", "gpu3"};
  place.expectations.program = "/opt/weft";
  place.expectations.nics = {{"gpu1", {{"10.0.0.1"}, {"10.1.0.1"}}},
                             {"gpu2", {{"10.0.0.2"}, {"10.1.0.2"}}},
                             {"gpu3", {{"10.0.0.3"}}}};
  return place;
}

TEST(DoctorQuestion, AHostOfWhichNoNicIsKnownIsAskedWithoutAny) {
  DoctorPlace place;
  place.hosts = {"gpu1"};
  place.expectations.program = "/opt/weft";
  EXPECT_THAT(question_words(place, 0), ElementsAre("/opt/weft", "doctor-report"));
}

TEST(DoctorQuestion, EachNicTriesTheOneOfTheSameNumberOfTheNextHost) {
  EXPECT_THAT(
      question_words(three_hosts(), 0),
      ElementsAre("/opt/weft", "doctor-report", "--nic", "10.0.0.1=10.0.0.2", "--nic", "10.1.0.1=10.1.0.2"));
}

TEST(DoctorQuestion, ANicThatTheNextHostHasNoneForIsNamedAlone) {
  EXPECT_THAT(question_words(three_hosts(), 1),
              ElementsAre("/opt/weft", "doctor-report", "--nic", "10.0.0.2=10.0.0.3", "--nic", "10.1.0.2"));
}

TEST(DoctorQuestion, TheLastHostTriesTheFirst) {
  EXPECT_THAT(question_words(three_hosts(), 2),
              ElementsAre("/opt/weft", "doctor-report", "--nic", "10.0.0.3=10.0.0.1"));
}

TEST(DoctorQuestion, OneHostHasNobodyToTry) {
  auto place = three_hosts();
  place.hosts = {"gpu3"};
  EXPECT_THAT(question_words(place, 0), ElementsAre("/opt/weft", "doctor-report", "--nic", "10.0.0.3"));
}

TEST(DoctorQuestion, HostsOfOneMachineAreToldSoAndWhereToDialBack) {
  DoctorPlace place;
  place.hosts = {"host1"};
  place.expectations.program = "weft";
  place.expectations.one_machine = true;
  auto way = run::WayBack::open({*IpAddress::parse("127.0.0.1"), std::nullopt});
  ASSERT_TRUE(way) << way.error().message;
  place.way_back = std::move(*way);
  place.expectations.coordinator = "127.0.0.1:4222";
  EXPECT_THAT(question_words(place, 0),
              ElementsAre("weft", "doctor-report", "--towards", "127.0.0.1:4222", "--shared-machine"));
}

}  // namespace
}  // namespace weft::cli
