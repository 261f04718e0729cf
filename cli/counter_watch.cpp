#include "cli/counter_watch.hpp"

#include <algorithm>
#include <chrono>

#include "cli/exit_status.hpp"
#include "collectors/counters/counter_file.hpp"
#include "collectors/counters/port_warnings.hpp"
#include "collectors/store/counter_readings.hpp"
#include "collectors/store/reported_nics.hpp"
#include "topology/model/fabric.hpp"
#include "topology/os/clocks.hpp"

namespace weft::cli {
namespace {

constexpr auto kLookEvery = std::chrono::minutes(10);
constexpr std::chrono::hours kPast(7 * 24);          // asked of a server whose past is not kept here
constexpr std::size_t kMaxKept = 256'000'000;        // characters: 15 days of 9,000 ports
constexpr std::string_view kKept = "kept readings";  // source where no line names one
constexpr auto kMinPause = std::chrono::seconds(5);  // between two looks
constexpr auto kUselessFor = std::chrono::hours(1);  // a reading of no use is shown
constexpr std::size_t kMaxTold = 96'000'000;         // bytes that agents told and nobody has read

std::size_t size_of(const std::map<Nanoseconds, std::string>& texts) {
  std::size_t size = 0;
  for (const auto& [begin, text] : texts) size += text.size();
  return size;
}

/// Whether another than an agent told of them: then a server was asked for its past.
bool has_sources(const std::map<Nanoseconds, std::string>& texts) {
  constexpr std::string_view kSource = "\"source\":\"";
  const auto of_agent = counters::host_source("");
  const auto other = [&](std::string_view text) {
    for (auto at = text.find(kSource); at != text.npos; at = text.find(kSource, at + 1))
      if (!text.substr(at + kSource.size()).starts_with(of_agent)) return true;
    return false;
  };
  return std::ranges::any_of(texts, [&](const auto& one) { return other(one.second); });
}

}  // namespace

Result<std::unique_ptr<CounterWatch>> CounterWatch::open(CounterSource source, const Fabric& fabric,
                                                         const std::filesystem::path& database) {
  std::unique_ptr<CounterWatch> watch(new CounterWatch(std::move(source), fabric));
  if (database.empty()) return watch;
  WEFT_TRY(watch->database_, store::Database::open(database, store::Database::Access::write));
  WEFT_TRY(watch->kept_, store::kept_counter_readings(*watch->database_));
  if (!watch->kept_.empty()) watch->last_kept_ = *watch->kept_.rbegin();
  return watch;
}

void CounterWatch::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    using Clock = std::chrono::steady_clock;
    source_.end_at(stop);
    while (!stop.stop_requested()) {
      const auto began = Clock::now();
      look(os::wall_now());
      const auto ended = Clock::now();
      std::unique_lock lock(mutex_);
      // A look at a fabric of many ports takes seconds: it may have a fiftieth of the time.
      const auto pause = std::max<Clock::duration>(kMinPause, 50 * (ended - began));
      is_told_.wait_until(lock, stop, std::min(ended + pause, began + kLookEvery), [] { return false; });
      const auto has_news = [&] { return !source_.is_there() && !told_.empty(); };
      is_told_.wait_until(lock, stop, began + kLookEvery, has_news);
    }
  });
}

void CounterWatch::take(counters::HostPorts own, std::string text) {
  if (text.size() > counters::kMaxHostCounters) text.clear();  // of no use, which is said of it
  const std::lock_guard lock(mutex_);
  auto host = own.source;
  const auto before = told_.find(host);
  const std::size_t freed = before == told_.end() ? 0 : before->second.text.size();
  if (reported_bytes_ - freed + text.size() > kMaxTold) return;
  reported_bytes_ = reported_bytes_ - freed + text.size();
  told_.insert_or_assign(std::move(host), Reported{std::move(own), std::move(text)});
  is_told_.notify_all();
}

void CounterWatch::look(Nanoseconds now) {
  read_agents(now);
  auto found = judged(now);
  const std::scoped_lock lock(mutex_);
  if (found) {
    warnings_ = *std::move(found);
  } else {
    warnings_.trouble = found.error().message;
    std::erase_if(warnings_.ports,
                  [&](const PortWarning& one) { return now - one.at > 2 * counters::kKeptEvery; });
  }
  for (const auto& trouble : {nics_trouble_, useless_.text})
    if (warnings_.trouble.empty()) warnings_.trouble = trouble;
}

