"""Pages that solve, after `make wasm`, and the studio.

    python benchmarks/pages.py [node race page studio] [--files FILE ...]

node    random solves of an arm under Node, compared with Python
race    reachable positions under Node: the npm package, CCDIKSolver of three.js, closed-chain-ik, which npm installs
page    a figure with planted feet, gaze and balance is dragged at random in Chromium, without WebGL: the size of the
        page, the time to the first drag, the times of solves and of frames, the heap
studio  a drag in the studio, with the meshes of each file and in the built-in look; without files, of a skinned strip
        of forty bones. A hand follows an arc of a tenth of the body. Every frame is solved, shown and queued for
        browsers, but none is open. Prints the CPU time of a frame, and the ratio of frame rates: on the CPU alone, and
        on a screen with sixty frames per second.
"""

import gzip
import json
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np
from shared.command import ROOT, Options, Part, Table, run_command

import npm_package
import poise
from poise.goals import Reach
from poise.native import core, read_wasm
from poise.native.answer import read_errors

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
PEERS = ("three@0.187.0", "closed-chain-ik@0.0.3")
AGREED = 1e-6  # largest difference of a coordinate between poses that agree
FRAMES, TURNS, PORT = 40, 5, 18072
SCREEN = 1e3 / 60.0  # [ms] faster frames wait for the screen
WAIT = 60.0  # [s] for the meshes
OPTIONS: Options = {
    "solves": (1000, "solves under Node"),
    "minutes": (1.0, "minutes of random drags"),
    "files": ([""], "bodies that are dragged in the studio"),
}


def require_wasm() -> bytes:
    """Return the kernels of pages, or exit with the command that compiles them."""
    return read_wasm() or sys.exit("The kernels are not compiled to WebAssembly. Type: make wasm")


def race_in_node(given: Namespace) -> None:
    """Race the npm package on one arm, from one pose to positions that it reaches."""
    require_wasm()
    model, rng, start = poise.load("panda"), np.random.default_rng(0), poise.load("panda").rest
    names = [joint.frame for joint in model.joints]
    offsets = [joint.offset for joint in model.joints]
    task: dict[str, Any] = {
        "joints": [
            {
                "position": offset.translation.tolist(),
                "quaternion": offset.rotation.wxyz[[1, 2, 3, 0]].tolist(),
                "lower": float(model.lower[k]),
                "upper": float(model.upper[k]),
                "start": float(start[k]),
            }
            for k, offset in enumerate(offsets)
        ],
        "targets": [model.fk(model.random(rng), "panda_hand_tcp")[:3, 3].tolist() for _ in range(given.solves)],
        "tool": (np.linalg.inv(model.fk(start, names[-1])) @ model.fk(start, "panda_hand_tcp"))[:3, 3].tolist(),
        "handle": "tip",
        "frame": "panda_hand_tcp",
    }
    rig = poise.Rig(model)
    rig.handles.add("tip", "panda_hand_tcp", "end")
    with tempfile.TemporaryDirectory() as place:
        folder = npm_package.stage(Path(place) / "poise-ik")
        poise.save(rig, folder / "arm.ik")
        shutil.copy(ROOT / "benchmarks" / "race.mjs", place)
        subprocess.run(["npm", "install", "--silent", "--prefix", place, *PEERS], check=True, capture_output=True)
        for task["iterations"] in (20, 200):
            (Path(place) / "race.json").write_text(json.dumps(task), "utf-8")
            command = ["node", f"{place}/race.mjs", f"{place}/race.json", str(folder)]
            for line in subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
                print(task["iterations"], line)


def compare_solves(given: Namespace) -> None:
    """Compare random solves, a fifth of them out of reach."""
    require_wasm()
    count = given.solves
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


def measure_page(given: Namespace) -> None:
    """Drag a figure at random, and print figures."""
    from chromium import chromium

    module = require_wasm()
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        path = Path(folder) / "page.html"
        whole = poise.show(poise.load("humanoid"), path, drag=True).html.encode()
        for name, data in (("page", whole), ("module", module)):
            print(f"{name}: {len(data) / 1e3:.0f} kB, gzip {len(gzip.compress(data, 9)) / 1e3:.0f} kB")
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
        measure_heap(tab, given.minutes)
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


# ------------------------------------------------------------------------------------------------ the studio


def measure_studio(given: Namespace) -> None:
    """Print the table of drags in the studio."""
    shapes, rates = ("triangles:10", "skins:7", "bones:7"), ("rate kept:11.0%", "at 60 Hz:10.0%")
    with tempfile.TemporaryDirectory() as folder:
        table = Table("file:28", *shapes, "flesh ms:10.2f", "dressed ms:12.2f", *rates)
        for path in [Path(name) for name in given.files if name] or [make_strip(Path(folder))]:
            model = poise.load(path)
            flesh, _ = time_drag(model, dressed=False)
            dressed, counts = time_drag(model, dressed=True)
            kept = max(flesh, SCREEN) / max(dressed, SCREEN)
            table.add(path.name, *(counts or (None, None, None)), flesh, dressed, flesh / dressed, kept)


def make_strip(folder: Path) -> Path:
    """Write a skinned strip."""
    import looks_files as made

    return made.strip(40, 4)[0].glb(folder / "strip.glb")


def time_drag(model: poise.Model, *, dressed: bool) -> tuple[float, tuple[int, int, int] | None]:
    """Return the CPU milliseconds of a frame, best of several drags; and triangles, skins and bones of the meshes."""
    from poise.studio import Studio, session

    has_own_look = session.has_own_look
    if not dressed:
        session.has_own_look = lambda _: False
    studio = Studio(model, port=PORT, shadows=False)
    session.has_own_look = has_own_look
    end = time.monotonic() + WAIT
    while dressed and studio.session.view.dressed is None and time.monotonic() < end:
        time.sleep(0.1)
    time.sleep(1.0)  # until the thread that shows the first pose rests
    hands = [name for name in studio.session.grips.frames if "hand" in name] or list(studio.session.grips.frames)
    best = min(drag_once(studio, hands[0]) for _ in range(TURNS))
    view = studio.session.view.dressed
    studio.stop()
    if view is None:
        return best, None
    faces = sum(len(part.faces) for part in (*view.dress.rigid, *view.dress.skins))
    return best, (faces, len(view.skins), len(view.bones.handles))


def drag_once(studio: Any, handle: str) -> float:
    """Return the CPU milliseconds of a frame of one drag."""
    home = studio.puppet.transform(handle)[:3, 3].copy()
    reach = 0.1 * studio.model.length
    begin = time.process_time()
    for k in range(FRAMES):
        studio.puppet.hold(handle, home + reach * np.array((np.sin(0.1 * k), np.cos(0.1 * k) - 1.0, 0.0)))
        studio.session._frame()
    spent = time.process_time() - begin
    studio.puppet.let_go(handle)
    return 1e3 * spent / FRAMES


if __name__ == "__main__":
    parts = {
        "node": Part(compare_solves),
        "race": Part(race_in_node),
        "page": Part(measure_page),
        "studio": Part(measure_studio),
    }
    run_command(__doc__, parts, OPTIONS, ["playwright", "viser"])
