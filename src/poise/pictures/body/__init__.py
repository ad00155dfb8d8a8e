"""Drawing of bodies: sticks, clay, surfaces, objects."""
