"""The ways to guard a stream, side by side, on recorded answers and a virtual clock."""
