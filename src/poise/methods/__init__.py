"""The solver methods, one per file, each with its settings, its source, and its capabilities.

Each is imported on first use.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import ArrayLike

from poise.arrays import Floats
from poise.errors import InvalidValue, name_not_found
from poise.hooks import Hook
from poise.lazy import load_lazily
from poise.methods.method import Method as Method
from poise.methods.minimum import Minimum as Minimum

OverSolver: TypeAlias = Callable[..., Minimum | dict[str, Minimum]]
OVER = Hook[OverSolver]()

# the names that `method=` accepts (also the module names), and the classes
_SHELF = {
    "transpose": "Transpose",
    "gradient": "Gradient",
    "inverse": "Inverse",
    "pseudoinverse": "Pseudoinverse",
    "svd": "SVD",
    "qr": "QR",
    "dls": "DLS",
    "sdls": "SDLS",
    "lm": "LM",
    "halley": "Halley",
    "ccd": "CCD",
    "fabrik": "FABRIK",
    "two_bone": "TwoBone",
    "sequential": "Sequential",
}

# the words of texts and papers for the methods, which `method=` accepts too; case, spaces and hyphens do not count
_WORDS = {
    "transpose": "JT, Jacobian transpose",
    "gradient": "gradient descent, steepest descent",
    "inverse": "inverse Jacobian, Jacobian inverse",
    "pseudoinverse": "pinv, Moore Penrose, Newton, Newton Raphson, Gauss Newton",
    "svd": "singular value decomposition, truncated SVD, TSVD",
    "dls": "damped, damped least squares, damped pseudoinverse, singularity robust, singularity robust inverse, SR",
    "sdls": "selectively damped, selectively damped least squares",
    "lm": "Levenberg Marquardt",
    "ccd": "cyclic coordinate descent",
    "CG": "conjugate gradient, conjugate gradients",
}


if TYPE_CHECKING:
    from poise.methods.ccd import CCD as CCD
    from poise.methods.dls import DLS as DLS
    from poise.methods.fabrik import FABRIK as FABRIK
    from poise.methods.gradient import Gradient as Gradient
    from poise.methods.halley import Halley as Halley
    from poise.methods.inverse import Inverse as Inverse
    from poise.methods.lm import LM as LM
    from poise.methods.pseudoinverse import Pseudoinverse as Pseudoinverse
    from poise.methods.qr import QR as QR
    from poise.methods.scipy import Scipy as Scipy
    from poise.methods.sdls import SDLS as SDLS
    from poise.methods.sequential import Sequential as Sequential
    from poise.methods.svd import SVD as SVD
    from poise.methods.transpose import Transpose as Transpose
    from poise.methods.two_bone import TwoBone as TwoBone
else:
    __getattr__, __dir__, __all__ = load_lazily(
        __name__,
        {**{f".{name}": method for name, method in _SHELF.items()}, ".scipy": "Scipy"},
        also=("Method", "Minimum", "find_method", "names", "over"),
    )


def names() -> tuple[str, ...]:
    """Return the names that `method=` accepts."""
    return ("auto", *_SHELF)


def find_method(method: str | Method) -> Method:
    """Return the method: itself, or the one with this name, or another word for it, and default settings.

    Raises:
        NameNotFound: No method has this name.
    """
    if isinstance(method, Method):
        return method
    if isinstance(method, type) and issubclass(method, Method):
        raise InvalidValue(f"method is a class; write {method.__name__}() for its default settings.")
    if not isinstance(method, str):
        raise InvalidValue(f"method must be a name or a poise.methods object, not {method!r}.")
    name = method if method in names() else list_spellings().get(strip_name(method))
    if name is None:
        raise name_not_found("method", method, names())
    return with_defaults("lm" if name == "auto" else name)


@cache
def list_spellings() -> dict[str, str]:
    """Return the names of the methods by their plain letters, and by those of the other words for them."""
    words = {word: name for name, some in _WORDS.items() for word in (name, *some.split(", "))}
    return {strip_name(word): name for word, name in {**words, **{name: name for name in names()}}.items()}


def strip_name(word: str) -> str:
    """Return the letters and digits of a name in lower case."""
    return "".join(letter for letter in word.lower() if letter.isalnum())


@cache
def with_defaults(name: str) -> Method:
    """Return the method with this name; methods are immutable, so one instance is cached."""
    file, kind, settings = (name, _SHELF[name], ()) if name in _SHELF else ("scipy", "Scipy", (name,))
    module = import_module(f".{file}", __name__)
    found: Method = getattr(module, kind)(*settings)
    return found


def over(
    f: Callable[[Floats], ArrayLike], J: Callable[[Floats], ArrayLike] | None, x0: ArrayLike, **options: Any
) -> Minimum | dict[str, Minimum]:
    """Find x with f(x) = 0, or the least |f(x)|^2, by any method: a general solver.

    Args:
        f: A function from x, (n,), to the residual, (m,).
        J: A function from x to the derivative of f, (m, n), checked against differences; None for central differences.
        x0: The start, (n,).
        options: `method="auto"` (a name or an object; "all" returns a dictionary with every method that does not need a
            skeleton), `lower=` and `upper=` (bounds, kept in every step), `tolerance=1e-8` (of |f|), `max_steps=200`,
            `step_limit=None` (the largest change of an x in one step), `record=False`.

    Returns:
        A `Minimum`: `.x`, `.residual`, `.reached`, `.status`, `.steps`, `.cost`, `.path`.
    """
    return OVER.get()(f, J, x0, **options)
