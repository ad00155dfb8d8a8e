"""How a body is drawn: sticks, clay, surfaces, objects."""
