"""The error that an operator reports to the user."""

__all__ = ["Refusal"]


class Refusal(Exception):
    """A request that cannot be served; the message says what to do."""
