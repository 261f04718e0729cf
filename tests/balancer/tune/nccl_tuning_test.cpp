#include "balancer/tune/nccl_tuning.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "topology/model/clos.hpp"
#include "topology/model/fabric.hpp"

namespace weft::tune {
namespace {

using std::chrono::microseconds;
using steer::NcclAlgorithm;
using steer::NcclProtocol;

const Fabric& fabric() {
  static const Fabric kMade = make_clos({.leaves = 8, .spines = 4, .hosts_per_leaf = 4}).value();
  return kMade;
}

TunedJob job_of(std::size_t hosts) {
  return {demand::first_hosts(fabric(), hosts).value(), 0, {}, {microseconds(5), microseconds(5)}};
}

TEST(NcclTuning, TakesTheQuickestChoiceAtEverySize) {
  const auto job = job_of(32);
  const auto choices = all_reduce_choices(fabric(), job);
  const auto rows = all_reduce_rows(fabric(), job).value();
  for (double bytes = 1; bytes < 1e11; bytes *= 1.7) {
    const auto row =
        std::ranges::lower_bound(rows, static_cast<std::uint64_t>(bytes), {}, &steer::TunerRow::up_to);
    double taken = 0;
    double best = std::numeric_limits<double>::infinity();
    for (const ChoiceTime& choice : choices) {
      best = std::min(best, choice.of(bytes));
      if (choice.algorithm == row->algorithm && choice.protocol == row->protocol) taken = choice.of(bytes);
    }
    EXPECT_LE(taken, best * 1.0001) << bytes;
  }
}

TEST(NcclTuning, ManyHostsTakeATreeForLittleAndARingOfSimpleForMuch) {
  const auto rows = all_reduce_rows(fabric(), job_of(32)).value();
  EXPECT_EQ(rows.front().algorithm, NcclAlgorithm::tree);
  EXPECT_EQ(rows.front().protocol, NcclProtocol::ll);
  EXPECT_EQ(rows.back().algorithm, NcclAlgorithm::ring);
  EXPECT_EQ(rows.back().protocol, NcclProtocol::simple);
  EXPECT_EQ(rows.back().up_to, std::numeric_limits<std::uint64_t>::max());
}

TEST(NcclTuning, ItsRowsAreATable) {
  for (const std::size_t hosts : {2u, 3u, 7u, 32u}) {
    const auto rows = all_reduce_rows(fabric(), job_of(hosts)).value();
    EXPECT_EQ(steer::decode_tuner(steer::encode_tuner({1, rows}).value()).value().rows, rows) << hosts;
    EXPECT_EQ(rows.front().nodes, hosts);
  }
}

TEST(NcclTuning, CountsTheRanksOfTheHosts) {
  auto job = job_of(4);
  job.gpus = 8;
  EXPECT_EQ(all_reduce_rows(fabric(), job).value().front().ranks, 32u);
}

TEST(NcclTuning, OneHostNeedsNoNetwork) {
  auto job = job_of(2);
  job.hosts.pop_back();
  EXPECT_FALSE(all_reduce_rows(fabric(), job));
}

}  // namespace
}  // namespace weft::tune
