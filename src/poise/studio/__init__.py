"""Pictures. matplotlib is loaded when one is drawn; the message says what to type where it is missing."""

from poise.studio.plots import plot_race

__all__ = ["plot_race"]
