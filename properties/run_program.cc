#include "properties/run_program.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace samebits::properties {
namespace {

constexpr auto kShortWhile = std::chrono::milliseconds(5);

void require(bool done, const char* what) {
  if (!done) throw std::runtime_error(what);
}

// One output of the program: an unnamed file, a terminal, or nothing that can be read back.
class Sink {
 public:
  explicit Sink(Stream stream) {
    if (stream == Stream::kCaptured) {
      file_.reset(std::tmpfile());
      require(file_ != nullptr, "no temporary file");
      end_ = ::dup(::fileno(file_.get()));
    } else if (stream == Stream::kFull) {
      end_ = ::open("/dev/full", O_WRONLY);
    } else if (stream == Stream::kTerminal) {
      terminal_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
      require(terminal_ >= 0 && ::grantpt(terminal_) == 0 && ::unlockpt(terminal_) == 0, "no pty");
      end_ = ::open(::ptsname(terminal_), O_RDWR | O_NOCTTY);
    }
    require(stream == Stream::kClosed || end_ >= 0, "no output to give to the program");
  }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  ~Sink() {
    close_end();
    if (terminal_ >= 0) ::close(terminal_);
  }

  void become(int descriptor) const {  // in the child
    if (end_ < 0) ::close(descriptor);
    if (end_ >= 0) ::dup2(end_, descriptor);
  }
  void close_end() {
    if (end_ >= 0) ::close(end_);
    end_ = -1;
  }
  bool has_bytes() const {
    struct stat status {};
    return file_ && ::fstat(::fileno(file_.get()), &status) == 0 && status.st_size > 0;
  }
  // All that was written. A terminal gives it until the program closes its end.
  std::string read() {
    std::string text;
    char buffer[4096];
    const int from = file_ ? ::fileno(file_.get()) : terminal_;
    if (file_) ::lseek(from, 0, SEEK_SET);
    for (ssize_t got; from >= 0 && (got = ::read(from, buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<std::size_t>(got));
    }
    return text;
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
  int terminal_ = -1;
  int end_ = -1;  // what the program writes to
};

[[noreturn]] void become_program(const Command& command, const Sink& out, const Sink& err) {
  if (::chdir(command.directory.c_str()) != 0) ::_exit(126);
  const rlimit limit{command.file_limit, command.file_limit};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  ::unsetenv("NO_COLOR");
  if (command.no_color) ::setenv("NO_COLOR", "1", 1);
  std::signal(SIGINT, SIG_DFL);
  std::vector<char*> argv{const_cast<char*>("samebits")};
  for (const std::string& argument : command.arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  out.become(STDOUT_FILENO);
  err.become(STDERR_FILENO);
  ::execv(SAMEBITS_PROGRAM, argv.data());
  ::_exit(127);
}

}  // namespace

Finished run_program(const Command& command) {
  Sink out(command.out), err(command.err);
  const pid_t child = ::fork();
  require(child >= 0, "no new process");
  if (child == 0) become_program(command, out, err);
  out.close_end();
  err.close_end();
  Finished finished;
  if (command.out == Stream::kTerminal) finished.out = out.read();
  int status = 0;
  pid_t ended = 0;
  while (command.interrupt && !out.has_bytes() && ended == 0) {
    std::this_thread::sleep_for(kShortWhile);
    ended = ::waitpid(child, &status, WNOHANG);
  }
  if (command.interrupt && ended == 0) ::kill(child, SIGINT);
  if (ended == 0) require(::waitpid(child, &status, 0) == child, "the program was lost");
  if (command.out != Stream::kTerminal) finished.out = out.read();
  finished.err = err.read();
  finished.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return finished;
}

std::vector<std::string> lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> all;
  for (std::string line; std::getline(stream, line);) all.push_back(line);
  return all;
}

}  // namespace samebits::properties
