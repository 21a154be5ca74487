#include "tools/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace arbalest::tools {
namespace {

// Pixels. A panel's drawing area leaves room for the title and legend, the numbers beside and below it, and the last
// values at the ends of the lines.
constexpr double kPanelWidth = 470, kHeight = 350, kLeft = 58, kRight = 66, kTop = 78, kBottom = 46;
constexpr double kPlotWidth = kPanelWidth - kLeft - kRight, kPlotHeight = kHeight - kTop - kBottom;
constexpr double kLetter = 6.4, kLine = 14;  // about the width of a letter, and the height of a line

struct Series {
  std::string name;
  const char* colour;
  std::vector<double> values;  // one for each record
};

struct Panel {
  std::string title;
  const char* unit;  // behind each number
  int digits;        // of the last values
  double limit;      // no value is greater
  std::vector<Series> series;
};

// Ticks at round numbers, about `count` of them, from at most `low` to at least `high`.
struct Axis {
  double low, high, step;
  int digits;  // behind the point that its numbers need

  // No tick lies above `limit`, itself a round number.
  Axis(double from, double to, double count, double limit) {
    if (!(to > from)) from -= 0.5 * std::max(std::abs(from), 1e-3), to += 0.5 * std::max(std::abs(to), 1e-3);
    to = std::min(to, limit);
    const double rough = (to - from) / count, power = std::pow(10, std::floor(std::log10(rough)));
    step = rough <= power ? power : rough <= 2 * power ? 2 * power : rough <= 5 * power ? 5 * power : 10 * power;
    low = step * std::floor(from / step + 1e-9);
    high = step * std::ceil(to / step - 1e-9);
    digits = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  }
  double part(double value) const { return (value - low) / (high - low); }
  int ticks() const { return static_cast<int>(std::llround((high - low) / step)); }
};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

std::string text_at(double x, double y, const char* anchor, const std::string& style, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" {}>{}</text>\n", x, y, anchor, style,
                     escaped(text));
}

std::string line_at(double x1, double y1, double x2, double y2, const char* colour, double width) {
  return fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"{}\" stroke-width=\"{}\"/>\n", x1, y1, x2, y2,
                     colour, width);
}

class PanelDrawing {
 public:
  PanelDrawing(const Panel& panel, const std::vector<double>& epochs, double left)
      : panel_(panel),
        epochs_(epochs),
        left_(left + kLeft),
        x_(0, epochs.back(), epochs.back() < 2 ? 4 : std::min(8.0, epochs.back()), INFINITY),
        y_(extreme(std::less<>()), extreme(std::greater<>()), 5, panel.limit) {}

  std::string svg() const {
    std::string out = axes() + legend();
    for (const Series& s : panel_.series) out += curve(s);
    return out + last_values();
  }

 private:
  // The least or greatest finite value; of none 0.
  double extreme(const std::function<bool(double, double)>& before) const {
    double found = NAN;
    for (const Series& s : panel_.series)
      for (const double v : s.values)
        if (std::isfinite(v) && (std::isnan(found) || before(v, found))) found = v;
    return std::isnan(found) ? 0 : found;
  }

  double x(double epoch) const { return left_ + kPlotWidth * epoch / x_.high; }
  double y(double value) const { return kTop + kPlotHeight * (1 - y_.part(value)); }

  std::string axes() const {
    std::string out = text_at(left_, kTop - 30, "start", "class=\"title\"", panel_.title);
    for (int i = 0; i <= y_.ticks(); ++i) {
      const double value = y_.low + i * y_.step;
      out += line_at(left_, y(value), left_ + kPlotWidth, y(value), "#e3e6ea", 1);
      out += text_at(left_ - 8, y(value) + 4, "end", "", fmt::format("{:.{}f}{}", value, y_.digits, panel_.unit));
    }
    for (int i = 0; i <= x_.ticks(); ++i)
      out += text_at(x(i * x_.step), kTop + kPlotHeight + 19, "middle", "",
                     fmt::format("{:.{}f}", i * x_.step, x_.digits));
    out += line_at(left_, kTop + kPlotHeight, left_ + kPlotWidth, kTop + kPlotHeight, "#8a929c", 1);
    return out + text_at(left_ + kPlotWidth / 2, kTop + kPlotHeight + 38, "middle", "", "epoch");
  }

