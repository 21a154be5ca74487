// What the fuzzer and the test that replays its corpus share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace arbalest {

// Reads bytes as a model file: parses, classifies its tensors, unties them, imports them for training and inference,
// and differentiates. An Error with a text is a fine answer; an internal one, any other exception and a fault are not:
// std::logic_error then.
void read_as_model(const std::string& bytes);

// Another model: one to four changes of nodes, attributes, tensors, types, names or versions. Bytes that are no model
// come back as they are.
std::string mutated_model(const std::string& bytes, uint32_t seed);

}  // namespace arbalest
