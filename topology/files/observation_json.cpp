#include "topology/files/observation_json.hpp"

#include "topology/files/json_text.hpp"
#include "topology/model/fabric.hpp"

namespace weft::files {
namespace {

class LineWriter {
 public:
  LineWriter(const Fabric& fabric, const PathTable& paths) : fabric_(fabric), paths_(paths) {
    names_.reserve(fabric.channel_count());
    for (std::uint32_t c = 0; c < fabric.channel_count(); ++c) names_.push_back(fabric.name_of(ChannelId(c)));
  }

  void add(const Observation& seen) {
    put(out_, "{{");
    put_paths("path", "paths", seen.path);
    if (seen.back) {
      put(out_, ",");
      put_paths("back", "backs", *seen.back);
    }
    put(out_, ",\"sent\":{},\"lost\":{}", seen.sent, seen.lost);
    if (seen.size > Bytes()) put(out_, ",\"bytes\":{}", seen.size.count());
    if (seen.corrupt > 0) put(out_, ",\"corrupt\":{}", seen.corrupt);
    if (seen.rtt) put(out_, ",\"rtt_us\":{{\"p50\":{},\"p99\":{}}}", us(seen.rtt->p50), us(seen.rtt->p99));
    if (seen.excused > 0) put(out_, ",\"excused\":{}", seen.excused);
    if (seen.held > 0) put(out_, ",\"held\":{}", seen.held);
    put_window(seen.window);
    if (seen.pair) {
      put(out_, ",\"src\":\"{}\",\"dst\":\"{}\",\"label\":{}", fabric_.name_of_nic(seen.pair->src),
          fabric_.name_of_nic(seen.pair->dst), seen.pair->label.value());
    }
    if (!seen.runs.empty()) {
      put(out_, ",\"runs\":");
      put_array(out_, seen.runs, [&](const LossRun& run) { put(out_, "[{},{}]", run.first, run.count); });
    }
    end_row();
  }

  void add(const LoadObservation& load) {
    put(out_, "{{");
    put_paths("path", "paths", load.path);
    put(out_, ",\"load\":{{\"round\":{},\"wanted\":{},\"offered\":{},\"delivered\":{}", load.round,
        load.wanted.bits_per_second(), load.offered.bits_per_second(), load.delivered.bits_per_second());
    if (load.line_rate) put(out_, ",\"line_rate\":{}", load.line_rate->bits_per_second());
    put(out_, "{}}}", load.sender_stalled ? ",\"stalled\":true" : "");
    put_window(load.window);
    end_row();
  }

  void add(const ChannelCount& count) {
    put(out_, "{{\"count\":{{\"channel\":\"{}\",\"kind\":\"{}\",\"errors\":{}", name(count.channel),
        to_string(count.kind), count.errors);
    const auto member = [&](std::string_view key, double value) {
      put(out_, ",\"{}\":", key);
      put_number(out_, value);
    };
    const auto seconds = [](Nanoseconds time) { return std::chrono::duration<double>(time).count(); };
    member("exposure", count.exposure);
    member("frames_per_error", count.gain.frames_per_error);
    member("spread", count.gain.spread);
    member("window_s", seconds(count.end - count.begin));
    if (count.age > Nanoseconds(0)) member("age_s", seconds(count.age));
    if (count.period > Nanoseconds(0)) member("period_s", seconds(count.period));
    put(out_, "{},\"source\":", count.link_event ? ",\"link_event\":true" : "");
    put_string(out_, count.source);
    put(out_, "}}");
    end_row();
  }

  void add(const ChannelEvidence& sign) {
    put(out_, "{{\"channel\":\"{}\",\"cause\":\"{}\",\"log_ratio\":", name(sign.channel),
        to_string(sign.cause));
    put_number(out_, sign.log_ratio);
    put(out_, ",\"text\":");
    put_string(out_, sign.text);
    end_row();
  }

  void add(const HostEvidence& sign) {
    put(out_, "{{\"host\":\"{}\"", fabric_.name_of(sign.host));
    if (sign.nic) put(out_, ",\"nic\":\"{}\"", fabric_.name_of_nic(*sign.nic));
    put(out_, ",\"verdict\":\"{}\"", to_string(sign.verdict));
    if (sign.cause) put(out_, ",\"cause\":\"{}\"", to_string(*sign.cause));
    put(out_, ",\"text\":");
    put_string(out_, sign.text);
    end_row();
  }

  std::string text() const { return fmt::to_string(out_); }

 private:
  void end_row() { put(out_, ",\"row\":{}}}\n", rows_++); }
  static double us(Nanoseconds time) { return static_cast<double>(time.count()) / 1000.0; }
  const std::string& name(ChannelId channel) const { return names_[channel.value()]; }

  void put_window(const std::optional<TimeWindow>& window) {
    if (window)
      put(out_, ",\"window\":{{\"start_us\":{},\"length_us\":{}}}", us(window->start), us(window->length));
  }
  void put_path(PathId path) {
    put_array(out_, paths_.channels(path), [&](ChannelId channel) { put(out_, "\"{}\"", name(channel)); });
  }
  void put_paths(std::string_view one, std::string_view several, PathSetId set) {
    const auto members = paths_.paths(set);
    put(out_, "\"{}\":", members.size() == 1 ? one : several);
    if (members.size() == 1) return put_path(members.front());
    put_array(out_, members, [&](PathId path) { put_path(path); });
  }

  const Fabric& fabric_;
  const PathTable& paths_;
  std::vector<std::string> names_;  // by channel: made once, written millions of times
  std::uint64_t rows_ = 0;
  JsonText out_;
};

}  // namespace

std::string observation_lines(const Fabric& fabric, const Observations& observations) {
  LineWriter writer(fabric, observations.paths);
  for (const auto& probe : observations.probes) writer.add(probe);
  for (const auto& load : observations.loads) writer.add(load);
  for (const auto& count : observations.counts) writer.add(count);
  for (const auto& sign : observations.channels) writer.add(sign);
  for (const auto& sign : observations.hosts) writer.add(sign);
  return writer.text();
}

}  // namespace weft::files
