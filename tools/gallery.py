"""Open every file of a folder in the studio, as a new user would, and check the result.

    python tools/gallery.py folder [--out build/gallery]        or: make gallery FILES=folder

Each file is opened in a studio (without a browser), in a separate process with a time limit. Four checks:

    drawn       the body is visible, with its own meshes if its file has some
    framed      the studio's camera sees all of it, neither cut off nor tiny, and it stands on the floor
    draggable   a dragged handle follows by at least half the distance, and bones keep their lengths
    saved       the file saved by the studio reads back as the same pose

The results are written to `table.md` and `table.json`, the pictures to `sheet_*.png`, 30 per sheet.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from poise.arrays import Floats

SUFFIXES = (".urdf", ".xacro", ".xml", ".mjcf", ".bvh", ".glb", ".gltf", ".vrm")
QUESTIONS = ("drawn", "framed", "draggable", "saved")
PATIENCE = 300.0  # s, for one file
ACROSS, DOWN = 6, 5  # pictures on a sheet
TILE = (300, 360)


def main() -> None:
    """Check all files of the folder given on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the folder of the files; subfolders are searched")
    parser.add_argument("--out", type=Path, default=Path("build/gallery"), help="the folder for the sheets")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    options.out.mkdir(parents=True, exist_ok=True)
    rows, worker = [], Worker()
    for k, path in enumerate(find_files(options.folder)):
        row = worker.ask(path, options.out / f"{k:03d}.png")
        rows.append({"file": str(path.relative_to(options.folder)), "picture": f"{k:03d}.png", **row})
        marks = " ".join(f"{name} {'yes' if row.get(name) else 'NO'}" for name in QUESTIONS)
        print(f"{rows[-1]['file']}: {marks}  {row.get('look', '')}  {row.get('problem', '')}", flush=True)
    (options.out / "table.json").write_text(json.dumps(rows, indent=1), "utf-8")
    (options.out / "table.md").write_text(write_table(rows), "utf-8")
    draw_sheets(rows, options.out)
    print(count_words(rows))
    if worker.process is not None:
        worker.process.kill()


def find_files(folder: Path) -> list[Path]:
    """Return the body files in a folder; of XML files, only MJCF models that are not just includes."""
    found = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in SUFFIXES and path.is_file()]
    return [path for path in found if path.suffix.lower() != ".xml" or is_scene(path)]


def is_scene(path: Path) -> bool:
    """Return whether an XML file is an MJCF model with a body, or includes one."""
    head = path.read_bytes()[: 1 << 20]
    return b"<mujoco" in head and b"<mujocoinclude" not in head and (b"<body" in head or b"<include" in head)


