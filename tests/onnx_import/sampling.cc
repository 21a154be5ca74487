// Gradients of operators on images; their values are checked by ONNX's node tests.
#include <gtest/gtest.h>

#include "tests/onnx_import/operator_check.h"

namespace arbalest {
namespace {

TEST(OperatorGradient, GridSample) {
  for (const char* mode : {"linear", "cubic", "nearest"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (const int align : {0, 1}) {
        const Attributes attributes{{"mode", mode}, {"padding_mode", padding}, {"align_corners", align}};
        check_gradient({mode, "GridSample", 20, {Dims{2, 2, 4, 3}, Dims{2, 3, 2, 2}}, attributes});
      }
    }
  }
  check_gradient({"volume", "GridSample", 20, {Dims{1, 2, 3, 2, 3}, Dims{1, 2, 1, 2, 3}}, {}});
}

TEST(OperatorGradient, AffineGrid) {
  check_gradient({"image", "AffineGrid", 20, {Dims{2, 2, 3}, i64_tensor({4}, {2, 1, 3, 4})}, {}});
  check_gradient(
      {"volume", "AffineGrid", 20, {Dims{1, 3, 4}, i64_tensor({5}, {1, 1, 2, 3, 2})}, {{"align_corners", 1}}});
}

TEST(OperatorGradient, RoiAlign) {
  const HostTensor regions = f64_tensor({3, 4}, {0.3, 0.2, 3.4, 4.1, 1, 1, 2.5, 2, -1, -1, 6, 7});
  const HostTensor image = i64_tensor({3}, {0, 1, 1});
  for (const char* mode : {"avg", "max"}) {
    for (const int samples : {0, 2}) {
      const Attributes attributes{
          {"mode", mode}, {"sampling_ratio", samples}, {"output_height", 2}, {"output_width", 3}};
      check_gradient({mode, "RoiAlign", 16, {Dims{2, 2, 5, 4}, regions, image}, attributes});
    }
  }
}

TEST(OperatorGradient, PatchesAndMiddles) {
  const HostTensor image = i64_tensor({2}, {4, 5}), patch = i64_tensor({2}, {2, 3});
  check_gradient({"patches", "Col2Im", 18, {Dims{2, 12, 9}, image, patch}, {}});
  check_gradient({"spread patches",
                  "Col2Im",
                  18,
                  {Dims{1, 12, 6}, image, patch},
                  {{"strides", Ints{2, 1}}, {"pads", Ints{0, 0, 0, 0}}}});
  check_gradient({"cut and padded", "CenterCropPad", 18, {Dims{4, 3}, i64_tensor({2}, {1, 6})}, {}});
  check_gradient({"one axis", "CenterCropPad", 18, {Dims{4, 3}, i64_tensor({1}, {6})}, {{"axes", Ints{-2}}}});
}

TEST(OperatorGradient, DeformConv) {
  const Dims x{2, 4, 4, 3}, w{2, 2, 2, 2}, offset{2, 16, 3, 2}, bias{2}, mask{2, 8, 3, 2};
  check_gradient({"groups", "DeformConv", 19, {x, w, offset, bias, mask}, {{"group", 2}, {"offset_group", 2}}});
}

TEST(OperatorGradient, Signal) {
  const HostTensor length = i64_tensor({}, {6}), axis = i64_tensor({}, {0}), step = i64_tensor({}, {2});
  check_gradient({"complex", "DFT", 17, {Dims{2, 5, 2}, length}, {}});
  check_gradient({"real, one side", "DFT", 20, {Dims{5, 2, 1}, length, axis}, {{"onesided", 1}}});
  check_gradient({"back from one side", "DFT", 20, {Dims{2, 4, 2}}, {{"onesided", 1}, {"inverse", 1}}});
  check_gradient({"frames", "STFT", 17, {Dims{2, 8, 1}, step, Dims{4}}, {}});
}

}  // namespace
}  // namespace arbalest
