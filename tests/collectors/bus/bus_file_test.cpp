// Credential files: what is written is read again, and what others may read or change is refused.
#include "collectors/bus/bus_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/bus/bus_directory.hpp"
#include "collectors/bus/bus_key.hpp"
#include "tests/support/text_of.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::bus {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class BusFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = os::ScratchDirectory::make();
    ASSERT_TRUE(made);
    scratch_ = std::move(*made);
    const auto written =
        write_bus_directory(directory(), {"pod1", {"gpu001", "gpu002"}, 2, "10.0.0.5", 4222});
    ASSERT_TRUE(written) << written.error().message;
  }
  std::filesystem::path directory() const { return scratch_->path() / "bus"; }
  std::filesystem::path host_file() const { return directory() / "hosts/gpu001.json"; }

  std::optional<os::ScratchDirectory> scratch_;
};

TEST_F(BusFiles, SayWhereTheBusIsAndAsWhomToLogIn) {
  const auto host = read_bus_file(host_file());
  ASSERT_TRUE(host) << host.error().message;
  EXPECT_EQ(host->url, "tls://10.0.0.5:4222");
  EXPECT_EQ(host->fabric, "pod1");
  EXPECT_EQ(host->name, "gpu001");
  EXPECT_FALSE(host->limits);
  const auto watcher = read_bus_file(directory() / "watchers/watcher2.json");
  ASSERT_TRUE(watcher) << watcher.error().message;
  EXPECT_EQ(watcher->name, "watcher2");
  EXPECT_TRUE(watcher->limits);
  EXPECT_NE(watcher->key.seed, host->key.seed);
  EXPECT_EQ(parse_bus_file(bus_file_text(*host), "x").value(), *host);
}

TEST_F(BusFiles, AreRefusedWhereOthersMayReadOrChangeThem) {
  for (const mode_t mode : {0604, 0660, 0622, 0777, 0644}) {
    ASSERT_EQ(chmod(host_file().c_str(), mode), 0);
    const auto refused = read_bus_file(host_file());
    ASSERT_FALSE(refused) << mode;
    EXPECT_EQ(refused.error().kind, ErrorKind::permission);
    EXPECT_THAT(refused.error().message, HasSubstr("chmod 600 " + host_file().string()));
  }
  ASSERT_EQ(chmod(host_file().c_str(), 0400), 0);
  EXPECT_TRUE(read_bus_file(host_file()));
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_EQ(chown(host_file().c_str(), 65534, 0), 0);
  const auto refused = read_bus_file(host_file());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("another user"));
}

TEST_F(BusFiles, AreOnesOfTheirOwn) {
  for (const auto& path :
       {directory() / "no-such.json", directory() / "hosts", std::filesystem::path("/dev/null")})
    EXPECT_FALSE(read_bus_file(path)) << path;
}

TEST_F(BusFiles, ThatAreDamagedAreRefusedWithoutQuotingTheKey) {
  const auto good = read_bus_file(host_file()).value();
  auto other_key = good;
  other_key.key.seed = "SU" + std::string(56, 'A');
  auto plain = good;
  plain.url = "nats://10.0.0.5:4222";
  auto nameless = good;
  nameless.name = "";
  auto hostile = good;
  hostile.fabric = "\x1b[2J";
  for (const BusFile& bad : {other_key, plain, nameless, hostile}) {
    const auto refused = parse_bus_file(bus_file_text(bad), "k.json");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("k.json"));
    EXPECT_THAT(refused.error().message, Not(HasSubstr(bad.key.seed)));
  }
  for (const auto* text : {"", "{}", "[]", "{\"url\":1}", "x"}) EXPECT_FALSE(parse_bus_file(text, "k.json"));
  const auto whole = bus_file_text(good);
  for (std::size_t size = 0; size + 2 < whole.size(); size += 7)
    EXPECT_FALSE(parse_bus_file(whole.substr(0, size), "k.json"));
}

TEST_F(BusFiles, OfOperatorsComeAndGo) {
  const auto config = [&] { return text_of(directory() / kServerConfig); };
  const auto path = [&](const char* name) { return directory() / kOperatorFolder / name; };
  EXPECT_THAT(config(), Not(HasSubstr("OPERATORS"))) << "none, unless they are asked for";
  ASSERT_TRUE(add_operators(directory(), 1));
  const auto one = read_bus_file(path("operator.json"));
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_TRUE(one->steers);
  ASSERT_TRUE(one->runs) << "by which it sweeps";
  EXPECT_THAT(config(), HasSubstr(public_key_of(one->runs->seed).value()));
  EXPECT_FALSE(read_bus_file(host_file())->steers);
  EXPECT_EQ(parse_bus_file(bus_file_text(*one), "x").value(), *one);
  ASSERT_TRUE(add_operators(directory(), 2));
  EXPECT_TRUE(read_bus_file(path("operator2.json")));
  EXPECT_EQ(read_bus_file(path("operator.json")).value(), *one) << "who was there keeps the key";
  EXPECT_THAT(config(), HasSubstr(public_key_of(one->key.seed).value()));
  EXPECT_EQ(parse_bus_plan(bus_plan_text(read_bus_plan(directory()).value()), "x").value(),
            read_bus_plan(directory()).value());
  ASSERT_TRUE(renew_keys(directory(), {"operator"}));
  EXPECT_NE(read_bus_file(path("operator.json"))->key.seed, one->key.seed);
  ASSERT_TRUE(drop_keys(directory(), {"operator", "operator2"}, Dropped::all_keys));
  EXPECT_FALSE(std::filesystem::exists(path("operator.json")));
  EXPECT_THAT(config(), Not(HasSubstr("OPERATORS")));
}

TEST_F(BusFiles, AreNeverWrittenOver) {
  const auto before = read_bus_file(host_file()).value();
  const auto again = write_bus_directory(directory(), {"pod1", {"gpu001"}, 1, "10.0.0.5", 4222});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::conflict);
  EXPECT_EQ(read_bus_file(host_file()).value(), before);
}

TEST_F(BusFiles, AreMadeForNamesThatFilesAndSubjectsCanHave) {
  const auto other = scratch_->path() / "other";
  for (const BusSpec& bad :
       {BusSpec{"pod1", {"../evil"}, 1, "10.0.0.5", 1}, BusSpec{"pod1", {".."}, 1, "10.0.0.5", 1},
        BusSpec{"pod1", {"a", "a"}, 1, "10.0.0.5", 1}, BusSpec{"a", {"a"}, 1, "10.0.0.5", 1},
        BusSpec{"pod1", {"watcher"}, 1, "10.0.0.5", 1}, BusSpec{"pod1", {"coordinator"}, 1, "10.0.0.5", 1},
        BusSpec{"coordinator", {"a"}, 1, "10.0.0.5", 1}, BusSpec{"a b", {"a"}, 1, "10.0.0.5", 1},
        BusSpec{"pod1", {std::string(300, 'a')}, 1, "10.0.0.5", 1}}) {
    const auto refused = write_bus_directory(other, bad);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::usage);
    EXPECT_FALSE(std::filesystem::exists(other));
  }
}

}  // namespace
}  // namespace weft::bus
