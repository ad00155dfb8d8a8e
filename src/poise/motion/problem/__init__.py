"""A clip as one problem: what holds in it, and its solution over all frames."""
