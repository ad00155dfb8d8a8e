"""Paths used by the tests, independent of the folder of a test file."""

from pathlib import Path

__all__ = [
    "BENCHMARKS",
    "DOCS",
    "EXAMPLES",
    "FUZZ",
    "KERNELS",
    "NATIVE",
    "NATIVE_TESTS",
    "ROOT",
    "SOURCES",
    "TOOLS",
    "read_kernels",
]

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src" / "poise"
NATIVE = SOURCES / "native"
KERNELS = NATIVE / "kernels"
DOCS = ROOT / "docs"
TOOLS = ROOT / "tools"
EXAMPLES = ROOT / "examples"
BENCHMARKS = ROOT / "benchmarks"
NATIVE_TESTS = ROOT / "tests" / "native"
FUZZ = ROOT / "tests" / "fuzz"


def read_kernels() -> dict[str, str]:
    """Return the text of every header of the kernels, by the name under which it is included."""
    return {path.relative_to(NATIVE).as_posix(): path.read_text("utf-8") for path in sorted(KERNELS.rglob("*.h"))}
