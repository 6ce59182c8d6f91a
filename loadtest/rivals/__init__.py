"""What answerd is compared with by ``scripts/bench rivals``: a page and, where it takes one, a program each."""
