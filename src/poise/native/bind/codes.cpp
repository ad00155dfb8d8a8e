// codes.cpp: the codes shared by Python and the kernels. Each is defined only in the kernels' headers; Python reads it
// here.
#define NO_IMPORT_ARRAY
#include "bind/bindings.h"
#include "kernels/limits/limits.h"
#include "kernels/methods/rules.h"
#include "run/alike.h"
#include "run/batch/batch.h"

namespace poise {

void bind_codes(nb::module_& m) {
  nb::enum_<Kind>(m, "Primitive", nb::is_arithmetic(), "What the kernels know how to move.")
      .value("TURN", REVOLUTE)
      .value("SLIDE", PRISMATIC)
      .value("SCREW", SCREW)
      .value("BALL", BALL)
      .value("SLIDE3", SLIDE3)
      .value("PATH", PATH)
      .value("SCALE", SCALE);

  nb::enum_<GoalOp>(m, "GoalOp", nb::is_arithmetic(), "Which residual a goal asks for.")
      .value("POSITION", GOAL_POSITION)
      .value("ROTATION", GOAL_ROTATION)
      .value("POSE", GOAL_POSE)
      .value("ALIGN", GOAL_ALIGN)
      .value("LOOK", GOAL_LOOK)
      .value("DISTANCE", GOAL_DISTANCE)
      .value("ANGLE", GOAL_ANGLE)
      .value("PLANES", GOAL_PLANES)
      .value("COM", GOAL_COM)
      .value("BALANCE", GOAL_BALANCE)
      .value("CUSTOM", GOAL_CUSTOM);
  m.def(
      "is_angular", [](GoalOp op) { return is_angular(op); }, nb::arg("op"),
      "Whether the only error of a goal is an angle.");

  nb::enum_<LimitOp>(m, "LimitOp", nb::is_arithmetic(), "Which number of a limit must not be negative.")
      .value("PAIR", LIMIT_PAIR)
      .value("PLANE", LIMIT_PLANE)
      .value("SEGMENT", LIMIT_SEGMENT)
      .value("BOX", LIMIT_BOX)
      .value("CONE", LIMIT_CONE)
      .value("COUPLED", LIMIT_COUPLED)
      .value("CARRIED", LIMIT_CARRIED)
      .value("CYLINDER", LIMIT_CYLINDER)
      .value("OBSTACLE", LIMIT_OBSTACLE);

  nb::enum_<LimitHandling>(m, "LimitHandling", nb::is_arithmetic(), "How a step keeps joint ranges.")
      .value("ACTIVE", LIMITS_ACTIVE)
      .value("FREEZE", LIMITS_FREEZE)
      .value("PENALTY", LIMITS_PENALTY)
      .value("CLAMP", LIMITS_CLAMP)
      .value("OFF", LIMITS_OFF);

  nb::enum_<Mode>(m, "Mode", nb::is_arithmetic(), "Where a solve starts and how far it may go.")
      .value("NEAREST", Mode::NEAREST)
      .value("REPEATABLE", Mode::REPEATABLE)
      .value("CONTINUOUS", Mode::CONTINUOUS);

  nb::enum_<MethodCode>(m, "MethodCode", nb::is_arithmetic(), "How a step is made.")
      .value("LM", METHOD_LM)
      .value("GRADIENT", METHOD_GRADIENT)
      .value("TRANSPOSE", METHOD_TRANSPOSE)
      .value("INVERSE", METHOD_INVERSE)
      .value("PSEUDOINVERSE", METHOD_PSEUDOINVERSE)
      .value("SVD", METHOD_SVD)
      .value("QR", METHOD_QR)
      .value("DLS", METHOD_DLS)
      .value("SDLS", METHOD_SDLS)
      .value("HALLEY", METHOD_HALLEY)
      .value("CCD", METHOD_CCD)
      .value("FABRIK", METHOD_FABRIK)
      .value("TWO_BONE", METHOD_TWO_BONE);

  nb::enum_<Outcome>(m, "Outcome", nb::is_arithmetic(), "How a search ended.")
      .value("RUNNING", Outcome::RUNNING)
      .value("REACHED", Outcome::REACHED)
      .value("STALLED", Outcome::STALLED)
      .value("OUT_OF_STEPS", Outcome::OUT_OF_STEPS)
      .value("STOPPED", Outcome::STOPPED);

  nb::enum_<RowStatus>(m, "RowStatus", nb::is_arithmetic(), "How a row of a batch ended.")
      .value("REACHED", ROW_REACHED)
      .value("STALLED", ROW_STALLED)
      .value("OUT_OF_STEPS", ROW_OUT_OF_STEPS)
      .value("OUT_OF_TIME", ROW_OUT_OF_TIME)
      .value("UNREACHABLE", ROW_UNREACHABLE)
      .value("INVALID", ROW_INVALID)
      .value("IN_COLLISION", ROW_IN_COLLISION);

  nb::enum_<Refusal>(m, "Refusal", nb::is_arithmetic(), "Why a GPU does not support a problem.")
      .value("NONE", Refusal::NONE)
      .value("LOOP", Refusal::LOOP)
      .value("GOAL_KIND", Refusal::GOAL_KIND)
      .value("GOAL_RANGE", Refusal::GOAL_RANGE)
      .value("GOAL_LEVEL", Refusal::GOAL_LEVEL)
      .value("METHOD", Refusal::METHOD)
      .value("HANDLING", Refusal::HANDLING)
      .value("CONE", Refusal::CONE)
      .value("LIMIT", Refusal::LIMIT)
      .value("POWER", Refusal::POWER)
      .value("MODE", Refusal::MODE)
      .value("TIME", Refusal::TIME)
      .value("RECORD", Refusal::RECORD)
      .value("STILL", Refusal::STILL)
      .value("PATH_JOINT", Refusal::PATH_JOINT)
      .value("SCALE_JOINT", Refusal::SCALE_JOINT);

  nb::enum_<FamilyPlan>(m, "FamilyPlan", nb::is_arithmetic(), "How a closed form solves the first three axes, or four.")
      .value("PARALLEL_LAST", PLAN_PARALLEL_LAST)
      .value("MEET_FIRST", PLAN_MEET_FIRST)
      .value("MEET_LAST", PLAN_MEET_LAST)
      .value("PARALLEL_FIRST", PLAN_PARALLEL_FIRST)
      .value("GANTRY", PLAN_GANTRY)
      .value("PLANAR", PLAN_PLANAR);

  m.attr("DISTINCT") = distinct;
  m.attr("SAME_POSE") = same_pose;
  m.attr("KNOWN_BRANCH") = known_branch;
  m.attr("NEAR_LIMIT") = near_limit;
  m.attr("AT_LIMIT") = at_limit;
  m.attr("WANTED_POSE") = wanted_pose;
  m.attr("EXACT_POSE") = exact_pose;
  m.attr("OPEN") = open_end<double>;
}

}  // namespace poise
