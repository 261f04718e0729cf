#include "topology/host/netlink_attributes.hpp"

#include <linux/netlink.h>

#include <algorithm>

namespace weft::host {

void for_each_attribute(ByteSpan bytes, const std::function<void(int, ByteSpan)>& visit) {
  while (const auto header = value_at<nlattr>(bytes, 0)) {
    if (header->nla_len < NLA_HDRLEN || header->nla_len > bytes.size()) return;
    visit(header->nla_type & NLA_TYPE_MASK, bytes.subspan(NLA_HDRLEN, header->nla_len - NLA_HDRLEN));
    bytes = bytes.subspan(std::min<std::size_t>(NLA_ALIGN(header->nla_len), bytes.size()));
  }
}

}  // namespace weft::host
