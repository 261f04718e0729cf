#include "collectors/nccl/slow.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/places.hpp"
#include "tests/support/schema.hpp"
#include "topology/base/splitmix.hpp"
#include "topology/files/file_text.hpp"

namespace weft::nccl {
namespace {

using testing::HasSubstr;

constexpr int kRanks = 6;
constexpr std::int64_t kUsual = 1'000'000;  // nanoseconds of an all-reduce

/// A ring of ranks that each tell of all-reduces: on every one half of what sends wait for is the network,
/// half the GPU.
struct Ring {
  std::vector<std::string> files = std::vector<std::string>(kRanks);
  std::uint64_t serial = 0;
  SplitMix64 random{7};

  Ring() {
    for (int rank = 0; rank < kRanks; ++rank) files[place(rank)] = communicator(rank);
  }
  static std::size_t place(int rank) { return static_cast<std::size_t>(rank); }
  static std::string communicator(int rank, const char* tuner = "00000000000000aa") {
    return fmt::format(
        "{{\"schema\":\"weft.nccl_profile/"
        "1\",\"pid\":{},\"communicator\":\"00000000000000c0\",\"name\":\"world\","
        "\"place\":0,\"rank\":{},\"ranks\":{},\"nodes\":{},\"every\":1,\"tuner_checksum\":\"{}\"}}\n",
        100 + rank, rank, kRanks, kRanks, tuner);
  }
  static std::string operation(std::uint64_t serial, int peer, bool sends, std::int64_t took,
                               std::vector<std::pair<const char*, std::int64_t>> waits) {
    std::string line = fmt::format(
        "{{\"operation\":{},\"place\":0,\"at_ns\":5,\"peer\":{},\"channel\":0,\"sends\":{},"
        "\"steps\":8,\"bytes\":4096,\"took_ns\":{}",
        serial, peer, sends, took);
    for (const auto& [name, time] : waits) line += fmt::format(",\"{}_ns\":{}", name, time);
    return line + "}\n";
  }

