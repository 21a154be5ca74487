#include "tools/machine.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "exec/compile.h"
#include "exec/replica.h"
#include "graph/builder.h"

namespace arbalest::tools {

int core_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

size_t available_memory() {
  size_t bytes = std::numeric_limits<size_t>::max();
  std::ifstream machine("/proc/meminfo");
  std::string name;
  for (size_t kib = 0; machine >> name >> kib; machine.ignore(64, '\n'))
    if (name == "MemAvailable:") bytes = kib << 10;
  std::ifstream limit("/sys/fs/cgroup/memory.max"), use("/sys/fs/cgroup/memory.current");
  size_t most = 0, used = 0;
  if (limit >> most && use >> used) bytes = std::min(bytes, most - std::min(most, used));
  return bytes;
}

std::string machine_text() {
  const char* isa = __builtin_cpu_supports("avx512f") ? "AVX-512" : __builtin_cpu_supports("avx2") ? "AVX2" : "SSE";
  return fmt::format("{} core{}, {}", core_count(), core_count() == 1 ? "" : "s", isa);
}

double measured_peak_gflops(int threads) {
  constexpr int64_t n = 768;
  Graph graph;
  Builder builder(graph);
  const TensorType square{DataType::f32, Shape{n, n}};
  const Value a = builder.add_input("a", InputRole::data, square), b = builder.add_input("b", InputRole::data, square);
  builder.add_output("y", matmul(a, b));
  const auto plan = make_plan(graph, cpu::kernel_set(), {});
  std::vector<double> rates(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      Replica replica(plan, {});
      replica.run();
      double best = 1e9;
      for (int i = 0; i < 12; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        replica.run();
        best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
      }
      rates[t] = 2.0 * n * n * n / best / 1e9;
    });
  }
  double sum = 0;
  for (int t = 0; t < threads; ++t) {
    workers[t].join();
    sum += rates[t];
  }
  return sum;
}

}  // namespace arbalest::tools
