"""The reachable distances of a body: bounds, and the proofs based on them."""
