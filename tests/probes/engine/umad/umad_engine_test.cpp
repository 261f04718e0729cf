#include "probes/engine/umad/umad_engine.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::umad {
namespace {

/// A port at which nothing ever comes.
class SilentMads final : public mad::Mads {
 public:
  Result<void> send(const mad::MadPacket&) override { return {}; }
  Result<std::optional<mad::MadArrival>> receive(Nanoseconds at_most) override {
    now_ += at_most;
    return std::optional<mad::MadArrival>();
  }
  void gather() override {}
  Nanoseconds now() override { return now_; }

 private:
  Nanoseconds now_{};
};

TEST(UmadEngine, OpensThePortThatItIsGivenForTheRequestsOfOthersToo) {
  std::optional<UmadPort> opened;
  const auto engine = open_umad_engine({.device = "mlx5_3", .port = 2}, {}, PortId(1),
                                       [&](const UmadPort& port) -> Result<std::unique_ptr<mad::Mads>> {
                                         opened = port;
                                         return std::make_unique<SilentMads>();
                                       });
  ASSERT_TRUE(engine) << engine.error().message;
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->device, "mlx5_3");
  EXPECT_EQ(opened->port, 2);
  EXPECT_EQ(opened->answers, std::vector{mad::MadClass::probe});
}

TEST(UmadEngine, SaysWhyAPortCannotBeOpened) {
  const auto engine =
      open_umad_engine({}, {}, PortId(1), [](const UmadPort&) -> Result<std::unique_ptr<mad::Mads>> {
        return fail(ErrorKind::permission, "/dev/infiniband/umad0: permission denied");
      });
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().kind, ErrorKind::permission);
  EXPECT_EQ(engine.error().message, "/dev/infiniband/umad0: permission denied");
}

TEST(UmadEngine, DoesNotTraceForPathsStandInTheSwitchesTables) {
  const auto engine = open_umad_engine(
      {}, {}, PortId(1),
      [](const UmadPort&) -> Result<std::unique_ptr<mad::Mads>> { return std::make_unique<SilentMads>(); });
  ASSERT_TRUE(engine) << engine.error().message;
  const auto hops = (*engine)->trace({}, {});
  ASSERT_FALSE(hops);
  EXPECT_EQ(hops.error().kind, ErrorKind::not_supported);
  const auto received = (*engine)->received(BatchId(1));
  ASSERT_TRUE(received) << received.error().message;
  EXPECT_TRUE(received->empty());
}

}  // namespace
}  // namespace weft::umad
