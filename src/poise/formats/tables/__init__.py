"""Tables of motions and poses: CSV, NPZ, Parquet, robot CSV and AMASS."""

from poise.formats.tables.motions import read_table

__all__ = ["read_table"]
