"""Following of live targets."""
