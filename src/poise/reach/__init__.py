"""What a body can reach at all: bounds of distances, and the proofs that they give."""
