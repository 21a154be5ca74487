#include "graph/base/atomic_file.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "graph/base/error.h"
#include "tests/temporary_folder.h"

namespace arbalest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::io);
    return e.what();
  }
  return "no error";
}

TEST(AtomicFile, ReplacesOnlyAtCommit) {
  const TemporaryFolder folder;
  write_file(folder / "f", "old");
  {
    AtomicFile file(folder / "f");
    file.write("new");
    file.finish();
    EXPECT_EQ(read_file(folder / "f"), "old");
    EXPECT_EQ(names_in(folder).size(), 2u);
    file.commit();
    EXPECT_EQ(read_file(folder / "f"), "new");
  }
  EXPECT_THAT(names_in(folder), ElementsAre("f"));
}

TEST(AtomicFile, WithoutCommitNothingChanges) {
  const TemporaryFolder folder;
  write_file(folder / "f", "old");
  { AtomicFile(folder / "f").write("new"); }
  EXPECT_EQ(read_file(folder / "f"), "old");
  EXPECT_THAT(names_in(folder), ElementsAre("f"));
}

TEST(AtomicFile, KeepsTheModeOfTheOldFile) {
  const TemporaryFolder folder;
  write_file(folder / "f", "old");
  ASSERT_EQ(::chmod((folder / "f").c_str(), 0640), 0);
  AtomicFile file(folder / "f");
  file.commit();
  struct stat status {};
  ASSERT_EQ(::stat((folder / "f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0640u);
}

TEST(AtomicFile, RelativePath) {
  const TemporaryFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  AtomicFile file("here");
  file.write("x");
  file.commit();
  std::filesystem::current_path(before);
  EXPECT_THAT(names_in(folder), ElementsAre("here"));
}

TEST(AtomicFile, FullDisk) {
  const TemporaryFolder folder;
  write_file(folder / "f", "old");
  // A limit on the size of files fails like a full disk does, in the middle of a write.
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const rlimit limit{4096, old_limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const std::string message = message_of([&] {
    AtomicFile file(folder / "f");
    file.write(std::string(10000, 'x'));
    file.commit();
  });
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(message, HasSubstr(folder / "f"));
  EXPECT_THAT(message, HasSubstr("cannot be written: File too large"));
  EXPECT_EQ(read_file(folder / "f"), "old");
  EXPECT_THAT(names_in(folder), ElementsAre("f"));
}

TEST(AtomicFile, RefusesFoldersAndDevices) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "d");
  EXPECT_THAT(message_of([&] { AtomicFile file(folder / "d"); }), HasSubstr("not a regular file"));
  EXPECT_THAT(message_of([&] { AtomicFile file("/dev/null"); }), HasSubstr("not a regular file"));
  EXPECT_THAT(message_of([&] { AtomicFile file(folder / "missing/f"); }), HasSubstr("No such file or directory"));
  EXPECT_THAT(names_in(folder), ElementsAre("d"));
}

TEST(AtomicFile, UnwritableFolder) {
  if (::geteuid() == 0) GTEST_SKIP() << "the superuser may write everywhere";
  const TemporaryFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0500), 0);
  EXPECT_THAT(message_of([&] { AtomicFile file(folder / "f"); }), HasSubstr("Permission denied"));
  ::chmod(folder.path().c_str(), 0700);
}

}  // namespace
}  // namespace arbalest
