// Whatever a job's process tells of its queue pairs, and whatever list of labels it is given: read as far as
// the format allows, or refused; what is read is written as it was.
#include <cstdint>
#include <cstdlib>

#include "balancer/steer/process_qps.hpp"

namespace {

using namespace weft;

/// As a forger would, who knows the checksum: so that the fuzzer comes past it.
std::vector<std::byte> with_checksum(ByteSpan bytes, std::size_t at, std::size_t from, std::size_t size) {
  std::vector<std::byte> mended(bytes.begin(), bytes.end());
  if (size <= mended.size() && size >= from)
    store_be64(mended, at,
               steer::checksum(ByteSpan(mended).subspan(from, size - from),
                               steer::checksum(ByteSpan(mended).first(at))));
  return mended;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (size >= steer::kLabelHeader) {
    const std::size_t whole =
        steer::kLabelHeader + std::size_t{load_be32(bytes, 12)} * 48 + std::size_t{load_be32(bytes, 24)} * 4;
    const auto read = steer::decode_labels(with_checksum(bytes, 32, 40, whole));
    if (read) {
      const auto again = steer::encode_labels(*read);
      if (!again || steer::decode_labels(*again).value() != *read) std::abort();
    }
  }
  if (size >= steer::kQpsHeader) {
    const std::size_t whole = steer::kQpsHeader + std::size_t{load_be32(bytes, 12)} * steer::kQpRecordSize;
    const auto read = steer::decode_qps(with_checksum(bytes, 48, 56, whole));
    if (read && steer::decode_qps(steer::encode_qps(*read)).value().qps.size() != read->qps.size())
      std::abort();
  }
  return 0;
}
