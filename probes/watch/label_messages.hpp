// What an operator and standing agents say to each other of the labels of jobs. A request is bytes: a fixed
// header, then a label list as balancer/steer writes it, which is passed on as it is. Its answer is JSON on
// one line. Readers trust nothing. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/bytes.hpp"

namespace weft::watch {

/// Of requests and answers; an agent refuses a request of any other, and says which it speaks.
inline constexpr std::uint32_t kLabelProtocol = 1;
/// Half of what NATS takes at once; a list is shorter (steer::kMaxLabelBytes).
inline constexpr std::size_t kMaxLabelRequest = 1 << 19;

struct LabelRequest {
  std::uint64_t id = 0;              // drawn; the answer has it again
  std::vector<std::byte> list = {};  // empty: whether the agent takes labels, and what it has, is asked
  friend bool operator==(const LabelRequest&, const LabelRequest&) = default;
};

struct LabelAnswer {
  std::uint64_t id = 0;
  std::uint64_t generation = 0;  // of the newest list that is there or in force, this one included
  std::string refused = {};      // why; empty: the list is taken, or would be
  std::uint32_t protocol = kLabelProtocol;
  friend bool operator==(const LabelAnswer&, const LabelAnswer&) = default;
};

/// Error: invalid_input (longer than kMaxLabelRequest).
Result<std::vector<std::byte>> encode_request(const LabelRequest& request);
/// Of a request of any protocol; absent: it is none, and nobody waits for an answer.
std::optional<std::uint64_t> peek_request_id(ByteSpan bytes);
/// Error: invalid_input (no request, of another protocol, or longer than kMaxLabelRequest).
Result<LabelRequest> decode_request(ByteSpan bytes);

/// `refused` is cut to what a line holds.
std::string answer_text(const LabelAnswer& answer);
/// Text is as outside_text gives it. Error: invalid_input.
Result<LabelAnswer> read_answer(std::string_view text);

}  // namespace weft::watch
