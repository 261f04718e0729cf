#include "collectors/web/link_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "collectors/web/state_json.hpp"
#include "topology/base/readable.hpp"

namespace weft::web {
namespace {

using files::DocumentTree;

constexpr std::size_t kMaxBuckets = 720;
constexpr std::size_t kMaxPaths = 40;
constexpr std::size_t kMaxPast = 1000;

DocumentTree channel_tree(const LiveView& view, const std::string& letters, ChannelId channel) {
  DocumentTree tree{{"name", view.fabric->name_of(channel)}};
  if (view.state == nullptr || channel.value() >= letters.size()) return tree;
  const auto& state = view.state->channels[channel.value()];
  tree["letter"] = std::string(1, letters[channel.value()]);
  tree["sent"] = state.sent;
  tree["lost"] = state.lost;
  return tree;
}

DocumentTree history_tree(const std::vector<LinkSums>& buckets) {
  auto at = DocumentTree::array();
  auto length = DocumentTree::array();
  std::array sent{DocumentTree::array(), DocumentTree::array()};
  std::array lost{DocumentTree::array(), DocumentTree::array()};
  for (const LinkSums& bucket : buckets) {
    at.push_back(milliseconds(bucket.at));
    length.push_back(milliseconds(bucket.length));
    sent[0].push_back(bucket.a_to_b.sent);
    sent[1].push_back(bucket.b_to_a.sent);
    lost[0].push_back(bucket.a_to_b.lost);
    lost[1].push_back(bucket.b_to_a.lost);
  }
  return {{"at", at}, {"length", length}, {"sent", sent}, {"lost", lost}};
}

DocumentTree path_tree(const Fabric& fabric, const CrossingPath& path) {
  auto nodes = DocumentTree::array();
  if (!path.channels.empty()) nodes.push_back(fabric.name_of_nic(fabric.source(path.channels.front())));
  for (std::size_t i = 0; i + 1 < path.channels.size(); ++i)
    nodes.push_back(fabric.name_of(fabric.target_node(path.channels[i])));
  if (!path.channels.empty()) nodes.push_back(fabric.name_of_nic(fabric.target(path.channels.back())));
  return {{"label", path.label.value()}, {"nodes", nodes}, {"sent", path.sum.sent}, {"lost", path.sum.lost}};
}

Result<DocumentTree> past_tree(const HistorySource& history, const Fabric& fabric, LinkId link,
                               TimeRange range) {
  WEFT_TRY(const auto incidents, history.incidents(range, kMaxPast));
  auto list = DocumentTree::array();
  for (const Incident& incident : incidents) {
    const auto channels = channels_of(fabric, incident.place);
    if (std::ranges::any_of(channels, [&](ChannelId channel) { return Fabric::link_of(channel) == link; }))
      list.push_back(incident_tree(fabric, incident));
  }
  return list;
}

}  // namespace

Result<std::string> link_json(const PageFabric& page, const LiveView& view, LinkId link, TimeRange range) {
  const Fabric& fabric = *view.fabric;
  const auto letters = view.state ? channel_letters(*view.state) : std::string();
  DocumentTree tree{{"link", link.value()},
                    {"name", fabric.name_of(link)},
                    {"ends", {fabric.name_of(fabric.link(link).a), fabric.name_of(fabric.link(link).b)}},
                    {"rate", readable(fabric.link(link).rate)},
                    {"channels",
                     {channel_tree(view, letters, Fabric::a_to_b(link)),
                      channel_tree(view, letters, Fabric::b_to_a(link))}}};
  if (page.history != nullptr) {
    WEFT_TRY(const auto buckets, page.history->link_sums(link, range, kMaxBuckets));
    WEFT_TRY(auto past, past_tree(*page.history, fabric, link, range));
    tree["range"] = {{"from", milliseconds(range.from)}, {"to", milliseconds(range.to)}};
    tree["history"] = history_tree(buckets);
    tree["incidents"] = std::move(past);
  }
  const auto paths = page.live->paths_over(link, kMaxPaths);
  auto list = DocumentTree::array();
  if (paths)
    for (const CrossingPath& path : *paths) list.push_back(path_tree(fabric, path));
  else
    tree["paths_trouble"] = paths.error().message;
  tree["paths"] = std::move(list);
  return files::document_line(tree);
}

}  // namespace weft::web