class Worker:
    """A process that checks one file after another; it is restarted after a crash or a timeout."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def ask(self, path: Path, picture: Path) -> dict[str, Any]:
        """Return the results for one file."""
        begun = time.monotonic()
        if self.process is None or self.process.poll() is not None:
            command = [sys.executable, __file__, "--serve", "."]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        watch = threading.Timer(PATIENCE, process.kill)
        watch.start()
        try:
            process.stdin.write(json.dumps([str(path), str(picture)]) + "\n")
            process.stdin.flush()
            row = next((json.loads(line) for line in process.stdout if line.startswith('{"')), None)
        except (OSError, ValueError):
            row = None
        watch.cancel()
        spent = time.monotonic() - begun
        if row is None:
            row = {"problem": f"takes more than {PATIENCE:g} s" if spent >= PATIENCE else "breaks down"}
        return {**row, "seconds": round(spent, 1)}


def serve() -> None:
    """Check the files requested on stdin, line by line."""
    for line in sys.stdin:
        path, picture = json.loads(line)
        print(json.dumps(look_at(Path(path), Path(picture))), flush=True)


# ------------------------------------------------------------------------------------------------ one file


def look_at(path: Path, picture: Path) -> dict[str, Any]:
    """Open a file in a studio and run the checks."""
    warnings.simplefilter("ignore")
    out: dict[str, Any] = {}
    try:
        from poise.studio.web.studio import Studio

        studio = Studio(str(path), port=18700 + os.getpid() % 200, shadows=False)
    except Exception as error:
        return {"problem": f"{type(error).__name__}: {error}"[:300]}
    try:
        studio.session.player.stop()
        out["look"] = wait_for_look(studio)
        for name, question in (("drawn", draw), ("framed", frame), ("draggable", drag), ("saved", save)):
            try:
                answer = question(studio, picture)
            except Exception as error:
                answer = f"{name}: {type(error).__name__}: {error}"[:200]
                traceback.print_exc()
            out[name] = answer is True
            if answer is not True:
                out["problem"] = f"{out.get('problem', '')} {answer}".strip()
    finally:
        studio.stop()
    return out


def wait_for_look(studio: Any) -> str:
    """Wait until the meshes are read; return a description of the appearance."""
    from poise.formats.meshes.looks import find_look

    look = find_look(studio.model)
    end = time.monotonic() + 120.0
    while look.pieces and studio.session.view.dressed is None and time.monotonic() < end:
        time.sleep(0.05)
    notes = f" ({'; '.join(look.notes)[:160]})" if look.notes else ""
    if not look.pieces:
        return f"flesh{notes}"
    skinned = sum(piece.skin is not None for piece in look.pieces)
    kind = "skin" if skinned == len(look.pieces) else "meshes" if not skinned else "skin and meshes"
    return f"{kind}, {look.triangles} triangles{notes}"


def draw(studio: Any, picture: Path) -> Any:
    """Draw the pose; return True if it covers a part of the picture, with its own meshes if it has some."""
    import poise

    made = poise.plot(studio.pose)
    made.save(picture)
    made.figure.canvas.draw()
    pixels = np.asarray(made.figure.canvas.buffer_rgba())[..., :3].astype(int)
    covered = float((pixels.min(axis=-1) < 225).mean())
    if covered < 0.004:
        return f"hardly anything is visible ({100 * covered:.1f} %)"
    meshes = any(hasattr(shape.shape, "path") and shape.use != "collision" for shape in studio.model.shapes)
    if meshes and studio.session.view.dressed is None:
        return "its meshes are not visible"
    return True


def frame(studio: Any, _: Path) -> Any:
    """Check that every drawn vertex is in the initial camera's view, large enough, and on the floor."""
    points = list_drawn(studio)
    camera = studio.session.server.initial_camera
    eye, at, up = (np.array(x, float) for x in (camera.position, camera.look_at, camera.up))
    ahead = (at - eye) / np.linalg.norm(at - eye)
    right = np.cross(ahead, up) / np.linalg.norm(np.cross(ahead, up))
    above = np.cross(right, ahead)
    far = (points - eye) @ ahead
    if far.min() <= 0.0:
        return "the camera is inside it"
    tall = np.abs((points - eye) @ above) / far / np.tan(0.36)
    wide = np.abs((points - eye) @ right) / far / np.tan(0.36) / 1.6
    if max(tall.max(), wide.max()) > 1.0:
        return "it is cut off"
    if max(np.ptp((points - eye) @ above / far), np.ptp((points - eye) @ right / far)) < 0.2 * np.tan(0.36):
        return "it is tiny"
    lowest = float(points[:, studio.model.up_axis].min())
    size = float(np.ptp(points, axis=0).max())
    stands = (
        -0.01 * size < lowest - studio.session.scenery.floor < 0.03 * size
    )  # the lowest pose of a clip may be between the sampled ones
    return True if stands else "it does not stand on the floor"


