#include "sync/model_average.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/trainer/small_models.h"

namespace arbalest {
namespace {

Trainer sma_trainer(const SmallModel& model) {
  TrainerOptions options;
  options.learners = 2;
  options.sync = SyncKind::sma;
  options.learning_rate = 0.05;
  options.optimiser.momentum = 0.9;
  return {model.training, model.batch(2), cpu::kernel_set(), options, stream_loader(2, 2, 4)};
}

struct Averaged {
  std::map<std::string, HostTensor> tensors;
  std::map<std::string, std::vector<double>> expected;
};

// Averages the models after each of so many iterations; the reference in float64.
Averaged averaged(std::optional<double> decay, int count) {
  const SmallModel model = small_model("resnet8", {3, 8, 8}, 4);
  Trainer trainer = sma_trainer(model);
  ModelAverage average(trainer.plan(), decay);
  Averaged result;
  for (int n = 0; n < count; ++n) {
    trainer.run(1);
    average.add(trainer.evaluated());
    for (const auto& [name, tensor] : trainer.trained()) {
      std::vector<double>& a = result.expected[name];
      const auto w = tensor.as<float>();
      a.resize(w.size());
      for (size_t i = 0; i < w.size(); ++i)
        a[i] = n == 0 ? w[i] : decay ? *decay * a[i] + (1 - *decay) * w[i] : (a[i] * n + w[i]) / (n + 1);
    }
  }
  EXPECT_EQ(average.count(), count);
  result.tensors = trainer.tensors(average.view());
  return result;
}

TEST(ModelAverage, EqualsTheFormulasInFloat64) {
  for (const std::optional<double> decay :
       {std::optional<double>(), std::optional<double>(0.0), std::optional<double>(0.7), std::optional<double>(0.99)}) {
    const Averaged a = averaged(decay, 9);
    ASSERT_EQ(a.tensors.size(), a.expected.size());
    for (const auto& [name, tensor] : a.tensors) {
      const auto values = tensor.as<float>();
      for (size_t i = 0; i < values.size(); ++i)
        ASSERT_NEAR(values[i], a.expected.at(name)[i], 1e-6 * std::max(1.0, std::abs(a.expected.at(name)[i]))) << name;
    }
  }
}

TEST(ModelAverage, OfEqualModelsIsThatModel) {
  const SmallModel model = small_model("mlp", {1, 6, 6}, 3);
  Trainer trainer = sma_trainer(model);
  for (const std::optional<double> decay : {std::optional<double>(), std::optional<double>(0.9999)}) {
    ModelAverage average(trainer.plan(), decay);
    for (int n = 0; n < 50; ++n) average.add(trainer.evaluated());
    EXPECT_EQ(trainer.tensors(average.view()), trainer.trained());
  }
}

TEST(ModelAverage, CopiesOfItsArraysContinueIt) {
  const SmallModel model = small_model("resnet8", {3, 8, 8}, 4);
  Trainer trainer = sma_trainer(model);
  ModelAverage whole(trainer.plan(), std::nullopt), second(trainer.plan(), std::nullopt);
  for (int n = 0; n < 6; ++n) {
    trainer.run(1);
    whole.add(trainer.evaluated());
    if (n >= 3) second.add(trainer.evaluated());
    if (n != 2) continue;
    const std::vector<NamedBytes> from = whole.arrays(), to = second.arrays();
    for (size_t i = 0; i < from.size(); ++i)
      if (!from[i].bytes.empty()) std::memcpy(to[i].bytes.data(), from[i].bytes.data(), from[i].bytes.size());
  }
  EXPECT_EQ(trainer.tensors(second.view()), trainer.tensors(whole.view()));
}

}  // namespace
}  // namespace arbalest
