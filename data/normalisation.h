// Normalisation of inputs: y = (x - mean) / standard deviation, per channel, taken over the training set and applied to
// every split.
//
// The channel is the first axis of a sample of rank 2 or more (C x H x W). A float sample of rank 1 is a list of
// features, each its own channel; a uint8 one is an image without axes and has a single channel. uint8 counts as x/255:
// mean and deviation are in that unit. The deviation is the population's (divided by n); of a constant channel it is 1.
#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"

namespace arbalest {

struct ChannelStatistics {
  std::vector<double> mean;
  std::vector<double> deviation;
};

using Normalisation = std::vector<ChannelStatistics>;  // one for each input of the data set

// Io error naming the first value that is not finite.
Normalisation measure(const Dataset& training_set);

// Mean 0 and deviation 1: uint8 is scaled by 1/255, floats stay as they are.
Normalisation no_normalisation(const Dataset& dataset);

}  // namespace arbalest
