"""Reports of jobs on clips: the figures that differ, and the clips worth a look."""

from pathlib import Path
from typing import Any

from poise.motion import Quality
from poise.scale import Report

GOOD = dict.fromkeys(Quality.__dataclass_fields__, 0.0) | {"frames": 90, "speed_max": 4.0, "bones_mean": 0.02}


def make_report(figures: dict[str, dict[str, Any]], seconds: float = 10.0) -> str:
    done = len(figures)
    return str(Report("hash", Path("out"), "clips", done, 0, 0, {"done": done}, seconds, figures=figures))


def test_columns_without_a_figure_are_left_out() -> None:
    text = make_report({"a.bvh": GOOD, "b.bvh": GOOD | {"tracking_mean": None, "collision_max": None}})
    head = next(line for line in text.splitlines() if "frames" in line)
    assert head.split() == ["clip", "frames", "bones", "deg", "speed", "rad/s"]
    assert "worth a look" not in text


def test_doubtful_clips_are_listed_worst_first() -> None:
    text = make_report({
        "fine.bvh": GOOD,
        "bent.bvh": GOOD | {"limits_share": 0.93},
        "deep.bvh": GOOD | {"collision_max": 91.0, "limits_share": 0.6},
        "fast.bvh": GOOD | {"speed_share": 0.055},
    })  # fmt: skip
    doubts = text[text.index("clips worth a look: 3 of 4") :].splitlines()[1:4]
    assert [line.split()[0] for line in doubts] == ["deep.bvh", "bent.bvh", "fast.bvh"]
    assert "collides with itself, 91 mm deep; a joint is at its limit in 60 % of frames" in doubts[0]
    assert "93 % of frames" in doubts[1]


def test_many_clips_are_shortened() -> None:
    text = make_report({f"{k}.bvh": GOOD | {"collision_max": 10.0 + k} for k in range(100)})
    assert text.count(".bvh") == 43, "forty rows, and the three worst"
    assert "clips worth a look: 3 of 100, the worst first\n  99.bvh" in text
    assert "99.bvh" in text
    assert " 0.bvh" not in text
    assert "and 60 more" in text


def test_slow_work_is_reported_in_seconds() -> None:
    assert "2 clips done in 30.0 s, 15.0 s each" in make_report({"a": GOOD, "b": GOOD}, 30.0)
    assert "2 clips done in 0.1 s, 20 a second" in make_report({"a": GOOD, "b": GOOD}, 0.1)
