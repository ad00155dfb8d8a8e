"""Movies: a motion, or the search of a recorded solution, as a GIF or an MP4.

Every frame is a picture of `poise.plot`, in one view that contains the whole motion. GIFs are written by Pillow, a
dependency of matplotlib; an MP4 needs ffmpeg, which imageio-ffmpeg includes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from poise.errors import INDEX_NAME, InvalidValue, MissingExtra
from poise.files.paths import convert_path
from poise.files.target import replace_file
from poise.kinematics import Motion
from poise.model.plane import is_planar
from poise.motion import Track
from poise.pictures.body.objects import list_beside, outline_beside
from poise.pictures.body.stick import Camera
from poise.pictures.bounds import sample_outline
from poise.pictures.front import stand_before
from poise.pictures.plots import draw_scene, make_figure
from poise.solvers.solution import Solution
from poise.textbook import LoopTrace

__all__ = ["MOVING", "find_motion", "is_movie", "write_movie"]

Pixels = NDArray[np.uint8]

MOVING = (".gif", ".mp4")
FPS = {".gif": 20.0, ".mp4": 30.0}  # upper limits
MOST_FRAMES = 600
SEARCH_FPS = 8.0  # steps of a search per second
MARGIN = 0.12  # around the motion, relative to its size
MOST_POSES = 120  # poses of a motion that determine the view
DPI = 100
SHARP = 1.0  # pixels of the movie per pixel of the images in it


@dataclass(frozen=True, slots=True)
class MovieView:
    """The view of a movie: the camera, and the range of the picture.

    Attributes:
        camera: The camera.
        x: The range from left to right [m].
        y: The range from bottom to top [m].
    """

    camera: Camera
    x: tuple[float, float]
    y: tuple[float, float]


def is_movie(path: str | PathLike[str] | None) -> bool:
    """Return whether a path is that of a GIF or MP4."""
    return path is not None and Path(convert_path(path)).suffix.lower() in MOVING


def find_motion(thing: Any) -> Motion:
    """Return a motion itself, or the poses of a loop or of a recorded search as a motion.

    Raises:
        InvalidValue: It is neither a motion nor a recorded solution, or has no frames.
    """
    if isinstance(thing, LoopTrace):
        return Motion(thing.model, thing.poses, SEARCH_FPS)
    if isinstance(thing, Solution) and thing.history is not None:
        return Motion(thing.model, thing.history.end_at(thing.q), SEARCH_FPS)
    thing = thing.motion if isinstance(thing, Track) else thing
    if not isinstance(thing, Motion):
        hint = " Solve with record=True." if isinstance(thing, Solution) else ""
        raise InvalidValue(f"a GIF or MP4 shows a Motion, or a Solution with its history, not {thing!r}.{hint}")
    if not len(thing):
        raise InvalidValue("the motion has no frames; there is nothing to show.")
    return thing


def write_movie(thing: Any, path: str | PathLike[str], *, title: str, camera: Camera | None, style: str) -> Any:
    """Write a movie, and return the figure of its last frame.

    Raises:
        MissingExtra: A package is missing; the message has the install command.
    """
    text = convert_path(path)
    ending = Path(text).suffix.lower()
    motion = thin(find_motion(thing), FPS[ending])
    window = find_window(motion, camera)
    figure, axes = make_figure(4.8, 4.8 * min(max(np.ptp(window.y) / np.ptp(window.x), 0.5), 1.4))
    frames = draw_frames(figure, axes, motion, window, title, style)
    with replace_file(text) as rough:
        (write_gif if ending == ".gif" else write_mp4)(rough, frames, motion.fps)
    return figure


def thin(motion: Motion, fps: float) -> Motion:
    """Reduce the motion to at most `fps` frames per second and `MOST_FRAMES` frames."""
    every = max(1, int(np.ceil(motion.fps / fps - 1e-9)), -(-len(motion) // MOST_FRAMES))
    return motion[::every]


def find_window(motion: Motion, camera: Camera | None) -> MovieView:
    """Return the view that contains the whole motion."""
    model = motion.model
    some = motion.q[:: -(-len(motion) // MOST_POSES)]
    places = np.concatenate([sample_outline(model, some).reshape(-1, 3), outline_beside(motion)])
    view = (camera or (Camera.look_down() if is_planar(model) else stand_before(model))).on(model)
    if view.floor == "lowest":
        view = replace(view, floor=float(places[:, model.up_axis].min()))
    flat = view.project(places)
    low, high = flat.min(axis=0), flat.max(axis=0)
    edge = MARGIN * max(float((high - low).max()), 0.2 * model.length)
    return MovieView(view, (low[0] - edge, high[0] + edge), (low[1] - edge, high[1] + edge))


def draw_frames(figure: Any, axes: Any, motion: Motion, window: MovieView, title: str, style: str) -> Iterator[Pixels]:
    """Yield the frames as images, (height, width, 3), of even height and width."""
    figure.set_dpi(DPI)
    figure.set_layout_engine("none")  # the layout is the same in every frame
    if not is_planar(motion.model):
        axes.set_position((0.0, 0.0, 1.0, 0.93 if title else 1.0))
    width = float(axes.get_position().width) * figure.get_figwidth() * DPI
    pixel = SHARP * float(np.ptp(window.x)) / width
    for k, pose in enumerate(motion):
        axes.clear()
        draw_scene(axes, pose, camera=window.camera, style=style, beside=list_beside(motion, k), pixel=pixel)
        axes.set(xlim=window.x, ylim=window.y)
        axes.set_title(title, loc="left", fontsize=11)
        figure.canvas.draw()
        pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]
        yield np.ascontiguousarray(pixels[: pixels.shape[0] // 2 * 2, : pixels.shape[1] // 2 * 2])


def write_gif(path: Path, frames: Iterator[Pixels], fps: float) -> None:
    """Write a GIF that loops; all frames use the palette of the first."""
    from PIL import Image

    images = [Image.fromarray(pixels) for pixels in frames]
    first = keep_white(images[0].quantize(128))
    rest = [image.quantize(palette=first, dither=Image.Dither.NONE) for image in images[1:]]
    wait = max(20, round(1000 / fps / 10) * 10)  # GIF delays are in 1/100 s, and browsers need at least two
    first.save(path, format="GIF", save_all=True, append_images=rest, duration=wait, loop=0, optimize=False)


def keep_white(image: Any) -> Any:
    """Return a palette image whose near-white colours are white."""
    palette = np.array(image.getpalette(), dtype=np.uint8).reshape(-1, 3)
    palette[(palette > 245).all(axis=1)] = 255
    image.putpalette(palette.ravel().tolist())
    return image


def write_mp4(path: Path, frames: Iterator[Pixels], fps: float) -> None:
    """Write an MP4 that all browsers play."""
    try:
        import imageio_ffmpeg
    except ImportError:
        told = f"an MP4 needs ffmpeg. Type: pip install '{INDEX_NAME}[studio]'; a GIF needs nothing more."
        raise MissingExtra(told) from None
    first = next(frames)
    size = (first.shape[1], first.shape[0])
    stream = imageio_ffmpeg.write_frames(str(path), size, fps=fps, codec="libx264", quality=8, macro_block_size=2)
    stream.send(None)
    try:
        stream.send(first.tobytes())
        for pixels in frames:
            stream.send(pixels.tobytes())
    finally:
        stream.close()
