"""`solution.explanation`: data first, and `why()` is its text; the words are those of golden/why.txt."""

import json
import pickle
import re
from collections.abc import Iterator

import pytest

import poise
import why_cases
from bodies import build_two_links
from poise import Status
from poise.diagnosis import ActiveLimit, CauseKind, Explanation, WayOutKind
from poise.diagnosis.relax import Relaxation
from poise.diagnosis.sentences import CAUSES, WAYS_OUT
from poise.goals import HalfSpace, Reach
from poise.limits import Clearance
from poise.studio.panel.failure_help import find_reason
from why_cases import CASES, GOLDEN, RECORDS, find, tell, tell_records

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


@pytest.fixture(scope="module")
def solutions() -> dict[str, poise.Solution]:
    return {name: case() for name, case in CASES.items()}


@pytest.fixture(scope="module")
def found(solutions: dict[str, poise.Solution]) -> dict[str, Explanation]:
    return {name: solution.explanation for name, solution in solutions.items()}


def read_golden() -> Iterator[tuple[str, str]]:
    """Yield each case of the golden file with its words."""
    for part in GOLDEN.read_text(encoding="utf-8").split("## ")[1:]:
        name, _, words = part.partition("\n")
        yield name, words.strip()


def list_figures(text: str) -> list[float]:
    """Return the numbers of a text, without their signs: a direction that is lost has none."""
    return [abs(float(number)) for number in NUMBER.findall(text)]


# ------------------------------------------------------------------------------------------------ words


@pytest.mark.parametrize(("name", "words"), list(read_golden()), ids=lambda x: "" if "\n" in x else x)
def test_words_are_the_golden_ones(name: str, words: str) -> None:
    """`python tests/support/why_cases.py` rewrites the file; digits that are not shown may differ."""
    text = tell_records() if name == "records" else tell(name)
    assert NUMBER.sub("#", text) == NUMBER.sub("#", words)
    assert list_figures(text) == pytest.approx(list_figures(words), rel=0.02, abs=2e-3)


def test_the_golden_file_has_every_case() -> None:
    assert [name for name, _ in read_golden()] == [*CASES, "records"]


@pytest.mark.slow
def test_every_kind_is_among_the_cases(found: dict[str, Explanation]) -> None:
    assert {cause.kind for one in found.values() for cause in one.causes} == set(CauseKind) == set(CAUSES)
    tried = {way.kind for one in found.values() for way in one.ways_out}
    assert tried | {way.kind for way in RECORDS} == set(WayOutKind) == set(WAYS_OUT)


@pytest.mark.slow
def test_why_is_the_text_of_the_explanation(
    solutions: dict[str, poise.Solution], found: dict[str, Explanation]
) -> None:
    for name, solution in solutions.items():
        text = solution.why()
        assert text == str(found[name])
        assert all(part.text in text for part in found[name].parts)
        assert all(part.text for part in found[name].parts)


# ------------------------------------------------------------------------------------------------ data


@pytest.mark.slow
def test_the_same_solution_has_the_same_explanation(
    solutions: dict[str, poise.Solution], found: dict[str, Explanation]
) -> None:
    for name, solution in solutions.items():
        assert solution.explanation == found[name]


@pytest.mark.parametrize("mode", ["nearest", "continuous"])
def test_no_clock_is_heeded(mode: str) -> None:
    """However soon the solve itself ended, what would help is found without regard to time."""
    model, goal = build_two_links(), Reach("hand", (0.2, 1.4, 0))
    late = poise.solve(model, goal, [0, 0.3], mode=mode, time_limit=1e-9)
    assert late.status is Status.OUT_OF_TIME
    assert late.copy_solver().options.time_limit is None
    ways = {"nearest": WayOutKind.MORE_TIME, "continuous": WayOutKind.FRESH_SOLVE}
    assert [way.kind for way in late.explanation.ways_out] == [ways[mode], WayOutKind.TOLERANCE]


def test_it_is_plain_data(found: dict[str, Explanation]) -> None:
    for explanation in found.values():
        assert pickle.loads(pickle.dumps(explanation)) == explanation
        assert len({explanation, explanation}) == 1
        values = json.loads(json.dumps(explanation.plain_values(), allow_nan=False))
        assert [CauseKind(cause["kind"]) for cause in values["causes"]] == [x.kind for x in explanation.causes]
        assert [WayOutKind(way["kind"]) for way in values["ways_out"]] == [x.kind for x in explanation.ways_out]
        assert [one["goal"] for one in values["missed"]] == [one.goal for one in explanation.missed]


def test_records_name_what_there_is(solutions: dict[str, poise.Solution], found: dict[str, Explanation]) -> None:
    for name, explanation in found.items():
        goals, limits = set(solutions[name].solver.goals), set(solutions[name].active_limits)
        for part in explanation.parts:
            assert set(part.goals) <= goals
            if part.kind not in (CauseKind.BROKEN_LIMIT, CauseKind.IN_COLLISION):  # of other poses
                assert set(part.limits) <= limits
        for miss in explanation.missed:
            assert (miss.metres, miss.radians) == solutions[name].errors[miss.goal]
            assert miss.metres > miss.allowed[0] or miss.radians > miss.allowed[1]
            assert all(
                accepted >= error
                for accepted, error in zip(miss.accepted, solutions[name].errors[miss.goal], strict=True)
            )


