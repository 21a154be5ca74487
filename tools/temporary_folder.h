// An empty folder that is removed with all that is in it at the end. Io error when it cannot be made.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "graph/base/error.h"

namespace arbalest {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "arbalest-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw Error(ErrorKind::io, "{}: cannot be made", pattern);
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace arbalest
