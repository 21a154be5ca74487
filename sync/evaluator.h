// Loss and accuracy of a model over a whole data set, on several threads.
//
// The plans take the parameters' layouts of the training plan as given. Sums are made in the order of the batches, so
// the result does not depend on timing.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "exec/compile.h"
#include "exec/replica.h"

namespace arbalest {

struct Evaluation {
  double loss = 0;  // mean over the examples
  int64_t examples = 0;
  int64_t positions = 0;           // labels that predictions were compared with
  std::optional<int64_t> correct;  // none where accuracy has no meaning
  double seconds = 0;
  double accuracy() const { return positions ? static_cast<double>(*correct) / static_cast<double>(positions) : 0; }
};

// Feeds examples [first, first + count) of a data set to a replica whose batch is `count`. Called from several threads.
using LoadExamples = std::function<void(Replica& replica, int64_t first, int64_t count)>;

class ModelEvaluator {
 public:
  struct Options {
    int threads = 1;
    int64_t batch = 100;
    std::string batch_symbol;  // empty: the graph has a fixed batch
  };
  // `graph` has its loss attached. The layouts are those of the regions that run() is given.
  ModelEvaluator(Graph graph, std::shared_ptr<const ParameterLayout> parameters,
                 std::shared_ptr<const ParameterLayout> states, const KernelSet& kernels, const Options& options);

  // Examples that do not fill a batch of a graph with a fixed batch are left out.
  Evaluation run(const std::byte* parameters, const std::byte* states, int64_t examples, const LoadExamples& load);

 private:
  std::shared_ptr<const Plan> plan(int64_t batch);

  Graph graph_;
  std::shared_ptr<const ParameterLayout> parameters_, states_;
  const KernelSet& kernels_;
  Options options_;
  std::map<int64_t, std::shared_ptr<const Plan>> plans_;  // by batch
};

}  // namespace arbalest
