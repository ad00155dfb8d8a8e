"""Access to files: bounded reading, atomic writing, and JSON and NPZ files of plain values. It knows no bodies."""
