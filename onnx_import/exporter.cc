#include "onnx_import/exporter.h"

#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>

#include "graph/base/atomic_file.h"
#include "graph/base/error.h"
#include "onnx_import/data_type.h"
#include "onnx_import/export_targets.h"
#include "onnx_import/external_layout.h"
#include "onnx_import/message.h"
#include "onnx_import/tensor_patch.h"
#include "onnx_import/tensor_reader.h"
#include "onnx_import/wire.h"

namespace arbalest {
namespace {

// ---- external data of the whole model

class ExternalTensors {
 public:
  ExternalTensors(const ModelFile& model, const ExportTargets& targets) : model_(model), targets_(targets) {
    collect(Message::model, model.bytes);
    layout_.place();
  }

  const ExternalLayout& layout() const { return layout_; }

  // The number in the layout of a TensorProto with external data.
  std::optional<size_t> number(std::string_view tensor) const {
    const auto it = numbers_.find(tensor.data());
    return it == numbers_.end() ? std::nullopt : std::optional(it->second);
  }

 private:
  void collect(Message kind, std::string_view message) {
    if (kind == Message::tensor) return add(message);
    // What becomes a dense tensor in the model needs its old data no longer.
    if (kind == Message::attribute && targets_.at(message) != nullptr) return;
    if (kind == Message::sparse_tensor && targets_.at(message) != nullptr) return;
    wire::Field f;
    for (wire::Reader reader(message); reader.next(f);) {
      const auto child = message_in(kind, f.number);
      if (child && f.type == wire::Type::bytes) collect(*child, f.value);
    }
  }

  void add(std::string_view message) {
    if (!wire::find_bytes(message, field::kTensorExternalData)) return;
    const auto tensor = parse_part<onnx::TensorProto>(message);
    if (!is_external(tensor)) return;
    try {
      // The size of an element is known only for the types of DataType; strings, 4-bit integers, ... tell their length.
      const auto bytes =
          data_type_of_onnx(tensor.data_type()) ? std::optional(read_header(tensor).bytes) : std::nullopt;
      numbers_[message.data()] = layout_.add(locate_external_data(tensor, model_, bytes), targets_.at(message));
    } catch (const Error& e) {
      throw e.within(fmt::format("tensor '{}'", tensor.name()));
    }
  }

  const ModelFile& model_;
  const ExportTargets& targets_;
  ExternalLayout layout_;
  std::map<const char*, size_t> numbers_;
};

// ---- the new model

class Rewriter {
 public:
  Rewriter(const ExportTargets& targets, const ExternalTensors& external, std::string data_name)
      : targets_(targets), external_(external), data_name_(std::move(data_name)) {}

  Pieces message(Message kind, std::string_view old) const {
    const HostTensor* value = targets_.at(old);
    if (kind == Message::tensor) return tensor(old, value);
    if (kind == Message::attribute && value != nullptr) {
      return patch_constant(old, parse_part<onnx::AttributeProto>(old), *value);
    }
    Pieces out;
    wire::Field f;
    wire::Reader reader(old);
    while (reader.next(f)) {
      const auto child = message_in(kind, f.number);
      if (!child || f.type != wire::Type::bytes) {
        out.view(f.whole);
      } else if (child == Message::sparse_tensor && targets_.at(f.value) != nullptr) {
        std::string dense;
        wire::append_field(dense, field::kGraphInitializer,
                           dense_tensor(parse_part<onnx::SparseTensorProto>(f.value), *targets_.at(f.value)));
        out.own(std::move(dense));
      } else {
        add_child(f, message(*child, f.value), out);
      }
    }
    require(reader.fault() == wire::Fault::none, "a part of the model is corrupt");
    return out;
  }

 private:
  Pieces tensor(std::string_view old, const HostTensor* value) const {
    if (const auto number = external_.number(old)) {
      const ExternalLayout& layout = external_.layout();
      return patch_external(old,
                            {data_name_, layout.offset(*number), layout.length(*number), layout.stretch_count() > 1});
    }
    if (value != nullptr) return patch_tensor(old, *value);
    Pieces out;
    out.view(old);
    return out;
  }

  static void add_child(const wire::Field& old, Pieces&& child, Pieces& out) {
    if (child.is(old.value)) return out.view(old.whole);
    std::string header(old.tag);
    wire::append_varint(header, child.size());
    out.own(std::move(header));
    out.append(std::move(child));
  }

  const ExportTargets& targets_;
  const ExternalTensors& external_;
  const std::string data_name_;
};

void write_files(const Pieces& model, const ExternalLayout& layout, const std::string& out_path,
                 const std::string& data_path) {
  std::optional<AtomicFile> data;
  if (!layout.empty()) {
    data.emplace(data_path);
    layout.write(*data);
    data->finish();
  }
  AtomicFile file(out_path);
  for (const std::string_view piece : model.pieces()) file.write(piece);
  file.finish();
  if (data) data->commit();
  file.commit();
}

}  // namespace

void export_model(const ModelFile& model, const std::map<std::string, HostTensor>& trained,
                  const std::string& out_path) {
  const std::string data_path = out_path + ".data";
  try {
    const ExportTargets targets(model.bytes, trained);
    const ExternalTensors external(model, targets);
    const Rewriter rewriter(targets, external, std::filesystem::path(data_path).filename().string());
    const Pieces result = rewriter.message(Message::model, model.bytes);
    if (result.size() > wire::kMaxMessageBytes) {
      throw Error(ErrorKind::unsupported, "{} bytes, but one ONNX file has at most 2 GiB", result.size());
    }
    write_files(result, external.layout(), out_path, data_path);
  } catch (const Error& e) {
    throw e.within("export of " + model.path);
  }
}

}  // namespace arbalest
