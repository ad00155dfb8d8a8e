"""Standing on feet: stance, floor, balance."""
