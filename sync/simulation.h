// What a run would take on devices that need not be here: the commands of a task runner, played on a model of devices
// and links by discrete events. Nothing runs.
//
// A device runs up to `slots` tasks at full speed; more than that share it evenly. A task that uses the link leaves the
// device free. Streams keep their order, and waits hold as on a real device. The host is never late.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sync/recording_device.h"
#include "sync/task_graph.h"
#include "sync/trainer.h"

namespace arbalest {

enum class TaskPlace : uint8_t { device, link };

struct TaskCost {
  double seconds = 0;
  TaskPlace place = TaskPlace::device;
};

using TaskCosts = std::function<TaskCost(const std::string& work, int64_t iteration)>;

struct SimulatedDevices {
  std::map<std::string, int> device_of;  // by stream
  double slots = 1;                      // of each device; at least 1
};

struct SimulatedTask {
  std::string stream, work;
  int64_t iteration = 0;
  double begin = 0, end = 0;  // seconds
  TaskPlace place = TaskPlace::device;
};

// Every task in the order of its end; the last one's end is the makespan. Internal error when streams wait for each
// other.
std::vector<SimulatedTask> simulate(const std::vector<RecordedCommand>& commands, const SimulatedDevices& devices,
                                    const TaskCosts& cost);

// Learners in the shape of real ones, with small arrays, on streams that run nothing: what a synchroniser makes tasks
// for.
class HollowLearners {
 public:
  // `synchronising_stream`: each device has one for the synchronisation, as a GPU has; otherwise the learners share it.
  HollowLearners(const TrainerOptions& options, bool synchronising_stream);

  // The commands of so many iterations.
  std::vector<RecordedCommand> record(int64_t iterations);
  const TaskGraph& tasks() const { return runner_->graph(); }
  const std::map<std::string, int>& device_of() const { return device_of_; }
  // What a task moves, as a share of one array of the parameters: 3 for a task that reads two and writes one.
  double arrays_of(const std::string& work) const;

 private:
  StreamShare add_stream(const std::string& name, int device);

  RecordingDevice device_;
  std::map<std::string, int> device_of_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<std::vector<float>> arrays_;
  Optimiser optimiser_;
  Learners learners_;
  std::unique_ptr<Collective> collective_;
  std::unique_ptr<Synchroniser> synchroniser_;
  std::unique_ptr<TaskRunner> runner_;
};

// Bytes that a task declares to read and write, as a share of `array_bytes`.
double arrays_of(const TaskGraph& tasks, const std::string& work, size_t array_bytes);

}  // namespace arbalest
