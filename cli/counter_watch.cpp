#include "cli/counter_watch.hpp"

#include <condition_variable>

#include "collectors/counters/counter_file.hpp"
#include "collectors/counters/port_warnings.hpp"
#include "collectors/store/counter_readings.hpp"
#include "topology/os/clocks.hpp"

namespace weft::cli {
namespace {

constexpr auto kLookEvery = std::chrono::minutes(10);
constexpr std::chrono::hours kPast(7 * 24);          // asked of a server whose past is not kept here
constexpr std::size_t kMaxKept = 256'000'000;        // characters: 15 days of 9,000 ports
constexpr std::string_view kKept = "kept readings";  // source where no line names one

std::size_t size_of(const std::map<Nanoseconds, std::string>& texts) {
  std::size_t size = 0;
  for (const auto& [begin, text] : texts) size += text.size();
  return size;
}

}  // namespace

Result<std::unique_ptr<CounterWatch>> CounterWatch::open(CounterSource source, const Fabric& fabric,
                                                         const std::filesystem::path& database) {
  std::unique_ptr<CounterWatch> watch(new CounterWatch(std::move(source), fabric));
  if (database.empty()) return watch;
  WEFT_TRY(watch->database_, store::Database::open(database, store::Database::Access::write));
  WEFT_TRY(watch->kept_, store::kept_counter_readings(*watch->database_));
  return watch;
}

void CounterWatch::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    source_.end_at(stop);
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any over;
    while (!stop.stop_requested()) {
      look(os::wall_now());
      over.wait_for(lock, stop, kLookEvery, [] { return false; });
    }
  });
}

void CounterWatch::look(Nanoseconds now) {
  auto found = judged(now);
  const std::scoped_lock lock(mutex_);
  if (found) {
    warnings_ = *std::move(found);
    return;
  }
  warnings_.trouble = found.error().message;
  std::erase_if(warnings_.ports,
                [&](const PortWarning& one) { return now - one.at > 2 * counters::kKeptEvery; });
}

Result<PortWarnings> CounterWatch::judged(Nanoseconds now) {
  counters::CounterTable read;
  // A clock that was ahead has kept what is still to come, behind which nothing would be kept.
  std::erase_if(kept_, [&](const auto& one) { return one.first > now + counters::kKeptEvery; });
  WEFT_TRY_VOID(source_.read_corrected(fabric_, kept_.empty() ? kPast : std::chrono::hours(0), read));
  const Nanoseconds from = kept_.empty() ? now - counters::kKeptFor : kept_.rbegin()->first;
  const auto kept = keep(counters::readings_to_keep(fabric_, read, from), now);
  // What was read now stands among the kept readings, too: the same values at the same times.
  for (const auto& [begin, text] : kept_)
    if (const auto added = counters::read_counter_file(fabric_, text, kKept, "", now, read); !added)
      read.refused.add(added.error().message);
  read.sort_points();
  auto warnings = counters::port_warnings(fabric_, read, now);
  if (!kept) warnings.trouble = kept.error().message;
  return warnings;
}

Result<void> CounterWatch::keep(const std::map<Nanoseconds, std::string>& texts, Nanoseconds now) {
  for (const auto& [begin, text] : texts) kept_[begin] = text;
  std::erase_if(kept_, [&](const auto& one) { return one.first < now - counters::kKeptFor; });
  for (std::size_t size = size_of(kept_); size > kMaxKept && kept_.size() > 1; kept_.erase(kept_.begin()))
    size -= kept_.begin()->second.size();
  if (!database_ || kept_.empty()) return {};
  return store::keep_counter_readings(*database_, texts, kept_.begin()->first, now + counters::kKeptEvery);
}

PortWarnings CounterWatch::warnings() const {
  const std::scoped_lock lock(mutex_);
  return warnings_;
}

}  // namespace weft::cli
