// arbalest new: writes a reference model as an ONNX file.
#include <fmt/format.h>

#include <memory>

#include "models/models.h"
#include "tools/command.h"
#include "tools/table.h"

namespace arbalest::tools {
