// family.h: a family as Python found it, read into what the kernels know.
#pragma once
#include "bind/arrays.h"
#include "kernels/closed/decide.h"

namespace poise {

FamilySpec<double> read_family(const nb::dict& table);

}  // namespace poise