  std::string legend() const {
    std::string out;
    double at = left_;
    for (const Series& s : panel_.series) {
      out += line_at(at, kTop - 14, at + 16, kTop - 14, s.colour, 3);
      out += text_at(at + 21, kTop - 10, "start", "", s.name);
      at += 21 + kLetter * static_cast<double>(s.name.size()) + 16;
    }
    return out;
  }

  std::string curve(const Series& s) const {
    std::string path, dots;
    bool drawing = false;
    for (size_t i = 0; i < s.values.size(); ++i) {
      const bool finite = std::isfinite(s.values[i]);
      if (finite) {
        path += fmt::format("{}{:.1f} {:.1f}", drawing ? "L" : "M", x(epochs_[i]), y(s.values[i]));
        if (s.values.size() <= 60)
          dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\"/>\n", x(epochs_[i]),
                              y(s.values[i]), s.colour);
      }
      drawing = finite;
    }
    if (path.empty()) return "";
    return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-linejoin=\"round\"/>\n",
                       path, s.colour) +
           dots;
  }

  // At the ends of the lines, moved apart where they would lie on each other or on the numbers below.
  std::string last_values() const {
    std::vector<std::pair<double, const Series*>> labels;
    for (const Series& s : panel_.series)
      if (std::isfinite(s.values.back())) labels.emplace_back(y(s.values.back()), &s);
    std::sort(labels.begin(), labels.end());
    for (size_t i = 1; i < labels.size(); ++i) labels[i].first = std::max(labels[i].first, labels[i - 1].first + kLine);
    double lowest = kTop + kPlotHeight;
    for (size_t i = labels.size(); i-- > 0; lowest = labels[i].first - kLine)
      labels[i].first = std::min(labels[i].first, lowest);
    std::string out;
    for (const auto& [at, s] : labels)
      out += text_at(x(epochs_.back()) + 7, at + 4, "start", fmt::format("fill=\"{}\" font-weight=\"600\"", s->colour),
                     fmt::format("{:.{}f}{}", s->values.back(), panel_.digits, panel_.unit));
    return out;
  }

  const Panel& panel_;
  const std::vector<double>& epochs_;
  double left_;
  Axis x_, y_;
};

std::vector<Panel> panels_of(const std::vector<EpochRecord>& records, int top_k) {
  Series training{"training", "#2f6db5", {}}, test{"test", "#e07b1a", {}};
  Series accuracy{"test", "#e07b1a", {}}, best{fmt::format("test, top {}", top_k), "#7a5ea8", {}};
  bool judged = false, ranked = false;
  for (const EpochRecord& r : records) {
    training.values.push_back(r.loss);
    test.values.push_back(r.evaluation_loss.value_or(NAN));
    accuracy.values.push_back(r.accuracy ? *r.accuracy * 100 : NAN);
    best.values.push_back(r.top_k_accuracy ? *r.top_k_accuracy * 100 : NAN);
    judged |= r.accuracy.has_value();
    ranked |= r.top_k_accuracy.has_value();
  }
  std::vector<Panel> panels{{"Loss", "", 4, INFINITY, {training, test}}};
  if (judged) panels.push_back({"Accuracy", " %", 2, 100, {accuracy}});
  if (judged && ranked) panels.back().series.push_back(best);
  return panels;
}

}  // namespace

std::string curves_svg(const std::string& title, const std::vector<EpochRecord>& records, int top_k) {
  const std::vector<Panel> panels = panels_of(records, top_k);
  const double width = kPanelWidth * static_cast<double>(panels.size());
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
      "<style>text{{font:12px system-ui,'DejaVu Sans',sans-serif}}.title{{font-size:14px;font-weight:600}}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<g fill=\"#3c434b\">\n",
      width, kHeight);
  out += text_at(kLeft, 24, "start", "class=\"title\"", title);
  std::vector<double> epochs;
  for (const EpochRecord& r : records) epochs.push_back(r.epoch);
  for (size_t i = 0; i < panels.size() && !epochs.empty(); ++i)
    out += PanelDrawing(panels[i], epochs, kPanelWidth * static_cast<double>(i)).svg();
  return out + "</g>\n</svg>\n";
}

}  // namespace arbalest::tools
