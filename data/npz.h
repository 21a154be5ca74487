// Reader of NumPy's .npz files: a zip archive of .npy arrays, stored or deflated.
//
// Errors (io, with the path and the array in front): not an archive, an array that is missing, encrypted, damaged, in
// Fortran order or of an element type that cannot be read; sizes that the archive or the machine cannot hold, found
// before memory is asked for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/host_tensor.h"

struct zip;

namespace arbalest {

class NpzFile {
 public:
  explicit NpzFile(std::string path);

  const std::string& path() const { return path_; }
  const std::vector<std::string>& names() const { return names_; }  // without ".npy", in the order of the archive
  HostTensor read(const std::string& name) const;

 private:
  struct Discard {
    void operator()(zip* archive) const;
  };

  std::string path_;
  std::unique_ptr<zip, Discard> archive_;
  std::vector<std::string> names_;
};

}  // namespace arbalest
