#include "exec/cpu/cpu_device.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include <cstring>

#include "exec/memory_plan.h"
#include "graph/base/error.h"

extern "C" void omp_set_num_threads(int threads);

namespace arbalest {
namespace {

constexpr uint32_t kRingSize = 1024;  // a power of two; an iteration enqueues about ten commands
constexpr size_t kHugePage = size_t{2} << 20;

void flush_denormals() {
#if defined(__SSE__)
  _mm_setcsr(_mm_getcsr() | 0x8040);  // flush results to zero, take operands as zero
#endif
}

int pin(pthread_t thread, const std::vector<int>& cores) {
  if (cores.empty()) return 0;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) {
    if (core < 0 || core >= CPU_SETSIZE) return EINVAL;
    CPU_SET(core, &set);
  }
  return pthread_setaffinity_np(thread, sizeof set, &set);
}

std::string list_of(const std::vector<int>& cores) {
  std::string text;
  for (const int core : cores) text += (text.empty() ? "" : ", ") + std::to_string(core);
  return text;
}

// The failure of a task as an Error that names the task.
[[noreturn]] void rethrow(const std::exception_ptr& failure, const std::string& task) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& e) {
    throw e.within(task);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::device, "{}: out of memory", task);
  } catch (const std::exception& e) {
    throw Error(ErrorKind::internal, "{}: {}", task, e.what());
  } catch (...) {
    throw Error(ErrorKind::internal, "{}: unknown exception", task);
  }
}

}  // namespace

CpuStream::CpuStream(Device& device, const StreamOptions& options)
    : device_(device), name_(options.name), ring_(kRingSize) {
  thread_ = std::thread([this, threads = options.threads] { loop(threads); });
  pthread_setname_np(thread_.native_handle(), name_.substr(0, 15).c_str());
  const int error = pin(thread_.native_handle(), options.cores);
  if (error != 0) {
    enqueue({});
    thread_.join();
    throw Error(ErrorKind::device, "{}: cannot run on cores {}: {}; this process may use cores {}", name_,
                list_of(options.cores), std::strerror(error), list_of(available_cores()));
  }
}

CpuStream::~CpuStream() {
  enqueue({});
  thread_.join();
}

void CpuStream::run(const Work& work, int64_t iteration) {
  enqueue({CommandKind::run, &work, nullptr, static_cast<uint64_t>(iteration)});
}

void CpuStream::record(Event& event, uint64_t value) {
  enqueue({CommandKind::record, nullptr, &dynamic_cast<CpuEvent&>(event), value});
}

void CpuStream::wait(Event& event, uint64_t value) {
  enqueue({CommandKind::wait, nullptr, &dynamic_cast<CpuEvent&>(event), value});
}

void CpuStream::synchronize() {
  finished_.wait(enqueued_);
  if (!failure_) return;
  const std::exception_ptr failure = std::exchange(failure_, nullptr);
  rethrow(failure, failed_->name);
}

void CpuStream::enqueue(const Command& command) {
  finished_.wait(enqueued_ + 1 - kRingSize);  // a free place
  ring_[enqueued_ % kRingSize] = command;
  published_.advance(++enqueued_);
}

void CpuStream::loop(int threads) {
  omp_set_num_threads(threads);
  flush_denormals();
  for (uint32_t next = 0;; ++next) {
    published_.wait(next + 1);
    const Command& command = ring_[next % kRingSize];
    if (command.kind == CommandKind::stop) return;
    execute(command);
    finished_.advance(next + 1);
  }
}

void CpuStream::execute(const Command& command) {
  switch (command.kind) {
    case CommandKind::run:
      if (failure_) return;
      try {
        command.work->run(static_cast<int64_t>(command.value));
      } catch (...) {
        failure_ = std::current_exception();
        failed_ = command.work;
      }
      return;
    case CommandKind::record:
      command.event->advance(command.value);
      return;
    case CommandKind::wait:
      command.event->synchronize(command.value);
      return;
    case CommandKind::stop:
      return;
  }
}

std::unique_ptr<Stream> CpuDevice::make_stream(const StreamOptions& options) {
  return std::make_unique<CpuStream>(*this, options);
}

std::unique_ptr<Event> CpuDevice::make_event() { return std::make_unique<CpuEvent>(); }

// Fresh pages of the system are zero and lie near the core that first touches them. Large memory begins at a huge page:
// a pass over several arrays otherwise misses the TLB all the time.
DeviceMemory CpuDevice::allocate(size_t bytes) {
  const size_t physical = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const bool huge = bytes >= kHugePage;
  const size_t mapped = bytes + (huge ? kHugePage : kMemoryAlignment);
  void* memory =
      bytes > physical ? MAP_FAILED : mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(ErrorKind::device,
                "cpu: cannot allocate {} MiB, the machine has {} MiB; use a smaller batch or fewer learners",
                bytes >> 20, physical >> 20);
  }
  auto* first = static_cast<std::byte*>(memory);
  if (huge) {
    first += (kHugePage - reinterpret_cast<uintptr_t>(memory) % kHugePage) % kHugePage;
    madvise(first, bytes, MADV_HUGEPAGE);  // best effort
  }
  return {first, [memory, mapped](std::byte*) { munmap(memory, mapped); }};
}

std::vector<int> available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

std::unique_ptr<Device> make_cpu_device() { return std::make_unique<CpuDevice>(); }

}  // namespace arbalest
