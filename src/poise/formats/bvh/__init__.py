"""BVH: reader and writer."""
