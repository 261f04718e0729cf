// A line plot as an SVG text: panels side by side, each with the same lines over the same x.
#pragma once

#include <string>
#include <vector>

namespace weft::bench {

struct Line {
  std::string name;
  std::vector<double> y;  // one for every x; what is below the panel's range is drawn on its edge
};

struct Panel {
  std::string title;
  std::vector<Line> lines;
  double lowest = 0;  // y runs from here to 1
};

struct Plot {
  std::string title;
  std::string x_title;
  std::vector<double> x;             // ascending, above zero: the axis is logarithmic
  std::vector<std::string> x_names;  // one for every x
  std::vector<Panel> panels;         // the lines of all have the same names
};

std::string svg(const Plot& plot);

}  // namespace weft::bench
