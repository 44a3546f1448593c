"""Six duties of a system that resumes interrupted work, asked of ours and of rivals. `README.md` has the table."""
