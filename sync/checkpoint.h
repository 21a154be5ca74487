// Checkpoints: everything that a run needs to go on, bit for bit.
//
// A file holds facts (text by name) and arrays (bytes by name):
//   "arbalest checkpoint\n", version u32, count u64, that many facts (name, value), count u64, that many arrays
//   (name, bytes), CRC-32 u32 of all before it;
// names, values and arrays are a size u64 and so many bytes. Little endian. Since version 3 all begin and end so, hence
// a damaged version is told from a newer one.
//
// The folder holds checkpoint-<examples seen>.arbalest files: examples grow also where a run goes on with another
// batch. They are written in the background, whole or not at all (AtomicFile); the newest `keep` stay. Errors: io;
// model where a file is damaged; unsupported where it has another version.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "graph/host_tensor.h"
#include "sync/synchroniser.h"

namespace arbalest {

struct Checkpoint {
  std::map<std::string, std::string> facts;
  std::map<std::string, AlignedBytes> arrays;

  const std::string& fact(const std::string& name) const;  // model error when it is not there
  void add(const std::string& prefix, const std::vector<NamedBytes>& arrays);
  // The arrays are there in the same sizes.
  bool fits(const std::string& prefix, const std::vector<NamedBytes>& arrays) const;
  void copy_to(const std::string& prefix, const std::vector<NamedBytes>& arrays) const;
};

void write_checkpoint(const Checkpoint& checkpoint, const std::string& path);
Checkpoint read_checkpoint(const std::string& path);

struct FoundCheckpoint {
  Checkpoint checkpoint;
  std::string path;
  std::vector<std::string> damaged;  // what is wrong with newer ones
};

class CheckpointFolder {
 public:
  CheckpointFolder(std::string folder, int keep);  // makes the folder; removes what writers that were killed left
  ~CheckpointFolder();                             // waits; drops errors
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  bool empty() const { return paths().empty(); }
  // The newest whole one; none: the folder has none.
  std::optional<FoundCheckpoint> newest() const;
  // Returns at once; waits for the one before, and throws what that one threw. Of those of more examples none is
  // removed: they are damaged, or the run would have gone on from them.
  void write(Checkpoint checkpoint, int64_t examples);
  void wait();

 private:
  std::vector<std::string> paths() const;  // newest first
  void write_and_prune(const Checkpoint& checkpoint, const std::string& path) const;

  std::string folder_;
  int keep_;
  std::thread writer_;
  std::exception_ptr failure_;
};

}  // namespace arbalest
