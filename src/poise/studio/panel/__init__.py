"""The panel of the studio: tabs and folders."""
