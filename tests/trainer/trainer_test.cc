#include "sync/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "onnx_import/model_builder.h"
#include "tests/trainer/small_models.h"

namespace arbalest {
namespace {

using Weights = std::map<std::string, HostTensor>;

TrainerOptions options_for(int learners, SyncKind sync) {
  TrainerOptions o;
  o.learners = learners;
  o.sync = sync;
  o.learning_rate = 0.05;
  o.optimiser.momentum = 0.9;
  o.optimiser.weight_decay = 1e-3;
  return o;
}

Weights train(const SmallModel& model, const TrainerOptions& options, int64_t batch, int64_t iterations,
              int64_t classes) {
  const int k = options.learners * options.devices;
  Trainer trainer(model.training, model.batch(batch), cpu::kernel_set(), options, stream_loader(k, batch, classes));
  trainer.run(iterations);
  return trainer.trained();
}

double greatest_difference(const Weights& a, const Weights& b) {
  double difference = 0;
  for (const auto& [name, value] : a) {
    const auto x = value.as<float>(), y = b.at(name).as<float>();
    for (size_t i = 0; i < x.size(); ++i) difference = std::max(difference, std::abs(double{x[i]} - double{y[i]}));
  }
  return difference;
}

TEST(Trainer, TwoLearnersWithSsgdEqualOneWithTwiceTheBatch) {
  for (const char* name : {"mlp", "lenet"}) {
    const SmallModel model = small_model(name, {1, 28, 28}, 10);
    const Weights two = train(model, options_for(2, SyncKind::ssgd), 4, 10, 10);
    const Weights one = train(model, options_for(1, SyncKind::none), 8, 10, 10);
    EXPECT_LT(greatest_difference(two, one), 2e-6) << name;
    EXPECT_GT(greatest_difference(one, train(model, options_for(1, SyncKind::none), 8, 1, 10)), 1e-3)
        << "nothing trained";
  }
}

TEST(Trainer, TwoDevicesEqualOneDevice) {
  const SmallModel model = small_model("mlp", {1, 8, 8}, 5);
  for (const SyncKind sync : {SyncKind::ssgd, SyncKind::sma}) {
    TrainerOptions one = options_for(4, sync), two = options_for(2, sync);
    two.devices = 2;
    EXPECT_LT(greatest_difference(train(model, one, 4, 10, 5), train(model, two, 4, 10, 5)), 1e-6);
  }
}

TEST(Trainer, SameSeedSameBitsWhateverTheTiming) {
  const SmallModel model = small_model("resnet8", {3, 8, 8}, 4);
  for (const SyncKind sync : {SyncKind::none, SyncKind::ssgd, SyncKind::sma}) {
    const TrainerOptions options = options_for(3, sync);
    const Weights calm = train(model, options, 2, 12, 4);
    const auto loader = stream_loader(3, 2, 4);
    Trainer disturbed(model.training, model.batch(2), cpu::kernel_set(), options, [&](int learner, Replica& replica) {
      std::this_thread::sleep_for(std::chrono::microseconds(learner * 700 % 1100));
      loader(learner, replica);
    });
    disturbed.run(5);
    disturbed.run(7);
    EXPECT_EQ(disturbed.trained(), calm);
  }
}

TEST(Trainer, LossFalls) {
  const SmallModel model = small_model("resnet8", {1, 12, 12}, 3);
  for (const SyncKind sync : {SyncKind::none, SyncKind::ssgd, SyncKind::sma}) {
    TrainerOptions options = options_for(2, sync);
    options.learning_rate = 0.02;
    Trainer trainer(model.training, model.batch(8), cpu::kernel_set(), options,
                    [](int learner, Replica& replica) { load_examples(replica, 100 * learner, 8, 3); });
    trainer.run(1);
    const double first = trainer.take_loss();
    trainer.run(30);
    trainer.take_loss();
    trainer.run(1);
    EXPECT_LT(trainer.take_loss(), 0.5 * first);
  }
}

TEST(Trainer, LossThatIsNotFiniteNamesTheIterationAndKeepsTheModel) {
  const SmallModel model = small_model("mlp", {1, 6, 6}, 3);
  const auto loader = stream_loader(2, 4, 3);
  int batches = 0;
  Trainer trainer(model.training, model.batch(4), cpu::kernel_set(), options_for(2, SyncKind::sma),
                  [&](int learner, Replica& replica) {
                    loader(learner, replica);
                    if (learner == 1 && ++batches == 8)
                      reinterpret_cast<float*>(replica.address(replica.plan().feeds()[0]))[3] =
                          std::numeric_limits<float>::quiet_NaN();
                  });
  trainer.run(5);
  trainer.keep();
  const Weights kept = trainer.trained();
  try {
    trainer.run(5);
    FAIL() << "expected an error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("the loss of iteration 8 is nan"));
  }
  trainer.restore_kept();
  EXPECT_EQ(trainer.trained(), kept);
}

// oneDNN's reference code is hundreds of times slower than the rest: none of it may run in these models.
TEST(Trainer, NoStepRunsReferenceCode) {
  for (const char* name : {"mlp", "lenet", "resnet8", "resnet32"}) {
    const bool gray = std::string(name) == "mlp" || std::string(name) == "lenet";
    const SmallModel model = small_model(name, gray ? Dims{1, 28, 28} : Dims{3, 32, 32}, 10);
    for (const int64_t batch : {2, 16}) {
      const auto plan = compile(model.training, model.batch(batch), cpu::kernel_set(), {});
      for (const PlanStep& step : plan->steps())
        EXPECT_THAT(step.kernel.implementation, testing::Not(testing::HasSubstr("ref"))) << name << " " << step.origin;
    }
  }
}

TEST(Trainer, RefusesAModelWithNothingToTrain) {
  ModelBuilder builder;
  builder.graph.input("x", TensorType{DataType::f32, {Dim::symbol("N"), 3}})
      .node("Softmax", {"x"}, {"y"})
      .output("y", TensorType{DataType::f32, {Dim::symbol("N"), 3}});
  const ModelPtr file = load_model_bytes(builder.bytes(), "empty.onnx");
  Graph graph = import_model(*file, {}).graph;
  attach_loss(graph, {});
  try {
    Trainer trainer(graph, {{"N", 2}}, cpu::kernel_set(), {}, [](int, Replica&) {});
    FAIL() << "expected an error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("no trainable parameters"));
  }
}

}  // namespace
}  // namespace arbalest
