#include "data/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "data/normalisation.h"
#include "tests/data_sets/examples.h"
#include "tests/data_sets/files.h"

namespace arbalest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// n images of 2 x 3, and labels 0, 1, 2, 0, ...
std::string images(uint32_t n) { return idx_bytes(0x08, {n, 2, 3}, std::string(n * 6, 'a')); }
std::string labels(uint32_t n) {
  std::string values;
  for (uint32_t i = 0; i < n; ++i) values += static_cast<char>(i % 3);
  return idx_bytes(0x08, {n}, values);
}

void write_mnist(const TemporaryFolder& folder) {
  write_file(folder / "train-images-idx3-ubyte.gz", gzip(images(6)));
  write_file(folder / "train-labels-idx1-ubyte", labels(6));
  write_file(folder / "t10k-images.idx3-ubyte", images(3));
  write_file(folder / "t10k-labels-idx1-ubyte.gz", gzip(labels(3)));
}

std::string f4(int64_t n, float first = 0) {
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(first + static_cast<float>(i));
  return npy_bytes("<f4", "(" + std::to_string(n) + ", 1)", encode(values, std::endian::little));
}
std::string i8(int64_t n) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(i % 3);
  return npy_bytes("<i8", "(" + std::to_string(n) + ",)", encode(values, std::endian::little));
}

DataSplits open_npz(const std::vector<ZipMember>& members, const DataOptions& options = {}) {
  TemporaryFolder folder;
  write_zip(folder / "file.npz", members);
  return open_data(folder / "file.npz", options);
}

TEST(Catalog, FolderOfIdxFiles) {
  TemporaryFolder folder;
  write_mnist(folder);
  for (const std::string& name :
       {folder.path().string(), "mnist:" + folder.path().string(), "fashion-mnist:" + folder.path().string()}) {
    const DataSplits data = open_data(name);
    EXPECT_EQ(data.train.size(), 6u);
    EXPECT_EQ(data.test.size(), 3u);
    EXPECT_EQ(data.train.inputs[0].sample(), (Dims{1, 2, 3}));
    EXPECT_EQ(data.train.classes, 3);
    EXPECT_FALSE(data.held_out);
  }
  EXPECT_EQ(describe(open_data("mnist:" + folder.path().string())), "mnist: 6 + 3 examples of 1 x 2 x 3 in 3 classes");
}

TEST(Catalog, FolderWithoutATestSplitHoldsOut) {
  TemporaryFolder folder;
  write_file(folder / "train-images-idx3-ubyte", images(20));
  write_file(folder / "train-labels-idx1-ubyte", labels(20));
  const DataSplits data = open_data(folder.path().string());
  EXPECT_EQ(data.train.size(), 18u);
  EXPECT_EQ(data.test.size(), 2u);
  EXPECT_TRUE(data.held_out);
}

TEST(Catalog, FaultyFolders) {
  TemporaryFolder folder;
  EXPECT_THAT(error_of([&] { open_data(folder.path().string()); }),
              HasSubstr("no data set in this folder; expected are train-images-idx3-ubyte"));
  write_file(folder / "train-images-idx3-ubyte", images(4));
  EXPECT_THAT(error_of([&] { open_data(folder.path().string()); }), HasSubstr("train-labels-idx1-ubyte is not"));
  write_file(folder / "train-labels-idx1-ubyte", labels(5));
  EXPECT_EQ(error_of([&] { open_data("mnist:" + folder.path().string()); }),
            "mnist: 'images' has 4 examples, 'labels' has 5");
  write_file(folder / "train-labels-idx1-ubyte", labels(4));
  write_file(folder / "t10k-images-idx3-ubyte", idx_bytes(0x08, {1, 5, 5}, std::string(25, 'a')));
  write_file(folder / "t10k-labels-idx1-ubyte", labels(1));
  EXPECT_THAT(error_of([&] { open_data(folder.path().string()); }),
              HasSubstr("'images' has samples of uint8 1 x 2 x 3 for training and of uint8 1 x 5 x 5 for testing"));
}

TEST(Catalog, NamesThatAreNone) {
  TemporaryFolder folder;
  write_file(folder / "file.csv", "1,2");
  EXPECT_THAT(error_of([] { open_data("cifar"); }), StartsWith("cifar: no such data set; give fashion-mnist"));
  EXPECT_THAT(error_of([] { open_data("mnist"); }), HasSubstr("mnist:DIR"));
  EXPECT_THAT(error_of([] { open_data("mnist:/nowhere"); }), HasSubstr("folder '/nowhere' does not exist"));
  EXPECT_THAT(error_of([&] { open_data(folder / "file.csv"); }), HasSubstr("neither a folder nor an .npz file"));
}

