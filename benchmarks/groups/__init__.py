"""One file per program in run/: its works, rivals, and bars."""