  /// One all-reduce, in which `extra` more goes to `cause` at `who`.
  void all_reduce(std::int64_t extra = 0, SlowCause cause = SlowCause::unclear, int who = 0) {
    const auto sequence = serial++;
    for (int rank = 0; rank < kRanks; ++rank) {
      const int next = (rank + 1) % kRanks;
      const int before = (rank + kRanks - 1) % kRanks;
      const auto noise = static_cast<std::int64_t>(random() % 100'000);
      const std::int64_t took = kUsual + noise + extra;
      const bool is_it = rank == who && extra > 0;
      const auto at = [&](SlowCause of) { return is_it && cause == of ? extra : 0; };
      files[place(rank)] += fmt::format(
          "{{\"collective\":{0},\"place\":0,\"at_ns\":5,\"function\":\"AllReduce\",\"sequence\":{0},"
          "\"count\":4096,"
          "\"type\":\"ncclFloat32\",\"channels\":1,\"algorithm\":\"RING\",\"protocol\":\"SIMPLE\"}}\n",
          sequence);
      // Whoever is held up by another waits for its GPU to have what that one sends.
      files[place(rank)] +=
          operation(sequence, next, true, took,
                    {{"gpu", kUsual / 2 + noise + extra - at(SlowCause::network) - at(SlowCause::peer)},
                     {"network", kUsual / 2 + at(SlowCause::network)},
                     {"peer", 1 + at(SlowCause::peer)}});
      files[place(rank)] += operation(sequence, before, false, took,
                                      {{"gpu", kUsual / 2 + at(SlowCause::gpu)},
                                       {"data", kUsual / 2 + noise + extra - at(SlowCause::gpu)}});
    }
  }
  SlowReport told() const {
    std::vector<RankProfile> profiles;
    for (const auto& file : files)
      if (!file.empty()) profiles.push_back(parse_profile(file, "p").value());
    return explain_slow(profiles);
  }
};

Ring healthy(int count = 20) {
  Ring ring;
  for (int i = 0; i < count; ++i) ring.all_reduce();
  return ring;
}

TEST(Slow, SaysNothingOfAHealthyJob) {
  const auto told = healthy().told();
  EXPECT_TRUE(told.is_healthy()) << slow_text(told, 100, 10);
  EXPECT_EQ(told.ranks, 6u);
  EXPECT_EQ(told.collectives, 20u);
  EXPECT_EQ(told.operations, 240u);
  EXPECT_THAT(slow_text(told, 100, 10), HasSubstr("nothing is slow"));
}

TEST(Slow, NamesThePlaceThatHeldUpOneCollective) {
  for (const SlowCause cause : {SlowCause::network, SlowCause::gpu, SlowCause::peer})
    for (int who = 0; who < kRanks; ++who) {
      Ring ring = healthy();
      ring.all_reduce(5 * kUsual, cause, who);
      const auto told = ring.told();
      ASSERT_EQ(told.slow.size(), 1u) << to_string(cause);
      const auto& place = told.slow[0].place;
      EXPECT_EQ(place.cause, cause) << who;
      EXPECT_EQ(place.rank, who);
      EXPECT_EQ(place.peer, cause == SlowCause::gpu ? -1 : (who + 1) % kRanks);
      EXPECT_EQ(told.slow[0].sequence, 20u);
      EXPECT_NEAR(told.slow[0].lost, 5e-3, 1e-3);
      EXPECT_TRUE(told.standing.empty());
    }
}

TEST(Slow, BlamesARankThatTellsNothingByItsNeighbour) {
  Ring ring = healthy();
  ring.all_reduce(5 * kUsual, SlowCause::network, 2);
  ring.files[2].clear();
  const auto told = ring.told();
  ASSERT_EQ(told.slow.size(), 1u);
  EXPECT_EQ(told.slow[0].place, (SlowPlace{SlowCause::data, 3, 2}));
}

TEST(Slow, NamesALinkAndAGpuThatAreSlowAllTheTime) {
  for (const SlowCause cause : {SlowCause::network, SlowCause::gpu}) {
    Ring ring;
    for (int i = 0; i < 20; ++i) ring.all_reduce(5 * kUsual, cause, 4);
    const auto told = ring.told();
    EXPECT_TRUE(told.slow.empty());
    ASSERT_EQ(told.standing.size(), 1u) << to_string(cause);
    EXPECT_EQ(told.standing[0].place, (SlowPlace{cause, 4, cause == SlowCause::gpu ? -1 : 5}));
  }
}

TEST(Slow, TellsOfStepsThatNeverEndedAndNotOfThoseThatDid) {
  Ring ring = healthy(4);
  const auto waiting = [](int serial, const char* wait, std::int64_t since) {
    return fmt::format(
        "{{\"waiting\":{},\"place\":0,\"at_ns\":5,\"peer\":1,\"channel\":0,\"sends\":true,\"for\":\"{}\","
        "\"since_ns\":{}}}\n",
        serial, wait, since);
  };
  ring.files[0] += waiting(2, "network", 2'500'000'000) + waiting(2, "network", 3'500'000'000);
  EXPECT_EQ(ring.told().never.size(), 1u);
  EXPECT_DOUBLE_EQ(ring.told().never[0].seconds, 3.5);
  EXPECT_THAT(
      slow_text(ring.told(), 200, 10),
      HasSubstr(
          "AllReduce 2: rank 0 sends to rank 1, has waited for the network for 3.5 s and has not ended"));
  ring.files[0] += Ring::operation(2, 1, true, 4, {});
  EXPECT_TRUE(ring.told().never.empty());
}

TEST(Slow, TellsOfRanksWithDifferentTunerTables) {
  Ring ring = healthy(4);
  ring.files[3] = Ring::communicator(3, "00000000000000bb");
  ASSERT_EQ(ring.told().notes.size(), 1u);
  EXPECT_THAT(ring.told().notes[0], HasSubstr("different tuner tables"));
}

TEST(Slow, PrintsADocument) {
  Ring ring = healthy();
  ring.all_reduce(5 * kUsual, SlowCause::gpu, 1);
  ring.all_reduce(7 * kUsual, SlowCause::network, 1);
  expect_matches_schema(slow_json(ring.told(), {.tool_version = "x"}), "nccl_slow");
  const auto text = slow_text(ring.told(), 80, 1);
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    EXPECT_LE(end - at, 80u) << text.substr(at, end - at);
    at = end + 1;
  }
}

TEST(ProfileReader, CountsLinesThatItCannotRead) {
  const std::string good = Ring::communicator(0);
  const auto read = [&](std::string_view more) {
    return parse_profile(good + std::string(more), "p").value();
  };
  EXPECT_EQ(read("").unread, 0u);
  EXPECT_EQ(read("{\"operation\":1,\"pla").unread, 1u);
  EXPECT_EQ(read("{\"operation\":1}\n[]\n3\n{}\n\n").unread, 4u);
  EXPECT_EQ(read("{\"dropped\":3}\n{\"dropped\":4}\n").dropped, 7u);
  EXPECT_EQ(read(std::string(10'000, 'x') + "\n").unread, 1u);
  // Of a collective, or of a communicator, that no line describes.
  EXPECT_EQ(read(Ring::operation(9, 1, true, 1, {})).unread, 1u);
  EXPECT_EQ(read(Ring::operation(9, 1 << 25, true, 1, {})).unread, 1u);
}

TEST(ProfileReader, RefusesWhatIsNoProfile) {
  EXPECT_THAT(parse_profile("", "p").error().message, HasSubstr("no profile of NCCL"));
  EXPECT_FALSE(parse_profile("{\"schema\":\"weft.nccl_profile/2\"}\n", "p"));
}

TEST(ProfileReader, ReadsWhatARealJobWrote) {
  // Two processes on one GPU, NCCL 2.28.9 over sockets.
  const auto text =
      files::read_text_file(WEFT_SOURCE_DIR "/tests/data/nccl_profile/rank1.profile.jsonl", Bytes(1'000'000))
          .value();
  const auto profile = parse_profile(text, "rank1").value();
  EXPECT_EQ(profile.unread, 0u);
  EXPECT_EQ(profile.communicators.at(0).rank, 1);
  ASSERT_FALSE(profile.operations.empty());
  for (const auto& operation : profile.operations) EXPECT_EQ(operation.peer, 0);
  EXPECT_EQ(profile.collectives.at(0).algorithm, "TREE");
}

}  // namespace
}  // namespace weft::nccl