TEST(Catalog, NpzWithBothSplits) {
  const DataSplits data =
      open_npz({{"X_train.npy", f4(6)}, {"y_train.npy", i8(6)}, {"x_test.npy", f4(2, 100)}, {"y_test.npy", i8(2)}});
  EXPECT_EQ(data.train.size(), 6u);
  EXPECT_THAT(data.test.inputs[0].values.as<float>(), ElementsAre(100, 101));
  EXPECT_EQ(data.train.inputs[0].name, "x");
}

TEST(Catalog, NpzHoldsOutBySeed) {
  const std::vector<ZipMember> members{{"x.npy", f4(50)}, {"y.npy", i8(50)}, {"comment.npy", i8(3)}};
  const DataSplits data = open_npz(members);
  EXPECT_EQ(data.train.size(), 45u);
  EXPECT_EQ(data.test.size(), 5u);
  const auto held_out = [](const DataSplits& d) {
    const auto values = d.test.inputs[0].values.as<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  std::vector<float> all = held_out(data);
  for (const float x : data.train.inputs[0].values.as<float>()) all.push_back(x);
  std::sort(all.begin(), all.end());
  for (int i = 0; i < 50; ++i) EXPECT_EQ(all[static_cast<size_t>(i)], static_cast<float>(i)) << "each in one split";
  EXPECT_EQ(held_out(open_npz(members)), held_out(data));
  EXPECT_NE(held_out(open_npz(members, {0.1, 2})), held_out(data));
  EXPECT_EQ(open_npz(members, {0.5, 1}).test.size(), 25u);
  EXPECT_THAT(error_of([&] { open_npz(members, {0, 1}); }), HasSubstr("--holdout 0"));
}

TEST(Catalog, NpzInputsByName) {
  const DataSplits data = open_npz({{"right.npy", f4(6)}, {"left.npy", f4(6, 10)}, {"targets.npy", f4(6, 20)}});
  ASSERT_EQ(data.train.inputs.size(), 2u);
  EXPECT_EQ(data.train.inputs[0].name, "left");
  EXPECT_EQ(data.train.inputs[1].name, "right");
  EXPECT_FALSE(data.train.has_classes());
  EXPECT_THAT(describe(data), HasSubstr("5 + 1 examples of 1, 1 with 1 targets; the latter held out"));
}

TEST(Catalog, NpzBytesOfRank3AreImages) {
  const DataSplits data = open_npz({{"x.npy", npy_bytes("|u1", "(4, 2, 3)", std::string(24, 'a'))}, {"y.npy", i8(4)}});
  EXPECT_EQ(data.train.inputs[0].sample(), (Dims{1, 2, 3}));
}

TEST(Catalog, FaultyNpz) {
  EXPECT_THAT(error_of([] {
                open_npz({{"x.npy", f4(4)}});
              }),
              HasSubstr("no labels for the training split; its arrays are: x; store x and y"));
  EXPECT_THAT(error_of([] { open_npz({{"y.npy", i8(4)}}); }), HasSubstr("no input for the training split"));
  EXPECT_THAT(error_of([] {
                open_npz({{"x.npy", f4(4)}, {"y.npy", i8(4)}, {"labels.npy", i8(4)}});
              }),
              HasSubstr("'labels' and 'y' could both be the labels"));
  EXPECT_THAT(error_of([] {
                open_npz({{"x.npy", f4(4)}, {"X_train.npy", f4(4)}, {"y.npy", i8(4)}});
              }),
              HasSubstr("have the same meaning"));
  EXPECT_THAT(error_of([] {
                open_npz({{"x.npy", f4(4)}, {"y.npy", i8(4)}, {"x_test.npy", f4(4)}});
              }),
              HasSubstr("no labels for the test split"));
  EXPECT_THAT(error_of([] { open_npz({{"x.npy", f4(4)}, {"y.npy", i8(3)}}); }), HasSubstr("4 examples, 'y' has 3"));
  EXPECT_THAT(error_of([] { open_npz({{"x.npy", f4(1)}, {"y.npy", i8(1)}}); }), HasSubstr("at least 2 are needed"));
}

TEST(Catalog, FashionMnistAsInstalled) {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist")) {
    EXPECT_THAT(error_of([] { open_data("fashion-mnist"); }), HasSubstr("apt-get install dataset-fashion-mnist"));
    GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  }
  const DataSplits data = open_data("fashion-mnist");
  EXPECT_EQ(describe(data), "fashion-mnist: 60,000 + 10,000 examples of 1 x 28 x 28 in 10 classes");
  check_labels(data.train, 10);
  check_labels(data.test, 10);
  const ChannelStatistics s = measure(data.train)[0];
  EXPECT_NEAR(s.mean[0], 0.2860, 5e-5);
  EXPECT_NEAR(s.deviation[0], 0.3530, 5e-5);
}

}  // namespace
}  // namespace arbalest