@pytest.mark.parametrize(
    ("status", "kinds"),
    [
        (Status.UNREACHABLE, {CauseKind.PROVED, CauseKind.NO_BRANCH}),
        (Status.OUT_OF_TIME, {CauseKind.OUT_OF_TIME}),
        (Status.OUT_OF_STEPS, {CauseKind.OUT_OF_STEPS, CauseKind.ON_ITS_WAY}),
    ],
)
def test_a_status_has_its_cause(
    status: Status, kinds: set[CauseKind], solutions: dict[str, poise.Solution], found: dict[str, Explanation]
) -> None:
    """Whatever a solution came to, its explanation says, and says of no other."""
    seen = 0
    for name, solution in solutions.items():
        assert (solution.status is status) is (len(kinds & {cause.kind for cause in found[name].causes}) == 1)
        seen += solution.status is status
    assert seen


def test_a_proof_has_its_numbers(solutions: dict[str, poise.Solution], found: dict[str, Explanation]) -> None:
    proved = 0
    for name, solution in solutions.items():
        for cause in (cause for cause in found[name].causes if cause.kind is CauseKind.PROVED):
            proof, proved = solution.proof, proved + 1
            assert proof is not None
            assert cause.goals == proof.goals
            assert cause.numbers["excess"] == proof.excess > cause.numbers["slack"]
            assert cause.numbers["distance"] == proof.distance
    assert proved > 4


def test_a_reached_solution_has_nothing_to_explain(found: dict[str, Explanation]) -> None:
    explanation = found["reached"]
    assert (explanation.missed, explanation.causes, explanation.ways_out) == ((), (), ())


def test_what_was_tried_helps() -> None:
    """A freed range, done: the joint goes where the record says."""
    solution = CASES["a range"]()
    (way,) = [way for way in solution.explanation.ways_out if way.tried]
    assert way.kind is WayOutKind.WITHOUT_RANGE
    assert [(limit.joint, limit.side) for limit in way.limits] == [("shoulder", "upper")]
    goal = solution.solver.goals["hand"]
    freed = poise.solve(build_two_links((-0.5, 3.0)), goal, solution.q)
    assert freed.reached
    assert freed.q[0] == pytest.approx(way.numbers["value"], abs=1e-3)


def test_trials_are_distinguished_by_their_relaxation() -> None:
    """Not by their words, which are the same for the part `rx` of joint `wrist` and for a joint called `wrist.rx`."""
    part = ActiveLimit("wrist", "upper", 0.5, 1.0, part="rx", velocity=0)
    whole = ActiveLimit("wrist.rx", "upper", 0.5, 1.0, velocity=3)
    one, other = (Relaxation(WayOutKind.WITHOUT_RANGE, limits=(limit,)) for limit in (part, whole))
    assert part.name == whole.name
    assert one.key != other.key
    assert one.key == Relaxation(WayOutKind.WITHOUT_RANGE, limits=(part,)).key


def test_a_name_that_reads_like_two_stays_one() -> None:
    """A frame may be called anything: what a clearance keeps apart is data, not words to be split."""
    name = "salt and pepper"
    builder = poise.ModelBuilder("shaker")
    builder.add_joint("arm", None, "revolute", axis=(0, 1, 0))
    builder.add_joint(name, "arm", "revolute", offset=(0, 0, 0.3), axis=(0, 1, 0), lower=0.0, upper=2.5)
    model = builder.add_frame("tip", name, (0, 0, 0.3)).build()
    wall = Clearance([], 0.1, [HalfSpace((0.3, 0, 0), (-1, 0, 0))], name="wall")
    solution = poise.solve(model, Reach("tip", (0.4, 0, 0.2)), [0.2, 0.1], limits=[wall], restarts=0)
    (limit,) = [limit for limit in find(solution, CauseKind.LIMITS).limits if limit.kind == "clearance"]
    assert limit.between == (name, "a half-space")


@pytest.mark.parametrize(
    ("name", "section"),
    [
        ("too far", "Unreachable"),
        ("a wall", "Obstacles"),
        ("inside a ball", "Obstacles"),
        ("served first", "Conflicting goals"),
        ("one priority", "Conflicting goals"),
        ("a range", "Limit trap"),
        ("local minimum", "Local minimum"),
        ("continuous, on its way", "Over-damped"),
        ("a step on its way", "Over-damped"),
    ],
)
def test_the_studio_reads_the_kind(name: str, section: str, found: dict[str, Explanation]) -> None:
    reason = find_reason(found[name])
    assert reason is not None
    assert reason.section == section


def test_json_has_the_explanation(solutions: dict[str, poise.Solution], found: dict[str, Explanation]) -> None:
    for name in ("reached", "a range", "too far"):
        values = solutions[name].plain_values()
        assert values["explanation"] == found[name].plain_values()
        assert values["why"] in ("", str(found[name]))
        assert bool(values["why"]) is bool(values["explanation"]["causes"])


def test_the_script_writes_what_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(why_cases, "CASES", {"reached": CASES["reached"]})
    assert why_cases.tell_all().startswith("## reached\nEvery goal is reached: 'hand' to ")
