#include "graph/base/atomic_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "graph/base/error.h"

namespace arbalest {
namespace {

constexpr const char* kTemporary = ".arbalest-";

// Unique in the process by a counter, among processes by the process number; the final name may be too long to extend.
std::string temporary_name(const std::string& folder) {
  static std::atomic<unsigned> count{0};
  return fmt::format("{}/{}{}-{}.tmp", folder, kTemporary, ::getpid(), count++);
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  const std::filesystem::path parent = std::filesystem::path(path_).parent_path();
  folder_ = parent.empty() ? "." : parent.string();
  struct stat old {};
  const bool exists = ::stat(path_.c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode)) throw Error(ErrorKind::io, "{}: cannot be written: not a regular file", path_);
  do {  // a process that crashed may have left a file of that name
    temporary_ = temporary_name(folder_);
    file_ = FileDescriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  } while (!file_ && errno == EEXIST);
  if (!file_) {
    const int error = errno;
    temporary_.clear();
    fail(error);
  }
  if (exists)
    ::fchmod(file_.get(), old.st_mode & 0777u);  // where that is not possible, the new file has the default mode
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(int error) const {
  throw Error(ErrorKind::io, "{}: cannot be written: {}; what was there before is unchanged", path_,
              std::strerror(error));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(errno);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void AtomicFile::finish() {
  if (!file_) return;
  if (::fsync(file_.get()) != 0) fail(errno);
  if (::close(file_.release()) != 0) fail(errno);
}

void AtomicFile::commit() {
  finish();
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  temporary_.clear();
  // The new name survives a power failure only when the folder is on the disk too; not every file system can do that.
  const FileDescriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) ::fsync(folder.get());
}

void remove_abandoned_files(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kTemporary) || !name.ends_with(".tmp")) continue;
    const pid_t writer = std::atoi(name.c_str() + std::strlen(kTemporary));
    if (writer > 0 && ::kill(writer, 0) != 0 && errno == ESRCH) ::unlink(entry.path().c_str());
  }
}

}  // namespace arbalest
