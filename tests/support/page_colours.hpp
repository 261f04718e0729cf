// The colours of the live page's canvas: of the signs that it draws on links.
#pragma once

#include <fmt/format.h>

#include <array>
#include <string>

#include "tests/support/browser.hpp"

namespace weft {

/// As style.css has them, light.
constexpr std::array kFailedColour{0xc8, 0x10, 0x2e};
constexpr std::array kDegradedColour{0xe0, 0x7b, 0x00};

/// Red, green and blue of the sign of a link; `dx`, `dy` from its middle in device pixels. A pixel is copied
/// first: the browser warns of a canvas that is read often.
inline std::array<int, 3> link_colour(Browser& browser, const std::string& link, int dx, int dy) {
  constexpr const char* kScript = R"(
  const w = globalThis.weftPage, view = document.getElementById('view'), l = w.model.findLink('{}');
  const [x, y] = w.scene.places.get(l), s = devicePixelRatio, pixel = document.createElement('canvas');
  pixel.width = pixel.height = 1;
  const ctx = pixel.getContext('2d', {{willReadFrequently: true}});
  ctx.drawImage(view, -Math.round(x * s + {}), -Math.round(y * s + {}));
  const p = ctx.getImageData(0, 0, 1, 1).data;
  return [p[0], p[1], p[2]];)";
  return browser.script(fmt::format(kScript, link, dx, dy)).get<std::array<int, 3>>();
}

}  // namespace weft
