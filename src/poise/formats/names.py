"""Unique names for parts that a file does not name."""

__all__ = ["reserve_name"]


def reserve_name(name: str, taken: set[str], mark: str = "{}", first: int = 2) -> str:
    """Return the name, with a number from `first` in a mark if it is already taken, and reserve it."""
    number, free = first, name
    while free in taken:
        free, number = name + mark.format(number), number + 1
    taken.add(free)
    return free
