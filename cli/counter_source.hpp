// Where the counters of a fabric's ports come from, as options and the fabric file say, and how they become
// observations.
#pragma once

#include <stop_token>

#include "cli/options.hpp"
#include "collectors/counters/counter_series.hpp"
#include "collectors/counters/prometheus.hpp"
#include "topology/findings/channel_count.hpp"

namespace weft::cli {

/// --counters FILE, --prometheus URL, --exporter NAME.
void add_counter_options(po::options_description& options);

/// A file, a server or a command, where one is named.
class CounterSource {
 public:
  /// `of_file`: what the fabric file says; options stand before it. Errors: usage (a URL, an exporter).
  static Result<CounterSource> open(const po::variables_map& values, const files::CounterSources& of_file);

  bool is_there() const { return !file_.empty() || of_.prometheus || of_.exec; }
  /// Adds what the sources say now. A command is a snapshot: two of them make a window. Of a command that
  /// fails for a switch, the others are used. Errors: none of the sources could be read.
  Result<void> read(const Fabric& fabric, counters::CounterTable& into) const;
  /// The commands alone: before a sweep, so that what comes after has something to be held against.
  Result<void> read_before(const Fabric& fabric, counters::CounterTable& into) const;

  /// What tells of corrected errors, of all of that past: of a server every two hours, oldest first.
  Result<void> read_corrected(const Fabric& fabric, std::chrono::hours past,
                              counters::CounterTable& into) const;

  /// What is asked after that fails: timeout.
  void end_at(std::stop_token stop) { stop_ = std::move(stop); }

  CounterSource() = default;

 private:
  Result<void> read_exec(const Fabric& fabric, counters::CounterTable& into) const;
  Result<void> read_server(const Fabric& fabric, counters::CounterTable& into) const;
  Result<void> ask_server(const Fabric& fabric, std::vector<counters::PrometheusSource> windows,
                          counters::CounterTable& into) const;
  Result<counters::PrometheusSource> server_source() const;
  std::string file_, node_;
  files::CounterSources of_;
  std::stop_token stop_;
};

/// What the readings say of channels; how many there were, and what was passed over, on stderr.
std::vector<ChannelCount> counted(const Fabric& fabric, counters::CounterTable& table);

}  // namespace weft::cli
