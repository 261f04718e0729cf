// The mutes of a fabric, as all of its watchers share them on the bus: what `weft mute` and the live page
// read and change. Each change is made of the list as it is then, by compare and set.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "collectors/web/page_source.hpp"
#include "probes/watch/seams.hpp"
#include "topology/findings/mute.hpp"

namespace weft::cli {

class MuteList {
 public:
  /// The fabric outlives it.
  MuteList(const Fabric& fabric, std::shared_ptr<watch::SharedValue> values)
      : fabric_(&fabric), values_(std::move(values)) {}

  /// Those that have not ended.
  Result<Mutes> read() const;
  /// Errors: conflict (there are too many, or others change the list all the time); those of the bus.
  Result<void> add(const Mute& mute) const;
  /// False: it was not muted.
  Result<bool> remove(const MuteTarget& target) const;

 private:
  struct Stored {
    Mutes mutes;
    std::uint64_t revision = 0;
  };
  Result<Stored> stored() const;
  Result<void> change(const std::function<Result<Mutes>(Mutes)>& change) const;

  const Fabric* fabric_;
  std::shared_ptr<watch::SharedValue> values_;
};

/// The list as the live page sees it. Until the bus is known every call says so. Thread-safe.
class PageMutes final : public web::MuteSource {
 public:
  explicit PageMutes(const Fabric& fabric) : fabric_(fabric) {}
  void use(std::shared_ptr<watch::SharedValue> values);

  Result<std::vector<web::StandingMute>> mutes() const override;
  Result<void> add(const web::MuteWish& wish) override;
  Result<void> remove(std::string_view place) override;

 private:
  Result<MuteList> list() const;

  const Fabric& fabric_;
  mutable std::mutex mutex_;
  std::shared_ptr<watch::SharedValue> values_;
};

}  // namespace weft::cli
