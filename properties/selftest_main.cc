// samebits-selftest: makes each fault of mutant_table.h in turn, in a process of its own, and shows
// which property sees it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "properties/mutant_table.h"
#include "reference/mutants.h"

namespace samebits::properties {
namespace {

constexpr unsigned kSecondsEach = 60;

// How a child ended: with the property that failed, or with what befell it.
struct Outcome {
  enum class Kind { kPassed, kFailed, kCrashed, kHung, kRanNothing } kind = Kind::kPassed;
  std::string property;  // that failed, or ran when the child crashed or hung
};

// Writes the name of each property as it starts, and "!" where it has failed, which ends the child.
class Reporter : public testing::EmptyTestEventListener {
 public:
  explicit Reporter(int pipe) : pipe_(pipe) {}
  void OnTestStart(const testing::TestInfo& test) override {
    say("\n" + std::string(test.test_suite_name()) + "." + test.name());
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    if (!test.result()->Failed()) return;
    say("!");
    ::_exit(1);
  }

 private:
  void say(const std::string& text) const {
    if (::write(pipe_, text.data(), text.size()) < 0) ::_exit(2);
  }
  int pipe_;
};

[[noreturn]] void run_child(const std::string& filter, MutantName mutant_name, int pipe) {
  ::alarm(kSecondsEach);
  const int nowhere = ::open("/dev/null", O_WRONLY);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  // RapidCheck reads it once. A case found is enough: it need not be the smallest.
  ::setenv("RC_PARAMS", "seed=0 max_success=200 noshrink=1", 1);
  GTEST_FLAG_SET(filter, filter);
  testing::UnitTest::GetInstance()->listeners().Append(new Reporter(pipe));
  active_mutant = mutant_name;
  ::_exit(RUN_ALL_TESTS());
}

Outcome outcome_of(const std::string& said, int status) {
  std::string last = said.substr(said.rfind('\n') + 1);
  if (said.empty()) return {Outcome::Kind::kRanNothing, ""};
  if (WIFSIGNALED(status)) {
    const bool hung = WTERMSIG(status) == SIGALRM;
    return {hung ? Outcome::Kind::kHung : Outcome::Kind::kCrashed, last};
  }
  if (WEXITSTATUS(status) == 0) return {};
  if (last.ends_with('!')) last.pop_back();
  return {Outcome::Kind::kFailed, last};
}

// Runs each filter under its mutant, as many at a time as there are cores.
class Pool {
 public:
  // Its outcome will be at the same index as `started`.
  void start(const std::string& filter, MutantName mutant_name) {
    while (running_.size() >= std::max(2U, std::thread::hardware_concurrency())) reap();
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("no new process");
    if (child == 0) run_child(filter, mutant_name, ends[1]);
    ::close(ends[1]);
    running_[child] = {outcomes_.size(), ends[0]};
    outcomes_.emplace_back();
  }
  std::vector<Outcome> finish() {
    while (!running_.empty()) reap();
    return std::move(outcomes_);
  }

 private:
  struct Child {
    std::size_t index;
    int pipe;
  };
  void reap() {
    int status = 0;
    const pid_t child = ::waitpid(-1, &status, 0);
    const auto found = running_.find(child);
    if (found == running_.end()) throw std::runtime_error("a child was lost");
    std::string said;
    char buffer[4096];
    for (ssize_t got; (got = ::read(found->second.pipe, buffer, sizeof buffer)) > 0;) {
      said.append(buffer, static_cast<std::size_t>(got));
    }
    ::close(found->second.pipe);
    outcomes_[found->second.index] = outcome_of(said, status);
    running_.erase(found);
  }

  std::map<pid_t, Child> running_;
  std::vector<Outcome> outcomes_;
};

std::string shown(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::kPassed:
      return "SURVIVED";
    case Outcome::Kind::kFailed:
      return outcome.property;
    case Outcome::Kind::kCrashed:
      return outcome.property + " (crashed)";
    case Outcome::Kind::kHung:
      return "SURVIVED: " + outcome.property + " did not end";
    case Outcome::Kind::kRanNothing:
      break;
  }
  return "SURVIVED: no property ran";
}

bool is_killed(const Outcome& outcome) {
  return outcome.kind == Outcome::Kind::kFailed || outcome.kind == Outcome::Kind::kCrashed;
}

// Without a fault every property must hold, or its failure would prove nothing.
bool all_hold(const std::vector<MutantRow>& rows) {
  std::set<std::string> filters;
  for (const MutantRow& row : rows) filters.insert(row.properties);
  Pool pool;
  for (const std::string& filter : filters) pool.start(filter, {});
  bool hold = true;
  auto filter = filters.begin();
  for (const Outcome& outcome : pool.finish()) {
    if (outcome.kind != Outcome::Kind::kPassed) {
      std::printf("%s: fails without any fault: %s\n", filter->c_str(), shown(outcome).c_str());
      hold = false;
    }
    ++filter;
  }
  return hold;
}

int run(const std::string& wanted) {
  std::vector<MutantRow> rows;
  for (const MutantRow& row : mutant_table()) {
    if (std::string(row.mutant).find(wanted) != std::string::npos) rows.push_back(row);
  }
  if (rows.empty()) {
    std::fprintf(stderr, "samebits-selftest: no mutant has \"%s\" in its name\n", wanted.c_str());
    return 2;
  }
  if (!all_hold(rows)) return 1;
  Pool pool;
  for (const MutantRow& row : rows) pool.start(row.properties, MutantName::of(row.mutant));
  const std::vector<Outcome> outcomes = pool.finish();
  std::printf("%-36s %-24s %s\n", "mutant", "kind of fault", "killed by");
  std::size_t killed = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::printf("%-36s %-24s %s\n", rows[i].mutant, rows[i].fault, shown(outcomes[i]).c_str());
    killed += is_killed(outcomes[i]);
  }
  std::printf("%zu mutants, %zu killed\n", rows.size(), killed);
  return killed == rows.size() ? 0 : 1;
}

}  // namespace
}  // namespace samebits::properties

// samebits-selftest [TEXT]: only the mutants with TEXT in their name.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  try {
    return samebits::properties::run(argc > 1 ? argv[1] : "");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "samebits-selftest: %s\n", error.what());
    return 2;
  }
}
