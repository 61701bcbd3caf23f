// The report for machines: schema "samebits-report-1".
#pragma once

#include <string>

#include "harness/report/scope.h"

namespace samebits::report {

std::string json_report(const CheckRequest& request, const CheckResult& result, const Scope& scope);

}  // namespace samebits::report
