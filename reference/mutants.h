// Switches for faults that are made on purpose, to prove that the properties see them.
//
// Libraries are built a second time with SAMEBITS_MUTANTS for samebits-selftest: there mutant(NAME)
// is true while `active_mutant` is NAME. Everywhere else it is a constant false and leaves no code.
#pragma once

#ifdef SAMEBITS_MUTANTS
#include <cstdint>
#include <type_traits>
#endif

namespace samebits {

#ifdef SAMEBITS_MUTANTS

// A name as 64 bits (FNV-1a), made while compiling: a switch in an inner loop costs one comparison.
class MutantName {
 public:
  constexpr MutantName() = default;
  consteval MutantName(const char* name) : hash_(hash(name)) {}  // not explicit: mutant("...")
  static constexpr MutantName of(const char* name) {
    MutantName result;
    result.hash_ = hash(name);
    return result;
  }
  friend constexpr bool operator==(MutantName, MutantName) = default;

 private:
  static constexpr std::uint64_t hash(const char* name) {
    std::uint64_t value = 0xcbf29ce484222325;
    for (; *name != '\0'; ++name) {
      value = (value ^ static_cast<unsigned char>(*name)) * 0x100000001b3;
    }
    return value;
  }
  std::uint64_t hash_ = 0;
};

// Set before any thread is started.
inline MutantName active_mutant;

// Always inlined: some callers are compiled for instruction sets that the CPU may lack.
[[gnu::always_inline]] inline bool mutant(MutantName name) { return active_mutant == name; }

// For constexpr functions: false where one runs while compiling. It must not decide the value of a
// constant, which is first tried while compiling and would stay as it is.
[[gnu::always_inline]] constexpr bool constexpr_mutant(MutantName name) {
  if (std::is_constant_evaluated()) {
    return false;
  } else {
    return mutant(name);
  }
}

#else

[[gnu::always_inline]] constexpr bool mutant(const char*) { return false; }
[[gnu::always_inline]] constexpr bool constexpr_mutant(const char*) { return false; }

#endif

}  // namespace samebits
