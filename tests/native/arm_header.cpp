// arm_header.cpp: solves the targets in a file with an exported header, on this machine or on a Cortex-M7 under QEMU.
//
// Reads a number of targets, then for each the rotation row by row, the position and the start, in REAL; writes for each
// q, reached, both errors, steps and instructions (0 on this machine), in double.
#include HEADER

using Real = REAL;

#ifdef __arm__
// QEMU runs one instruction per nanosecond (-icount shift=0), and SysTick counts the 25 MHz clock of the board: a tick is
// 40 instructions. Files are those of the host, by semihosting.
extern "C" int main();
extern "C" unsigned stack_top;
extern "C" void reset() {
  *reinterpret_cast<volatile unsigned*>(0xE000ED88) |= 0xF << 20;  // the FPU
  __asm__ volatile("dsb\nisb");
  main();
}
extern "C" void fault() {
  for (;;) __asm__ volatile("udf #0");  // locks the processor up, which ends QEMU
}
extern "C" __attribute__((section(".vectors"), used)) void* const vectors[] = {
    &stack_top, reinterpret_cast<void*>(reset), reinterpret_cast<void*>(fault), reinterpret_cast<void*>(fault)};

static int call_host(int operation, const void* arguments) {
  register int r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = arguments;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}
static int open_file(const char* name, bool to_write) {
  unsigned length = 0;
  while (name[length]) ++length;
  const unsigned arguments[] = {reinterpret_cast<unsigned>(name), to_write ? 5u : 1u, length};
  return call_host(0x01, arguments);
}
static void move_bytes(int file, const void* at, unsigned size, bool to_write) {
  const unsigned arguments[] = {static_cast<unsigned>(file), reinterpret_cast<unsigned>(at), size};
  call_host(to_write ? 0x05 : 0x06, arguments);
}
static void finish() { call_host(0x18, reinterpret_cast<void*>(0x20026)); }
static volatile unsigned* const systick = reinterpret_cast<volatile unsigned*>(0xE000E010);
static void start_clock() {
  systick[1] = 0xFFFFFF;
  systick[0] = 5;
}
static unsigned read_clock() { return systick[2]; }
static double count_instructions(unsigned from, unsigned to) { return 40.0 * ((from - to) & 0xFFFFFF); }
#else
#include <cstdio>
static std::FILE* open_file(const char* name, bool to_write) { return std::fopen(name, to_write ? "wb" : "rb"); }
static void move_bytes(std::FILE* file, const void* at, unsigned size, bool to_write) {
  if (to_write ? std::fwrite(at, size, 1, file) != 1 : std::fread(const_cast<void*>(at), size, 1, file) != 1) throw 1;
}
static void finish() {}
static void start_clock() {}
static unsigned read_clock() { return 0; }
static double count_instructions(unsigned, unsigned) { return 0.0; }
#endif

struct Task {
  SPACE::Pose<Real> target;
  Real start[SPACE::joints];
};

__attribute__((noinline)) SPACE::Result<Real> solve(const Task& task, Real (&q)[SPACE::joints]) {
  return SPACE::solve(task.target, task.start, q, SPACE::Goal::GOAL);
}

int main() {
  const auto in = open_file("tasks.bin", false), out = open_file("answers.bin", true);
  int count = 0;
  move_bytes(in, &count, sizeof count, false);
  start_clock();
  for (int i = 0; i < count; ++i) {
    Task task;
    Real q[SPACE::joints];
    move_bytes(in, &task, sizeof task, false);
    const unsigned before = read_clock();
    const auto found = solve(task, q);
    const unsigned after = read_clock();
    double row[SPACE::joints + 5];
    for (int c = 0; c < SPACE::joints; ++c) row[c] = double(q[c]);
    double* const told = row + SPACE::joints;
    told[0] = found.reached;
    told[1] = double(found.position_error);
    told[2] = double(found.rotation_error);
    told[3] = found.steps;
    told[4] = count_instructions(before, after);
    move_bytes(out, row, sizeof row, true);
  }
  finish();
}
