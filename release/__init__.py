"""How a release is built: wheel and source archive, Debian package, hashed requirements, bill of materials, site.

Nothing here is part of the installed package. Each module is the body of a script of the same name in `scripts/`.
"""
