#include "tools/class_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "tools/table.h"

namespace arbalest::tools {
namespace {

constexpr int64_t kMostColumns = 16;
constexpr size_t kMostPairs = 20;

int64_t class_count(const std::vector<int64_t>& confusion) {
  return std::llround(std::sqrt(static_cast<double>(confusion.size())));
}

struct Matrix {
  const std::vector<int64_t>& counts;
  int64_t classes;

  int64_t at(int64_t label, int64_t predicted) const {
    return counts[static_cast<size_t>(label * classes + predicted)];
  }
  int64_t labels(int64_t c) const {
    const auto row = counts.begin() + c * classes;
    return std::accumulate(row, row + classes, int64_t{0});
  }
  int64_t predictions(int64_t c) const {
    int64_t sum = 0;
    for (int64_t label = 0; label < classes; ++label) sum += at(label, c);
    return sum;
  }
};

std::string percent(int64_t part, int64_t whole) {
  return whole ? fmt::format("{:.1f}", 100 * static_cast<double>(part) / static_cast<double>(whole)) : "";
}

std::string whole_matrix(const Matrix& m) {
  std::vector<std::string> header{"label \\ predicted"}, precision{"precision %"};
  for (int64_t c = 0; c < m.classes; ++c) {
    header.push_back(fmt::format(">{}", c));
    precision.push_back(percent(m.at(c, c), m.predictions(c)));
  }
  header.emplace_back(">recall %");
  Table table(header);
  for (int64_t label = 0; label < m.classes; ++label) {
    std::vector<std::string> row{std::to_string(label)};
    for (int64_t c = 0; c < m.classes; ++c) row.push_back(with_thousands(m.at(label, c)));
    row.push_back(percent(m.at(label, label), m.labels(label)));
    table.add(std::move(row));
  }
  table.add(std::move(precision));
  return table.text();
}

std::string worst_pairs(const Matrix& m) {
  std::vector<std::tuple<int64_t, int64_t, int64_t>> pairs;  // negative count, label, prediction: sorts by all three
  for (int64_t label = 0; label < m.classes; ++label)
    for (int64_t c = 0; c < m.classes; ++c)
      if (c != label && m.at(label, c) > 0) pairs.emplace_back(-m.at(label, c), label, c);
  const size_t shown = std::min(kMostPairs, pairs.size());
  std::partial_sort(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(shown), pairs.end());
  Table table({">label", ">taken for", ">times", ">% of the label"});
  for (size_t i = 0; i < shown; ++i) {
    const auto& [count, label, predicted] = pairs[i];
    table.add(
        {std::to_string(label), std::to_string(predicted), with_thousands(-count), percent(-count, m.labels(label))});
  }
  return table.text();
}

}  // namespace

void add_class_options(CLI::App& command, ClassArguments& arguments) {
  command
      .add_option("--top-k", arguments.top_k,
                  "also the part of labels among the K classes with the highest scores (needs cross-entropy)")
      ->check(CLI::Range(1, 1 << 30))
      ->option_text("K");
  command.add_flag("--confusion", arguments.confusion,
                   "also count which class is taken for which (needs cross-entropy)");
}

void set_class_options(ModelEvaluator::Options& options, const ClassArguments& arguments) {
  options.top_k = arguments.top_k;
  options.confusion = arguments.confusion;
}

void add_class_counts(nlohmann::json& event, const Evaluation& e, int top_k) {
  if (e.among_best) {
    event["top_k"] = top_k;
    event["top_k_accuracy"] = e.top_k_accuracy();
  }
  if (e.confusion.empty()) return;
  const int64_t classes = class_count(e.confusion);
  nlohmann::json rows = nlohmann::json::array();
  for (auto row = e.confusion.begin(); row != e.confusion.end(); row += classes)
    rows.push_back(std::vector<int64_t>(row, row + classes));
  event["confusion"] = std::move(rows);
}

std::string confusion_text(const std::vector<int64_t>& confusion) {
  if (confusion.empty()) return "";
  const Matrix m{confusion, class_count(confusion)};
  return m.classes <= kMostColumns ? whole_matrix(m) : worst_pairs(m);
}

}  // namespace arbalest::tools
