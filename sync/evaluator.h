// Loss and accuracy of a model over a whole data set, on several threads.
//
// The plans take the parameters' layouts of the training plan as given. Sums are made in the order of the batches, so
// the result does not depend on timing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "exec/segmented_replica.h"
#include "sync/class_counts.h"

namespace arbalest {

struct Evaluation {
  double loss = 0;  // mean over the examples; with one cross-entropy, over the labels that count
  int64_t examples = 0;
  int64_t positions = 0;              // labels that predictions were compared with; ignored ones left out
  std::optional<int64_t> correct;     // none where accuracy has no meaning
  std::optional<int64_t> among_best;  // labels among the k best classes; where it was asked for
  std::vector<int64_t> confusion;     // as in ClassCounts; where it was asked for
  double seconds = 0;
  double accuracy() const { return correct ? part(*correct) : 0; }
  double top_k_accuracy() const { return among_best ? part(*among_best) : 0; }

 private:
  double part(int64_t n) const { return positions ? static_cast<double>(n) / static_cast<double>(positions) : 0; }
};

// Feeds examples [first, first + count) of a data set to a replica whose batch is `count`. Called from several threads.
using LoadExamples = std::function<void(Replica& replica, int64_t first, int64_t count)>;

class ModelEvaluator {
 public:
  struct Options {
    int threads = 1;
    int64_t batch = 100;
    std::string batch_symbol;  // empty: the graph has a fixed batch
    int top_k = 0;             // counts labels among the k best classes; 0: not
    bool confusion = false;    // counts which class is taken for which
  };
  // `graph` has its loss attached. The layouts are those of the regions that run() is given. Usage error for counts of
  // classes where the accuracy is not that of a cross-entropy, or where there are too few or too many classes.
  ModelEvaluator(Graph graph, std::shared_ptr<const ParameterLayout> parameters,
                 std::shared_ptr<const ParameterLayout> states, const KernelSet& kernels, const Options& options);

  // Examples that do not fill a batch of a graph with a fixed batch are left out; there must be enough for one.
  Evaluation run(const std::byte* parameters, const std::byte* states, int64_t examples, const LoadExamples& load);

 private:
  struct BatchResult {
    double weight = 0, loss = 0;  // of the loss in the mean, and times the loss
    int64_t positions = 0, correct = 0;
  };

  void find_labels(Graph& graph);
  Bindings sizes(int64_t batch) const;
  bool counts_classes() const { return options_.top_k > 0 || options_.confusion; }
  ClassCounts new_counts() const;
  BatchResult evaluate(SegmentedReplica& replica, int64_t first, int64_t count, const LoadExamples& load,
                       ClassCounts& counts) const;
  void count_classes(Replica& replica, const std::vector<int64_t>& labels, ClassCounts& counts) const;

  Options options_;
  std::string label_;  // the input that accuracy is about; empty: none
  std::optional<int64_t> ignored_label_;
  bool weighs_by_labels_ = false;  // the loss is a mean over the labels that count, of these alone
  int class_axis_ = 0;             // of the scores, the last output, where classes are counted
  int64_t classes_ = 0;
  std::shared_ptr<PlanFamily> plans_;
};

}  // namespace arbalest
