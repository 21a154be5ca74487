// Reference models with data made up on the spot, for tests of training.
#pragma once

#include <map>
#include <string>

#include "graph/loss.h"
#include "models/models.h"
#include "onnx_import/importer.h"
#include "sync/trainer.h"

namespace arbalest {

struct SmallModel {
  ModelPtr file;
  Graph training;
  Bindings batch(int64_t size) const { return {{"N", size}}; }
};

inline SmallModel small_model(const std::string& name, Dims input, int64_t classes, uint64_t seed = 1) {
  ModelOptions options;
  options.input = std::move(input);
  options.classes = classes;
  options.seed = seed;
  SmallModel model{load_model_bytes(build_model(name, options), name + ".onnx"), {}};
  model.training = import_model(*model.file, {}).graph;
  attach_loss(model.training, {});
  return model;
}

// A number in [0, 1) that follows from its arguments (SplitMix64).
inline double random_number(uint64_t a, uint64_t b) {
  uint64_t z = a * 0x9E3779B97F4A7C15u + b * 0xD1B54A32D192ED03u + 0x632BE59BD9B4E019u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

// Examples by their position in an endless stream; nothing is allocated.
inline void load_examples(Replica& replica, uint64_t first, int64_t batch, int64_t classes) {
  for (const PlanTensor& tensor : replica.plan().feeds()) {
    const int64_t size = static_cast<int64_t>(tensor.bytes / size_of(tensor.type.dtype)) / batch;
    for (int64_t i = 0; i < batch; ++i) {
      const uint64_t example = first + static_cast<uint64_t>(i);
      if (tensor.label) {
        reinterpret_cast<int64_t*>(replica.address(tensor))[i] =
            static_cast<int64_t>(random_number(example, 1u << 30) * static_cast<double>(classes));
        continue;
      }
      float* x = reinterpret_cast<float*>(replica.address(tensor)) + i * size;
      for (int64_t e = 0; e < size; ++e)
        x[e] = static_cast<float>(random_number(example, static_cast<uint64_t>(e)) * 2 - 1);
    }
  }
}

// Learner j's batch of iteration t is the stream's positions [(t k + j) b, ...).
inline Trainer::LoadBatch stream_loader(int learners, int64_t batch, int64_t classes) {
  return [=, next = std::make_shared<std::vector<uint64_t>>(learners, 0)](int learner, Replica& replica) {
    const uint64_t iteration = (*next)[learner]++;
    load_examples(replica, (iteration * learners + learner) * static_cast<uint64_t>(batch), batch, classes);
  };
}

}  // namespace arbalest
