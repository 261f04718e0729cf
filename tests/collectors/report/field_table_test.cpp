#include "collectors/report/field_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/model/clos.hpp"

namespace weft::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The table of a source port that moves the path, and of a queue pair and a traffic class of which this is
/// known.
std::string table_of(MovesPath queue_pair, MovesPath traffic_class = MovesPath::no) {
  const Fabric fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1});
  const FieldFindings findings{.src = fabric.nics().front(),
                               .dst = fabric.nics().back(),
                               .repeats = 32,
                               .fields = {{PacketField::source_port, MovesPath::yes, 64, 30},
                                          {PacketField::queue_pair, queue_pair, 64, 0},
                                          {PacketField::traffic_class, traffic_class, 64, 0}}};
  std::string text = field_table(fabric, findings, 200);
  return text;
}

TEST(FieldTable, SaysWhatTheFabricFileIsToHoldWhereAllIsKnown) {
  EXPECT_THAT(table_of(MovesPath::no), HasSubstr("hashed: [source_port]"));
  EXPECT_THAT(table_of(MovesPath::yes), HasSubstr("hashed: [source_port, queue_pair]"));
  EXPECT_THAT(table_of(MovesPath::no), Not(HasSubstr("queue pair, so that")));
}

TEST(FieldTable, AQueuePairOfWhichNothingIsKnownIsNotAdvisedAway) {
  const auto text = table_of(MovesPath::unknown);
  EXPECT_THAT(text, Not(HasSubstr("hashed: [")));
  EXPECT_THAT(text, HasSubstr("destination queue pair is unknown"));
  EXPECT_THAT(text, HasSubstr("whether switches hash the destination queue pair is not known"));
}

TEST(FieldTable, AnyFieldThatIsUnknownKeepsTheAdviceBack) {
  const auto text = table_of(MovesPath::yes, MovesPath::unknown);
  EXPECT_THAT(text, Not(HasSubstr("hashed: [")));
  EXPECT_THAT(text, HasSubstr("traffic class is unknown"));
  EXPECT_THAT(text, HasSubstr(kProbesPathsAlone));
}

}  // namespace
}  // namespace weft::report
