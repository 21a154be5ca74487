// Which ONNX messages lie in which: what is needed to reach every tensor of a serialised model.
#pragma once

#include <cstdint>
#include <optional>

namespace arbalest {

enum class Message : uint8_t { model, graph, training, function, node, attribute, sparse_tensor, tensor };

// Numbers of fields, from onnx.proto.
namespace field {
inline constexpr uint32_t kModelGraph = 7, kModelTraining = 20, kModelFunction = 25;
inline constexpr uint32_t kTrainingInitialization = 1, kTrainingAlgorithm = 2;
inline constexpr uint32_t kFunctionNode = 7, kFunctionAttribute = 11;
inline constexpr uint32_t kGraphNode = 1, kGraphInitializer = 5, kGraphSparseInitializer = 15;
inline constexpr uint32_t kNodeOutput = 2, kNodeOpType = 4, kNodeAttribute = 5, kNodeDomain = 7;
inline constexpr uint32_t kAttributeName = 1, kAttributeFloat = 2, kAttributeTensor = 5, kAttributeGraph = 6;
inline constexpr uint32_t kAttributeFloats = 7, kAttributeTensors = 10, kAttributeGraphs = 11, kAttributeType = 20;
inline constexpr uint32_t kAttributeSparse = 22, kAttributeSparses = 23;
inline constexpr uint32_t kSparseValues = 1, kSparseIndices = 2;
inline constexpr uint32_t kTensorFloatData = 4, kTensorInt32Data = 5, kTensorInt64Data = 7, kTensorName = 8;
inline constexpr uint32_t kTensorRawData = 9, kTensorDoubleData = 10, kTensorUint64Data = 11;
inline constexpr uint32_t kTensorExternalData = 13, kTensorDataLocation = 14;
inline constexpr uint32_t kEntryKey = 1, kEntryValue = 2;
}  // namespace field

// The kind of message that a field of the parent holds; none where no tensor can lie below it.
constexpr std::optional<Message> message_in(Message parent, uint32_t number) {
  using namespace field;
  switch (parent) {
    case Message::model:
      if (number == kModelGraph) return Message::graph;
      if (number == kModelTraining) return Message::training;
      if (number == kModelFunction) return Message::function;
      break;
    case Message::training:
      if (number == kTrainingInitialization || number == kTrainingAlgorithm) return Message::graph;
      break;
    case Message::function:
      if (number == kFunctionNode) return Message::node;
      if (number == kFunctionAttribute) return Message::attribute;
      break;
    case Message::graph:
      if (number == kGraphNode) return Message::node;
      if (number == kGraphInitializer) return Message::tensor;
      if (number == kGraphSparseInitializer) return Message::sparse_tensor;
      break;
    case Message::node:
      if (number == kNodeAttribute) return Message::attribute;
      break;
    case Message::attribute:
      if (number == kAttributeTensor || number == kAttributeTensors) return Message::tensor;
      if (number == kAttributeGraph || number == kAttributeGraphs) return Message::graph;
      if (number == kAttributeSparse || number == kAttributeSparses) return Message::sparse_tensor;
      break;
    case Message::sparse_tensor:
      if (number == kSparseValues || number == kSparseIndices) return Message::tensor;
      break;
    case Message::tensor:
      break;
  }
  return std::nullopt;
}

}  // namespace arbalest
