"""Coverage-guided fuzzing of every reader with atheris: `make fuzz`, or `python tests/fuzz/explore.py [options]`.

Each input chooses a format by its first byte; the rest is the file. What it finds goes into tests/fuzz/findings/ by
hand, where `tests/formats/test_fuzz.py` reads it again for ever.
"""

import sys
import tempfile
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parent))
with atheris.instrument_imports(include=["poise.formats"]):
    from reading import attempt
    from seeds import NASTY, SEEDS

NAMES = sorted(SEEDS)


def one_input(data: bytes) -> None:
    """Reads the bytes after the first as the format that the first chooses."""
    if data:
        name = NAMES[data[0] % len(NAMES)]
        for verb in ("read_model", "read_motion"):
            attempt(name, data[1:], verb)


def main() -> None:
    """Seeds and a dictionary into a folder, and go."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder, "corpus")
        corpus.mkdir()
        for i, name in enumerate(NAMES):
            for k, seed in enumerate(SEEDS[name]):
                (corpus / f"{i}_{k}").write_bytes(bytes([i]) + seed)
        words = Path(folder, "words")
        escaped = ("".join(f"\\x{byte:02x}" for byte in word) for word in NASTY if 0 < len(word) < 60)
        words.write_text("\n".join(f'"{word}"' for word in escaped))
        arguments = [*(sys.argv[1:] or ["-max_total_time=60"]), f"-dict={words}", "-timeout=20", "-rss_limit_mb=3000"]
        atheris.Setup([sys.argv[0], *arguments, str(corpus)], one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
