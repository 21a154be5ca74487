#include "sync/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "graph/base/error.h"
#include "sync/trainer.h"
#include "tests/temporary_folder.h"
#include "tests/trainer/small_models.h"

namespace arbalest {
namespace {

Checkpoint example(const std::string& fact) {
  Checkpoint c;
  c.facts = {{"iteration", fact}, {"empty", ""}};
  c.arrays["weights"] = AlignedBytes(1000, std::byte{7});
  c.arrays["nothing"] = {};
  return c;
}

void flip_byte(const std::string& path, int64_t at) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(at);
  const char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(at);
  file.put(byte);
}

std::string refusal(const std::string& path) {
  try {
    read_checkpoint(path);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(CheckpointFile, ComesBack) {
  const TemporaryFolder folder;
  write_checkpoint(example("12"), folder / "c");
  const Checkpoint back = read_checkpoint(folder / "c");
  EXPECT_EQ(back.facts, example("12").facts);
  EXPECT_EQ(back.arrays, example("12").arrays);
}

// Also in its version: else a good checkpoint before it would not be used.
TEST(CheckpointFile, EveryFlippedByteAndEveryCutIsFound) {
  const TemporaryFolder folder;
  write_checkpoint(example("12"), folder / "c");
  const auto size = static_cast<int64_t>(std::filesystem::file_size(folder / "c"));
  const auto damaged = testing::AnyOf(testing::HasSubstr("damaged"), testing::HasSubstr("not a checkpoint"));
  for (int64_t i = 0; i < size; ++i) {
    std::filesystem::copy_file(folder / "c", folder / "d", std::filesystem::copy_options::overwrite_existing);
    flip_byte(folder / "d", i);
    EXPECT_THAT(refusal(folder / "d"), damaged) << i;
    std::filesystem::resize_file(folder / "d", static_cast<uintmax_t>(i));
    EXPECT_THAT(refusal(folder / "d"), damaged) << i;
  }
}

// A whole file of that version: with its checksum.
void write_with_version(const std::string& path, char version) {
  write_checkpoint(example("12"), path);
  std::string content = read_file(path);
  content[20] = version;
  content.resize(content.size() - 4);
  const auto sum = static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size())));
  content.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  write_file(path, content);
}

TEST(CheckpointFile, AnotherVersionIsRefusedByName) {
  const TemporaryFolder folder;
  for (const char version : {1, 9}) {
    write_with_version(folder / "c", version);
    EXPECT_THAT(refusal(folder / "c"), testing::HasSubstr(version == 9 ? "version 9" : "version 1"));
    EXPECT_THAT(refusal(folder / "c"), testing::HasSubstr(version == 9 ? "a newer program" : "an older program"));
  }
}

TEST(CheckpointFolder, KeepsTheNewestAndStepsOverDamage) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder / "run", 2);
  EXPECT_FALSE(checkpoints.newest());
  for (const int iteration : {5, 90, 100}) checkpoints.write(example(std::to_string(iteration)), iteration);
  checkpoints.wait();
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "run")) files.push_back(entry.path());
  EXPECT_EQ(files.size(), 2u);
  FoundCheckpoint found = *checkpoints.newest();
  EXPECT_EQ(found.checkpoint.fact("iteration"), "100");
  EXPECT_TRUE(found.damaged.empty());
  flip_byte(found.path, 300);
  found = *checkpoints.newest();
  EXPECT_EQ(found.checkpoint.fact("iteration"), "90");
  ASSERT_EQ(found.damaged.size(), 1u);
  EXPECT_THAT(found.damaged[0], testing::HasSubstr("checksum"));
  flip_byte(found.path, 300);
  EXPECT_THROW(checkpoints.newest(), Error);
}

// A run that goes on from an older one, as the newest was damaged, keeps what it writes.
TEST(CheckpointFolder, KeepsWhatWasJustWritten) {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder / "run", 1);
  checkpoints.write(example("900"), 900);
  checkpoints.wait();
  flip_byte(checkpoints.newest()->path, 300);
  for (const int examples : {800, 850}) checkpoints.write(example(std::to_string(examples)), examples);
  checkpoints.wait();
  EXPECT_EQ(checkpoints.newest()->checkpoint.fact("iteration"), "850");
  EXPECT_FALSE(std::filesystem::exists(folder / "run/checkpoint-000000000000800.arbalest"));
}

TEST(CheckpointFolder, RemovesWhatKilledWritersLeft) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  const std::string abandoned = folder / fmt::format(".arbalest-{}-0.tmp", child);
  const std::string others = folder / fmt::format(".arbalest-{}-7.tmp", getppid());
  write_file(abandoned, "a part");
  write_file(others, "of a process that lives");
  EXPECT_TRUE(CheckpointFolder(folder / "", 2).empty());
  EXPECT_FALSE(std::filesystem::exists(abandoned));
  EXPECT_TRUE(std::filesystem::exists(others));
}

TrainerOptions adam_options(int learners, SyncKind sync) {
  TrainerOptions o;
  o.learners = learners;
  o.sync = sync;
  o.optimiser.kind = OptimiserKind::adam;
  o.learning_rate = 0.002;
  return o;
}

// Stops after 6 of 14 iterations and goes on in another trainer.
std::map<std::string, HostTensor> interrupted(const SmallModel& model, TrainerOptions options) {
  const auto load = stream_loader(options.devices * options.learners, 2, 4);
  Checkpoint checkpoint;
  {
    Trainer first(model.training, model.batch(2), cpu::kernel_set(), options, load);
    first.run(3);
    first.restart();
    first.run(3);
    checkpoint.add("", first.arrays());
  }
  options.first_iteration = 6;
  Trainer second(model.training, model.batch(2), cpu::kernel_set(), options, load);
  EXPECT_TRUE(checkpoint.fits("", second.arrays()));
  checkpoint.copy_to("", second.arrays());
  second.run(8);
  return second.trained();
}

TEST(TrainerCheckpoint, ContinuesBitForBit) {
  const SmallModel model = small_model("resnet8", {3, 8, 8}, 4);
  for (const SyncKind sync : {SyncKind::none, SyncKind::ssgd, SyncKind::sma, SyncKind::easgd, SyncKind::local,
                              SyncKind::hierarchical, SyncKind::slowmo, SyncKind::diloco}) {
    for (const auto& [devices, learners] : {std::pair{1, 1}, {1, 3}, {2, 2}}) {
      TrainerOptions options = adam_options(learners, sync);
      options.devices = devices;
      options.hierarchical.tau = options.local.tau = options.slowmo.tau = options.diloco.tau = 2;
      Trainer whole(model.training, model.batch(2), cpu::kernel_set(), options,
                    stream_loader(devices * learners, 2, 4));
      whole.run(3);
      whole.restart();
      whole.run(11);
      EXPECT_EQ(interrupted(model, options), whole.trained()) << devices << " x " << learners;
    }
  }
}

}  // namespace
}  // namespace arbalest