def list_drawn(studio: Any) -> Floats:
    """Return every drawn vertex of the first pose, or of up to 60 poses of its clip, (n, 3)."""
    from poise.model.geometry.looks import deform
    from poise.pictures.body.pieces import find_pieces

    model, motion = studio.model, studio.session.player.motion
    rows = [studio.puppet.q]
    if motion is not None:
        rows = [motion.q[k] for k in np.unique(np.linspace(0, len(motion) - 1, 60).round().astype(int))]
    pieces = find_pieces(model)
    found = []
    for k, q in enumerate(rows):
        T = model.fk(q)
        if pieces:  # vertices of a large body are subsampled after its first pose
            every = 1 if k == 0 else max(1, sum(len(piece.patch.vertices) for piece in pieces) // 20_000)
            found += [deform(piece, model.frames, T)[::every] for piece in pieces]
        else:
            found.append(studio.session.view.sample_points(T))
    return np.concatenate(found)


def drag(studio: Any, _: Path) -> Any:
    """Drag a handle by 1/12 of the body's size; check that it follows half of that and no bone stretches."""
    puppet = studio.puppet
    names = sorted(puppet.handles, key=lambda name: puppet.handles[name].kind != "end")
    if not names:
        return "it has no handles"
    bones = measure_bones(studio.model, puppet.q)
    rng = np.random.default_rng(0)
    best = 0.0
    for name in names[:4]:
        start = puppet.transform(name)[:3, 3].copy()
        for _attempt in range(3):
            step = rng.normal(size=3)
            step *= puppet.size / 12 / np.linalg.norm(step)
            with studio.session.lock:
                for k in range(1, 21):
                    puppet.hold(name, start + step * k / 20)
                    puppet.frame()
                came = puppet.transform(name)[:3, 3] - start
                puppet.let_go(name)
            best = max(best, float(came @ step / (step @ step)))
            if best > 0.5:
                break
        if best > 0.5:
            break
    if best <= 0.5:
        return f"a handle that is pulled comes {100 * best:.0f} % of the way"
    stretch = float(np.abs(measure_bones(studio.model, puppet.q) - bones).max(initial=0.0))
    return True if stretch < 1e-6 * max(puppet.size, 1e-9) else f"a bone changes its length by {stretch:.3g}"


def measure_bones(model: Any, q: Floats) -> Floats:
    """Return the distances between frames connected by rotating joints [m]."""
    T = dict(zip(model.frames, model.fk(q), strict=True))
    pairs = [
        (joint.frame, joint.parent)
        for joint in model.joints
        if joint.parent is not None and joint.nv and not any(joint.slides)
    ]
    return np.array([np.linalg.norm(T[a][:3, 3] - T[b][:3, 3]) for a, b in pairs])


def save(studio: Any, _: Path) -> Any:
    """Save the pose in the studio's default format, and compare it after reading."""
    import poise
    from poise.studio.downloads import find_kind, make_file, name_file, pose_from_json
    from poise.studio.showable import read_opening

    studio.session.player.open(None)
    kind = find_kind(studio.model)
    data = make_file(studio.session, kind)
    if kind == "Pose":
        back = pose_from_json(studio.model, data.decode())
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name_file(studio.session, kind)
            path.write_bytes(data)
            first = read_opening(str(path)).pose if kind == "BVH" else None
            back = first or poise.Pose(poise.load(path))
    common = [name for name in studio.model.frames if name in back.model.frames]
    here, there = (
        np.array([pose.position(name) for name in common]) * pose.model.metres_per_unit for pose in (studio.pose, back)
    )
    off = float(np.abs(here - there).max(initial=0.0)) / max(studio.puppet.size, 1e-9)
    return True if common and off < 1e-3 else f"saved as {kind} it comes back {100 * off:.2g} % off"


# ------------------------------------------------------------------------------------------------ sheets


def write_table(rows: list[dict[str, Any]]) -> str:
    """Return the results as a Markdown table."""
    head = f"| file | {' | '.join(QUESTIONS)} | look | problem |\n|{'---|' * (len(QUESTIONS) + 3)}\n"
    lines = [
        f"| {row['file']} | {' | '.join('yes' if row.get(q) else 'no' for q in QUESTIONS)} |"
        f" {row.get('look', '')} | {row.get('problem', '')} |"
        for row in rows
    ]
    return head + "\n".join(lines) + f"\n\n{count_words(rows)}\n"


def count_words(rows: list[dict[str, Any]]) -> str:
    """Return the counts of passed checks for each kind of file."""
    kinds = Counter(Path(row["file"]).suffix.lower() for row in rows)
    lines = []
    for kind, count in sorted(kinds.items()):
        own = [row for row in rows if Path(row["file"]).suffix.lower() == kind]
        words = ", ".join(f"{name} {sum(bool(row.get(name)) for row in own)}" for name in QUESTIONS)
        lines.append(f"{kind} {count}: {words}")
    return "\n".join(lines)


def draw_sheets(rows: list[dict[str, Any]], out: Path) -> None:
    """Arrange the pictures on sheets, each with its name and results below."""
    from PIL import Image, ImageDraw

    each = ACROSS * DOWN
    for number in range(-(-len(rows) // each)):
        some = rows[number * each : (number + 1) * each]
        sheet = Image.new("RGB", (ACROSS * TILE[0], -(-len(some) // ACROSS) * TILE[1]), "white")
        pen = ImageDraw.Draw(sheet)
        for k, row in enumerate(some):
            left, top = (k % ACROSS) * TILE[0], (k // ACROSS) * TILE[1]
            picture = out / row["picture"]
            if picture.is_file():
                with Image.open(picture) as image:
                    image.thumbnail((TILE[0] - 8, TILE[1] - 48))
                    sheet.paste(image.convert("RGB"), (left + 4, top + 4))
            pen.text((left + 6, top + TILE[1] - 40), Path(row["file"]).name[:44], fill="black")
            for j, name in enumerate(QUESTIONS):
                tone = "#0a7a4f" if row.get(name) else "#c02020"
                pen.text((left + 6 + 72 * j, top + TILE[1] - 24), name, fill=tone)
        sheet.save(out / f"sheet_{number}.png")


if __name__ == "__main__":
    main()
