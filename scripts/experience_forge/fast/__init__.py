"""What hooks run: allow-listed standard library and this folder only."""
