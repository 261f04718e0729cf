#include "collectors/web/gzip.hpp"

#include <libdeflate.h>

#include <memory>

#include "topology/base/check.hpp"

namespace weft::web {
namespace {

constexpr int kLevel = 6;  // of 1 to 12: 600 KB of a layout take about 10 ms

}  // namespace

std::string gzip(std::string_view text) {
  const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor(
      libdeflate_alloc_compressor(kLevel), &libdeflate_free_compressor);
  WEFT_CHECK(compressor != nullptr);
  std::string packed(libdeflate_gzip_compress_bound(compressor.get(), text.size()), '\0');
  packed.resize(
      libdeflate_gzip_compress(compressor.get(), text.data(), text.size(), packed.data(), packed.size()));
  return packed;
}

}  // namespace weft::web
