"""The mathematical functions a kernel may call: which Python objects they are, and their types.

Does: say for each function of `math` and NumPy's scalar ufuncs which `Math` operation it is and what it gives.  Does not: compute.
Invariants: functions are known by what they are bound to, never by spelling.
"""
