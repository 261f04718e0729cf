#include "probes/diagnosis/delay/delay_rivals.hpp"

#include <algorithm>
#include <cmath>

#include "probes/diagnosis/delay/delay_fit.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

constexpr double kAsGood = 3.0;    // nats: explanations this close in fit are not told apart
constexpr double kUnlikely = 7.0;  // nats: what is less likely than this is not worth listing
constexpr int kMaxRounds = 20;

/// Columns of a joint fit: the bases by kind, then what may be late.
class Joint {
 public:
  Joint(const Fabric& fabric, const DelayRows& rows, const std::vector<std::uint32_t>& seen)
      : fabric_(fabric),
        bases_(static_cast<std::uint32_t>(rows.kinds().size())),
        causes_(all_causes(fabric, rows, seen)),
        fit_(make(rows)) {}

  /// The base columns and those of the causes found; none where one of these is no column.
  std::optional<std::vector<std::uint32_t>> support_of(const std::vector<DelayCause*>& found) const {
    auto support = bases();
    for (const DelayCause* cause : found) {
      if (cause->options.empty()) continue;  // what all paths of a length share: the bases hold it
      const auto at = std::ranges::find_if(
          causes_, [&](const DelayCause& one) { return one.column.entries == cause->column.entries; });
      if (at == causes_.end()) return std::nullopt;
      support.push_back(bases_ + static_cast<std::uint32_t>(at - causes_.begin()));
    }
    std::ranges::sort(support);
    support.erase(std::unique(support.begin(), support.end()), support.end());
    return support;
  }

  /// From the cables of all hosts, between which all round trips lie, by adding and dropping.
  DelayFit::Solution from_hosts() const {
    auto support = bases();
    for (std::uint32_t c = 0; c < causes_.size(); ++c)
      if (std::ranges::any_of(causes_[c].options, [&](const auto& option) {
            return option.size() == 1 && !fabric_.between_switches(option.front());
          }))
        support.push_back(bases_ + c);
    DelayFit::Solution solution = fit_.fit(std::move(support), nullptr);
    for (int round = 0; round < kMaxRounds; ++round) {
      const bool pruned = fit_.prune(solution);
      if (!fit_.grow(solution) && !pruned) break;
    }
    return solution;
  }

  const DelayFit& fit() const { return fit_; }
  bool is_base(std::uint32_t column) const { return column < bases_; }
  const DelayCause& cause(std::uint32_t column) const { return causes_[column - bases_]; }

 private:
  static std::vector<DelayCause> all_causes(const Fabric& fabric, const DelayRows& rows,
                                            const std::vector<std::uint32_t>& seen) {
    auto causes = delay_causes(fabric, rows, seen, seen);
    std::erase_if(causes, [](const DelayCause& cause) { return cause.options.empty(); });
    return causes;
  }

  std::vector<std::uint32_t> bases() const {
    std::vector<std::uint32_t> columns;
    for (std::uint32_t k = 0; k < bases_; ++k) columns.push_back(k);
    return columns;
  }

  DelayFit make(const DelayRows& rows) const {
    std::vector<double> times, noise;
    std::vector<DelayFit::Column> columns(bases_, {{}, DelayFit::kThere});
    for (std::uint32_t i = 0; i < rows.rows().size(); ++i) {
      times.push_back(rows.rows()[i].time);
      noise.push_back(std::hypot(rows.kind_of(i).noise, DelayRows::kOfTail * rows.kind_of(i).tail));
      columns[rows.rows()[i].kind].entries.push_back({i, 1.0});
    }
    for (const DelayCause& cause : causes_) columns.push_back(cause.column);
    return {std::move(times), std::move(noise), std::move(columns)};
  }

  const Fabric& fabric_;
  const std::uint32_t bases_;
  std::vector<DelayCause> causes_;
  DelayFit fit_;
};

}  // namespace

std::optional<OtherBases> explained_from_hosts(const Fabric& fabric, const DelayRows& rows,
                                               const std::vector<std::uint32_t>& seen,
                                               const std::vector<DelayCause*>& found) {
  const Joint joint(fabric, rows, seen);
  const auto support = joint.support_of(found);
  if (!support) return std::nullopt;
  const auto here = joint.fit().fit(*support, nullptr);
  const auto other = joint.from_hosts();
  if (other.likelihood < here.likelihood - kAsGood || other.score < here.score - kUnlikely)
    return std::nullopt;
  OtherBases answer{.bases = {}, .causes = {}, .is_likelier = other.score > here.score};
  for (const DelayKind& kind : rows.kinds()) answer.bases.push_back(kind.base);
  for (std::size_t s = 0; s < other.support.size(); ++s)
    if (joint.is_base(other.support[s]))
      answer.bases[other.support[s]] = other.shifts[s];
    else
      answer.causes.push_back(joint.cause(other.support[s]));
  return answer;
}

void add_instead(const std::vector<DelayCause>& others, const std::vector<DelayCause*>& found) {
  const auto are_same = [](const DelayCause& one, const DelayCause& other) {
    return one.column.entries == other.column.entries;
  };
  std::vector<const DelayCause*> added;
  for (const DelayCause& other : others)
    if (!other.options.empty() &&
        std::ranges::none_of(found, [&](const DelayCause* one) { return are_same(*one, other); }))
      added.push_back(&other);
  if (added.empty()) return;
  auto options = added.front()->options;
  if (added.size() > 1) {
    std::vector<ChannelId> all;
    for (const DelayCause* cause : added)
      all.insert(all.end(), cause->options.front().begin(), cause->options.front().end());
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    options = {std::move(all)};
  }
  for (DelayCause* cause : found)
    if (!cause->options.empty() &&
        std::ranges::none_of(others, [&](const DelayCause& other) { return are_same(*cause, other); }))
      cause->options.insert(cause->options.begin() + 1, options.begin(), options.end());
}

}  // namespace weft::diagnosis
