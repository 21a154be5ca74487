// Runs the training that a model's own training_info describes.
#pragma once

#include <memory>

#include "onnx_import/training_info.h"
#include "tools/comparison.h"
#include "tools/repeated_batch.h"

namespace arbalest::tools {

class AlgorithmRun {
 public:
  // `feeds`: values of the inputs of the model and of the algorithms. Model error where the model describes no
  // training.
  AlgorithmRun(const ModelPtr& model, Tensors feeds, int threads);

  void initialize();                                            // by the file's own rules
  void set_feeds(Tensors feeds) { feeds_ = std::move(feeds); }  // of the same shapes
  // One iteration; gives the first output of each algorithm that is no new value of a tensor: its loss. None: NaN.
  std::vector<double> step();
  const Tensors& tensors() const { return tensors_; }  // what the iterations assign to

 private:
  struct Part {
    BoundGraph bound;
    std::unique_ptr<ForwardRun> run;
  };
  Part prepare(BoundGraph bound) const;
  Tensors run(Part& part);
  void assign(const Part& part, const Tensors& outputs);

  Tensors feeds_, tensors_;
  int threads_;
  std::vector<Part> algorithms_, initializations_;
};

}  // namespace arbalest::tools
