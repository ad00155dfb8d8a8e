"""Write glTF files of every supported kind, and run the Khronos validator on them.

    python tools/gltf_check.py build/gltf       # a folder in which npm has installed gltf-validator

Fails on any error or warning of the validator; hints (an empty node, a skin without a mesh) are only counted.
"""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np

import poise
from blender_check import make_character, make_motion
from poise.errors import FormatWarning


def write_files(out: Path) -> list[Path]:
    """Write skeletons and a character, as models, poses and motions, as GLB and glTF, in two folders."""
    files = []
    (out / "elsewhere").mkdir(parents=True, exist_ok=True)
    source = out / "character_source.gltf"
    make_character(source)
    own = poise.load(source)
    poise.save(own, out / "character_source.glb")
    for suffix in (".glb", ".gltf"):
        for name in ("humanoid", "tree30", "panda", "hand", "quadruped"):
            model = poise.load(name)
            motion = poise.Motion(model, make_motion(model), 30)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FormatWarning)
                files.append(poise.save(model, out / f"{name}_model{suffix}"))
            files.append(poise.save(motion, out / f"{name}_motion{suffix}"))
            files.append(poise.save(motion[3], out / f"{name}_pose{suffix}"))
        for like in (source, out / "character_source.glb"):
            motion = poise.Motion(own, make_motion(own), 24)
            for folder in (out, out / "elsewhere"):
                stem = f"{like.suffix[1:]}_to"
                files.append(poise.save(motion, folder / f"{stem}_motion{suffix}", like=like))
                files.append(poise.save(motion[5], folder / f"{stem}_pose{suffix}", like=like))
                files.append(poise.save(poise.Motion(own, np.array([own.rest])), folder / f"{stem}_still{suffix}"))
    return files


def main() -> None:
    """Write the files, validate them, and exit with the validator's exit code."""
    out = Path(sys.argv[1]).resolve()
    files = write_files(out)
    script = Path(__file__).with_name("gltf_check.mjs").resolve()
    done = subprocess.run(["node", str(script), *map(str, files)], cwd=out, check=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
