"""Pictures of reach maps."""
