"""Standing on feet: stance, floor and balance."""
