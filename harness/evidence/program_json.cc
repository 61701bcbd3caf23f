#include "harness/evidence/program_json.h"

#include "harness/core/error.h"
#include "harness/core/scenario.h"

namespace samebits::evidence {
namespace {

using Json = nlohmann::json;

constexpr int kMostSteps = 4096;
constexpr std::size_t kMostOps = 1 << 20;
constexpr std::int64_t kMostMicrobatches = 1 << 18;  // in all

bool same_op(const Op& a, const Op& b) {
  return a.kind == b.kind && a.step == b.step && a.microbatch == b.microbatch && a.flag == b.flag &&
         (a.kind != OpKind::kSetRecipe || a.recipe == b.recipe);
}

// Whether the ops are those that the scenario's name and numbers give.
bool follows_scenario(const Program& program) {
  try {
    const Program made = make_scenario(program.name, program.recipe, program.main_grad,
                                       program.steps, program.microbatches);
    return std::equal(made.ops.begin(), made.ops.end(), program.ops.begin(), program.ops.end(),
                      same_op);
  } catch (const Error&) {  // no scenario's name, or too few steps for it
    return false;
  }
}

Recipe read_recipe(const JsonFields& fields) {
  Recipe recipe;
  recipe.kind = fields.named<RecipeKind>("kind", 4, recipe_name);
  recipe.power_of_two = fields.boolean("power_of_two");
  recipe.hybrid = fields.boolean("hybrid");
  recipe.margin = static_cast<int>(fields.integer("margin", 0, 64));
  recipe.history_length = static_cast<int>(fields.integer("history_length", 1, 1 << 20));
  recipe.most_recent = fields.boolean("most_recent");
  return recipe;
}

Op read_op(const JsonFields& fields, const Recipe& recipe) {
  Op op;
  op.kind = fields.named<OpKind>("op", kOpKinds, op_name);
  op.step = static_cast<int>(fields.integer("step", 0, kMostSteps));
  op.microbatch = static_cast<int>(fields.integer("microbatch", 0, kMostSteps));
  op.flag = fields.named<CacheFlag>("flag", 3, flag_name);
  op.recipe =
      op.kind == OpKind::kSetRecipe ? read_recipe(JsonFields(fields.object("recipe"))) : recipe;
  return op;
}

}  // namespace

nlohmann::ordered_json recipe_json(const Recipe& recipe) {
  return {{"kind", recipe_name(recipe.kind)},
          {"power_of_two", recipe.power_of_two},
          {"hybrid", recipe.hybrid},
          {"margin", recipe.margin},
          {"history_length", recipe.history_length},
          {"most_recent", recipe.most_recent}};
}

nlohmann::ordered_json program_json(const Program& program) {
  nlohmann::ordered_json json = {{"scenario", program.name},
                                 {"steps", program.steps},
                                 {"microbatches", program.microbatches},
                                 {"main_grad", main_grad_name(program.main_grad)}};
  if (follows_scenario(program)) return json;
  json["ops"] = nlohmann::ordered_json::array();
  for (const Op& op : program.ops) {
    nlohmann::ordered_json row = {{"op", op_name(op.kind)},
                                  {"step", op.step},
                                  {"microbatch", op.microbatch},
                                  {"flag", flag_name(op.flag)}};
    if (op.kind == OpKind::kSetRecipe) row["recipe"] = recipe_json(op.recipe);
    json["ops"].push_back(std::move(row));
  }
  return json;
}

Program read_program(const JsonFields& trace) {
  const JsonFields fields(trace.object("program"));
  const Recipe recipe = read_recipe(JsonFields(trace.object("recipe")));
  Program program;
  program.name = fields.text("scenario");
  program.steps = static_cast<int>(fields.integer("steps", 1, kMostSteps));
  program.microbatches = static_cast<int>(fields.integer("microbatches", 1, kMostSteps));
  program.recipe = recipe;
  program.main_grad = fields.named<MainGrad>("main_grad", 2, main_grad_name);
  if (program.inputs() > kMostMicrobatches) {
    throw Error("\"steps\" times \"microbatches\" is more than " +
                std::to_string(kMostMicrobatches));
  }
  if (!fields.has("ops")) {
    return make_scenario(program.name, recipe, program.main_grad, program.steps,
                         program.microbatches);
  }
  const Json& ops = fields.array("ops");
  if (ops.size() > kMostOps) throw Error("\"ops\" has more than " + std::to_string(kMostOps));
  for (const Json& op : ops) program.ops.push_back(read_op(JsonFields(op), recipe));
  check_program(program);
  return program;
}

}  // namespace samebits::evidence
