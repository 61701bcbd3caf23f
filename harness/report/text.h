// The report for people: what was compared, a table of layers, the verdict.
#pragma once

#include <string>

#include "harness/report/scope.h"

namespace samebits::report {

// Before the run: what is compared with what, and how much work it is.
std::string text_scope(const CheckRequest& request, const Scope& scope);
// One line.
std::string text_finding(const Finding& finding, bool color);
// After it. `color`: with ANSI colours.
std::string text_verdict(const CheckRequest& request, const CheckResult& result, const Scope& scope,
                         bool color);

}  // namespace samebits::report
