#include "cli/page_sources.hpp"

#include <algorithm>

#include "balancer/blacklist/entry.hpp"
#include "balancer/blacklist/ledger_json.hpp"
#include "collectors/store/channel_history.hpp"
#include "collectors/store/watch_store.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/incident_json.hpp"

namespace weft::cli {
namespace {

using std::chrono::floor;
using Clock = std::chrono::steady_clock;

constexpr Bytes kMaxBlacklist{16'000'000};
constexpr auto kAnswerTime = std::chrono::seconds(2);
constexpr auto kIdle = std::chrono::seconds(5);  // without a pass of the watch: it is not active

void add(web::ChannelSum& to, const web::ChannelSum& more) {
  to.sent += more.sent;
  to.lost += more.lost;
}

web::AvoidedLink avoided_link(LinkId link, blacklist::BlacklistEntry entry) {
  return {.link = link,
          .verdict = entry.verdict,
          .confidence = entry.confidence,
          .evidence = std::move(entry.evidence),
          .first_seen = entry.first_seen.time_since_epoch(),
          .last_seen = entry.last_seen.time_since_epoch(),
          .until = entry.expires.time_since_epoch(),
          .owner = std::move(entry.owner),
          .actions = std::move(entry.actions)};
}

/// The links that an entry of a ledger is about.
std::vector<LinkId> links_of(const Fabric& fabric, const blacklist::Subject& subject) {
  std::vector<LinkId> links;
  for (const ChannelId channel : blacklist::channels_of(fabric, subject))
    if (const LinkId link = Fabric::link_of(channel); std::ranges::find(links, link) == links.end())
      links.push_back(link);
  return links;
}

Result<web::Avoided> avoided_in_ledger(const Fabric& fabric, std::string_view text, std::string_view what) {
  WEFT_TRY(const auto entries, blacklist::parse_entry_lines(text, what));
  web::Avoided avoided;
  for (const auto& [of, entry] : entries) {
    if (of != fabric.name() || entry.state != blacklist::EntryState::active) continue;
    const auto subject = find_subject(fabric, entry.subject);
    if (!subject) ++avoided.unknown;
    for (const LinkId link : subject ? links_of(fabric, *subject) : std::vector<LinkId>())
      avoided.links.push_back({.link = link,
                               .verdict = entry.verdict,
                               .confidence = entry.confidence,
                               .evidence = entry.by_hand ? std::vector{entry.reason} : entry.evidence,
                               .first_seen = entry.first_seen.time_since_epoch(),
                               .last_seen = entry.last_seen.time_since_epoch(),
                               .owner = entry.author,
                               .actions = {}});
  }
  return avoided;
}

Result<web::Avoided> avoided_in_list(const Fabric& fabric, std::string_view text, std::string_view what) {
  WEFT_TRY(auto entries, blacklist::parse_blacklist(text, what));
  web::Avoided avoided;
  for (blacklist::BlacklistEntry& entry : entries) {
    if (entry.fabric != fabric.name()) continue;
    if (const auto link = fabric.find_link(entry.link.name))
      avoided.links.push_back(avoided_link(*link, std::move(entry)));
    else
      ++avoided.unknown;
  }
  return avoided;
}

Result<web::Avoided> read_avoided(const Fabric& fabric, const std::filesystem::path& file) {
  WEFT_TRY(const auto text, files::read_text_file(file, kMaxBlacklist));
  return blacklist::are_of_ledger(text) ? avoided_in_ledger(fabric, text, file.string())
                                        : avoided_in_list(fabric, text, file.string());
}

}  // namespace

web::TimeRange StoredHistory::kept() const {
  const Nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
  const std::scoped_lock lock(mutex_);
  const auto first = store::first_kept(database_);
  return first && *first ? web::TimeRange{**first, now} : web::TimeRange{now, now};
}

Result<std::vector<Incident>> StoredHistory::incidents(web::TimeRange range, std::size_t most) const {
  const std::scoped_lock lock(mutex_);
  WEFT_TRY(const auto reports, store::incidents(database_, {.from = range.from, .until = range.to}));
  std::vector<Incident> found;
  for (const files::EventReport& report : reports) {
    if (found.size() == most) break;
    if (auto event = files::event_of(fabric_, report)) found.push_back(std::move(event->incident));
  }
  return found;
}

Result<std::vector<web::LinkSums>> StoredHistory::link_sums(LinkId link, web::TimeRange range,
                                                            std::size_t most) const {
  const auto points_of = [&](ChannelId channel) -> Result<std::vector<store::HistoryPoint>> {
    const std::scoped_lock lock(mutex_);
    auto points =
        store::channel_history(database_, fabric_.name_of(channel), floor<store::Seconds>(range.from),
                               std::chrono::ceil<store::Seconds>(range.to));
    if (!points && points.error().kind == ErrorKind::not_found) return std::vector<store::HistoryPoint>();
    return points;
  };
  WEFT_TRY(const auto there, points_of(Fabric::a_to_b(link)));
  WEFT_TRY(const auto back, points_of(Fabric::b_to_a(link)));
  std::vector<web::LinkSums> sums;
  auto other = back.begin();
  for (const store::HistoryPoint& point : there) {
    while (other != back.end() && other->begin < point.begin) ++other;
    sums.push_back({point.begin, point.length, {point.sample.sent, point.sample.lost}, {}});
    if (other != back.end() && other->begin == point.begin)
      sums.back().b_to_a = {other->sample.sent, other->sample.lost};
  }
  return coarser(std::move(sums), most);
}

Result<std::vector<web::ChannelSum>> StoredHistory::sums_at(Nanoseconds at) const {
  const std::scoped_lock lock(mutex_);
  WEFT_TRY(const auto snapshot, store::channels_at(database_, fabric_, floor<store::Seconds>(at)));
  std::vector<web::ChannelSum> sums;
  if (snapshot)
    for (const store::ChannelSample& one : snapshot->channels) sums.push_back({one.sent, one.lost});
  return sums;
}

std::vector<web::LinkSums> coarser(std::vector<web::LinkSums> sums, std::size_t most) {
  const std::size_t together = (sums.size() + most - 1) / most;
  if (together <= 1) return sums;
  std::vector<web::LinkSums> wide;
  std::size_t count = together;  // in the last bucket
  for (const web::LinkSums& one : sums) {
    if (count == together || wide.back().at + wide.back().length != one.at) {
      wide.push_back(one);
      count = 1;
      continue;
    }
    wide.back().length += one.length;
    add(wide.back().a_to_b, one.a_to_b);
    add(wide.back().b_to_a, one.b_to_a);
    ++count;
  }
  return wide;
}

web::Avoided FileBlacklist::avoided() const {
  const std::scoped_lock lock(mutex_);
  std::error_code error;
  const Seen now{std::filesystem::last_write_time(file_, error), std::filesystem::file_size(file_, error)};
  if (error)
    avoided_.trouble = fmt::format("{}: {}", file_.string(), error.message());
  else if (seen_ != now || !avoided_.trouble.empty())
    read();
  seen_ = error ? std::nullopt : std::optional(now);
  return avoided_;
}

/// What was known stays where it cannot be read.
void FileBlacklist::read() const {
  auto read = read_avoided(fabric_, file_);
  if (read)
    avoided_ = std::move(*read);
  else
    avoided_.trouble = read.error().message;
}

Result<std::vector<web::CrossingPath>> AskedPaths::ask(LinkId link, std::size_t most) {
  std::unique_lock lock(mutex_);
  if (!last_ || Clock::now() - *last_ > kIdle) return std::vector<web::CrossingPath>();
  const auto question = std::make_shared<Question>(Question{link, most});
  asked_.push_back(question);
  if (!answered_.wait_for(lock, kAnswerTime, [&] { return question->answer.has_value(); }))
    return fail(ErrorKind::timeout, "the watcher is busy: try again in a moment");
  return *std::move(question->answer);
}

void AskedPaths::answer(const watch::Watcher& watcher, Nanoseconds now) {
  std::vector<std::shared_ptr<Question>> asked;
  {
    const std::scoped_lock lock(mutex_);
    last_ = Clock::now();
    asked.swap(asked_);
  }
  for (const auto& question : asked) {
    std::vector<web::CrossingPath> paths;
    for (auto& stream : watcher.streams_over(question->link, now, question->most))
      paths.push_back({stream.label, std::move(stream.channels), {stream.sent, stream.lost}});
    const std::scoped_lock lock(mutex_);
    question->answer = std::move(paths);
  }
  if (!asked.empty()) answered_.notify_all();
}

}  // namespace weft::cli
