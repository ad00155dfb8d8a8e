// level_names.h: the instruction levels of this build that the machine supports, such as for `poise doctor`.
#pragma once
#include <string>
#include <vector>

namespace poise {

std::vector<std::string> levels();  // lowest first; the last one is chosen at import

}  // namespace poise
