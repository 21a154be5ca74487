#include <fmt/format.h>

#include <memory>

#include "graph/base/file.h"
#include "models/models.h"
#include "tools/command.h"

namespace arbalest::tools {
