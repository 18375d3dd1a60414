"""What compare.py --random draws; harness/shapes.py declares its works. A rival's process asks this file for nothing
more."""

from harness.plan import Group

GROUP = Group("random", ())
