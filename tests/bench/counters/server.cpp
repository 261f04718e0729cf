// What a real Prometheus takes to tell, and weft to read, ten metrics of all ports of the largest fabric.
#include <httplib.h>

#include <fstream>
#include <thread>

#include "cli/counter_source.hpp"
#include "collectors/counters/counter_observations.hpp"
#include "tests/bench/counters/pieces.hpp"
#include "tests/collectors/bus/watch_rig.hpp"
#include "topology/files/file_text.hpp"
#include "topology/model/clos.hpp"
#include "topology/os/child_process.hpp"
#include "topology/os/clocks.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::bench::counters {
namespace {

/// Of the preset node_exporter, and one of a site's own; traffic moves at every port, errors at one in a
/// hundred.
constexpr std::array kTraffic{"node_network_receive_packets_total", "node_network_transmit_packets_total",
                              "node_network_receive_bytes_total", "node_network_transmit_bytes_total"};
constexpr std::array kErrors{"node_network_receive_errs_total",    "node_network_transmit_errs_total",
                             "node_network_receive_drop_total",    "node_network_transmit_drop_total",
                             "node_network_carrier_changes_total", "fec_uncorrectable_total"};
constexpr int kReadings = 3;

/// OpenMetrics, a minute between two readings, the last of them now.
void write_metric(const Fabric& fabric, const std::string& metric, bool of_errors, std::ofstream& to) {
  const double now = std::chrono::duration<double>(os::wall_now()).count();
  to << "# TYPE " << metric.substr(0, metric.rfind("_total")) << " counter\n";
  for (std::uint32_t p = 0; p < fabric.port_count(); ++p) {
    const Port& port = fabric.port(PortId(p));
    const std::uint64_t grew = of_errors && p % 100 != 0 ? 0 : 1'000'000;
    for (int i = 0; i < kReadings; ++i)
      to << fmt::format("{}{{instance=\"{}.example.net:9100\",job=\"switches\",device=\"p{}\"}} {} {:.3f}\n",
                        metric, fabric.name_of(port.node), port.number.value(), p + grew * i,
                        now - 60.0 * (kReadings - i));
  }
}

os::ChildProcess started(std::vector<std::string> argv) {
  auto child = os::ChildProcess::start(
      {.argv = std::move(argv), .output = os::ToNothing{}, .errors = os::ToNothing{}});
  WEFT_CHECK(child.has_value());
  return std::move(*child);
}

/// From /proc/self/status, in MB.
double status_mb(std::string_view name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name)) return std::stod(line.substr(line.find(':') + 1)) / 1024;
  return 0;
}

bool is_ready(std::uint16_t port) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  httplib::Client client("127.0.0.1", port);
  while (std::chrono::steady_clock::now() < end) {
    if (const auto answer = client.Get("/-/ready"); answer && answer->status == 200) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return false;
}

/// How long the server takes for all of them, when nobody reads what it says.
double server_seconds(std::uint16_t port, const std::vector<std::string>& metrics) {
  httplib::Client client("127.0.0.1", port);
  client.set_read_timeout(30);
  return milliseconds([&] {
           for (const std::string& metric : metrics)
             client.Get("/api/v1/query?query=" + metric + "%7B%7D%5B10m%5D",
                        [](const char*, std::size_t) { return true; });
         }) /
         1e3;
}

void measure(const Fabric& fabric, std::uint16_t port, const std::vector<std::string>& metrics,
             Figures& figures) {
  const files::CounterSources section{.prometheus = fmt::format("http://127.0.0.1:{}", port),
                                      .presets = {"node_exporter"},
                                      .metrics = {{"fec_uncorrectable", metrics.back()}}};
  const auto source = cli::CounterSource::open({}, section);
  WEFT_CHECK(source.has_value());
  const double alone = server_seconds(port, metrics);
  std::ofstream("/proc/self/clear_refs") << 5;  // proc(5): the peak begins anew
  const double before = status_mb("VmRSS");
  weft::counters::CounterTable table;
  std::size_t counts = 0;
  double took = 0;
  const double cpu = cpu_milliseconds([&] {
    took = milliseconds([&] {
      const auto read = source->read(fabric, table);
      if (!read) fmt::print(stderr, "{}\n", read.error().message);
      counts = weft::counters::channel_counts(fabric, table).size();
    });
  });
  figures.add("counters_147456_points", static_cast<double>(table.points()));
  figures.add("counters_147456_counts", static_cast<double>(counts));
  figures.add("counters_147456_s", took / 1e3, "at most 5");
  figures.add("counters_147456_server_alone_s", alone);
  figures.add("counters_147456_cpu_s", cpu / 1e3);
  figures.add("counters_147456_mb", status_mb("VmHWM") - before, "at most 300");
}

}  // namespace

void measure_server(Figures& figures) {
  const Fabric fabric =
      make_pod_clos({.pods = 48, .leaves = 16, .spines = 32, .cores = 512, .hosts_per_leaf = 32}).value();
  const auto scratch = os::ScratchDirectory::make();
  WEFT_CHECK(scratch.has_value());
  const auto at = [&](const char* name) { return (scratch->path() / name).string(); };
  std::vector<std::string> metrics(kTraffic.begin(), kTraffic.end());
  metrics.insert(metrics.end(), kErrors.begin(), kErrors.end());
  {
    std::ofstream text(at("metrics"));
    for (std::size_t i = 0; i < metrics.size(); ++i)
      write_metric(fabric, metrics[i], i >= kTraffic.size(), text);
    text << "# EOF\n";
  }
  auto blocks = started({"promtool", "tsdb", "create-blocks-from", "openmetrics", at("metrics"), at("data")});
  const auto made = blocks.wait_for(std::chrono::minutes(8));
  WEFT_CHECK(made && *made && (*made)->success());
  WEFT_CHECK(files::write_text_file(at("prometheus.yml"), "global: {scrape_interval: 1m}\n").has_value());
  const auto port = bus::free_port();
  auto server =
      started({"prometheus", "--config.file=" + at("prometheus.yml"), "--storage.tsdb.path=" + at("data"),
               fmt::format("--web.listen-address=127.0.0.1:{}", port)});
  WEFT_CHECK(is_ready(port));
  measure(fabric, port, metrics, figures);
  server.stop(std::chrono::seconds(10));
}

}  // namespace weft::bench::counters
