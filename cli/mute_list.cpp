#include "cli/mute_list.hpp"

#include "probes/run/watch_run.hpp"
#include "topology/files/incident_json.hpp"
#include "topology/os/clocks.hpp"

namespace weft::cli {
namespace {

constexpr int kTries = 3;  // somebody else may change the list meanwhile
/// As much as a message of the bus and the reader of the list take, with texts of 200 bytes each.
constexpr std::size_t kMaxMutes = 1000;

}  // namespace

Result<MuteList::Stored> MuteList::stored() const {
  WEFT_TRY(const auto stored, values_->get(run::kMutesKey));
  WEFT_TRY(auto list, files::parse_mutes(*fabric_, stored.text, "the list of mutes"));
  return Stored{without_ended(std::move(list.mutes), os::wall_now()), stored.revision};
}

Result<Mutes> MuteList::read() const {
  WEFT_TRY(auto now, stored());
  return std::move(now.mutes);
}

Result<void> MuteList::change(const std::function<Result<Mutes>(Mutes)>& change) const {
  for (int tries = 0;; ++tries) {
    WEFT_TRY(auto before, stored());
    WEFT_TRY(const auto after, change(std::move(before.mutes)));
    const auto put = values_->put(run::kMutesKey, before.revision, files::mutes_text(*fabric_, after));
    if (put) return {};
    if (put.error().kind != ErrorKind::conflict || tries == kTries) return pass_on(put);
  }
}

Result<void> MuteList::add(const Mute& mute) const {
  return change([&](Mutes mutes) -> Result<Mutes> {
    auto with = with_mute(std::move(mutes), mute);
    if (with.size() > kMaxMutes)
      return fail(ErrorKind::conflict, "there are {} mutes already: remove some (weft mute list)", kMaxMutes);
    return with;
  });
}

Result<bool> MuteList::remove(const MuteTarget& target) const {
  bool was_there = false;
  WEFT_TRY_VOID(change([&](Mutes mutes) -> Result<Mutes> {
    const auto before = mutes.size();
    auto left = without_target(std::move(mutes), target);
    was_there = left.size() < before;
    return left;
  }));
  return was_there;
}

void PageMutes::use(std::shared_ptr<watch::SharedValue> values) {
  const std::scoped_lock lock(mutex_);
  values_ = std::move(values);
}

Result<MuteList> PageMutes::list() const {
  const std::scoped_lock lock(mutex_);
  if (values_ == nullptr)
    return fail(ErrorKind::absent, "the watcher has not reached its bus yet: try again in a moment");
  return MuteList(fabric_, values_);
}

Result<std::vector<web::StandingMute>> PageMutes::mutes() const {
  WEFT_TRY(const auto all, list());
  WEFT_TRY(const auto mutes, all.read());
  std::vector<web::StandingMute> standing;
  for (const Mute& mute : mutes)
    standing.push_back({name_of(fabric_, mute.target), mute.who, mute.reason, mute.from, mute.until});
  return standing;
}

Result<void> PageMutes::add(const web::MuteWish& wish) {
  WEFT_TRY(const auto all, list());
  WEFT_TRY(const auto target, files::find_mute_target(fabric_, wish.place));
  const Nanoseconds from = os::wall_now() + wish.after;
  return all.add({target, from, from + wish.length, wish.reason, wish.who});
}

Result<void> PageMutes::remove(std::string_view place) {
  WEFT_TRY(const auto all, list());
  WEFT_TRY(const auto target, files::find_mute_target(fabric_, place));
  WEFT_TRY(const bool was_there, all.remove(target));
  if (!was_there) return fail(ErrorKind::not_found, "{} was not muted", place);
  return {};
}

}  // namespace weft::cli