void CounterWatch::read_agents(Nanoseconds now) {
  std::map<std::string, Reported> told;
  {
    const std::lock_guard lock(mutex_);
    told.swap(told_);
    reported_bytes_ = 0;
  }
  if (now - useless_.at > kUselessFor) useless_ = {};
  std::vector<ReportedNic> nics;
  for (const auto& [host, one] : told) {
    const auto taken = hosts_.take(fabric_, one.own, one.text, now);
    if (taken) reported_at_ = now;
    if (taken && host == useless_.host) useless_ = {};
    if (taken && database_) std::ranges::move(nics_of(one.own), std::back_inserter(nics));
    for (const auto& change : taken.value_or(std::vector<std::string>())) print_stderr("weft: {}\n", change);
    if (!taken)
      useless_ = {host, "what an agent told of its NICs is of no use: " + taken.error().message, now};
  }
  if (!database_) return;
  const auto kept = store::keep_reported_nics(*database_, nics);
  nics_trouble_ = kept ? "" : kept.error().message;
}

std::vector<ReportedNic> CounterWatch::nics_of(const counters::HostPorts& own) const {
  std::vector<ReportedNic> nics;
  for (const auto& [port, device, module] : hosts_.nics_of(own.source))
    nics.push_back({.nic = fabric_.name_of(port),
                    .host = fabric_.name_of(fabric_.port(port).node),
                    .interface = device.interface,
                    .driver = device.driver,
                    .firmware = device.firmware,
                    .pci = device.pci,
                    .pci_id = device.id,
                    .speed = device.speed,
                    .module_part = module.part,
                    .module_serial = module.serial,
                    .agent = device.agent,
                    .told = device.at});
  return nics;
}

Result<void> CounterWatch::read_sources(counters::CounterTable& into) const {
  if (!source_.is_there()) return {};
  return source_.read_corrected(fabric_, has_sources(kept_) ? std::chrono::hours(0) : kPast, into);
}

Result<PortWarnings> CounterWatch::judged(Nanoseconds now) {
  counters::CounterTable read;
  // A clock that was ahead has kept what is still to come, behind which nothing would be kept.
  std::erase_if(kept_, [&](const auto& one) { return one.first > now + counters::kKeptEvery; });
  // Agents tell whether the sources can be read or not.
  const bool is_past_asked = source_.is_there() && !has_sources(kept_);
  const auto sources = read_sources(read);
  hosts_.add_to(fabric_, now, read);
  if (!sources && hosts_.empty()) return tl::unexpected(sources.error());
  const auto kept = keep(read, is_past_asked ? now - counters::kKeptFor : last_kept(now), now);
  // Where the next windows begin: in what is kept of these two hours there are newer ones by now.
  if (now - last_kept_.first > 2 * counters::kKeptEvery) last_kept_ = {};
  if (!last_kept_.second.empty())
    static_cast<void>(counters::read_counter_file(fabric_, last_kept_.second, kKept, "", now, read));
  // What was read now stands among the kept readings, too: the same values at the same times.
  for (const auto& [begin, text] : kept_)
    if (const auto added = counters::read_counter_file(fabric_, text, kKept, "", now, read); !added)
      read.refused.add(added.error().message);
  read.sort_points();
  auto warnings = counters::port_warnings(fabric_, read, now);
  if (!source_.is_there()) warnings.at = reported_at_;
  if (!kept) warnings.trouble = kept.error().message;
  if (!sources) warnings.trouble = sources.error().message;
  return warnings;
}

Nanoseconds CounterWatch::last_kept(Nanoseconds now) const {
  return kept_.empty() ? now - counters::kKeptFor : kept_.rbegin()->first;
}

/// Of two hours that are kept already, what is kept of them stays where it is the newest: not all that told
/// then told again.
Result<void> CounterWatch::keep(const counters::CounterTable& read, Nanoseconds from, Nanoseconds now) {
  auto texts = counters::readings_to_keep(fabric_, read, from);
  if (texts.empty()) return {};
  for (auto& [begin, text] : texts) {
    const auto known = kept_.find(begin);
    if (known == kept_.end()) continue;
    counters::CounterTable both;
    for (const auto* one : {&known->second, &text})
      static_cast<void>(counters::read_counter_file(fabric_, *one, kKept, "", now, both));
    text = counters::readings_to_keep(fabric_, both, begin)[begin];
  }
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
