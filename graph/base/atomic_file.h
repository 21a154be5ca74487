// Writes a file so that its path always names the old content or the whole new one, also after a crash or a full disk.
//
// The content goes to a temporary file in the same folder; commit() flushes it to the disk and renames it. Without a
// commit the temporary file is removed and the old file is left as it was. Several files that belong together: finish()
// all of them, so that a full disk is noticed, before commit() of the first. A path that is a symbolic link is
// replaced, not followed; one that names a device or a folder is refused. Errors: io, with the path.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "graph/base/file_descriptor.h"

namespace arbalest {

class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view bytes) { write(std::as_bytes(std::span(bytes))); }
  void finish();  // all bytes are on the disk; nothing may be written any more
  void commit();  // finish(), then take the place of the old file

 private:
  [[noreturn]] void fail(int error) const;

  std::string path_;
  std::string folder_;
  std::string temporary_;  // empty once committed
  FileDescriptor file_;
};

// Removes the temporary files that processes of this machine left in the folder when they were killed.
void remove_abandoned_files(const std::string& folder);

}  // namespace arbalest
