#include "probes/session/engine_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topology/model/fabric.hpp"

namespace weft::session {
namespace {

constexpr std::size_t kShown = 4;

bool has_device(const OfferOfNic& offered) { return !offered.offer.rdma_device.empty(); }

std::string names_of(const Fabric& fabric, const std::vector<EngineChoice::Unfit>& unfit) {
  std::string text;
  for (std::size_t i = 0; i < std::min(unfit.size(), kShown); ++i)
    text += (i == 0 ? "" : ", ") + fabric.name_of_nic(unfit[i].nic);
  return unfit.size() > kShown ? fmt::format("{} and {} more", text, unfit.size() - kShown) : text;
}

std::string why_unfit(const OfferOfNic& offered, bool by_queue_pairs) {
  if (by_queue_pairs)
    return fmt::format("{}, and the others of this run send by queue pairs",
                       offered.offer.why.empty() ? "it has no RDMA device" : offered.offer.why);
  return fmt::format(
      "its RDMA device {} takes what raw packets are answered by, and most of this run have none",
      offered.offer.rdma_device);
}

}  // namespace

EngineChoice choose_engine(const Fabric& fabric, const std::vector<OfferOfNic>& offers) {
  const auto all = offers.size();
  const auto with = static_cast<std::size_t>(std::ranges::count_if(offers, has_device));
  const bool by_queue_pairs = with > 0 && 2 * with >= all;
  EngineChoice choice{by_queue_pairs ? kVerbsEngine : kRawEngine, {}, {}};
  for (const OfferOfNic& offered : offers)
    if (has_device(offered) != by_queue_pairs)
      choice.unfit.push_back({offered.nic, why_unfit(offered, by_queue_pairs)});
  if (with == all)
    choice.why = fmt::format("each of the {} NICs has an RDMA device", all);
  else if (with == 0)
    choice.why = fmt::format("none of the {} NICs has an RDMA device", all);
  else
    choice.why = fmt::format("{} of {} NICs have an RDMA device; not tested: {}", with, all,
                             names_of(fabric, choice.unfit));
  return choice;
}

}  // namespace weft::session
