// What a case demands of the file that is written after training.
#pragma once

#include <string>
#include <vector>

#include "tools/algorithm_run.h"
#include "tools/case_training.h"

namespace arbalest::tools {

// Writes the trained model into a temporary folder and reads it back: the trained tensors have the values after
// training, in their own types and places; everything else is as it was. Adds a line for what is wrong.
void check_export(const CaseFile& file, CaseTraining& training, std::vector<std::string>& complaints);

// The same for a training that the model describes itself: its training_info is still there.
void check_export(const CaseFile& file, const AlgorithmRun& run, std::vector<std::string>& complaints);

}  // namespace arbalest::tools
