#include "data/batch.h"

#include <cstring>

#include "data/allocation.h"

namespace arbalest {
namespace {

Dims with_examples(const Column& column, int64_t examples) {
  Dims dims = column.values.dims;
  dims[0] = examples;
  return dims;
}

template <class T>
void convert(const T* x, float* y, const std::vector<float>& shift, const std::vector<float>& scale, size_t length) {
  const size_t channels = shift.size();
  if (length == 1) {
    for (size_t c = 0; c < channels; ++c) y[c] = (static_cast<float>(x[c]) - shift[c]) * scale[c];
    return;
  }
  for (size_t c = 0; c < channels; ++c, x += length, y += length) {
    const float shift_c = shift[c], scale_c = scale[c];
    for (size_t i = 0; i < length; ++i) y[i] = (static_cast<float>(x[i]) - shift_c) * scale_c;
  }
}

}  // namespace

uint64_t batch_bytes(const Dataset& dataset, int64_t size) {
  uint64_t bytes = checked_bytes(dataset.labels.values.dtype, with_examples(dataset.labels, size));
  for (const Column& input : dataset.inputs) bytes += checked_bytes(DataType::f32, with_examples(input, size));
  return bytes;
}

Batch make_batch(const Dataset& dataset, int64_t size) {
  check_memory(static_cast<double>(batch_bytes(dataset, size)));
  Batch batch;
  for (const Column& input : dataset.inputs) {
    batch.inputs.push_back(allocate_tensor(DataType::f32, with_examples(input, size)));
  }
  batch.labels = allocate_tensor(dataset.labels.values.dtype, with_examples(dataset.labels, size));
  return batch;
}

BatchFiller::BatchFiller(const Dataset& dataset, const Normalisation& normalisation) : dataset_(dataset) {
  ensure(normalisation.size() == dataset.inputs.size(), "normalisation of {} inputs for a data set of {}",
         normalisation.size(), dataset.inputs.size());
  for (size_t i = 0; i < normalisation.size(); ++i) {
    const Column& input = dataset.inputs[i];
    const ChannelStatistics& channels = normalisation[i];
    const auto elements = static_cast<size_t>(input.sample_elements());
    ensure(elements % channels.mean.size() == 0, "{} channels for samples of {} elements", channels.mean.size(),
           elements);
    const double unit = input.values.dtype == DataType::u8 ? 255 : 1;
    Conversion conversion{{}, {}, elements / channels.mean.size()};
    for (size_t c = 0; c < channels.mean.size(); ++c) {
      conversion.shift.push_back(static_cast<float>(channels.mean[c] * unit));
      conversion.scale.push_back(static_cast<float>(1 / (channels.deviation[c] * unit)));
    }
    conversions_.push_back(std::move(conversion));
  }
}

void BatchFiller::fill(Batch& batch, int64_t row, uint32_t example) const {
  for (size_t i = 0; i < conversions_.size(); ++i) {
    const Conversion& c = conversions_[i];
    const HostTensor& from = dataset_.inputs[i].values;
    const size_t elements = c.shift.size() * c.length;
    float* const to = batch.inputs[i].as<float>().data() + static_cast<size_t>(row) * elements;
    if (from.dtype == DataType::u8) {
      convert(from.as<uint8_t>().data() + example * elements, to, c.shift, c.scale, c.length);
    } else {
      convert(from.as<float>().data() + example * elements, to, c.shift, c.scale, c.length);
    }
  }
  const HostTensor& labels = dataset_.labels.values;
  const size_t bytes = labels.bytes.size() / dataset_.size();
  std::memcpy(batch.labels.bytes.data() + static_cast<size_t>(row) * bytes, labels.bytes.data() + example * bytes,
              bytes);
}

}  // namespace arbalest
