// What a run's bits could depend on, and nothing personal.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace samebits::cli {

std::vector<std::pair<std::string, std::string>> environment();  // name, value

}  // namespace samebits::cli
