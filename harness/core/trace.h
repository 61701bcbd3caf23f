// What happened: the ordered events of one arm. An event holds its operands as the operation USED
// them.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/program.h"
#include "harness/core/weight_cache.h"
#include "harness/evidence/sha256.h"

namespace samebits {

enum class Pass { kTrain, kEval, kRecompute };
std::string_view pass_name(Pass pass);

// Everything counts from 0. `occurrence` tells events apart that agree in all the rest.
struct EventKey {
  int step = 0;
  int microbatch = 0;
  Pass pass = Pass::kTrain;
  int occurrence = 0;
  std::string layer;
  Operation operation = Operation::kFprop;

  auto operator<=>(const EventKey&) const = default;
};

struct EventTensor {
  std::string name;  // "x", "weight scale_inv", "main_grad", ...
  DType dtype = DType::kF32;
  Shape shape;
  evidence::Sha256Value digest{};
  std::optional<evidence::Sha256Value> logical;  // quantised bytes: of the values they stand for
};

// Where the bytes of a weight operand came from.
struct WeightProvenance {
  evidence::Sha256Value source_now{};      // of the weight at the time of the operation
  evidence::Sha256Value source_at_fill{};  // of the weight that the bytes were made from
  QuantizeParameters parameters;           // in force when they were made
  CacheFlag flag = CacheFlag::kNone;       // that the forward passed
};

struct Event {
  EventKey key;
  std::size_t op = 0;  // index in the program
  std::vector<EventTensor> tensors;
  std::optional<WeightProvenance> weight;
  std::optional<GemmRecord> gemm;
  std::optional<float> beta;
  bool onto_zeros = false;  // wgrad: main_grad was as the start of the step left it
  std::optional<float> learning_rate;
};

// The events of all layers in program order: by operation, then by layer.
struct Trace {
  std::string arm;
  std::vector<Event> events;
  std::vector<double> loss;  // one a step

  std::size_t tensor_count() const;
  std::uint64_t bit_count() const;  // of the tensors compared
};

// SHA-256 over every tensor's key, name and digest in order: two traces have the same one exactly
// if they hold the same bits. What says how (flags, records, provenance) is not part of it.
evidence::Sha256Value trace_digest(const Trace& trace);

}  // namespace samebits
