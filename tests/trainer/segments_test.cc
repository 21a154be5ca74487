// Training where the data of each batch tell a size.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx_import/model_builder.h"
#include "tests/trainer/small_models.h"

namespace arbalest {
namespace {

HostTensor weights(Dims dims, uint64_t seed) {
  HostTensor t(DataType::f32, std::move(dims));
  for (size_t i = 0; i < t.as<float>().size(); ++i) t.as<float>()[i] = static_cast<float>(random_number(seed, i) - 0.5);
  return t;
}

// The rows of a hidden layer that are large, through a second layer: how many there are depends on data and weights.
SmallModel large_rows() {
  ModelBuilder m(17);
  const Dim n = Dim::symbol("N");
  m.graph.input("x", TensorType{DataType::f32, {n, 6}})
      .initializer("w1", weights({6, 8}, 1))
      .initializer("w2", weights({8, 3}, 2))
      .node("Constant", {}, {"least"}, {{"value", HostTensor::f32({}, std::vector<float>{0.3f})}})
      .node("Constant", {}, {"axis"}, {{"value", HostTensor::i64({1}, std::vector<int64_t>{0})}})
      .node("MatMul", {"x", "w1"}, {"h0"})
      .node("Relu", {"h0"}, {"h"})
      .node("ReduceMean", {"h"}, {"mean"}, {{"axes", Ints{1}}, {"keepdims", 0}})
      .node("Greater", {"mean", "least"}, {"is_large"})
      .node("NonZero", {"is_large"}, {"places"})
      .node("Squeeze", {"places", "axis"}, {"rows"})
      .node("Gather", {"h", "rows"}, {"large"})
      .node("MatMul", {"large", "w2"}, {"y"})
      .node("Mul", {"y", "y"}, {"square"})
      .node("ReduceSum", {"square"}, {"loss"}, {{"keepdims", 0}})
      .output("loss", TensorType{DataType::f32, {}});
  SmallModel model{load_model_bytes(m.bytes(), "large_rows.onnx"), {}};
  model.training = import_model(*model.file, {}).graph;
  LossOptions loss;
  loss.kind = LossKind::output_mean;
  attach_losses(model.training, {loss});
  return model;
}

std::map<std::string, HostTensor> trained(const SmallModel& model, const TrainerOptions& options, int64_t batch,
                                          int64_t iterations) {
  Trainer trainer(model.training, model.batch(batch), cpu::kernel_set(), options,
                  stream_loader(options.learners, batch, 2));
  trainer.run(iterations);
  return trainer.trained();
}

TEST(SegmentTraining, LossFallsAndPlansAreReused) {
  const SmallModel model = large_rows();
  TrainerOptions options;
  options.learning_rate = 0.02;
  constexpr int64_t kBatch = 16;
  Trainer trainer(model.training, model.batch(kBatch), cpu::kernel_set(), options, stream_loader(1, kBatch, 2));
  trainer.run(10);
  const double first = trainer.take_loss();
  trainer.run(60);
  trainer.take_loss();
  trainer.run(10);
  EXPECT_LT(trainer.take_loss(), 0.7 * first);
  EXPECT_LE(trainer.plans_made(), 1 + kBatch + 1);  // the first segment, and one for each count
}

// The sum over two batches of b is the sum over one of 2 b; the mean of two learners' gradients is half of it.
TEST(SegmentTraining, TwoLearnersEqualOneWithTwiceTheBatch) {
  const SmallModel model = large_rows();
  TrainerOptions one, two;
  two.learners = 2;
  two.sync = SyncKind::ssgd;
  two.learning_rate = 0.02;
  one.learning_rate = 0.01;
  const auto a = trained(model, one, 16, 8), b = trained(model, two, 8, 8);
  for (const auto& [name, value] : a) {
    for (size_t i = 0; i < value.as<float>().size(); ++i)
      EXPECT_NEAR(value.as<float>()[i], b.at(name).as<float>()[i], 1e-6) << name;
  }
  EXPECT_FALSE(a == trained(model, one, 16, 1)) << "nothing trained";
}

TEST(SegmentTraining, SameSeedSameBits) {
  const SmallModel model = large_rows();
  TrainerOptions options;
  options.learners = 3;
  options.sync = SyncKind::sma;
  options.learning_rate = 0.02;
  EXPECT_EQ(trained(model, options, 8, 12), trained(model, options, 8, 12));
}

TEST(SegmentTraining, ABatchThatGivesNothing) {
  const SmallModel model = large_rows();
  Trainer trainer(model.training, model.batch(4), cpu::kernel_set(), {}, [](int, Replica& replica) {
    const PlanTensor& x = replica.plan().feeds().at(0);
    replica.feed(x, HostTensor(DataType::f32, x.type.dims()).bytes.data());
  });
  const auto before = trainer.trained();
  trainer.run(2);
  EXPECT_EQ(trainer.take_loss(), 0);
  EXPECT_EQ(trainer.trained(), before);
}

}  // namespace
}  // namespace arbalest
