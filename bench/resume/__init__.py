"""Six duties of resumed work, asked of ours and of rivals. `README.md` has the table."""
