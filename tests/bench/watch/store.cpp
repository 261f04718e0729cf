// What a watcher of 24,576 NICs keeps and shows: the size of its database in 400 days, of a scrape of its
// metrics, and how long the writing of ten seconds takes.
#include <random>

#include "collectors/metrics/metrics.hpp"
#include "collectors/store/watch_store.hpp"
#include "tests/bench/support/random_paths.hpp"
#include "tests/bench/watch/pieces.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::bench {
namespace {

using store::Seconds;

// Losses that no fault explains, of what crosses a channel, counted on all channels of the path.
constexpr double kBackground = 1e-5;
// A host may send 500 probes a second; of 8 NICs each some 62, answered as many: what crosses its cable one
// way.
constexpr double kHostRate = 125;

/// Probes a second over each channel: between switches as the plan spreads them.
std::vector<double> rates_of(const Fabric& fabric, std::mt19937_64& random) {
  std::vector<double> rates(fabric.channel_count());
  std::uniform_real_distribution<double> spread(0.5 * kHostRate, 2 * kHostRate);
  for (std::uint32_t c = 0; c < rates.size(); ++c)
    rates[c] = fabric.between_switches(ChannelId(c)) ? spread(random) : kHostRate;
  return rates;
}

store::HistoryBucket drawn_bucket(const std::vector<double>& rates, Seconds begin, Seconds length,
                                  std::mt19937_64& random) {
  store::HistoryBucket bucket{begin, std::vector<store::ChannelSample>(rates.size())};
  for (std::size_t c = 0; c < rates.size(); ++c) {
    auto& sample = bucket.channels[c];
    const double mean = rates[c] * static_cast<double>(length.count());
    sample.sent = std::poisson_distribution<std::uint64_t>(mean)(random);
    sample.lost = std::poisson_distribution<std::uint64_t>(mean * kBackground)(random);
    sample.verdict = Verdict::healthy;
  }
  return bucket;
}

void keep(store::Database& database, std::int64_t layout, const store::HistoryBucket& bucket) {
  WEFT_CHECK(store::record(database, layout, bucket).has_value());
}

/// Bytes that each bucket of that length takes in the file, by `buckets` of them.
double bytes_of_bucket(const Fabric& fabric, Seconds length, int buckets) {
  std::mt19937_64 random(24);
  const auto rates = rates_of(fabric, random);
  const auto directory = os::ScratchDirectory::make().value();
  const auto path = directory.path() / "watch.db";
  auto opened = store::WatchStore::open(path, fabric).value();
  auto& database = opened.database();
  const auto layout = store::layout_of(database, fabric).value();
  const auto size = [&] {
    return database.number("PRAGMA page_count").value() * database.number("PRAGMA page_size").value();
  };
  const auto before = size();
  for (int n = 0; n < buckets; ++n)
    keep(database, layout, drawn_bucket(rates, Seconds(10 * n), length, random));
  return static_cast<double>(size() - before) / buckets;
}

watch::WatchState state_of(const Fabric& fabric, std::size_t faulty) {
  watch::WatchState state{.fabric = fabric.name()};
  state.channels.assign(fabric.channel_count(), {.covered = true,
                                                 .fresh = true,
                                                 .verdict = Verdict::healthy,
                                                 .sent_in_all = 1'234'567'890,
                                                 .lost_in_all = 12'345});
  for (std::size_t c = 0; c < faulty; ++c) state.channels[c * 7].verdict = Verdict::degraded;
  for (const NodeId host : fabric.hosts())
    state.agents.push_back({.host = host, .presence = watch::AgentPresence::present});
  return state;
}

}  // namespace

void measure_store_400d(Figures& figures) {
  const Fabric fabric = rails_24576();
  double bytes = 0;
  for (const auto& resolution : store::kResolutions) {
    const double each = bytes_of_bucket(fabric, resolution.length, 24);
    bytes += each * static_cast<double>(resolution.kept / resolution.length);
    figures.add(fmt::format("store_bucket_{}s_kb", resolution.length.count()), each / 1e3);
  }
  figures.add("store_400d_gb", bytes / 1e9, "at most 5");

  std::mt19937_64 random(7);
  const auto bucket = drawn_bucket(rates_of(fabric, random), Seconds(0), Seconds(10), random);
  const auto directory = os::ScratchDirectory::make().value();
  auto opened = store::WatchStore::open(directory.path() / "watch.db", fabric).value();
  const auto layout = store::layout_of(opened.database(), fabric).value();
  figures.add("store_write_10s_ms", milliseconds([&] { keep(opened.database(), layout, bucket); }));
}

void measure_metrics_24576(Figures& figures) {
  const Fabric fabric = rails_24576();
  const auto text = metrics::metrics_text(fabric, state_of(fabric, 100));
  figures.add("metrics_24576_mb", static_cast<double>(text.size()) / 1e6, "at most 2");
  const auto worst = metrics::metrics_text(fabric, state_of(fabric, fabric.channel_count() / 7));
  figures.add("metrics_24576_worst_mb", static_cast<double>(worst.size()) / 1e6, "at most 2");
  const auto state = state_of(fabric, 100);
  figures.add("metrics_24576_ms",
              milliseconds([&] { static_cast<void>(metrics::metrics_text(fabric, state)); }));
}

}  // namespace weft::bench
