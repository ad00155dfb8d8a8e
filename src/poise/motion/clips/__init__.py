"""Operations on a whole clip: track, edit, lock and quality measures."""
