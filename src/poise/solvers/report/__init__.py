"""Reports of a solution: tables, history, active limits, and the data of an explanation."""
