// Runs a command, and writes what it used into a file: processor seconds, and the largest peak of memory of its processes in
// MiB. A process' peak is at least what the process that started it had, which for this one is little.
//
//   usage: measured FILE COMMAND WORD...
#include <cstdio>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const pid_t child = fork();
  if (child == 0) {
    execvp(argv[2], argv + 2);
    std::perror(argv[2]);
    _exit(127);
  }
  int status = 0;
  rusage used{};
  if (child < 0 || wait4(child, &status, 0, &used) != child) return 126;
  std::FILE* const file = std::fopen(argv[1], "w");
  if (file == nullptr) return 126;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  std::fprintf(file, "%.6f %.3f\n", seconds(used.ru_utime) + seconds(used.ru_stime),
               static_cast<double>(used.ru_maxrss) / 1024);
  std::fclose(file);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
