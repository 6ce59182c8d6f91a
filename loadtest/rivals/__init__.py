"""The programs that ``scripts/bench rivals`` compares answerd with: a page and, where it takes one, a program each."""
