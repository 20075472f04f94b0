"""tarn-bound: the worst case of a function, from a program's machine code."""
