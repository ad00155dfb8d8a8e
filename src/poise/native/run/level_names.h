// level_names.h: which instruction levels of this build the machine runs, for those who ask (`poise doctor`).
#pragma once
#include <string>
#include <vector>

namespace poise {

std::vector<std::string> levels();  // lowest first; the last one is chosen at import

}  // namespace poise
