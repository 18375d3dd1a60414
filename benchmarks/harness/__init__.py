"""What benchmarks/compare.py is made of. Only harness/rival.py and harness/rivals/ import a framework."""
