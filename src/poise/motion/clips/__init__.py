"""Operations on a whole clip: track, edit, lock, and measures of quality."""
