#include "topology/files/routing_json.hpp"

#include "topology/files/json_text.hpp"
#include "topology/model/fabric.hpp"

namespace weft::files {
namespace {

void put_broken(JsonText& out, const Fabric& fabric, const routing::RoutingReport::Broken& broken) {
  put(out, "\n{{\"at\":\"{}\",\"lid\":{},\"end\":\"{}\"}}", fabric.name_of(broken.at), broken.lid.value(),
      to_string(broken.end));
}

}  // namespace

std::string routing_json(const Fabric& fabric, const routing::RoutingReport& report,
                         const std::optional<std::string>& engine, const DocumentStamp& stamp) {
  JsonText out;
  put(out, "{{");
  put_stamp(out, "weft.routing/1", stamp);
  put(out, ",\"fabric\":");
  put_string(out, fabric.name());
  if (engine) {
    put(out, ",\"engine\":");
    put_string(out, *engine);
  }
  put(out, ",\"promises\":");
  put_string(out, describe_engine(report));
  put(out, ",\"shortest\":{},\"up_down\":{}", report.shortest, report.up_down);
  put(out, ",\"routes\":{},\"unreachable\":{},\"looping\":{}", report.routes, report.unreachable,
      report.looping);
  const auto& adaptive = report.adaptive;
  put(out, ",\"adaptive\":{{\"on\":{},\"other_service_levels\":{},\"off\":{},\"unknown\":{}}}", adaptive.on,
      adaptive.other_service_levels, adaptive.off, adaptive.unknown);
  put(out, ",\n\"broken\":");
  put_array(out, report.broken, [&](const auto& broken) { put_broken(out, fabric, broken); });
  put(out, ",\n\"credit_loop\":");
  put_array(out, report.credit_loop, [&](ChannelId c) { put_string(out, fabric.name_of(c)); });
  put(out, ",\n\"top_tier\":{{\"busiest_over_mean\":{},\"switches\":", report.top.busiest_over_mean);
  put_array(out, report.top.switches, [&](const auto& use) {
    put(out, "\n{{\"switch\":\"{}\",\"routes\":{}}}", fabric.name_of(use.first), use.second);
  });
  put(out, "}}}}\n");
  return fmt::to_string(out);
}

}  // namespace weft::files
