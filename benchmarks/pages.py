"""Pages that solve: `python benchmarks/pages.py [--solves 1000] [--minutes 1]`, after `make wasm`.

Random solves of an arm under Node, compared with Python. Then a figure with planted feet, gaze and balance is dragged
at random in Chromium, without WebGL: the size of the page, the time to the first drag, the times of solves and of
frames, the heap.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np

import poise
from poise.goals import Reach
from poise.native import core, read_wasm
from poise.native.answer import read_errors

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))

OUTCOMES = {1: "reached", 2: "stalled", 3: "out of steps"}
WITHOUT_WEBGL = """
const real = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
  return kind.startsWith("webgl") ? null : real.call(this, kind, ...rest);
};
"""  # WebGL without a graphics card takes all cores: the page draws outlines instead
ALONG_A_CURVE = """() => {
  const puppet = player.puppet, hand = puppet.handles.find((handle) => handle.name === "hand_l");
  const solves = [], frames = [];
  puppet.grab(hand);
  const [x, y, z] = puppet.position(hand);
  for (let k = 0; k < 600; k++) {
    const t = k / 30;
    puppet.pull([x + 0.25 * Math.sin(t), y + 0.1 + 0.3 * Math.sin(0.7 * t), z + 0.1 + 0.2 * Math.sin(1.3 * t)]);
    const begun = performance.now();
    puppet.times.length = 0; puppet.step(); player.draw();
    frames.push(performance.now() - begun); solves.push(...puppet.times);
  }
  puppet.drop();
  return {solves, frames};
}"""
AGREED = 1e-6  # largest difference of a coordinate between poses that agree


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--solves", type=int, default=1000)
    arguments.add_argument("--minutes", type=float, default=1.0)
    asked = arguments.parse_args()
    if read_wasm() is None:
        sys.exit("The kernels are not compiled to WebAssembly. Type: make wasm")
    compare_solves(asked.solves)
    with tempfile.TemporaryDirectory() as folder:
        measure_page(Path(folder) / "page.html", asked.minutes)


def compare_solves(count: int) -> None:
    """Compare random solves, a fifth of them out of reach."""
    model, rng = poise.load("panda"), np.random.default_rng(0)
    targets = [np.array(model.fk(model.random(rng), "panda_hand_tcp")) for _ in range(count)]
    for T in targets[::5]:
        T[:3, 3] *= 1.5
    solver = poise.Solver(model, Reach("panda_hand_tcp", np.eye(4), name="hand"))
    solver.problem.complete_proofs()
    start = np.array(model.rest)
    packed = [np.concatenate([T[:3, :3].ravel(), T[:3, 3]]).tolist() for T in targets]
    request = {"problem": b64encode(core.write_problem(solver.problem)).decode(), "solves": []}
    request["solves"] = [{"start": start.tolist(), "targets": x} for x in packed]
    theirs = run_node(request)["solves"]
    begun = time.perf_counter()
    ours = [solver.problem.solve(start, {"hand": T}) for T in targets]
    native = (time.perf_counter() - begun) / count
    pairs = list(zip(ours, theirs, strict=True))
    same = sum(a.unreachable == b["proved"] and (b["proved"] or OUTCOMES[a.outcome] == b["outcome"]) for a, b in pairs)
    apart = [k for k, (a, b) in enumerate(pairs) if np.abs(a.q - b["q"]).max() > AGREED]
    off = [float(np.abs(read_errors(a) - np.reshape(b["errors"], (-1, 2))).max()) for a, b in pairs]
    ties = [k for k in apart if ours[k].unreachable and off[k] < AGREED]
    others = sorted(set(apart) - set(ties))
    page = float(np.mean([x["milliseconds"] for x in theirs]))
    print(f"{count} solves: {same} statuses and {count - len(apart)} poses agree; others: {others}")
    print(f"{len(ties)} out of reach end in another pose with the same errors")
    print(f"mean time: Python {1e3 * native:.3f} ms, Node {page:.3f} ms")


def run_node(request: dict[str, Any]) -> Any:
    """Run the kernels under Node."""
    node = shutil.which("node") or shutil.which("nodejs") or sys.exit("Node is missing. Type: sudo apt install nodejs")
    files = ("tests/native/wasm_solves.js", "src/poise/pages/kernels.js", "src/poise/native/wasm/kernels.wasm")
    script = [node, *(str(ROOT / name) for name in files)]
    return json.loads(
        subprocess.run(script, input=json.dumps(request), capture_output=True, text=True, check=True).stdout
    )


def measure_page(path: Path, minutes: float) -> None:
    """Drag a figure at random, and print figures."""
    from chromium import chromium

    page = poise.show(poise.load("humanoid"), path, drag=True)
    whole, module = page.html.encode(), read_wasm() or b""
    print(f"page: {len(whole) / 1e3:.0f} kB, gzip {len(gzip.compress(whole, 9)) / 1e3:.0f} kB")
    print(f"module: {len(module) / 1e3:.0f} kB, gzip {len(gzip.compress(module, 9)) / 1e3:.0f} kB")
    with chromium() as browser:
        tab = browser.new_page(viewport={"width": 900, "height": 640})
        tab.add_init_script(WITHOUT_WEBGL)
        problems: list[str] = []
        tab.on("console", lambda line: line.type == "error" and problems.append(line.text))
        tab.on("pageerror", lambda error: problems.append(str(error)))
        begun = time.perf_counter()
        tab.goto(path.as_uri())
        while tab.evaluate("document.body.dataset.drag") != "ready":
            tab.wait_for_timeout(5)
        print(f"open to ready for a drag: {time.perf_counter() - begun:.2f} s")
        measure_frames(tab)
        measure_heap(tab, minutes)
        print(f"errors on the console: {problems}")


def measure_frames(tab: Any) -> None:
    """Drag a hand along a curve: the times of solves, and of whole frames of several solves and the drawing."""
    for name, values in tab.evaluate(ALONG_A_CURVE).items():
        late = np.array(values)[len(values) // 5 :]
        print(f"{name}: {len(late)}, median {np.median(late):.2f} ms, p95 {np.percentile(late, 95):.2f} ms")


def measure_heap(tab: Any, minutes: float) -> None:
    """Drag random handles for some minutes, and print the heap after each third."""
    rng, session = np.random.default_rng(2), tab.context.new_cdp_session(tab)
    session.send("HeapProfiler.enable")
    heaps = []
    for _ in range(3):
        end = time.monotonic() + 20.0 * minutes
        while time.monotonic() < end:
            drag(tab, rng)
        session.send("HeapProfiler.collectGarbage")
        used = session.send("Runtime.getHeapUsage")["usedSize"]
        heaps.append((used, tab.evaluate("player.puppet.body.kernels.calls.memory.buffer.byteLength")))
    print("heap after each third [MB, module memory MB]:", [(round(a / 1e6, 2), round(b / 1e6, 2)) for a, b in heaps])


def drag(tab: Any, rng: np.random.Generator) -> None:
    """Drag a random handle to a random place."""
    name = str(rng.choice(["hand_l", "hand_r", "head", "pelvis", "elbow_l", "foot_r"]))
    box = tab.locator(f'.handle[title="{name}"]').bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    dx, dy = rng.uniform(-120, 120, 2)
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + dx, y + dy, steps=10)
    tab.mouse.up()


if __name__ == "__main__":
    main()
